//! Conversation templates that FastChat has too, against what FastChat prints. `mlc_cases/fastchat.json` says which.

// Helpers of tests count as tests.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr)]

mod mlc_cases;

use std::collections::BTreeMap;

use alloquy_core::template::{PromptEnd, PromptTemplate, TemplateInput};
use alloquy_templates::ConversationTemplate;
use alloquy_templates::mlc::Generation;
use mlc_cases::{Cases, matches};
use serde_json::{Value, json};

/// Which of FastChat's styles MLC has.
#[derive(Debug, serde::Deserialize)]
struct Styles {
    /// FastChat's name, and the generation and name of each template that prints the same.
    same: BTreeMap<String, Vec<(String, String)>>,
    /// Names of both that mean different prompts, and why.
    different: BTreeMap<String, String>,
}

/// The system text of the dialog of that name.
const CUSTOM_SYSTEM: &str = "You are Guanaco.";

#[test]
fn prompts_are_those_of_fastchat() {
    let Some(golden) = mlc_cases::golden("fastchat", "golden.json") else { return };
    let golden = golden["templates"].as_object().unwrap();
    let styles: Styles = serde_json::from_str(include_str!("mlc_cases/fastchat.json")).unwrap();
    let mut cases = Cases::new();
    for (style, golden) in golden {
        for (generation, name) in styles.same.get(style).into_iter().flatten() {
            let template = named(generation, name);
            play(&mut cases, &format!("{style}/{generation}/{name}"), &template, &golden["dialogs"]);
        }
        if let Some(reason) = styles.different.get(style) {
            differs(&mut cases, style, reason, &golden["dialogs"]);
        }
    }
    let is_listed =
        |style: &&String| styles.same.contains_key(*style) || styles.different.contains_key(*style);
    let others = golden.keys().filter(|style| !is_listed(style));
    eprintln!("{} styles are not MLC's and have no cases here", others.clone().count());
    let unlisted = others.filter(|style| ConversationTemplate::named(style).is_ok());
    cases.compare("names of both", &json!([]), &unlisted.cloned().collect());
    cases.finish();
}

/// FastChat leaves BOS to the tokenizer.
fn named(generation: &str, name: &str) -> ConversationTemplate {
    let generation = [Generation::Current, Generation::Legacy]
        .into_iter()
        .find(|known| known.to_string() == generation)
        .unwrap();
    ConversationTemplate::named_in(generation, name).unwrap().with_prefix("").with_bos("")
}

/// A prompt of FastChat's, where it stands, and the conversation it is of.
type Step<'a> = (String, TemplateInput, &'a Value);

/// Every prompt of the dialogs.
fn steps(dialogs: &Value) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    for (name, dialog) in dialogs.as_object().unwrap() {
        let mut input = TemplateInput::default();
        let system = (name == "custom_system").then(|| json!({"role": "system", "content": CUSTOM_SYSTEM}));
        input.messages.extend(system);
        for (turn, step) in dialog.as_array().unwrap().iter().enumerate() {
            input.messages.push(json!({"role": "user", "content": step["user"]}));
            steps.push((format!("{name}/{turn}/full_prompt"), input.clone(), &step["full_prompt"]));
            input.messages.push(json!({"role": "assistant", "content": step["reply"]}));
            if let Some(after) = step.get("after_reply") {
                let closed = TemplateInput { ending: PromptEnd::Closed, ..input.clone() };
                steps.push((format!("{name}/{turn}/after_reply"), closed, after));
            }
        }
    }
    steps
}

fn play(cases: &mut Cases, case: &str, template: &ConversationTemplate, dialogs: &Value) {
    for (step, input, expected) in steps(dialogs) {
        let found = template.render(&input).unwrap().into();
        let instead = with_empty_texts_as_texts(template, &input, expected);
        cases.compare_or(&format!("{case}/{step}"), [expected, &instead], &found, "an-empty-text-is-a-text");
    }
}

/// What is printed around texts that are not empty, where a conversation has empty ones.
fn with_empty_texts_as_texts(
    template: &ConversationTemplate,
    input: &TemplateInput,
    expected: &Value,
) -> Value {
    const TEXT: &str = "\u{f0000}";
    let mut filled = input.clone();
    let empty: Vec<_> = filled.messages.iter_mut().filter(|message| message["content"] == "").collect();
    if empty.is_empty() {
        return expected.clone();
    }
    for message in empty {
        message["content"] = TEXT.into();
    }
    template.render(&filled).unwrap().replace(TEXT, "").into()
}

/// A name that means two things must go on doing so, or be listed as the same.
fn differs(cases: &mut Cases, style: &str, reason: &str, dialogs: &Value) {
    let template = ConversationTemplate::named(style).unwrap().with_prefix("").with_bos("");
    let prompts = steps(dialogs);
    let same = prompts
        .iter()
        .filter(|(_, input, expected)| matches(expected, &Value::from(template.render(input).unwrap())));
    let differs = same.count() < prompts.len();
    eprintln!("{style} is another prompt: {reason}");
    cases.compare(&format!("{style}/differs"), &true.into(), &differs.into());
}
