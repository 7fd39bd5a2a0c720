//! Replies that an engine fails in the middle of, or before, and those that the end of the context cuts off.

use std::sync::Arc;

use alloquy_core::{ChatModel, Delta, ErrorKind, Request};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use futures::StreamExt;
use serde_json::{Value, json};

use crate::families::{self, with_tool};
use crate::outcome::{self, Outcome};
use crate::recorder::Recorder;
use crate::replies::{handed_on, joined, texts};
use crate::row::Row;
use crate::templates;

/// What is handed on of a reply up to the failure, and the failure.
pub(crate) fn stream(row: &Row, events: &[Value]) -> Outcome {
    let before = events.iter().take_while(|event| event.get("error").is_none());
    let said: String = before.flat_map(texts).collect();
    let recorder = Recorder::default();
    recorder.will_say_and_fail(&said);
    let (deltas, failure) = read(recorder);
    let output: Vec<Value> = deltas.iter().filter_map(handed_on).collect();
    let found = json!({"output": joined(&output), "done": true, "status": failure});
    let mut expected = row.expected.clone();
    expected["output"] = joined(expected["output"].as_array().map(Vec::as_slice).unwrap_or_default());
    Outcome::compared(expected, found)
}

/// What is handed on of a reply that would go on behind the end of the context, and how it ends.
pub(crate) fn cut_off(row: &Row, events: &[Value]) -> Outcome {
    let said: String = events.iter().flat_map(texts).collect();
    let recorder = Recorder::default().with_context(PROMPT.len() + said.len());
    recorder.will_say(&format!("{said} and so on"));
    let (deltas, end) = read(recorder);
    let output: Vec<Value> = deltas.iter().filter_map(handed_on).collect();
    Outcome::compared(row.expected.clone(), json!({"said": said, "output": joined(&output), "status": end}))
}

const PROMPT: &str = "probe";

fn read(recorder: Recorder) -> (Vec<Delta>, Value) {
    let family = families::named("gemma3").unwrap();
    let template = templates::template("{{ messages[0].content }}".to_owned(), &Value::Null).unwrap();
    let round =
        LanguageModel::builder(Generator::new(Arc::new(recorder), GeneratorOptions::default()).unwrap())
            .template(template)
            .processor(family)
            .build()
            .unwrap();
    pollster::block_on(ended(&round))
}

/// The deltas of a reply, and how it ended.
async fn ended(round: &LanguageModel) -> (Vec<Delta>, Value) {
    let mut stream = match round.reply(Request::new(with_tool(), vec![PROMPT.into()])).await {
        Ok(stream) => stream,
        Err(error) => return (Vec::new(), outcome::error(&error)),
    };
    let mut deltas = Vec::new();
    while let Some(delta) = stream.next().await {
        deltas.push(delta);
    }
    let failure = match stream.finish().await {
        Ok(reply) => reply.error.map_or_else(|| json!({"ok": reply.finish}), |words| json!({"error": words})),
        Err(error) if error.kind() == ErrorKind::Backend => outcome::error(&error),
        Err(error) => json!({"another error": error.to_string()}),
    };
    (deltas, failure)
}
