//! Writes grammars in Lark's notation. Knows nothing of tools.

use std::collections::BTreeMap;

use alloquy_core::grammar::Grammar;
use alloquy_core::tokenizer::SpecialToken;
use serde_json::Value;

/// Rules by name, and the grammars that they refer to.
#[derive(Debug)]
pub(crate) struct Rules<'a> {
    specials: &'a [SpecialToken],
    rules: Vec<(String, String)>,
    parts: BTreeMap<String, Grammar>,
    named: usize,
}

impl<'a> Rules<'a> {
    pub(crate) fn new(specials: &'a [SpecialToken]) -> Self {
        Self { specials, rules: Vec::new(), parts: BTreeMap::new(), named: 0 }
    }

    /// Adds a rule.
    pub(crate) fn add(&mut self, name: &str, body: &str) {
        self.rules.push((name.to_owned(), body.to_owned()));
    }

    /// Returns a name that no rule has.
    pub(crate) fn new_name(&mut self) -> String {
        self.named += 1;
        format!("rule_{}", self.named)
    }

    /// Adds a rule under a new name and returns the name.
    pub(crate) fn add_new(&mut self, body: &str) -> String {
        let name = self.new_name();
        self.add(&name, body);
        name
    }

    /// Adds a rule for one of several.
    pub(crate) fn any(&mut self, alternatives: &[String]) -> String {
        match alternatives {
            [one] => one.clone(),
            several => self.add_new(&several.join(" | ")),
        }
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
        while let Some((at, special)) = self.first_special(rest) {
            written.extend(rest.get(..at).filter(|text| !text.is_empty()).map(quoted));
            written.push(format!("<[{}]>", special.id));
            rest = rest.get(at + special.text.len()..).unwrap_or_default();
        }
        written.extend(Some(rest).filter(|rest| !rest.is_empty()).map(quoted));
        written.join(" ")
    }

    fn first_special(&self, text: &str) -> Option<(usize, &'a SpecialToken)> {
        let named = self.specials.iter().filter(|special| !special.text.is_empty());
        let found = named.filter_map(|special| Some((text.find(&special.text)?, special)));
        found.min_by_key(|(at, special)| (*at, usize::MAX - special.text.len()))
    }

    /// Writes a text that is known, spelled, and a mark behind it.
    pub(crate) fn known_text(&self, text: &str, end: &str) -> String {
        let text = Some(text).filter(|text| !text.is_empty()).map(quoted).unwrap_or_default();
        format!("{text} {}", self.marker(end))
    }

    /// Says whether no part of a mark is a token of its own.
    pub(crate) fn is_spelled(&self, mark: &str) -> bool {
        self.first_special(mark).is_none()
    }

    /// Writes a text up to the mark `end`, and the mark. All of `conditions`, regular expressions, match the text, and
    /// none of `never` is spelled in it. A text that may be empty says so.
    pub(crate) fn text(&mut self, text: &Text<'_>, end: &str) -> String {
        let spelled = self.first_special(end).map_or(end.len(), |(at, _)| at);
        let (spelled, token) = end.split_at(spelled);
        let conditions = text.conditions.iter();
        let mut terminal: Vec<_> =
            conditions.map(|condition| format!("/(?:{condition}){}/", escaped(spelled))).collect();
        let holds = |mark: &str, behind: &str| format!("~/(?s:.*){}(?s:{behind})/", escaped(mark));
        terminal.extend(text.never.iter().map(|mark| holds(mark, ".*")));
        // Where the mark is spelled, the first one ends the text.
        let behind = if token.is_empty() { ".+" } else { ".*" };
        terminal.extend(Some(end.trim_start()).filter(|end| !end.is_empty()).map(|end| holds(end, behind)));
        let optional = spelled.is_empty() && text.may_be_empty;
        if optional {
            terminal.push("/(?s:.+)/".to_owned());
        }
        self.named += 1;
        let name = format!("TEXT_{}", self.named);
        self.add(&name, &terminal.join(" & "));
        format!("{name}{} {}", if optional { "?" } else { "" }, self.marker(token))
    }

    /// Returns the grammar that starts with the rule `start`.
    pub(crate) fn grammar(self) -> Grammar {
        let lines = self.rules.into_iter().map(|(name, body)| format!("{name}: {body}\n"));
        Grammar::Composed { lark: lines.collect(), parts: self.parts }
    }
}

/// What a text may be that a mark ends.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    /// Regular expressions, all of which match the whole text.
    pub(crate) conditions: Vec<String>,
    /// They match nothing, too.
    pub(crate) may_be_empty: bool,
    /// What must not be spelled in it.
    pub(crate) never: Vec<&'a str>,
}

/// Writes a text as a string of Lark's, which are those of JSON.
pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
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
