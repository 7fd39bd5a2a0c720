//! Chooses a printer by the arguments.

use super::Printer;
use super::events::Events;
use super::text::{LineEnd, Text};
use crate::notes::{Notes, Output};
use crate::screen;
use crate::visible::Rule;

/// Returns the printer that the arguments choose.
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
