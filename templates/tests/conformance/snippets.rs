//! Pieces of the language, as Jinja2 printed them.

use std::path::Path;

use alloquy_core::template::{PromptTemplate, TemplateInput};
use serde_json::{Value, json};

use crate::cases::{self, Expected};
use crate::report::Report;

pub(crate) fn run(folder: &Path, report: &mut Report) {
    let Some(golden) = cases::json(folder, "snippets_golden.json") else { return };
    let mut input =
        TemplateInput { extra: golden["ctx"].as_object().unwrap().clone(), ..TemplateInput::default() };
    input.messages.push(json!({"role": "user", "content": "Hello"}));
    input.extra.insert("messages".to_owned(), Value::from(Vec::<Value>::new()));
    for snippet in golden["snips"].as_array().unwrap() {
        let source = snippet["t"].as_str().unwrap();
        let Some(expected) = Expected::read(snippet) else { continue };
        let found = cases::builder(source).build().and_then(|template| template.render(&input));
        report.count("snippets", source, expected.compare(&found));
    }
}
