//! What happens in a turn, on standard output: the answer as text, or events as JSON, one a line.

mod events;
mod text;

use std::io;

use alloquy::core::{Delta, Error, Reply, Turn, TurnEvent, TurnReply};
use futures::StreamExt as _;
use serde_json::Value;

use crate::arguments::Output;
use crate::failure::Failure;
use crate::notes::Notes;
use crate::screen;
use crate::visible::Rule;

pub(crate) use events::Events;
pub(crate) use text::{LineEnd, Text, degradation};

/// Prints what happens in a turn.
pub(crate) trait Printer {
    /// Prints a piece of an answer.
    fn delta(&mut self, delta: &Delta) -> io::Result<()>;

    /// Prints an event of a turn.
    fn event(&mut self, event: &TurnEvent) -> io::Result<()>;

    /// Prints the end of an answer that is not part of a conversation.
    fn reply(&mut self, reply: &Reply) -> io::Result<()>;

    /// Prints the end of a turn.
    fn turn(&mut self, turn: &TurnReply) -> io::Result<()>;

    /// Ends the line of an answer that ends in an error, so that the error begins one.
    fn broken(&mut self) -> io::Result<()>;

    /// Prints what went wrong, for programs; people read it on standard error.
    fn error(&mut self, error: &Error) -> io::Result<()>;

    /// Prints what a person asked to see: as text, or as a JSON object under `name`.
    fn show(&mut self, name: &str, text: &str, value: Value) -> io::Result<()>;
}

/// Takes a turn to its end, printing it. When nobody reads any more, the answer ends and what was said is kept.
pub(crate) async fn take(mut turn: Turn, printer: &mut dyn Printer) -> Result<TurnReply, Failure> {
    while let Some(event) = turn.next().await {
        if let Err(error) = printer.event(&event) {
            turn.stop();
            turn.finish().await?;
            return Err(error.into());
        }
    }
    match turn.finish().await {
        Ok(reply) => {
            printer.turn(&reply)?;
            Ok(reply)
        }
        Err(error) => {
            printer.broken()?;
            Err(error.into())
        }
    }
}

/// Returns the printer that the arguments ask for.
pub(crate) fn printer(output: &Output, end: LineEnd) -> Box<dyn Printer> {
    let notes = Notes::new(output);
    if output.json {
        return Box::new(Events::new(screen::out(Rule::Json), notes.loudness()));
    }
    let rule = match end {
        LineEnd::Always => Rule::Prose,
        LineEnd::Never => Rule::Exact,
    };
    Box::new(Text::new(screen::out(rule), screen::err(), notes, end))
}
