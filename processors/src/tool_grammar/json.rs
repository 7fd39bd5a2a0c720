//! Calls whose arguments are JSON: objects with a name, and names between the marks of some makers.

use alloquy_core::ToolSpec;
use serde_json::Value;

use super::lark::{Rules, quoted};
use super::values::object;
use crate::calls::JsonCalls;
use crate::calls::deepseek;

/// A call as an object; the id that Mistral's models give theirs may stand in it.
pub(crate) fn call(syntax: &JsonCalls, tool: &ToolSpec, behind: &str, rules: &mut Rules<'_>) -> String {
    let name = Value::from(tool.name.as_str());
    let head = format!("{{\"name\": {name}, \"{}\": ", syntax.arguments);
    let arguments = rules.json(object(&tool.parameters));
    rules.add_new(&format!("{} {arguments} {behind} \"}}\"", quoted(&head)))
}

/// A call of Mistral's: its name, an id if it has one, and its arguments.
pub(crate) fn mistral(tool: &ToolSpec, rules: &mut Rules<'_>) -> String {
    let arguments = rules.json(object(&tool.parameters));
    let (id, mark) = (rules.marker("[CALL_ID]"), rules.marker("[ARGS]"));
    rules.add_new(&format!("{} ({id} /[a-zA-Z0-9]{{9}}/)? {mark} {arguments}", quoted(&tool.name)))
}

/// A call of DeepSeek's; of those before V3.1 with its type, and its arguments in a fence.
pub(crate) fn deepseek(fenced: bool, tool: &ToolSpec, rules: &mut Rules<'_>) -> String {
    let arguments = rules.json(object(&tool.parameters));
    let [begin, middle, end] =
        [deepseek::BEGIN, deepseek::MIDDLE, deepseek::END].map(|mark| rules.marker(mark));
    let body = match fenced {
        true => {
            let head = quoted(&format!("{}\n{}", tool.name, deepseek::FENCE));
            format!("\"function\" {middle} {head} {arguments} \"\\n```\"")
        }
        false => format!("{} {middle} {arguments}", quoted(&tool.name)),
    };
    rules.add_new(&format!("{begin} {body} {end}"))
}

/// A message to a tool, in OpenAI's harmony format: the recipient stands before the channel or in it.
pub(crate) fn harmony(tool: &ToolSpec, rules: &mut Rules<'_>) -> String {
    let arguments = rules.json(object(&tool.parameters));
    let to = quoted(&format!(" to=functions.{}", tool.name));
    let [channel, json, message] =
        ["<|channel|>commentary", " <|constrain|>json", "<|message|>"].map(|mark| rules.marker(mark));
    let head = format!("({to} {channel} | {channel} {to}) (\" json\" | {json})?");
    rules.add_new(&format!("{head} {message} {arguments}"))
}
