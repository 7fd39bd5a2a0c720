//! Tool calls as Gemma's own notation: `call:name{key:value,…}`, strings between two marks and without escapes. Each
//! generation has a mark of its own and reads those of the others.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::call::{Begun, Call};
use super::value::{self, Escapes, Notation, Reader, Word};

/// Tool calls in Gemma's own notation: `call:name{key:value}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct GemmaCalls {
    /// The mark around strings.
    pub quote: GemmaQuote,
}

/// The mark that a generation of Gemma writes around strings; it reads those of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum GemmaQuote {
    /// `<escape>`, of FunctionGemma.
    #[serde(rename = "<escape>")]
    Escape,
    /// `<|"|>`, of Gemma 4.
    #[serde(rename = "<|\"|>")]
    Bar,
}

const WORDS: &[(&str, Word)] = &[("true", Word::True), ("false", Word::False), ("null", Word::Null)];

/// FunctionGemma's values.
static ESCAPE: Notation = Notation {
    name: "call",
    quotes: &["<escape>", "<|\"|>", "<ctrl46>"],
    escapes: Escapes::None,
    words: WORDS,
    bare_keys: true,
};

/// Gemma 4's values.
static QUOTE: Notation = Notation {
    name: "call",
    quotes: &["<|\"|>", "<escape>", "<ctrl46>"],
    escapes: Escapes::None,
    words: WORDS,
    bare_keys: true,
};

impl GemmaCalls {
    /// How values are written; the first quotation mark is the one that is printed.
    pub(crate) fn notation(&self) -> &'static Notation {
        match self.quote {
            GemmaQuote::Escape => &ESCAPE,
            GemmaQuote::Bar => &QUOTE,
        }
    }

    pub(crate) fn read(&self, text: &str) -> Result<Vec<Call>, String> {
        let mut reader = Reader::new(text, self.notation());
        let mut calls = Vec::new();
        while !reader.is_done() {
            reader.take("call:")?;
            let name = reader.word(value::is_name).to_owned();
            if name.is_empty() {
                return reader.expected("a name");
            }
            reader.space();
            let arguments = match reader.rest().starts_with('{') {
                true => reader.object("{", "}", ":")?,
                false => serde_json::Map::new(),
            };
            calls.push(Call { name, arguments });
            while reader.takes(",") {}
        }
        Ok(calls)
    }

    pub(crate) fn begun(&self, text: &str) -> Vec<Begun> {
        let mut reader = Reader::new(text, self.notation());
        let mut begun = Vec::new();
        while reader.takes("call:") {
            let name = reader.word(value::is_name).to_owned();
            reader.space();
            if name.is_empty() || !reader.rest().starts_with('{') {
                break;
            }
            let start = reader.at();
            let ended = reader.object("{", "}", ":").is_ok();
            let end = if ended { reader.at() } else { usize::MAX };
            begun.push(Begun { id: None, name, arguments: Some(start..end) });
            while ended && reader.takes(",") {}
        }
        begun
    }

    pub(crate) fn write(&self, calls: &[Call]) -> String {
        let one = |call: &Call| {
            let fields = call.arguments.iter().map(|(key, value)| format!("{key}:{}", self.literal(value)));
            format!("call:{}{{{}}}", call.name, fields.collect::<Vec<_>>().join(","))
        };
        calls.iter().map(one).collect::<Vec<_>>().join("")
    }

    /// Writes a value.
    pub(crate) fn literal(&self, value: &Value) -> String {
        let join = |values: Vec<String>| values.join(",");
        match value {
            Value::String(text) => {
                let quote = self.notation().quotes.first().copied().unwrap_or_default();
                format!("{quote}{text}{quote}")
            }
            Value::Array(values) => {
                format!("[{}]", join(values.iter().map(|value| self.literal(value)).collect()))
            }
            Value::Object(fields) => {
                let field = |(key, value): (&String, &Value)| format!("{key}:{}", self.literal(value));
                format!("{{{}}}", join(fields.iter().map(field).collect()))
            }
            other => other.to_string(),
        }
    }
}
