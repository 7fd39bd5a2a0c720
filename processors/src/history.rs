//! Selects which of its earlier thinking, and which text of other channels, a model sees again.

use std::borrow::Cow;

use alloquy_core::arguments::ThinkingHistory;
use alloquy_core::processor::ProcessorInput;
use alloquy_core::template::PromptEnd;
use alloquy_core::{Content, Message, Role};
use serde_json::{Map, Value};

/// The fields of messages that hold thinking in other dialects. Messages taken over from these keep the field.
const THINKING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// The variables that make templates keep thinking: those of Qwen 3.5 and later, GLM 4.5 and later, Nemotron 3, and
/// DeepSeek V3.2 and later.
const KEEPING: [(&str, bool); 4] = [
    ("preserve_thinking", true),
    ("clear_thinking", false),
    ("truncate_history_thinking", false),
    ("drop_thinking", false),
];

/// Returns the messages of a source, without hidden thinking and channels.
pub(crate) fn messages(source: ProcessorInput<'_>) -> impl Iterator<Item = Cow<'_, Message>> {
    let hidden = hidden(source);
    let messages = source.preface.messages.iter().chain(source.path).enumerate();
    messages.map(move |(index, message)| {
        if index < hidden && !asides(message).is_empty() {
            Cow::Owned(without_asides(message))
        } else {
            Cow::Borrowed(message)
        }
    })
}

/// Returns the template's variables. If all thinking blocks are kept, these include the variables that keep them.
pub(crate) fn variables(source: ProcessorInput<'_>) -> Map<String, Value> {
    let mut variables = source.arguments.variables();
    if source.arguments.history == Some(ThinkingHistory::Keep) {
        for (name, value) in KEEPING {
            variables.entry(name).or_insert(Value::Bool(value));
        }
    }
    variables
}

/// Returns how many messages have thinking or channels that are missing from `prompt`.
pub(crate) fn left_out(prompt: &str, source: ProcessorInput<'_>) -> usize {
    let mut left_out = 0;
    // They are looked for in their order, so that a text that is printed once does not count for two messages.
    let mut rest = prompt;
    for message in source.preface.messages.iter().chain(source.path) {
        for aside in asides(message) {
            let Some(after) = after(rest, aside.trim()) else {
                left_out += 1;
                break;
            };
            rest = after;
        }
    }
    left_out
}

fn after<'t>(text: &'t str, part: &str) -> Option<&'t str> {
    let start = text.find(part)?;
    text.get(start + part.len()..)
}

/// Returns how many messages hide their thinking, from the first on.
fn hidden(source: ProcessorInput<'_>) -> usize {
    let messages = source.preface.messages.iter().chain(source.path);
    match source.arguments.history {
        None | Some(ThinkingHistory::Keep) => 0,
        // The message that the reply continues is no history.
        Some(ThinkingHistory::Strip) if source.ending == PromptEnd::Continuation => {
            messages.count().saturating_sub(1)
        }
        Some(ThinkingHistory::Strip) => messages.count(),
        Some(ThinkingHistory::StripBeforeLastUser) => {
            let users = messages.enumerate().filter(|(_, message)| message.role == Role::User);
            users.last().map_or(0, |(index, _)| index)
        }
    }
}

/// Returns the model's thinking in a message, and the text of its other channels.
fn asides(message: &Message) -> Vec<String> {
    let channels = message.channels().filter(|_| message.role == Role::Assistant);
    thinking(message).into_iter().chain(channels.map(|said| said.text.clone())).collect()
}

/// Returns the model's thinking in a message, as parts or in a field.
fn thinking(message: &Message) -> Option<String> {
    if message.role != Role::Assistant {
        return None;
    }
    if let Some(thinking) = message.thinking() {
        return Some(thinking);
    }
    THINKING.iter().find_map(|name| message.extra.get(*name)?.as_str().map(str::to_owned))
}

fn without_asides(message: &Message) -> Message {
    let mut message = message.clone();
    message.parts.retain(|part| !matches!(part.content, Content::Thinking(_) | Content::Channel(_)));
    message.extra.retain(|name, _| !THINKING.contains(&name.as_str()));
    message
}
