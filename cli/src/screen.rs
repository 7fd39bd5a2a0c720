//! Standard output and standard error. Nothing else writes to them, so that every text is filtered.

use std::io::{self, IsTerminal as _, Stderr, Stdout, Write};

use crate::visible::Rule;

/// An output with a rule for its text. Each write must consist of whole characters.
#[derive(Debug)]
pub(crate) struct Screen<W> {
    to: W,
    rule: Rule,
}

impl<W: Write> Screen<W> {
    pub(crate) fn new(to: W, rule: Rule) -> Self {
        Self { to, rule }
    }

    /// Writes a text dimmed or not; the style is this program's own, so no rule applies to it.
    pub(crate) fn styled(&mut self, style: Style, text: &str) -> io::Result<()> {
        let text = self.rule.apply(text);
        self.to.write_all([style.start(), &text, style.end()].concat().as_bytes())
    }
}

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.rule == Rule::Exact {
            self.to.write_all(bytes)?;
        } else {
            self.to.write_all(self.rule.apply(&String::from_utf8_lossy(bytes)).as_bytes())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Standard output.
pub(crate) fn out(rule: Rule) -> Screen<Stdout> {
    Screen::new(io::stdout(), rule)
}

/// Standard error: the notes and errors of this program.
pub(crate) fn err() -> Screen<Stderr> {
    Screen::new(io::stderr(), Rule::Line)
}

/// Standard error, for lines of JSON.
pub(crate) fn err_of_json() -> Screen<Stderr> {
    Screen::new(io::stderr(), Rule::Json)
}

/// Returns whether a person reads standard output.
pub(crate) fn is_out_a_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Returns whether a person reads standard error.
pub(crate) fn is_err_a_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Returns how many columns the terminal has; 80 where there is none.
pub(crate) fn width() -> usize {
    terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0))
}

/// The rule for a document on standard output: a program gets it byte for byte, a terminal without control characters.
pub(crate) fn of_documents() -> Rule {
    if is_out_a_terminal() { Rule::Prose } else { Rule::Exact }
}

/// Removes the last echoed character from the screen.
pub(crate) fn rub_out() {
    // The terminal may be gone, here and below.
    let _ = io::stderr().write_all(b"\x08 \x08");
}

/// Clears the screen, where standard output is a terminal.
pub(crate) fn clear() {
    if is_out_a_terminal() {
        let _ = io::stdout().write_all(b"\x1b[H\x1b[2J").and_then(|()| io::stdout().flush());
    }
}

/// Asks the terminal to mark what is pasted, or not to.
pub(crate) fn bracket_pastes(on: bool) {
    let sequence: &[u8] = if on { b"\x1b[?2004h" } else { b"\x1b[?2004l" };
    let _ = io::stdout().write_all(sequence).and_then(|()| io::stdout().flush());
}

/// Whether notes and thinking blocks are dimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// No escape sequences.
    Plain,
    /// Dimmed, to set them apart from answers.
    Dimmed,
}

impl Style {
    /// Chooses the style of standard error: dimmed on a terminal, unless `NO_COLOR` is set.
    pub(crate) fn of_err() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if is_err_a_terminal() && !refused { Style::Dimmed } else { Style::Plain }
    }

    fn start(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Dimmed => "\x1b[2m",
        }
    }

    fn end(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Dimmed => "\x1b[0m",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_is_ours_and_what_it_wraps_is_not() {
        let mut terminal = Vec::new();
        let mut screen = Screen::new(&mut terminal, Rule::Line);
        screen.styled(Style::Dimmed, "a\u{1b}[1mb").unwrap();
        screen.write_all("\u{9b}c\n".as_bytes()).unwrap();
        assert_eq!(String::from_utf8(terminal).unwrap(), "\u{1b}[2ma\u{FFFD}[1mb\u{1b}[0m\u{FFFD}c\n");
    }
}
