//! The context of every command, and how it prints its result.

use std::io::Write as _;

use serde_json::Value;

use crate::failure::Failure;
use crate::notes::{Notes, Output};
use crate::screen;
use crate::settings::Settings;
use crate::visible::Rule;

/// The context of every command.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) settings: Settings,
    pub(crate) output: Output,
    pub(crate) notes: Notes,
}

impl Context {
    /// Prints a command's whole result: a list or a report for people, or JSON.
    pub(crate) fn print(&self, text: &str, json: &Value) -> Result<(), Failure> {
        self.write(text, Rule::Line, json)
    }

    /// Prints a document, which a file or a pipe gets byte for byte, or JSON.
    pub(crate) fn print_document(&self, text: &str, json: &Value) -> Result<(), Failure> {
        self.write(text, screen::of_documents(), json)
    }

    fn write(&self, text: &str, rule: Rule, json: &Value) -> Result<(), Failure> {
        if self.output.json {
            writeln!(screen::out(Rule::Json), "{json}")?;
        } else {
            screen::out(rule).write_all(text.as_bytes())?;
        }
        Ok(screen::out(rule).flush()?)
    }
}
