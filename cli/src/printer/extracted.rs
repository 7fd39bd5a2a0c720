//! Prints the first block of code of an answer alone.

use std::io;

use alloquy::core::{Delta, Error, Reply, TurnEvent, TurnReply};
use serde_json::Value;

use super::Printer;
use crate::notes::Notes;

/// Prints only the code of an answer, at its end; everything else as another printer does.
pub(crate) struct Extracted {
    printer: Box<dyn Printer>,
    notes: Notes,
}

impl Extracted {
    pub(crate) fn new(printer: Box<dyn Printer>, notes: Notes) -> Self {
        Self { printer, notes }
    }

    fn print_code(&mut self, answer: String) -> io::Result<()> {
        if let Some(code) = first_block(&answer) {
            return self.printer.delta(&Delta::Text(code));
        }
        // Thinking may have left its line open.
        self.printer.broken()?;
        self.notes.say("(the answer has no block of code, so all of it is printed)");
        self.printer.delta(&Delta::Text(answer))
    }
}

impl Printer for Extracted {
    fn delta(&mut self, delta: &Delta) -> io::Result<()> {
        match delta {
            Delta::Text(_) => Ok(()),
            other => self.printer.delta(other),
        }
    }

    fn event(&mut self, event: &TurnEvent) -> io::Result<()> {
        match event {
            TurnEvent::Delta(delta) => self.delta(delta),
            other => self.printer.event(other),
        }
    }

    fn reply(&mut self, reply: &Reply) -> io::Result<()> {
        self.print_code(reply.text())?;
        self.printer.reply(reply)
    }

    fn turn(&mut self, turn: &TurnReply) -> io::Result<()> {
        self.print_code(turn.reply.text())?;
        self.printer.turn(turn)
    }

    fn broken(&mut self) -> io::Result<()> {
        self.printer.broken()
    }

    fn error(&mut self, error: &Error) -> io::Result<()> {
        self.printer.error(error)
    }

    fn show(&mut self, name: &str, text: &str, value: Value) -> io::Result<()> {
        self.printer.show(name, text, value)
    }
}

/// Returns the lines of the first block of code, as Markdown has them: between two lines that begin with at least three backticks or
/// tildes. A block that the end of the answer cuts is returned as far as it goes.
fn first_block(answer: &str) -> Option<String> {
    let mut lines = answer.lines();
    let (fence, indent) = lines.by_ref().find_map(opening)?;
    let mut code = String::new();
    for line in lines {
        if is_closing(line, fence) {
            break;
        }
        // A block in a list is indented as its fence is.
        let spaces = line.len() - line.trim_start_matches(' ').len();
        code += line.get(spaces.min(indent)..).unwrap_or(line);
        code.push('\n');
    }
    Some(code)
}

/// Returns the fence of a line that opens a block, and how far it is indented.
fn opening(line: &str) -> Option<(&str, usize)> {
    let text = line.trim_start_matches(' ');
    let sign = text.chars().next().filter(|sign| ['`', '~'].contains(sign))?;
    let rest = text.trim_start_matches(sign);
    let length = text.len() - rest.len();
    // Three backticks and more of them later in the line are code within a line.
    if length < 3 || (sign == '`' && rest.contains('`')) {
        return None;
    }
    Some((text.get(..length)?, line.len() - text.len()))
}

fn is_closing(line: &str, fence: &str) -> bool {
    let line = line.trim();
    let sign = fence.chars().next().unwrap_or('`');
    line.starts_with(fence) && line.trim_start_matches(sign).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_block_is_the_lines_between_its_fences() {
        let block = |answer| first_block(answer);
        assert_eq!(
            block("So:\n```sh\nls\n\nls -l\n```\nor\n```\npwd\n```"),
            Some("ls\n\nls -l\n".to_owned())
        );
        assert_eq!(block("~~~\n```\n~~~~"), Some("```\n".to_owned()));
        assert_eq!(block("* one\n  ```\n  a\n    b\n  ```"), Some("a\n  b\n".to_owned()));
        assert_eq!(block("````md\n```\n````"), Some("```\n".to_owned()));
        assert_eq!(block("```\ncut o"), Some("cut o\n".to_owned()));
        assert_eq!(block("```\n```"), Some(String::new()));
        for none in ["", "no code", "``two``", "```a``` within a line"] {
            assert_eq!(block(none), None, "{none}");
        }
    }
}
