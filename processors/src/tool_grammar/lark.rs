//! Writes grammars in Lark's notation. Knows nothing of tools.

use std::collections::BTreeMap;

use alloquy_core::{Grammar, SpecialToken};
use serde_json::Value;

/// Rules by name, and the grammars that they refer to.
#[derive(Debug)]
pub(crate) struct Rules<'a> {
    specials: &'a [SpecialToken],
    rules: Vec<(String, String)>,
    parts: BTreeMap<String, Grammar>,
}

impl<'a> Rules<'a> {
    pub(crate) fn new(specials: &'a [SpecialToken]) -> Self {
        Self { specials, rules: Vec::new(), parts: BTreeMap::new() }
    }

    /// Adds a rule.
    pub(crate) fn add(&mut self, name: &str, body: &str) {
        self.rules.push((name.to_owned(), body.to_owned()));
    }

    /// Adds a rule under a new name and returns the name.
    pub(crate) fn add_new(&mut self, body: &str) -> String {
        let name = format!("rule_{}", self.rules.len());
        self.add(&name, body);
        name
    }

    /// Takes a rule out and returns what it said.
    pub(crate) fn take(&mut self, name: &str) -> String {
        let place = self.rules.iter().position(|(known, _)| known == name);
        place.map(|place| self.rules.remove(place).1).unwrap_or_default()
    }

    /// Refers to JSON that a schema accepts.
    pub(crate) fn json(&mut self, schema: Value) -> String {
        let name = format!("json_{}", self.parts.len());
        let reference = format!("@{name}");
        self.parts.insert(name, Grammar::JsonSchema(schema));
        reference
    }

    /// Writes a mark: its tokens by number, and what is no token as text.
    pub(crate) fn marker(&self, mark: &str) -> String {
        let mut written = Vec::new();
        let mut rest = mark;
        while !rest.is_empty() {
            let found = self.specials.iter().filter_map(|special| Some((rest.find(&special.text)?, special)));
            let found = found.min_by_key(|(at, special)| (*at, usize::MAX - special.text.len()));
            let Some((at, special)) = found else { break };
            written.extend(rest.get(..at).filter(|text| !text.is_empty()).map(quoted));
            written.push(format!("<[{}]>", special.id));
            rest = rest.get(at + special.text.len()..).unwrap_or_default();
        }
        written.extend(Some(rest).filter(|rest| !rest.is_empty()).map(quoted));
        written.join(" ")
    }

    /// Says whether no part of a mark is a token of its own.
    pub(crate) fn is_spelled(&self, mark: &str) -> bool {
        !self.specials.iter().any(|special| mark.contains(&special.text))
    }

    /// Returns the grammar that starts with the rule `start`.
    pub(crate) fn grammar(self) -> Grammar {
        let lines = self.rules.into_iter().map(|(name, body)| format!("{name}: {body}\n"));
        Grammar::Composed { lark: lines.collect(), parts: self.parts }
    }
}

/// Writes a text as a string of Lark's, which are those of JSON.
pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Writes a text as a regular expression that matches it, between slashes.
pub(crate) fn escaped(text: &str) -> String {
    let symbol = |symbol: char| match symbol {
        '\n' => "\\n".to_owned(),
        symbol if symbol.is_alphanumeric() || !symbol.is_ascii() => symbol.to_string(),
        ' ' | '_' | '<' | '>' | '`' | '=' | ':' | '"' => symbol.to_string(),
        symbol => format!("\\{symbol}"),
    };
    text.chars().map(symbol).collect()
}
