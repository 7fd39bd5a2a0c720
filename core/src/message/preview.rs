//! Shortens a message to one line, for lists and drawings.

use super::{Content, Message};

impl Message {
    /// Returns the beginning of a message on one line of at most `width` characters. `…` replaces the rest, and U+FFFD
    /// replaces control characters.
    ///
    /// ```
    /// use alloquy_core::Message;
    ///
    /// assert_eq!(Message::user("One\n\ntwo  three").preview(8), "One two…");
    /// ```
    pub fn preview(&self, width: usize) -> String {
        let said = self.parts.iter().map(|part| said(&part.content));
        let said: Vec<_> = said.filter(|text| !text.is_empty()).collect();
        shortened(&said.join(" "), width)
    }
}

fn shortened(text: &str, width: usize) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    let line = words.join(" ").replace(char::is_control, "\u{FFFD}");
    if line.chars().count() <= width {
        return line;
    }
    let kept: String = line.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

fn said(part: &Content) -> String {
    match part {
        Content::Text(text) => text.clone(),
        Content::Thinking(_) => "(thinking)".to_owned(),
        Content::Channel(said) => format!("({})", said.name),
        Content::Image(_) => "(image)".to_owned(),
        Content::Audio(_) => "(audio)".to_owned(),
        Content::Video(_) => "(video)".to_owned(),
        Content::ToolCall(call) => format!("{}({})", call.name, call.arguments),
        Content::ToolResult(result) => format!("{} → {}", result.name, result.text()),
        Content::Malformed(malformed) => malformed.raw.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(Message::user("a\u{1b}[31mb").preview(20), "a\u{FFFD}[31mb");
    }
}
