//! A message on one line, for lists and drawings.

use alloquy_core::{Message, Part};

use crate::visible::visible;

/// Returns the beginning of a message: one line of at most `width` characters.
pub(crate) fn preview(message: &Message, width: usize) -> String {
    let parts: Vec<_> =
        message.parts.iter().map(|part| said(&part.content)).filter(|text| !text.is_empty()).collect();
    shortened(&parts.join(" "), width)
}

/// Returns the beginning of `text` on one line; `…` stands for what is left out.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = visible(&line);
    if line.chars().count() <= width {
        return line;
    }
    let kept: String = line.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

fn said(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Thinking(_) => "(thinking)".to_owned(),
        Part::Channel(said) => format!("({})", said.name),
        Part::Image(_) => "(image)".to_owned(),
        Part::Audio(_) => "(audio)".to_owned(),
        Part::Video(_) => "(video)".to_owned(),
        Part::ToolCall(call) => format!("{}({})", call.name, call.arguments),
        Part::ToolResult(result) => format!("{} → {}", result.name, result.text()),
        Part::Malformed(malformed) => malformed.raw.clone(),
        // `Part` may grow; a part that this program does not know still counts as one.
        _ => "(…)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_is_one_short_line() {
        let message = Message::user("One\n\ntwo  three");
        assert_eq!(preview(&message, 20), "One two three");
        assert_eq!(preview(&message, 8), "One two…");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(preview(&Message::user("a\u{1b}[31mb"), 20), "a\u{FFFD}[31mb");
    }
}
