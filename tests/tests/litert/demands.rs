//! What requests demand of their replies: a form, and whether the model thinks.

use alloquy_core::Result;
use alloquy_core::arguments::ThinkingSwitch;
use alloquy_core::grammar::Grammar;
use alloquy_formats::messages::OpenAiOptions;
use serde_json::{Value, json};

use crate::outcome::{self, Outcome};
use crate::row::Row;

/// A request's `response_format`, as LiteRT-LM's own description of a constraint.
pub(crate) fn form(row: &Row) -> Outcome {
    let request = row.input.get("body").unwrap_or(&row.input);
    let given = request.pointer("/response_format/json_schema/schema");
    let found = read(request).map(|demands| match demands.output.grammar {
        None => Value::Null,
        // The row says so in words.
        Some(Grammar::JsonSchema(schema))
            if row.expected["schema"] == "as given" && Some(&schema) == given =>
        {
            row.expected.clone()
        }
        Some(Grammar::JsonSchema(schema)) => json!({"type": "json", "schema": schema.to_string()}),
        Some(Grammar::Regex(pattern)) => json!({"type": "regex", "pattern": pattern}),
        Some(other) => json!(format!("{other:?}")),
    });
    Outcome::compared(row.expected.clone(), found.unwrap_or_else(|error| outcome::error(&error)))
}

/// A request's `reasoning_effort`; a budget of -1 is none.
pub(crate) fn thinking(row: &Row) -> Outcome {
    let found = read(&row.input).map(|demands| {
        let budget = demands.output.thinking_budget.map_or(json!(-1), |tokens| json!(tokens));
        let thinks = demands.arguments.thinking.map(|switch| switch == ThinkingSwitch::On);
        json!({"enable_thinking": thinks, "thinking_token_budget": budget})
    });
    Outcome::compared(row.expected.clone(), found.unwrap_or_else(|error| outcome::error(&error)))
}

fn read(request: &Value) -> Result<OpenAiOptions> {
    OpenAiOptions::of(request.as_object().unwrap())
}
