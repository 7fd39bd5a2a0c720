//! Tool calls in Gemma's own notation: `call:name{key:value,…}`. Strings are between two marks and have no escapes. Each
//! generation of Gemma has a mark of its own, and the marks of all generations are read.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::call::{Begun, Call};
use super::value::{self, Escapes, Notation, Reader, Word};

/// Tool calls in Gemma's own notation: `call:name{key:value}`.
///
/// ```
/// use alloquy_processors::{CallSyntax, GemmaCalls, GemmaQuote};
///
/// let calls: GemmaCalls = serde_json::from_str(r#"{"quote": "<escape>"}"#)?;
/// assert_eq!(calls.quote, GemmaQuote::Escape);
/// let syntax: CallSyntax = serde_json::from_str(r#"{"gemma": {"quote": "<escape>"}}"#)?;
/// assert_eq!(syntax, CallSyntax::Gemma(calls));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct GemmaCalls {
    /// The mark around strings.
    pub quote: GemmaQuote,
}

/// The mark that a generation of Gemma writes around strings. The marks of the others are read too.
///
/// [`GemmaCalls`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum GemmaQuote {
    /// `<escape>`, as FunctionGemma writes it.
    #[serde(rename = "<escape>")]
    Escape,
    /// `<|"|>`, as Gemma 4 writes it.
    #[serde(rename = "<|\"|>")]
    Bar,
}

const WORDS: &[(&str, Word)] = &[("true", Word::True), ("false", Word::False), ("null", Word::Null)];

/// The notation of FunctionGemma.
static ESCAPE: Notation = Notation {
    name: "call",
    quotes: &["<escape>", "<|\"|>", "<ctrl46>"],
    escapes: Escapes::None,
    words: WORDS,
    bare_keys: true,
};

/// The notation of Gemma 4.
static QUOTE: Notation = Notation {
    name: "call",
    quotes: &["<|\"|>", "<escape>", "<ctrl46>"],
    escapes: Escapes::None,
    words: WORDS,
    bare_keys: true,
};

impl GemmaCalls {
    /// Returns how values are written. The first quotation mark is the one to write.
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
            let arguments =
                if reader.rest().starts_with('{') { reader.object("{", "}", ":")? } else { Map::new() };
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
        let mut written = String::new();
        for call in calls {
            written += &format!("call:{}{}", call.name, self.object(&call.arguments));
        }
        written
    }

    /// Writes a value.
    pub(crate) fn literal(&self, value: &Value) -> String {
        match value {
            Value::String(text) => {
                let quote = self.notation().quotes.first().copied().unwrap_or_default();
                format!("{quote}{text}{quote}")
            }
            Value::Array(values) => {
                let values: Vec<_> = values.iter().map(|value| self.literal(value)).collect();
                format!("[{}]", values.join(","))
            }
            Value::Object(fields) => self.object(fields),
            other => other.to_string(),
        }
    }

    fn object(&self, fields: &Map<String, Value>) -> String {
        let mut written = Vec::new();
        for (key, value) in fields {
            written.push(format!("{key}:{}", self.literal(value)));
        }
        format!("{{{}}}", written.join(","))
    }
}
