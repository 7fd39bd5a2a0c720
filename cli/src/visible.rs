//! Text that a terminal may show: what a model writes must not move the cursor or change the window's title.

use std::io::{self, Write};

/// Puts U+FFFD in the place of control characters; line breaks and tabs stay, carriage returns go.
pub(crate) fn visible(text: &str) -> String {
    let shown = |character: char| match character {
        '\r' => None,
        '\n' | '\t' => Some(character),
        character if character.is_control() => Some('\u{FFFD}'),
        character => Some(character),
    };
    text.chars().filter_map(shown).collect()
}

/// Writes texts to a terminal. Each write has to be whole characters.
#[derive(Debug)]
pub(crate) struct Visible<W>(pub(crate) W);

impl<W: Write> Write for Visible<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(visible(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let mut terminal = Vec::new();
        let mut out = Visible(&mut terminal);
        out.write_all("a\u{1b}]0;title\u{7}\tb\r\nü\u{9b}2J".as_bytes()).unwrap();
        assert_eq!(String::from_utf8(terminal).unwrap(), "a\u{FFFD}]0;title\u{FFFD}\tb\nü\u{FFFD}2J");
    }
}
