//! Why a reply is read otherwise, and other single differences.

use serde_json::{Value, json};

use crate::matching::matches;
use crate::row::Row;
use crate::symbols::{arguments, find};

/// LiteRT-LM leaves one spelling of the quotes in the argument.
pub(super) fn quotes(row: &Row, expected: &Value, found: &Value) -> bool {
    let spelling = "<ctrl46>";
    let given = row.input.as_str().unwrap_or_default();
    let bare: Value = serde_json::from_str(&expected.to_string().replace(spelling, "")).unwrap();
    row.kind.starts_with("fc_parse") && given.contains(spelling) && matches(&bare, found)
}

/// The last call has no end: LiteRT-LM makes it text.
pub(super) fn cut_off(row: &Row, expected: &Value, found: &Value) -> bool {
    let fence = |name: &str, own: &'static str| row.input[name].as_str().unwrap_or(own).trim().to_owned();
    let start = fence("code_fence_start", "```tool_code");
    let end = fence("code_fence_end", "\n```");
    let mut left = Said::default();
    let mut right = Said::default();
    left.take(expected);
    right.take(found);
    let Some(open) = left.text.rfind(&start) else { return false };
    let inside = &left.text[open + start.len()..];
    let kept = left.text.starts_with(right.text.trim_end()) && (right.calls > left.calls || right.errors > 0);
    matches!(row.kind.as_str(), "stream" | "parse_text_and_tool_calls" | "to_message")
        && !inside.contains(&end)
        && kept
}

/// What messages say: texts in one, how many calls, how many parts that could not be read.
#[derive(Default)]
struct Said {
    text: String,
    calls: usize,
    errors: usize,
}

impl Said {
    fn take(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.take(item)),
            Value::Object(fields) => {
                self.text += value["text"].as_str().unwrap_or_default();
                self.errors += usize::from(value["type"] == "text" && fields.contains_key("error"));
                self.calls += value["tool_calls"].as_array().map_or(0, Vec::len);
                ["ok", "output", "content"].iter().for_each(|name| self.take(&value[*name]));
            }
            _ => {}
        }
    }
}

/// No tool is offered, so the reply is text; with a tool, all is as expected.
pub(super) fn offered(row: &Row, expected: &Value, found: &Value) -> bool {
    let said = &found["found"];
    let offered = &found["with_tools"];
    row.kind == "to_message"
        && said.get("tool_calls").is_none()
        && said["content"][0]["text"] == row.input["responses"]["texts"][0]
        && (matches(expected, offered) || super::line_breaks(row, expected, offered))
}

/// An n-gram as long as the window: what it would repeat is ruled out.
pub(super) fn ngrams(row: &Row, expected: &Value, found: &Value) -> bool {
    let (Some(left), Some(right)) = (expected.as_array(), found.as_array()) else { return false };
    let fills = find(&row.input, "NoRepeatNgramConfig").is_some_and(|config| match arguments(config) {
        [size, window, ..] => size == window,
        _ => false,
    });
    let same = |(left, right): (&Value, &Value)| left == right || *right == json!("-inf");
    row.kind == "no_repeat_ngram_processor"
        && fills
        && left.len() == right.len()
        && left.iter().zip(right).all(same)
}

/// Any JSON becomes any object of JSON.
pub(super) fn object(row: &Row, expected: &Value, found: &Value) -> bool {
    let any = json!({"type": "json", "schema": "{}"});
    let object = json!({"type": "json", "schema": json!({"type": "object"}).to_string()});
    row.kind == "response_format" && *expected == any && *found == object
}

/// A number has more digits than a double holds, and keeps them.
pub(super) fn digits(row: &Row, expected: &Value, found: &Value) -> bool {
    let reads = ["_parse", "_parse_observed", "to_message", "stream", "parse_text_and_tool_calls"];
    reads.iter().any(|kind| row.kind.ends_with(kind))
        && expected != found
        && matches(expected, &rounded(found))
}

/// Texts of digits as the doubles next to them, where no 64 bits hold them.
fn rounded(value: &Value) -> Value {
    let is_long = |text: &str| text.parse::<i64>().is_err() && text.parse::<u64>().is_err();
    match value {
        Value::String(text) if is_long(text) => match text.parse::<f64>() {
            Ok(double) if double.is_finite() && text.ends_with(|sign: char| sign.is_ascii_digit()) => {
                json!(double)
            }
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(rounded).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), rounded(value))).collect(),
        other => other.clone(),
    }
}

/// The arguments of a call stream by its id and its name, and not as raw text in a channel.
pub(super) fn streamed(row: &Row, expected: &Value, found: &Value) -> bool {
    let outputs = (expected["output"].as_array(), found["output"].as_array());
    let (Some(left), Some(right)) = outputs else { return false };
    let raw = |value: &Value| value.pointer("/channels/tool_call").and_then(Value::as_str).map(str::to_owned);
    let own = |value: &Value| value.pointer("/arguments/text").and_then(Value::as_str).map(str::to_owned);
    let text: String = left.iter().filter_map(raw).collect();
    let arguments: String = right.iter().filter_map(own).collect();
    let left: Vec<&Value> = left.iter().filter(|value| raw(value).is_none()).collect();
    let right: Vec<&Value> = right.iter().filter(|value| own(value).is_none()).collect();
    row.kind == "stream"
        && row.input["setup"]["stream_tool_calls"] == true
        && !arguments.is_empty()
        && text.contains(&arguments)
        && left.len() == right.len()
        && left.iter().zip(right).all(|(left, right)| matches(left, right))
}

/// The context is full: LiteRT-LM makes an error of that.
pub(super) fn context(row: &Row, expected: &Value, found: &Value) -> bool {
    row.kind == "stream"
        && row.input["setup"]["return_error_on_max_tokens_reached"] == true
        && expected["status"].get("error").is_some()
        && found["status"]["ok"] == "context_full"
        && found["output"][0]["content"][0]["text"] == found["said"]
}
