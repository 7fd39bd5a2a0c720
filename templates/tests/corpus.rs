//! Hundreds of public chat templates, compared with what Hugging Face renders.

// Helpers of tests count as tests.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr)]

mod shared;

use alloquy_core::{Ending, PromptTemplate, TemplateInput};
use alloquy_templates::{Clock, JinjaTemplate};
use serde_json::{Map, Value};

/// Of the renders that Hugging Face accepts, how many must be identical.
const REQUIRED: f64 = 0.998;

#[derive(Debug, Default)]
struct Score {
    identical: usize,
    different: Vec<String>,
    failed: Vec<String>,
    refused_alike: usize,
    refused_otherwise: Vec<String>,
    failed_alike: usize,
    accepted: usize,
}

impl Score {
    fn count(&mut self, case: &str, expected: &Value, found: alloquy_core::Result<String>) {
        let words = expected.get("msg").and_then(Value::as_str).unwrap_or_default();
        match (expected.get("ok").and_then(Value::as_str), found) {
            (Some(text), Ok(found)) if text == found => self.identical += 1,
            (Some(_), Ok(_)) => self.different.push(case.to_owned()),
            (Some(_), Err(error)) => self.failed.push(format!("{case}: {error}")),
            (None, Ok(_)) if expected["err"] != "TemplateError" => self.accepted += 1,
            (None, Ok(_)) => self.refused_otherwise.push(format!("{case}: rendered, not {words:?}")),
            (None, Err(_)) if expected["err"] != "TemplateError" => self.failed_alike += 1,
            (None, Err(error)) if error.to_string() == words => self.refused_alike += 1,
            (None, Err(error)) => self.refused_otherwise.push(format!("{case}: {error:?}, not {words:?}")),
        }
    }

    fn report(&self) {
        eprintln!(
            "{} identical, {} different, {} failed; {} refused alike, {} otherwise; {} failed in both, {} accepted here alone",
            self.identical,
            self.different.len(),
            self.failed.len(),
            self.refused_alike,
            self.refused_otherwise.len(),
            self.failed_alike,
            self.accepted,
        );
        for case in self.different.iter().chain(&self.failed).chain(&self.refused_otherwise) {
            eprintln!("  {case}");
        }
    }
}

#[test]
fn public_templates_render_as_hugging_face_does() {
    let (Some(index), Some(golden)) =
        (shared::json("cases/templates/index.json"), shared::json("cases/templates/golden.json"))
    else {
        return;
    };
    let mut score = Score::default();
    for entry in index["templates"].as_array().unwrap() {
        let slug = entry["slug"].as_str().unwrap();
        let template = template(entry);
        for conversation in golden["conversations"].as_array().unwrap() {
            let id = conversation["id"].as_str().unwrap();
            let found =
                template.as_ref().map_err(|error| alloquy_core::Error::new(error.kind(), error.to_string()));
            let found = found.and_then(|template| template.render(&input(conversation)));
            score.count(&format!("{slug} {id}"), &golden["results"][slug][id], found);
        }
    }
    score.report();
    let accepted = score.identical + score.different.len() + score.failed.len();
    assert!(accepted > 0);
    assert!(score.identical as f64 >= REQUIRED * accepted as f64);
    assert!(score.failed.is_empty());
    assert!(score.refused_otherwise.is_empty());
}

fn template(entry: &Value) -> alloquy_core::Result<JinjaTemplate> {
    let file = shared::find(&format!("cases/templates/{}", entry["file"].as_str().unwrap())).unwrap();
    let mut variables = Map::new();
    for (name, default) in [("bos_token", "<s>"), ("eos_token", "</s>")] {
        variables.insert(name.to_owned(), Value::from(entry[name].as_str().unwrap_or(default)));
    }
    compile(&std::fs::read_to_string(file).unwrap(), variables)
}

fn compile(source: &str, variables: Map<String, Value>) -> alloquy_core::Result<JinjaTemplate> {
    let now = jiff::civil::date(2026, 3, 4).at(15, 6, 7, 0);
    JinjaTemplate::builder(source).variables(variables).clock(Clock::Fixed(now)).build()
}

fn input(conversation: &Value) -> TemplateInput {
    TemplateInput {
        messages: conversation["messages"].as_array().unwrap().clone(),
        tools: conversation["tools"].as_array().cloned(),
        documents: conversation["documents"].as_array().cloned(),
        ending: match (&conversation["continue_final_message"], &conversation["add_generation_prompt"]) {
            (Value::Bool(true), _) => Ending::Continue,
            (_, Value::Bool(true)) => Ending::Answer,
            _ => Ending::Closed,
        },
        extra: conversation["kwargs"].as_object().cloned().unwrap_or_default(),
    }
}

/// Of the language snippets, how many must print what Jinja2 prints.
const SNIPPETS: usize = 219;

#[test]
fn language_snippets_print_what_jinja2_prints() {
    let Some(golden) = shared::json("cases/templates/snippets_golden.json") else { return };
    let mut input =
        TemplateInput { extra: golden["ctx"].as_object().unwrap().clone(), ..TemplateInput::default() };
    input.messages.push(serde_json::json!({"role": "user", "content": "Hello"}));
    input.extra.insert("messages".to_owned(), Value::from(Vec::<Value>::new()));
    let (mut printed, mut identical) = (0, 0);
    for snippet in golden["snips"].as_array().unwrap() {
        let Some(expected) = snippet["ok"].as_str() else { continue };
        let source = snippet["t"].as_str().unwrap();
        let found = compile(source, Map::new()).and_then(|template| template.render(&input));
        printed += 1;
        match found {
            Ok(found) if found == expected => identical += 1,
            found => eprintln!(
                "  {source:?}\n    {expected:?}\n    {:?}",
                found.map_err(|error| error.to_string())
            ),
        }
    }
    eprintln!("{identical} of {printed} snippets are identical");
    assert!(identical >= SNIPPETS);
}
