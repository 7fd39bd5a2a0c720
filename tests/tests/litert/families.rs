//! Families for rows that name a processor, a fence or a channel: found by asking each what it reads.

use std::sync::Arc;

use alloquy_core::model_info::ModelInfo;
use alloquy_core::processor::{Channel, DataProcessor, ProcessorInput};
use alloquy_core::template::PromptEnd;
use alloquy_core::{Message, Preface, ToolSpec};
use alloquy_processors::{self as processors, DataProcessorConfig};
use serde_json::{Value, json};

/// A family, chosen at run time.
pub(crate) type Family = Arc<dyn DataProcessor>;

/// Every family, of a model with LiteRT-LM's own template.
pub(crate) fn all() -> impl Iterator<Item = Family> {
    processors::families().map(|name| of_model(name, own_template(name)))
}

fn of_model(name: &str, template: &str) -> Family {
    processors::named(name, &model_with(template)).unwrap()
}

fn model_with(template: &str) -> ModelInfo {
    let mut model = ModelInfo::default();
    if !template.is_empty() {
        model.files.insert("chat_template.jinja".to_owned(), template.to_owned());
    }
    model
}

/// What tells a family that a template prints tools and calls as the texts that they come as.
pub(crate) const TEXTS: &str = "{{- tool | trim }}";

/// What tells a family that a template is LiteRT-LM's own, which takes tools and calls as text.
fn own_template(name: &str) -> &'static str {
    match name {
        "gemma3" => "```tool_code",
        "function_gemma" => TEXTS,
        _ => "",
    }
}

/// The family that a row's processor stands for: `FunctionGemma` is `function_gemma`.
pub(crate) fn named(kind: &str) -> Result<Family, String> {
    let name = name_of(kind)?;
    Ok(of_model(name, own_template(name)))
}

/// That family, of a model with this template.
pub(crate) fn with_template(kind: &str, template: &str) -> Result<Family, String> {
    Ok(of_model(name_of(kind)?, template))
}

fn name_of(kind: &str) -> Result<&'static str, String> {
    let bare = |name: &str| name.replace(['_', '-', '.'], "").to_lowercase();
    let found = processors::families().find(|name| bare(name) == bare(kind));
    found.ok_or_else(|| format!("no family is called {kind:?}"))
}

/// Says whether a family writes calls of a syntax between two fences.
pub(crate) fn writes(family: &Family, start: &str, end: &str, syntax: &str) -> bool {
    let call = match syntax {
        "fc" => "call:probe{}",
        "python" => "probe()",
        "json" => r#"{"name": "probe", "arguments": {}}"#,
        _ => return false,
    };
    let reply = format!("{start}{call}{end}");
    let message = read(family, "", &with_tool(), [reply.as_str()]);
    message.parts.len() == 1 && message.tool_calls().any(|call| call.name == "probe")
}

/// The family that writes calls of a syntax between two fences.
pub(crate) fn with_fence(start: &str, end: &str, syntax: &str) -> Result<Family, String> {
    let found = all().find(|family| writes(family, start, end, syntax));
    found.ok_or_else(|| format!("no family writes {syntax} calls between {start:?} and {end:?}"))
}

/// The fences of each syntax, as LiteRT-LM's processors have them, with the quotes of a text where two families differ.
pub(crate) const FENCES: [(&str, &str, &str, &str); 4] = [
    ("fc", "<|\"|>", "<|tool_call>", "<tool_call|>"),
    ("fc", "", "<start_function_call>", "<end_function_call>"),
    ("python", "", "```tool_code\n", "\n```"),
    ("json", "", "<tool_call>", "</tool_call>"),
];

/// A family that writes calls of a syntax as `text` does, with its fences.
pub(crate) fn with_syntax(syntax: &str, text: &str) -> Result<(Family, &'static str, &'static str), String> {
    let known = FENCES.iter().find(|(name, quotes, ..)| *name == syntax && text.contains(quotes));
    let (.., start, end) = known.ok_or_else(|| format!("no family writes calls as {syntax:?}"))?;
    Ok((with_fence(start, end, syntax)?, start, end))
}

/// The names that LiteRT-LM's models have for what they think.
const THINKING: [&str; 3] = ["thought", "thinking", "reasoning_content"];

/// A channel as rows write it, an object or a list: name, start and end.
pub(crate) fn channel(value: &Value) -> (&str, &str, &str) {
    let field = |index: usize, name: &str| value.get(index).or(value.get(name)).and_then(Value::as_str);
    let [name, start, end] = [(0, "channel_name"), (1, "start"), (2, "end")];
    let text = |(index, name)| field(index, name).unwrap_or_default();
    (text(name), text(start), text(end))
}

/// What a row calls the channel that is thinking here.
pub(crate) fn name_of_thinking(channels: &[Value]) -> String {
    let mut names = channels.iter().map(|value| channel(value).0);
    names.find(|name| THINKING.contains(name)).unwrap_or(Channel::THINKING).to_owned()
}

/// A family of a model whose own template is LiteRT-LM's and this one, with the channels of a row.
pub(crate) fn configured(kind: &str, template: &str, channels: &[Value]) -> Result<Family, String> {
    let named = |value: &Value| {
        let (name, start, end) = channel(value);
        Channel::new(if THINKING.contains(&name) { Channel::THINKING } else { name }, start, end)
    };
    let config =
        channels.iter().map(named).fold(DataProcessorConfig::default(), DataProcessorConfig::channel);
    let name = name_of(kind)?;
    let model = model_with(&format!("{}{template}", own_template(name)));
    processors::named_with(name, &model, &config).map_err(|error| error.to_string())
}

/// A preface that offers a tool: without one, no family looks for calls.
pub(crate) fn with_tool() -> Preface {
    Preface::default().tool(ToolSpec::new("probe", "", json!({"type": "object", "properties": {}})))
}

/// Reads a reply to `rendered` that comes in pieces.
pub(crate) fn read<'a>(
    family: &Family,
    rendered: &str,
    preface: &Preface,
    pieces: impl IntoIterator<Item = &'a str>,
) -> Message {
    let mut parser = family.reply_parser(rendered, source(preface, &[], PromptEnd::Generation));
    for piece in pieces {
        drop(parser.push(piece));
    }
    parser.finish().1
}

pub(crate) fn source<'a>(preface: &'a Preface, path: &'a [Message], ending: PromptEnd) -> ProcessorInput<'a> {
    ProcessorInput::new(preface, path, ending)
}
