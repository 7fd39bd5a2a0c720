//! Whole replies, read at once or in pieces.

use std::sync::LazyLock;

use alloquy_core::{Content, Delta, Message, Preface, Role};
use serde_json::{Value, json};

use crate::failures;
use crate::families::{self, Family, read, source, with_tool};
use crate::matching::matches;
use crate::messages::{self, unreadable};
use crate::outcome::Outcome;
use crate::row::Row;

/// A text cut at the fences of calls.
pub(crate) fn text_and_calls(row: &Row) -> Outcome {
    let given = |name: &str| row.input[name].as_str().unwrap_or_default();
    let fences = [given("code_fence_start"), given("code_fence_end")];
    let (family, own) = match family_of(fences, given("syntax"), &row.input["options"]) {
        Ok(found) => found,
        Err(reason) => return Outcome::Skipped(reason),
    };
    let text = renamed(given("text"), fences, own);
    let message = read(&family, "", &with_tool(), [text.as_str()]);
    let strict = row.input["options"]["return_error_on_parse_failure"] != false;
    if strict && let Some(reason) = unreadable(&message) {
        return Outcome::compared(row.expected.clone(), json!({"error": reason}));
    }
    let mut found = messages::reply(&message);
    found.as_object_mut().unwrap().shift_remove("role");
    each_text(&mut found, &|text| renamed(text, own, fences));
    if row.expected.get("ok_soft_error").is_some() {
        return soft_error(&row.expected, &row.input["text"], &found);
    }
    Outcome::compared(row.expected.clone(), json!({"ok": found}))
}

/// The family that reads calls of a syntax between two fences, or else between fences of its own, which then stand for
/// the row's: where calls may stand does not depend on how their fences are written.
fn family_of<'a>(
    fences: [&'a str; 2],
    syntax: &str,
    options: &Value,
) -> Result<(Family, [&'a str; 2]), String> {
    let [start, end] = fences;
    if let Ok(family) = families::with_fence(start, end, syntax) {
        return Ok((family, fences));
    }
    if options["escape_fence_strings"] == false || start.is_empty() || end.is_empty() {
        return Err("gives its fences as regular expressions; a family's are plain texts".to_owned());
    }
    let (family, start, end) = families::with_syntax(syntax, "")?;
    Ok((family, [start, end]))
}

/// A text with other fences.
fn renamed(text: &str, from: [&str; 2], to: [&str; 2]) -> String {
    text.replace(from[0], to[0]).replace(from[1], to[1])
}

fn each_text(value: &mut Value, change: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(fields) => fields.values_mut().for_each(|value| each_text(value, change)),
        _ => {}
    }
}

/// Rows say in a sentence that the item holds the code and an error; which, is ours to check.
fn soft_error(expected: &Value, text: &Value, found: &Value) -> Outcome {
    let item = &found["content"][0];
    let holds = item["type"] == "text" && item["text"] == *text && item["error"].is_string();
    let found = if holds { expected.clone() } else { found.clone() };
    Outcome::compared(expected.clone(), found)
}

/// What a processor makes of a response.
pub(crate) fn to_message(row: &Row) -> Outcome {
    let (family, preface) = match processor(row) {
        Ok(found) => found,
        Err(reason) => return Outcome::Skipped(reason),
    };
    let Some([Value::String(text)]) = row.input["responses"]["texts"].as_array().map(Vec::as_slice) else {
        return Outcome::skipped("a reply is one text here, and cannot be several");
    };
    let found = messages::reply(&read(&family, "", &preface, [text.as_str()]));
    if preface.tools.is_empty() && !matches(&row.expected, &found) {
        let offered = messages::reply(&read(&family, "", &with_tool(), [text.as_str()]));
        if offered == found {
            return Outcome::compared(row.expected.clone(), found);
        }
        return Outcome::compared(row.expected.clone(), json!({"found": found, "with_tools": offered}));
    }
    Outcome::compared(row.expected.clone(), found)
}

fn processor(row: &Row) -> Result<(Family, Preface), String> {
    let processor = &row.input["processor"];
    let family = families::named(processor["type"].as_str().unwrap_or_default())?;
    let preface = messages::preface(&processor["preface"]).map_err(|error| error.to_string())?;
    Ok((family, preface))
}

/// A fence of a processor's calls: one that the family reads calls between.
pub(crate) fn fence(row: &Row, side: usize) -> Outcome {
    let (family, _) = match processor(row) {
        Ok(found) => found,
        Err(reason) => return Outcome::Skipped(reason),
    };
    let mut fences = families::FENCES
        .iter()
        .filter(|(syntax, _, start, end)| families::writes(&family, start, end, syntax));
    let found = fences.next().map(|(.., start, end)| [*start, *end][side]);
    Outcome::compared(row.expected.clone(), found)
}

/// A reply that comes in pieces, as the messages that are handed on and the whole.
pub(crate) fn stream(row: &Row) -> Outcome {
    let setup = &row.input["setup"];
    let events = row.input["events"].as_array().map(Vec::as_slice).unwrap_or_default();
    let full = events.iter().any(|event| event["state"] == "MaxNumTokensReached");
    if full && setup["return_error_on_max_tokens_reached"] == true {
        return failures::cut_off(row, events);
    }
    if events.iter().any(|event| event.get("error").is_some()) {
        return failures::stream(row, events);
    }
    let pieces: Vec<&str> = events.iter().flat_map(texts).collect();
    let family = match streaming_family(setup) {
        Ok(family) => family,
        Err(reason) => return Outcome::Skipped(reason),
    };
    let preface = with_tool();
    let mut parser = family
        .reply_parser(&opened(setup), source(&preface, &[], alloquy_core::template::PromptEnd::Generation));
    let mut deltas: Vec<Delta> = pieces.iter().flat_map(|piece| parser.push(piece)).collect();
    let (rest, message) = parser.finish();
    deltas.extend(rest);
    compare_stream(row, &deltas, &message)
}

