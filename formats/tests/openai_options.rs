//! What requests demand of their replies: every field, and every refusal.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::fmt::Write as _;

use alloquy_formats::messages::OpenAiOptions;
use serde_json::{Map, Value};

/// Each request of a fixture, with what it demands.
fn drawn(requests: &Map<String, Value>) -> String {
    let mut drawing = String::new();
    for (name, request) in requests {
        match OpenAiOptions::of(request.as_object().unwrap()) {
            Ok(demands) => {
                let constraints = serde_json::to_string(&demands.output).unwrap();
                let arguments = serde_json::to_string(&demands.arguments).unwrap();
                writeln!(drawing, "{name}\n  {constraints}\n  {arguments}").unwrap();
            }
            Err(error) => writeln!(drawing, "{name}\n  {:?}: {error}", error.kind()).unwrap(),
        }
    }
    drawing
}

#[test]
fn every_demand_is_read_or_refused_by_name() {
    insta::glob!("fixtures/messages/openai_options/*.json", |path| {
        let requests: Map<String, Value> =
            serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        insta::assert_snapshot!(drawn(&requests));
    });
}
