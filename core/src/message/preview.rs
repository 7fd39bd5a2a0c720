//! A message on one line, for lists and drawings.

use super::{Message, Part};

impl Message {
    /// Returns the beginning of a message on one line of at most `width` characters; `…` stands for what is left out,
    /// and U+FFFD for characters that would steer a terminal.
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
    let visible = |character: char| if character.is_control() { '\u{FFFD}' } else { character };
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().map(visible).collect();
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
