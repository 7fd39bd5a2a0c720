//! Writes grammars in Lark's notation, as llguidance reads it.

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
    /// The number of names that were made.
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

    /// Returns a rule that matches any of `alternatives`.
    pub(crate) fn any(&mut self, alternatives: &[String]) -> String {
        match alternatives {
            [one] => one.clone(),
            several => self.add_new(&several.join(" | ")),
        }
    }

    /// Returns a reference to JSON that a schema accepts.
    pub(crate) fn json(&mut self, schema: Value) -> String {
        let name = format!("json_{}", self.parts.len());
        let reference = format!("@{name}");
        self.parts.insert(name, Grammar::JsonSchema(schema));
        reference
    }

    /// Writes a marker: control tokens by number, and the rest as text. `<call>x` with token 7 for `<call>` is `<[7]> "x"`.
    pub(crate) fn marker(&self, marker: &str) -> String {
        let mut written = Vec::new();
        let mut rest = marker;
        while let Some((at, special)) = self.first_special(rest) {
            let text = rest.get(..at).unwrap_or_default();
            if !text.is_empty() {
                written.push(quoted(text));
            }
            written.push(format!("<[{}]>", special.id));
            rest = rest.get(at + special.text.len()..).unwrap_or_default();
        }
        if !rest.is_empty() {
            written.push(quoted(rest));
        }
        written.join(" ")
    }

    /// Returns the first control token in `text`, the longest that begins there.
    fn first_special(&self, text: &str) -> Option<(usize, &'a SpecialToken)> {
        let named = self.specials.iter().filter(|special| !special.text.is_empty());
        let found = named.filter_map(|special| Some((text.find(&special.text)?, special)));
        found.min_by_key(|(at, special)| (*at, usize::MAX - special.text.len()))
    }

    /// Writes a known text and the marker `end` after it.
    pub(crate) fn known_text(&self, text: &str, end: &str) -> String {
        let text = if text.is_empty() { String::new() } else { quoted(text) };
        format!("{text} {}", self.marker(end))
    }

    /// Returns whether a marker contains a control token.
    pub(crate) fn has_token(&self, marker: &str) -> bool {
        self.first_special(marker).is_some()
    }

    /// Writes a text up to the marker `end`, and the marker.
    ///
    /// In llguidance, `&` between two terminals demands both and `~` excludes one. A text before `</p>` without `<p>` is
    /// `/(?:(?s:.*))<\/p>/ & ~/(?s:.*)<p>(?s:.*)/ & ~/(?s:.*)<\/p>(?s:.+)/`.
    pub(crate) fn text(&mut self, text: &Text<'_>, end: &str) -> String {
        // The letters of the marker before its first control token are part of the terminal.
        let letters = self.first_special(end).map_or(end.len(), |(at, _)| at);
        let (letters, token) = end.split_at(letters);
        let mut terminal = Vec::new();
        for condition in &text.conditions {
            terminal.push(format!("/(?:{condition}){}/", escaped(letters)));
        }
        for never in &text.never {
            terminal.push(without(never, ".*"));
        }
        if !end.trim_start().is_empty() {
            // Without a control token, the terminal contains the marker at its end, and must not contain it earlier.
            let after = if token.is_empty() { ".+" } else { ".*" };
            terminal.push(without(end.trim_start(), after));
        }
        // A terminal must not be empty, so an empty text is an optional terminal.
        let optional = letters.is_empty() && text.may_be_empty;
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

/// The conditions of a text before a marker.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    /// Regular expressions, all of which match the whole text.
    pub(crate) conditions: Vec<String>,
    /// Whether the conditions match the empty text.
    pub(crate) may_be_empty: bool,
    /// Texts that it must not contain.
    pub(crate) never: Vec<&'a str>,
}

/// Returns a terminal that excludes `marker` with a match of `after` after it.
fn without(marker: &str, after: &str) -> String {
    format!("~/(?s:.*){}(?s:{after})/", escaped(marker))
}

/// Writes a text as a string of Lark, which is one of JSON.
pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// Writes a text as a regular expression that matches it, for use between slashes.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for symbol in text.chars() {
        match symbol {
            '\n' => escaped.push_str("\\n"),
            ' ' | '_' | '<' | '>' | '`' | '=' | ':' | '"' => escaped.push(symbol),
            symbol if symbol.is_alphanumeric() || !symbol.is_ascii() => escaped.push(symbol),
            symbol => {
                escaped.push('\\');
                escaped.push(symbol);
            }
        }
    }
    escaped
}
