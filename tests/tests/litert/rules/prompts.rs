//! Why a prompt, or what a template gets, is another than LiteRT-LM's.

use serde_json::Value;

use crate::matching::matches;
use crate::row::Row;

/// The message goes on in several pieces: prompts are the same but for white space and where turns begin and end, and the
/// last one is whole.
pub(super) fn pieces(row: &Row, expected: &Value, found: &Value) -> bool {
    let (Some(left), Some(right)) = (expected.as_array(), found.as_array()) else { return false };
    let goes_on =
        row.kind == "conversation_mock_session" && row.expected.to_string().contains("has_pending_message");
    let same = |(left, right): (&Value, &Value)| match (left.as_str(), right.as_str()) {
        (Some(left), Some(right)) => begins(&words(left), &words(right)),
        _ => matches(left, right),
    };
    let last = |values: &[Value]| values.iter().rev().find_map(|value| value.as_str().map(words));
    goes_on && left.len() == right.len() && left.iter().zip(right).all(same) && last(left) == last(right)
}

/// Says whether one text is how the other begins: an unfinished message has an end on one side only.
fn begins(left: &str, right: &str) -> bool {
    left.starts_with(right) || right.starts_with(left)
}

/// A prompt's text without white space and without what parts its turns.
fn words(prompt: &str) -> String {
    let markers =
        ["<end_of_turn>", "<turn|>", "<start_of_turn>user", "<|turn>user", "<|im_end|>", "<|im_start|>user"];
    let bare = markers.iter().fold(prompt.to_owned(), |prompt, marker| prompt.replace(marker, ""));
    // A parameter without a description has a line of its own, which ends in a colon.
    bare.chars().filter(|sign| !sign.is_whitespace() && *sign != ':').collect()
}

/// A result that is no object stands under `value`.
pub(super) fn result(row: &Row, expected: &Value, found: &Value) -> bool {
    let same = |(left, right): (&Value, &Value)| {
        let left = left["text"].as_str().unwrap_or_default();
        let right = right["text"].as_str().unwrap_or_default();
        left == right
            || right.contains("{value:")
                && (left.replace("{response:", "{value:") == right
                    || right.contains(left) && !left.is_empty())
    };
    let texts = |value: &Value| value["ok"]["texts"].as_array().cloned().unwrap_or_default();
    let bare = |value: &Value| {
        let mut value = value["ok"].clone();
        let texts = value["texts"].as_array_mut();
        texts.into_iter().flatten().for_each(|item| item["text"] = Value::Null);
        value
    };
    let left = texts(expected);
    let right = texts(found);
    row.kind == "message_to_template_input"
        && row.input["message"]["role"] == "tool"
        && bare(expected) == bare(found)
        && left.iter().zip(&right).all(same)
}

/// A message has several texts, and the template sees one.
pub(super) fn texts(row: &Row, expected: &Value, found: &Value) -> bool {
    let is_text = |item: &Value| item["type"] == "text";
    let several = |message: &Value| {
        let content = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        content.windows(2).any(|two| two.iter().all(is_text))
    };
    let signs = |value: &Value| {
        let mut signs: Vec<char> = value.as_str().unwrap_or_default().chars().collect();
        signs.sort_unstable();
        signs
    };
    let messages = row.input["messages"].as_array();
    row.kind == "render"
        && messages.is_some_and(|messages| messages.iter().any(several))
        && signs(expected) == signs(found)
}

/// What LiteRT-LM writes instead of methods in the source of a template, in its strings as well.
const METHODS: [(&str, &str); 3] =
    [(".strip()", " | trim"), (".lstrip()", " | ltrim"), (".rstrip()", " | rtrim")];

/// A method's name stands in a string of the template.
pub(super) fn strings(row: &Row, expected: &Value, found: &Value) -> bool {
    let text = found["ok"].as_str().unwrap_or_default();
    let rewritten =
        METHODS.iter().fold(text.to_owned(), |text, (method, filter)| text.replace(method, filter));
    row.kind.starts_with("render") && rewritten != text && expected["ok"] == rewritten
}

/// With the option that the row does not hold, all is as expected.
pub(super) fn lost(row: &Row, _: &Value, found: &Value) -> bool {
    row.kind == "conversation_mock_session" && found["agrees_with"]["enable_thinking"].is_boolean()
}