pub(crate) fn texts(event: &Value) -> impl Iterator<Item = &str> {
    event["texts"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The family that has the setup's fence, with the setup's channels.
fn streaming_family(setup: &Value) -> Result<Family, String> {
    let channels = setup["channels"].as_array().map(Vec::as_slice).unwrap_or_default();
    families::configured("gemma3", "", channels)
}

/// The end of a prompt that has opened a channel already.
fn opened(setup: &Value) -> String {
    let channels = setup["channels"].as_array().map(Vec::as_slice).unwrap_or_default();
    let open = channels.iter().find(|channel| channel["channel_name"] == setup["open_channel_name"]);
    let start = open.and_then(|channel| channel["start"].as_str());
    start.map(str::to_owned).unwrap_or_default()
}

/// Where pieces are cut is each project's own, so neighbours of one kind are joined on both sides.
fn compare_stream(row: &Row, deltas: &[Delta], message: &Message) -> Outcome {
    let expected = &row.expected;
    let failed = deltas.iter().any(|delta| matches!(delta, Delta::Malformed(_)));
    if expected["status"].get("error").is_some() {
        let found = if failed { expected.clone() } else { messages::reply(message) };
        return Outcome::compared(expected.clone(), found);
    }
    if let Some(output) = expected["output"].as_array() {
        let streams = row.input["setup"]["stream_tool_calls"] == true;
        let arguments = deltas.iter().filter(|_| streams).filter_map(arguments);
        let found: Vec<Value> = arguments.chain(deltas.iter().filter_map(handed_on)).collect();
        return Outcome::compared(ended(expected, &joined(output)), ended(&ENDED, &joined(&found)));
    }
    if let Some(whole) = expected.get("final_message") {
        return Outcome::compared(whole.clone(), messages::reply(message));
    }
    let whole = messages::reply(message);
    let asked = expected.as_object().into_iter().flatten();
    let asked: Vec<_> = asked.filter_map(|(path, wanted)| Some((wanted, symbolic(path, &whole)?))).collect();
    if asked.is_empty() {
        Outcome::skipped("asserts only which of LiteRT-LM's callbacks were called")
    } else {
        let (expected, found): (Vec<Value>, Vec<Value>) =
            asked.into_iter().map(|(wanted, found)| (wanted.clone(), found)).unzip();
        Outcome::compared(expected, found)
    }
}

/// How every stream ends that no engine failed.
static ENDED: LazyLock<Value> = LazyLock::new(|| json!({"status": "OK", "done": true}));

/// An output, and how the stream ended as far as the row says it.
fn ended(said: &Value, output: &Value) -> Value {
    let field = |name: &str| said.get(name).cloned().unwrap_or_else(|| ENDED[name].clone());
    json!({"output": output, "status": field("status"), "done": field("done")})
}

/// What an expression of C++ over the whole message, written as JSON, looks at.
fn symbolic(path: &str, message: &Value) -> Option<Value> {
    fn at(expression: &Value, message: &Value) -> Option<Value> {
        if expression["$sym"] == "final_message" {
            return Some(message.clone());
        }
        let on = at(expression.get("on")?, message)?;
        match (&expression["$index"], expression["$call"].as_str()) {
            (Value::String(name), _) => Some(on[name].clone()),
            (_, Some("contains")) => Some(on.get(expression["args"][0].as_str()?).is_some().into()),
            _ => None,
        }
    }
    at(&serde_json::from_str(path).ok()?, message)
}

/// The text of arguments that come, where the row asks for it.
fn arguments(delta: &Delta) -> Option<Value> {
    match delta {
        Delta::Arguments(piece) => Some(json!({"arguments": {"name": piece.name, "text": piece.text}})),
        _ => None,
    }
}

/// What a delta hands on as a message; the text of arguments that are still coming is nothing of its own.
pub(crate) fn handed_on(delta: &Delta) -> Option<Value> {
    let part = match delta.clone() {
        Delta::Text(text) => Content::Text(text),
        Delta::Thinking(text) => Content::Thinking(text),
        Delta::Channel(said) => Content::Channel(said),
        Delta::ToolCall(call) => Content::ToolCall(call),
        Delta::Malformed(malformed) => Content::Malformed(malformed),
        _ => return None,
    };
    Some(messages::reply(&Message::new(Role::Assistant, vec![part])))
}

/// Joins texts, thinking and calls that follow each other.
pub(crate) fn joined(output: &[Value]) -> Value {
    let mut all: Vec<Value> = Vec::new();
    for next in output {
        if !all.last_mut().is_some_and(|last| appended(last, next)) {
            all.push(next.clone());
        }
    }
    all.into()
}

fn appended(last: &mut Value, next: &Value) -> bool {
    if last["role"] != next["role"] || last.pointer("/content/0/type") != next.pointer("/content/0/type") {
        return false;
    }
    for path in ["/content/0/text", "/channels/thought"] {
        if let (Some(Value::String(text)), Some(Value::String(more))) =
            (last.pointer_mut(path), next.pointer(path))
        {
            text.push_str(more);
            return true;
        }
    }
    match (last.get_mut("tool_calls"), next.get("tool_calls")) {
        (Some(Value::Array(calls)), Some(Value::Array(more))) => {
            calls.extend(more.iter().cloned());
            true
        }
        _ => false,
    }
}
