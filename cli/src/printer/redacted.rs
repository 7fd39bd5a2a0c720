//! Removes texts from what tools return, before another printer prints it. Answers are redacted before a printer sees them.

use std::io;

use alloquy::core::message::ToolResult;
use alloquy::core::{Content, Delta, Error, Reply, TurnEvent, TurnReply};
use alloquy::guards::redact::Redactor;
use serde_json::{Map, Value};

use super::Printer;
use crate::guards::BLOCKED;

/// Prints as another printer does, without what a redactor removes.
pub(crate) struct Redacted {
    printer: Box<dyn Printer>,
    redactor: Redactor,
}

impl Redacted {
    pub(crate) fn new(printer: Box<dyn Printer>, redactor: Redactor) -> Self {
        Self { printer, redactor }
    }

    fn text(&self, text: &str) -> String {
        self.redactor.redact(text).unwrap_or_else(|_| BLOCKED.to_owned())
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Number(number) => {
                let digits = number.to_string();
                let shown = self.text(&digits);
                if shown == digits { value.clone() } else { shown.into() }
            }
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => {
                let mut shown = Map::new();
                for (name, field) in fields {
                    shown.insert(self.text(name), self.value(field));
                }
                Value::Object(shown)
            }
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }

    fn result(&self, result: &ToolResult) -> ToolResult {
        let mut shown = result.clone();
        shown.name = self.text(&result.name);
        shown.content = self.value(&result.content);
        shown
    }

    /// Returns an event without what is removed from the results of tools, which are stored as the tools returned them.
    fn shown(&self, event: &TurnEvent) -> TurnEvent {
        match event {
            TurnEvent::ToolResult(result) => TurnEvent::ToolResult(self.result(result)),
            TurnEvent::Node(node) => {
                let mut node = node.clone();
                for part in &mut node.message.parts {
                    if let Content::ToolResult(result) = &mut part.content {
                        *result = self.result(result);
                    }
                }
                TurnEvent::Node(node)
            }
            other => other.clone(),
        }
    }
}

impl Printer for Redacted {
    fn delta(&mut self, delta: &Delta) -> io::Result<()> {
        self.printer.delta(delta)
    }

    fn event(&mut self, event: &TurnEvent) -> io::Result<()> {
        match event {
            TurnEvent::ToolResult(_) | TurnEvent::Node(_) => {
                let shown = self.shown(event);
                self.printer.event(&shown)
            }
            other => self.printer.event(other),
        }
    }

    fn reply(&mut self, reply: &Reply) -> io::Result<()> {
        self.printer.reply(reply)
    }

    fn turn(&mut self, turn: &TurnReply) -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notes::Loudness;
    use crate::printer::Events;

    #[test]
    fn results_of_tools_are_printed_without_what_is_removed() {
        let redacted = Redacted::new(
            Box::new(Events::new(std::io::sink(), Loudness::Normal)),
            Redactor::named(["email", "card"]).unwrap(),
        );
        let content =
            serde_json::json!({"to": ["ann@example.org"], "card": 4_111_111_111_111_111_u64, "n": 7});
        let event = TurnEvent::ToolResult(ToolResult::new("1", "mail", content));
        let TurnEvent::ToolResult(shown) = redacted.shown(&event) else { panic!("{event:?}") };
        assert_eq!(shown.content, serde_json::json!({"to": ["[email]"], "card": "[card]", "n": 7}));
    }
}
