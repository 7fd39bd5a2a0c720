//! Writes a conversation as text for the model that summarises it. Thinking blocks are left out.

use alloquy_core::Message;

/// Writes messages line by line, each with its role: `user: Good morning`.
pub(super) fn transcript(messages: &[Message]) -> String {
    messages.iter().flat_map(lines).collect::<Vec<_>>().join("\n")
}

fn lines(message: &Message) -> Vec<String> {
    let who = match &message.name {
        Some(name) => format!("{} {name}", message.role.as_str()),
        None => message.role.as_str().to_owned(),
    };
    let text = message.text();
    let said = (!text.is_empty()).then(|| format!("{who}: {text}"));
    let shown = message.media().map(|media| format!("{who} shows {}", media.media_type()));
    let calls = message.tool_calls().map(|call| format!("{who} calls {}({})", call.name, call.arguments));
    let results = message.tool_results().map(|result| format!("{} answers: {}", result.name, result.text()));
    shown.chain(said).chain(calls).chain(results).collect()
}
