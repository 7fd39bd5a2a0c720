//! Chooses a printer by the arguments.

use super::Printer;
use super::events::Events;
use super::redacted::Redacted;
use super::text::{LineEnd, Text};
use super::tokens::TokenTexts;
use crate::guards::Guards;
use crate::notes::{Notes, Output};
use crate::open_model::OpenModel;
use crate::screen;
use crate::visible::Rule;

/// Returns the printer that the arguments choose, for answers of a model. It prints nothing that the guards remove.
pub(crate) fn printer(output: &Output, end: LineEnd, model: &OpenModel, guards: &Guards) -> Box<dyn Printer> {
    let printer = unguarded(output, end, model);
    match guards.redactor() {
        Some(redactor) => Box::new(Redacted::new(printer, redactor.clone())),
        None => printer,
    }
}

fn unguarded(output: &Output, end: LineEnd, model: &OpenModel) -> Box<dyn Printer> {
    let tokens = TokenTexts::from(model.language_model());
    let notes = Notes::new(output);
    if output.json {
        return Box::new(Events::new(screen::out(Rule::Json), notes.loudness()).tokens(tokens));
    }
    let rule = match end {
        LineEnd::Always => Rule::Prose,
        LineEnd::Never => Rule::Exact,
    };
    Box::new(Text::new(screen::out(rule), screen::err(), notes, end).tokens(tokens))
}
