//! Finds the pieces of a message's text that its author did not write.

use std::ops::Range;

use alloquy_core::arguments::{InjectionPolicy, TextSource};
use alloquy_core::processor::ProcessorInput;
use alloquy_core::template::TemplateInput;
use alloquy_core::{Content, Message, Role};
use serde_json::Value;

use crate::history;
use crate::input::{self, Item};

/// A piece of a text that its message's author did not write.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quote {
    /// The bytes of the text. An empty quote counts too, because it joins the texts around it.
    pub(crate) range: Range<usize>,
    /// The source; `None` if it is unknown. No policy trusts an unknown source.
    pub(crate) source: Option<TextSource>,
}

/// The quotes of one message of a template's input.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MessageQuotes {
    /// The quotes of each text of the content, in order.
    texts: Vec<Vec<Quote>>,
    /// The sources of thinking, calls and results. Their fields are trusted as a whole or not at all.
    beside: Vec<TextSource>,
}

impl MessageQuotes {
    /// Returns the quotes in the text of the content with this number.
    pub(crate) fn of_text(&self, index: usize) -> &[Quote] {
        self.texts.get(index).map_or(&[], Vec::as_slice)
    }

    /// Returns whether the author wrote the whole message.
    pub(crate) fn is_empty(&self) -> bool {
        self.texts.iter().all(Vec::is_empty) && self.beside.is_empty()
    }

    /// Returns whether a policy trusts the sources of the fields beside the content.
    pub(crate) fn is_trusted_beside(&self, policy: &InjectionPolicy) -> bool {
        self.beside.iter().all(|source| policy.trusts(*source))
    }

    /// Returns quotes of unknown source that cover all texts of a message.
    fn unknown(message: &Value) -> Self {
        let mut texts = Vec::new();
        for text in texts_of(message) {
            texts.push(vec![Quote { range: 0..text.len(), source: None }]);
        }
        Self { texts, beside: Vec::new() }
    }
}

/// The quotes of all messages of a template's input; empty if no part has a source.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Quotes(Vec<MessageQuotes>);

impl Quotes {
    /// Returns whether the authors wrote all messages.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(MessageQuotes::is_empty)
    }

    /// Finds the quotes of `source` in the template's input that was made from it.
    ///
    /// If a family changed a message so much that its texts are not found, the whole message is a quote of unknown source.
    pub(crate) fn of(source: ProcessorInput<'_>, input: &TemplateInput) -> Self {
        let mut messages = source.preface.messages.iter().chain(source.path);
        if !messages.any(|message| message.parts.iter().any(|part| part.source.is_some())) {
            return Self::default();
        }
        let mut expected = Vec::new();
        for message in history::messages(source) {
            expected.extend(ExpectedMessage::of(&message));
        }
        if expected.len() != input.messages.len() {
            return Self(input.messages.iter().map(MessageQuotes::unknown).collect());
        }
        let found = expected.iter().zip(&input.messages).map(|(expected, message)| expected.find_in(message));
        Self(found.collect())
    }

    /// Returns the quotes of the message with this number.
    pub(crate) fn of_message(&self, index: usize) -> Option<&MessageQuotes> {
        self.0.get(index).filter(|quotes| !quotes.is_empty())
    }
}

/// A text of a message's content, with the quotes in it.
struct ExpectedText {
    text: String,
    quotes: Vec<Quote>,
}

/// A message of a template's input, before the family changed it.
#[derive(Default)]
struct ExpectedMessage {
    texts: Vec<ExpectedText>,
    beside: Vec<TextSource>,
}

impl ExpectedMessage {
    /// Returns the messages that a message becomes. Each tool result becomes one.
    fn of(message: &Message) -> Vec<Self> {
        let results = message.tool_results().count();
        if results == 0 {
            return vec![Self::spoken(message)];
        }
        let sources = message.parts.iter().filter_map(|part| part.source.as_ref());
        let beside: Vec<TextSource> = sources.map(TextSource::from).collect();
        (0..results).map(|_| Self { texts: Vec::new(), beside: beside.clone() }).collect()
    }

    fn spoken(message: &Message) -> Self {
        let mut expected = Self::default();
        for item in input::items(message) {
            let Item::Text(joined) = item else { continue };
            let mut quotes = Vec::new();
            for (range, part) in joined.pieces {
                if let Some(source) = &part.source {
                    quotes.push(Quote { range, source: Some(source.into()) });
                }
            }
            expected.texts.push(ExpectedText { text: joined.text, quotes });
        }
        for part in &message.parts {
            let is_text = matches!(part.content, Content::Text(_) | Content::Malformed(_));
            if is_text || part.content.media_kind().is_some() {
                continue;
            }
            if let Some(source) = &part.source {
                expected.beside.push(source.into());
            }
        }
        expected
    }

    fn find_in(&self, message: &Value) -> MessageQuotes {
        let is_quoted = self.texts.iter().any(|text| !text.quotes.is_empty());
        if !is_quoted {
            return MessageQuotes { texts: Vec::new(), beside: self.beside.clone() };
        }
        let found = texts_of(message);
        let mut texts = vec![Vec::new(); found.len()];
        let is_unchanged = found.iter().eq(self.texts.iter().map(|expected| &expected.text));
        for (index, expected) in self.texts.iter().enumerate() {
            if expected.quotes.is_empty() || expected.text.is_empty() {
                continue;
            }
            let place = if is_unchanged { Some((index, 0)) } else { only_place(&expected.text, &found) };
            let Some((index, start)) = place else {
                return MessageQuotes::unknown(message);
            };
            if let Some(quotes) = texts.get_mut(index) {
                for quote in &expected.quotes {
                    let range = start + quote.range.start..start + quote.range.end;
                    quotes.push(Quote { range, source: quote.source });
                }
            }
        }
        MessageQuotes { texts, beside: self.beside.clone() }
    }
}

/// Returns which of `texts` contains `text`, and where; `None` if it is at no place or at several.
fn only_place(text: &str, texts: &[&str]) -> Option<(usize, usize)> {
    let mut only = None;
    for (index, found) in texts.iter().enumerate() {
        let mut from = 0;
        while let Some(start) = found.get(from..).and_then(|rest| rest.find(text)) {
            if only.is_some() {
                return None;
            }
            only = Some((index, from + start));
            // The next place may overlap this one.
            from += start
                + found.get(from + start..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        }
    }
    only
}

/// Returns the texts of a message's content.
fn texts_of(message: &Value) -> Vec<&str> {
    match message.get("content") {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(items)) => items.iter().filter_map(|item| item.get("text")?.as_str()).collect(),
        _ => Vec::new(),
    }
}

/// Calls `visit` with each text of a message's content and its number.
pub(crate) fn each_text_mut(message: &mut Value, mut visit: impl FnMut(usize, &mut String)) {
    match message.get_mut("content") {
        Some(Value::String(text)) => visit(0, text),
        Some(Value::Array(items)) => {
            let texts = items.iter_mut().filter_map(|item| match item.get_mut("text") {
                Some(Value::String(text)) => Some(text),
                _ => None,
            });
            for (index, text) in texts.enumerate() {
                visit(index, text);
            }
        }
        _ => {}
    }
}

/// Returns the role of a message of a template's input.
pub(crate) fn author_of(message: &Value) -> Option<TextSource> {
    let role = message.get("role")?.as_str()?;
    let roles = [Role::System, Role::User, Role::Assistant, Role::Tool];
    roles.into_iter().find(|known| known.as_str() == role).map(TextSource::from)
}
