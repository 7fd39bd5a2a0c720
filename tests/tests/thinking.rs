//! Which thinking blocks reach the prompts of published templates, whatever is asked for; skipped where they are not at hand.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::path::Path;

use alloquy_core::arguments::{ProcessorArguments, ThinkingHistory};
use alloquy_core::model_info::ModelInfo;
use alloquy_core::processor::{DataProcessor as _, ProcessorInput};
use alloquy_core::report::Warning;
use alloquy_core::template::{PromptEnd, PromptTemplate as _};
use alloquy_core::{Content, Message, Preface, Role};
use alloquy_templates::{JinjaTemplate, Polyfill};
use serde_json::{Map, Value};

/// Thinking before the last question, and since.
const THINKING: [&str; 2] = ["Early thinking block.", "Late thinking block."];

fn path() -> Vec<Message> {
    let thinking = |thought: &str, text: &str| {
        Message::new(
            Role::Assistant,
            vec![Content::Thinking(thought.to_owned()), Content::Text(text.to_owned())],
        )
    };
    vec![
        Message::user("One?"),
        thinking(THINKING[0], "First answer."),
        Message::user("Two?"),
        thinking(THINKING[1], "Second answer."),
    ]
}

/// Every published template that takes the conversation.
fn templates(folder: &Path) -> Vec<(String, JinjaTemplate)> {
    let index = std::fs::read_to_string(folder.join("index.json")).unwrap();
    let index: Value = serde_json::from_str(&index).unwrap();
    let template = |entry: &Value| {
        let source = std::fs::read_to_string(folder.join(entry["file"].as_str().unwrap())).ok()?;
        let mut tokens = Map::new();
        for (name, default) in [("bos_token", "<s>"), ("eos_token", "</s>")] {
            tokens.insert(name.to_owned(), entry[name].as_str().unwrap_or(default).into());
        }
        let template =
            JinjaTemplate::builder(source).variables(tokens).polyfill(Polyfill::LeaveOut).build().ok()?;
        Some((entry["slug"].as_str()?.to_owned(), template))
    };
    index["templates"].as_array().unwrap().iter().filter_map(template).collect()
}

/// Returns which thinking blocks are in the prompt, and how many are reported as left out.
fn seen(template: &JinjaTemplate, history: Option<ThinkingHistory>) -> Option<([bool; 2], usize)> {
    let processor = alloquy_processors::named("generic", &ModelInfo::default()).unwrap();
    let mut arguments = ProcessorArguments::default();
    arguments.history = history;
    let preface = Preface::default();
    let path = path();
    let source =
        ProcessorInput { arguments: &arguments, ..ProcessorInput::new(&preface, &path, PromptEnd::Closed) };
    let rendered = template.render(&processor.template_input(source).unwrap()).ok()?;
    let left_out = processor.warnings(&rendered, source).into_iter().map(|reported| match reported {
        Warning::ThinkingLeftOut { messages } => messages,
        other => panic!("{other:?}"),
    });
    Some((THINKING.map(|thought| rendered.contains(thought)), left_out.sum()))
}

#[test]
fn templates_show_the_thoughts_that_they_are_asked_to_or_it_is_told() {
    let Some(folder) = shared::find("cases/templates") else { return };
    let mut figures = Figures::default();
    for (slug, template) in templates(&folder) {
        let of = |history| seen(&template, history);
        let Some((own, 0)) = of(None) else { continue };
        let (kept, left_out) = of(Some(ThinkingHistory::Keep)).unwrap();
        let (late, _) = of(Some(ThinkingHistory::StripBeforeLastUser)).unwrap();
        let (none, _) = of(Some(ThinkingHistory::Strip)).unwrap();
        assert_eq!(left_out, kept.iter().filter(|seen| !**seen).count(), "{slug}");
        assert!(own.iter().zip(kept).all(|(own, kept)| kept || !own), "{slug} keeps fewer: {own:?} {kept:?}");
        assert_eq!((late, none), ([false, own[1]], [false, false]), "{slug}");
        figures.count(own, kept);
    }
    insta::assert_debug_snapshot!(figures);
}

/// How many templates show which thinking.
#[derive(Debug, Default)]
struct Figures {
    templates: usize,
    all_by_themselves: usize,
    all_when_asked_to_keep: usize,
    since_the_last_question: usize,
    none: usize,
}

impl Figures {
    fn count(&mut self, own: [bool; 2], kept: [bool; 2]) {
        self.templates += 1;
        *match (own, kept) {
            ([true, true], _) => &mut self.all_by_themselves,
            (_, [true, true]) => &mut self.all_when_asked_to_keep,
            (_, [false, true]) => &mut self.since_the_last_question,
            _ => &mut self.none,
        } += 1;
    }
}
