//! Prints turns on standard output: the answer as text, or events as JSON, one a line.

mod choice;
mod events;
mod extracted;
mod redacted;
mod removed;
mod text;
mod tokens;
mod turns;
mod warnings;

use std::io;

use alloquy::core::{Delta, Error, Reply, TurnEvent, TurnReply};
use serde_json::Value;

pub(crate) use choice::printer;
pub(crate) use events::Events;
pub(crate) use extracted::Extracted;
pub(crate) use removed::described;
pub(crate) use text::LineEnd;
#[cfg(test)]
pub(crate) use text::Text;
pub(crate) use turns::take;
pub(crate) use warnings::warning;

/// Prints a turn.
pub(crate) trait Printer {
    /// Prints a piece of an answer.
    fn delta(&mut self, delta: &Delta) -> io::Result<()>;

    /// Prints an event of a turn.
    fn event(&mut self, event: &TurnEvent) -> io::Result<()>;

    /// Prints the end of an answer that is not part of a conversation.
    fn reply(&mut self, reply: &Reply) -> io::Result<()>;

    /// Prints the end of a turn.
    fn turn(&mut self, turn: &TurnReply) -> io::Result<()>;

    /// Ends the line of an answer that ends in an error, so that the error starts a line of its own.
    fn broken(&mut self) -> io::Result<()>;

    /// Prints an error for programs; people read it on standard error.
    fn error(&mut self, error: &Error) -> io::Result<()>;

    /// Prints the result of a command: as text, or as a JSON object with the event `name`.
    fn show(&mut self, name: &str, text: &str, value: Value) -> io::Result<()>;
}
