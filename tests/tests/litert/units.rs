//! What a session holds, and how much of it a prompt shares.

use alloquy_core::Media;
use alloquy_core::prompt::{PromptUnit, common_prefix};
use alloquy_engine::{CancelToken, Engine};
use alloquy_testing::ScriptedEngine;
use serde_json::{Value, json};

use crate::outcome::Outcome;
use crate::row::Row;

/// A list of tokens and media that is appended to, cut and compared.
pub(crate) fn prefix_cache(row: &Row) -> Outcome {
    let engine = ScriptedEngine::new([]);
    let mut session = engine.open().unwrap();
    let (mut held, mut matched): (Vec<PromptUnit>, Option<usize>) = Default::default();
    for step in row.input.as_array().into_iter().flatten() {
        let Some((name, value)) = step.as_object().and_then(|step| step.iter().next()) else {
            return Outcome::skipped("has a step that is no object");
        };
        match name.as_str() {
            "append" => {
                held.extend(units(value));
                session.forward(&units(value), &CancelToken::default()).unwrap();
            }
            "match" => matched = Some(common_prefix(&held, &units(value))),
            "truncate" => drop(session.truncate(value.as_u64().unwrap() as usize).unwrap()),
            "clear" => drop(session.truncate(0).unwrap()),
            other => return Outcome::skipped(format!("has an unknown step {other:?}")),
        }
        held.truncate(session.length());
    }
    // A unit counts as one, whatever it stands for.
    let found = match matched {
        Some(matched) => json!({"matched_elements": matched, "matched_tokens": matched}),
        None => json!({"size": session.length(), "token_length": session.length()}),
    };
    Outcome::compared(row.expected.clone(), found)
}

fn units(value: &Value) -> Vec<PromptUnit> {
    let unit = |value: &Value| match value.as_u64() {
        Some(token) => PromptUnit::Token(token as u32),
        None => PromptUnit::Media(Media::new("image/x-test", value["media_hash"].to_string().into_bytes())),
    };
    value.as_array().into_iter().flatten().map(unit).collect()
}
