//! Writes the grammar of calls whose arguments are JSON: objects with a name, and the notations of Mistral, DeepSeek and OpenAI.

use alloquy_core::ToolSpec;
use serde_json::Value;

use super::lark::{Rules, quoted};
use super::values::object;
use crate::calls::JsonCalls;
use crate::calls::deepseek;

/// Returns the rule of a call as an object. The rule `more`, such as the id of Mistral's calls, follows the arguments.
pub(crate) fn call(syntax: &JsonCalls, tool: &ToolSpec, more: &str, rules: &mut Rules<'_>) -> String {
    let name = Value::from(tool.name.as_str());
    let head = format!("{{\"name\": {name}, \"{}\": ", syntax.arguments);
    let arguments = rules.json(object(&tool.parameters));
    rules.add_new(&format!("{} {arguments} {more} \"}}\"", quoted(&head)))
}

/// Returns the rule of a call as Mistral's models write it: the name, an id if there is one, and the arguments.
pub(crate) fn mistral(tool: &ToolSpec, rules: &mut Rules<'_>) -> String {
    let arguments = rules.json(object(&tool.parameters));
    let id = rules.marker("[CALL_ID]");
    let mark = rules.marker("[ARGS]");
    rules.add_new(&format!("{} ({id} /[a-zA-Z0-9]{{9}}/)? {mark} {arguments}", quoted(&tool.name)))
}

/// Returns the rule of a call as DeepSeek's models write it. Models before V3.1 write its type too, and the arguments in a fence.
pub(crate) fn deepseek(fenced: bool, tool: &ToolSpec, rules: &mut Rules<'_>) -> String {
    let arguments = rules.json(object(&tool.parameters));
    let [begin, middle, end] =
        [deepseek::BEGIN, deepseek::MIDDLE, deepseek::END].map(|mark| rules.marker(mark));
    let body = if fenced {
        let head = quoted(&format!("{}\n{}", tool.name, deepseek::FENCE));
        format!("\"function\" {middle} {head} {arguments} \"\\n```\"")
    } else {
        format!("{} {middle} {arguments}", quoted(&tool.name))
    };
    rules.add_new(&format!("{begin} {body} {end}"))
}

/// Returns the rule of a message to a tool in OpenAI's harmony format. The recipient is before the channel or after it.
pub(crate) fn harmony(tool: &ToolSpec, rules: &mut Rules<'_>) -> String {
    let arguments = rules.json(object(&tool.parameters));
    let to = quoted(&format!(" to=functions.{}", tool.name));
    let [channel, json, message] =
        ["<|channel|>commentary", " <|constrain|>json", "<|message|>"].map(|mark| rules.marker(mark));
    let head = format!("({to} {channel} | {channel} {to}) (\" json\" | {json})?");
    rules.add_new(&format!("{head} {message} {arguments}"))
}
