//! Replies of a real pretrained model at temperature 1, kept in a form: each is accepted by a validator that had no
//! hand in it, and complete within its tokens.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod calls;
#[path = "../injection/draws.rs"]
#[allow(dead_code)] // made for another test, which uses all of it
mod draws;
mod patterns;
mod schemas;
#[path = "../shared/mod.rs"]
mod shared;
mod thinking;
mod tools;
mod turn;

use std::sync::Arc;

use alloquy_constraints::LlguidanceEngine;
use alloquy_core::grammar::Grammar;
use alloquy_core::output::OutputConstraints;
use alloquy_core::report::FinishReason;
use alloquy_core::{ChatModel, Message, Preface, Reply, Request, SamplingOptions};
use alloquy_engine::Engine;
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_onnx::OnnxEngine;
use draws::Draws;
use pollster::block_on;

/// The context of the model has 512; a prompt takes a dozen.
const MAX_TOKENS: usize = 480;

const CASES: u64 = 200;

fn round() -> Option<LanguageModel> {
    let engine = OnnxEngine::load(shared::find("models/stories260k")?).unwrap();
    let template = alloquy_templates::detect(engine.model()).unwrap().template;
    let processor = alloquy_processors::detect(engine.model()).processor;
    let builder =
        LanguageModel::builder(Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap())
            .template(template)
            .processor(processor);
    Some(builder.grammars(LlguidanceEngine::default()).build().unwrap())
}

fn reply(round: &LanguageModel, grammar: Grammar, seed: u64) -> Reply {
    let sampling = SamplingOptions {
        temperature: Some(1.0),
        seed: Some(seed),
        max_tokens: Some(MAX_TOKENS),
        ..SamplingOptions::default()
    };
    let request = Request::new(Preface::default(), vec![Message::user("Once upon a time")])
        .sampling(sampling)
        .output(OutputConstraints::default().grammar(grammar));
    block_on(async { round.reply(request).await?.finish().await }).unwrap()
}

/// Runs the cases and demands that each is complete and right.
fn all_are_right(right: impl Fn(&mut Draws) -> (Grammar, Box<dyn Fn(&str) -> bool>)) {
    let Some(round) = round() else { return };
    let mut wrong = Vec::new();
    let mut longest = 0;
    for seed in 0..CASES {
        let (grammar, accepts) = right(&mut Draws::new(&[seed]));
        let reply = reply(&round, grammar.clone(), seed);
        let text = reply.message.text();
        longest = longest.max(reply.usage.generated);
        if reply.finish != FinishReason::Stop || !reply.warnings.is_empty() || !accepts(&text) {
            wrong.push(format!(
                "{seed}: {grammar:?}\n  {:?}, {} tokens: {text}",
                reply.finish, reply.usage.generated
            ));
        }
    }
    println!(
        "{} of {CASES} replies are right, the longest has {longest} tokens",
        CASES as usize - wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_validator_accepts_every_reply_to_a_json_schema() {
    all_are_right(|draws| {
        let schema = schemas::schema(draws);
        let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
        let accepts = move |text: &str| {
            serde_json::from_str(text).is_ok_and(|value: serde_json::Value| validator.is_valid(&value))
        };
        (Grammar::JsonSchema(schema), Box::new(accepts))
    });
}

#[test]
fn a_regular_expression_matches_every_reply() {
    all_are_right(|draws| {
        let pattern = patterns::pattern(draws);
        let whole = regex::Regex::new(&format!("^(?:{pattern})$")).unwrap();
        (Grammar::Regex(pattern), Box::new(move |text| whole.is_match(text)))
    });
}

#[test]
fn every_reply_is_one_of_the_choices() {
    all_are_right(|draws| {
        let choices = patterns::choices(draws);
        let known = choices.clone();
        (Grammar::Choice(choices), Box::new(move |text| known.iter().any(|choice| choice == text)))
    });
}
