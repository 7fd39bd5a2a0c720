//! Which of its earlier thoughts, and of what it said in other channels, a model sees again. Knows the names that templates have for that, and no family.

use std::borrow::Cow;

use alloquy_core::arguments::ThinkingHistory;
use alloquy_core::processor::PromptSource;
use alloquy_core::template::Ending;
use alloquy_core::{Content, Message, Role};
use serde_json::{Map, Value};

/// The names that thoughts have in dialects whose messages were taken over field by field.
const THOUGHTS: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// The variables by which templates keep thoughts that they would leave out: Qwen 3.5 and its kin, GLM 4.5 and later,
/// Nemotron 3, DeepSeek V3.2 and later.
const KEEPING: [(&str, bool); 4] = [
    ("preserve_thinking", true),
    ("clear_thinking", false),
    ("truncate_history_thinking", false),
    ("drop_thinking", false),
];

/// Returns the messages of a source, without the thoughts and channels that are not to be seen.
pub(crate) fn messages(source: PromptSource<'_>) -> impl Iterator<Item = Cow<'_, Message>> {
    let hidden = hidden(source);
    let messages = source.preface.messages.iter().chain(source.path).enumerate();
    messages.map(move |(index, message)| match index < hidden && !asides(message).is_empty() {
        true => Cow::Owned(without_asides(message)),
        false => Cow::Borrowed(message),
    })
}

/// Returns the template's variables, with those that keep thoughts where all are to be seen.
pub(crate) fn variables(source: PromptSource<'_>) -> Map<String, Value> {
    let mut variables = source.arguments.variables();
    if source.arguments.history == Some(ThinkingHistory::Keep) {
        for (name, value) in KEEPING {
            variables.entry(name).or_insert(Value::Bool(value));
        }
    }
    variables
}

/// Returns how many messages have thoughts or channels that `prompt` has not.
pub(crate) fn left_out(prompt: &str, source: PromptSource<'_>) -> usize {
    let messages = source.preface.messages.iter().chain(source.path);
    let mut rest = prompt;
    // In their order, so that one that is printed does not count for two.
    let mut is_printed = |aside: &String| {
        let aside = aside.trim();
        let behind = rest.find(aside).and_then(|start| rest.get(start + aside.len()..));
        rest = behind.unwrap_or(rest);
        behind.is_some()
    };
    messages.filter(|message| !asides(message).iter().all(&mut is_printed)).count()
}

/// How many messages from the first on show no thoughts.
fn hidden(source: PromptSource<'_>) -> usize {
    let messages = || source.preface.messages.iter().chain(source.path);
    match source.arguments.history {
        None | Some(ThinkingHistory::Keep) => 0,
        // What the reply goes on writing is no history.
        Some(ThinkingHistory::Strip) if source.ending == Ending::Continue => {
            messages().count().saturating_sub(1)
        }
        Some(ThinkingHistory::Strip) => messages().count(),
        Some(ThinkingHistory::StripBeforeLastUser) => {
            let asked = messages().enumerate().filter(|(_, message)| message.role == Role::User);
            asked.last().map_or(0, |(index, _)| index)
        }
    }
}

/// What the model said beside this message: its thoughts, and what stands in other channels.
fn asides(message: &Message) -> Vec<String> {
    let channels = message.channels().filter(|_| message.role == Role::Assistant);
    thoughts(message).into_iter().chain(channels.map(|said| said.text.clone())).collect()
}

/// What the model thought for this message.
fn thoughts(message: &Message) -> Option<String> {
    let field = || THOUGHTS.iter().find_map(|name| message.extra.get(*name)?.as_str().map(str::to_owned));
    match message.role {
        Role::Assistant => message.thinking().or_else(field),
        Role::System | Role::User | Role::Tool => None,
    }
}

fn without_asides(message: &Message) -> Message {
    let mut message = message.clone();
    message.parts.retain(|part| !matches!(part.content, Content::Thinking(_) | Content::Channel(_)));
    message.extra.retain(|name, _| !THOUGHTS.contains(&name.as_str()));
    message
}
