//! Each template with each conversation, as each version of Hugging Face's library rendered it.

use std::path::Path;

use alloquy_core::Error;
use alloquy_core::template::PromptTemplate;
use alloquy_templates::{Dialect, JinjaTemplate};
use serde_json::Value;

use crate::cases::{self, Expected};
use crate::report::Report;

pub(crate) fn run(folder: &Path, report: &mut Report) {
    let (Some(index), Some(golden)) = (cases::json(folder, "index.json"), cases::json(folder, "golden.json"))
    else {
        return;
    };
    for entry in index["templates"].as_array().unwrap() {
        let slug = entry["slug"].as_str().unwrap();
        let results = &golden["results"][slug];
        let older = golden.get("results_hf4").map(|older| &older[slug]);
        let template = cases::template(folder, entry).build();
        let older_template = cases::template(folder, entry).dialect(Dialect::HuggingFace4).build();
        for conversation in golden["conversations"].as_array().unwrap() {
            let id = conversation["id"].as_str().unwrap();
            let case = format!("{slug} {id}");
            render(report, "renders", &case, &template, conversation, &results[id]);
            spans(report, &case, &template, conversation, &results[id]);
            if let Some(older) = older {
                let expected = older.get(id).unwrap_or(&results[id]);
                render(report, "renders-4.57", &case, &older_template, conversation, expected);
            }
        }
    }
}

fn render(
    report: &mut Report,
    suite: &'static str,
    case: &str,
    template: &alloquy_core::Result<JinjaTemplate>,
    conversation: &Value,
    expected: &Value,
) {
    let Some(expected) = Expected::read(expected) else { return };
    let found = match template {
        Ok(template) => template.render(&cases::input(conversation)),
        Err(error) => Err(Error::new(error.kind(), error.to_string())),
    };
    report.count(suite, case, expected.compare(&found));
}

fn spans(
    report: &mut Report,
    case: &str,
    template: &alloquy_core::Result<JinjaTemplate>,
    conversation: &Value,
    expected: &Value,
) {
    let Some(spans) = expected.get("gen_spans").and_then(Value::as_array) else { return };
    let expected: Vec<_> = spans.iter().map(|span| (span[0].as_u64(), span[1].as_u64())).collect();
    let rendered = template.as_ref().unwrap().render_spans(&cases::input(conversation)).unwrap();
    let found: Vec<_> =
        rendered.generated.iter().map(|span| (Some(span.start as u64), Some(span.end as u64))).collect();
    let same = if found == expected { Ok(()) } else { Err(format!("{found:?} and not {expected:?}")) };
    report.count("spans", case, same);
}
