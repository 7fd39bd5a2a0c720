//! Asks a tiny model what newcomers ask first, as the command line does. `cargo xtask pocket questions` runs it and judges the answers.
#![cfg(all(feature = "constraints", feature = "pocket"))]
#![allow(clippy::unwrap_used)] // a test may panic

use std::fmt::Write as _;
use std::path::Path;

use alloquy::core::{ChatModel as _, Reply, SamplingOptions};
use alloquy::formats::messages::{Dialect, MediaRules, read};
use alloquy::prelude::*;
use pollster::block_on;
use serde::Deserialize;
use serde_json::{Value, json};

/// Longer than any answer should be.
const LIMIT: usize = 300;

/// A line of the file of questions.
#[derive(Deserialize)]
struct Question {
    id: String,
    messages: Value,
    tools: Option<Value>,
}

impl Question {
    fn request(&self) -> Request {
        let mut document = json!({"messages": self.messages});
        if let (Some(tools), Some(fields)) = (&self.tools, document.as_object_mut()) {
            fields.insert("tools".to_owned(), tools.clone());
        }
        let transcript = read(Dialect::OpenAi, &document, &MediaRules::default()).unwrap();
        let sampling = SamplingOptions { max_tokens: Some(LIMIT), ..SamplingOptions::default() };
        transcript.into_request().unwrap().sampling(sampling)
    }
}

fn questions() -> Vec<Question> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../xtask/pocket/questions/first-questions.jsonl");
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the built-in model, or an export in the folder that `ALLOQUY_POCKET` names.
fn model() -> Model {
    match std::env::var_os("ALLOQUY_POCKET") {
        Some(folder) => Model::open(Path::new(&folder)).unwrap(),
        None => Model::pocket().unwrap(),
    }
}

fn answered(model: &Model, question: &Question) -> Reply {
    block_on(async { model.reply(question.request()).await.unwrap().finish().await.unwrap() })
}

/// Returns the text of a reply and its calls.
fn shown(reply: &Reply) -> String {
    let mut text = reply.message.text();
    for call in reply.message.tool_calls() {
        write!(text, "[calls {} {}]", call.name, call.arguments).unwrap();
    }
    text
}

/// `ALLOQUY_ANSWERS` names the file for the answers, a line of JSON each.
#[test]
#[ignore = "a minute: cargo xtask pocket questions"]
fn all_questions() {
    let model = model();
    let mut lines = String::new();
    for question in questions() {
        let reply = answered(&model, &question);
        let line = json!({"id": question.id, "answer": shown(&reply), "finish": reply.finish});
        writeln!(lines, "{line}").unwrap();
    }
    std::fs::write(std::env::var_os("ALLOQUY_ANSWERS").unwrap(), lines).unwrap();
}

/// A line of the file of judged answers.
#[derive(Deserialize)]
struct Judged {
    id: String,
    answer: String,
}

/// One question of this many is asked in every test run.
const SAMPLE: usize = 10;

/// The figures of the README are those of the embedded model only as long as it gives these answers.
#[test]
fn the_embedded_model_gives_the_answers_that_were_judged() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../xtask/pocket/questions/answers.jsonl");
    let text = std::fs::read_to_string(file).unwrap();
    let judged: Vec<Judged> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let questions = questions();
    assert_eq!(judged.len(), questions.len());
    let model = Model::pocket().unwrap();
    let mut others = Vec::new();
    for (question, judged) in questions.iter().zip(&judged).step_by(SAMPLE) {
        assert_eq!(question.id, judged.id);
        let answer = shown(&answered(&model, question));
        if answer != judged.answer {
            others.push(format!("{}: {answer:?}, judged {:?}", judged.id, judged.answer));
        }
    }
    // On another processor, two tokens that are nearly as likely may change places.
    assert!(others.len() <= 1, "{}", others.join("\n"));
}

#[test]
fn no_answer_has_a_call_where_no_tool_is_offered() {
    let model = model();
    let mut asked = questions();
    asked.retain(|question| question.tools.is_none() && question.id.starts_with("paste"));
    assert!(asked.len() > 20, "{} questions with pasted texts", asked.len());
    for question in asked {
        let reply = answered(&model, &question);
        assert_eq!(reply.message.tool_calls().count(), 0, "{}: {}", question.id, shown(&reply));
        assert!(!reply.message.text().contains("<tool_call>"), "{}: {}", question.id, shown(&reply));
    }
}
