//! How long five large templates take to compile and to render. `against_jinja2.py` compares with Jinja2.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr, missing_docs)]

#[path = "../tests/shared/mod.rs"]
mod shared;

use std::hint::black_box;

use alloquy_core::template::{PromptTemplate, TemplateInput};
use alloquy_templates::{JinjaTemplate, JinjaTemplateBuilder, NowSource};
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};

fn bench(criterion: &mut Criterion) {
    let (Some(index), Some(golden)) =
        (shared::json("cases/templates/index.json"), shared::json("cases/templates/golden.json"))
    else {
        return;
    };
    let inputs: Value = serde_json::from_str(include_str!("inputs.json")).unwrap();
    for entry in inputs.as_array().unwrap() {
        let slug = entry["template"].as_str().unwrap();
        let template = builder(&named(&index["templates"], "slug", slug));
        let input = input(&named(&golden["conversations"], "id", entry["conversation"].as_str().unwrap()));
        let compiled = template.clone().build().unwrap();
        compiled.render(&input).unwrap();
        criterion.bench_function(&format!("compile/{slug}"), |bencher| {
            bencher.iter(|| black_box(template.clone()).build().unwrap());
        });
        criterion.bench_function(&format!("render/{slug}"), |bencher| {
            bencher.iter(|| compiled.render(black_box(&input)).unwrap());
        });
    }
}

fn named(entries: &Value, key: &str, name: &str) -> Value {
    entries.as_array().unwrap().iter().find(|entry| entry[key] == name).unwrap().clone()
}

fn builder(entry: &Value) -> JinjaTemplateBuilder {
    let file = format!("cases/templates/{}", entry["file"].as_str().unwrap());
    let source = std::fs::read_to_string(shared::find(&file).unwrap()).unwrap();
    let token = |name: &str, default: &str| entry[name].as_str().unwrap_or(default).to_owned();
    let tokens = json!({"bos_token": token("bos_token", "<s>"), "eos_token": token("eos_token", "</s>")});
    let now = jiff::civil::date(2026, 3, 4).at(15, 6, 7, 0);
    JinjaTemplate::builder(source).variables(tokens.as_object().unwrap().clone()).clock(NowSource::Fixed(now))
}

fn input(conversation: &Value) -> TemplateInput {
    TemplateInput {
        messages: conversation["messages"].as_array().unwrap().clone(),
        tools: conversation["tools"].as_array().cloned(),
        ..TemplateInput::default()
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
