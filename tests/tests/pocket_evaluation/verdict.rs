//! Whether a reply is right. Knows checks and replies, not skills.

use alloquy_core::report::FinishReason;
use alloquy_core::{Message, Reply};
use serde::Deserialize;
use serde_json::Value;

/// What must hold of a reply; what is absent may be anything, except that calls are only made where they are wanted.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Check {
    equals: Option<String>,
    contains: Vec<String>,
    starts: Option<String>,
    ends: Option<String>,
    /// How many words.
    words: Option<usize>,
    /// The last number of the text.
    final_number: Option<i64>,
    /// The text is this JSON.
    json: Option<Value>,
    /// Exactly these calls, in this order.
    calls: Vec<Call>,
}

/// A wanted call.
#[derive(Debug, Deserialize)]
struct Call {
    name: String,
    arguments: Value,
}

impl Check {
    /// Whether all of it holds.
    pub(crate) fn holds(&self, message: &Message) -> bool {
        self.holds_of_text(message.text().trim()) && self.holds_of_calls(message)
    }

    fn holds_of_text(&self, text: &str) -> bool {
        self.equals.as_ref().is_none_or(|wanted| text == wanted)
            && self.contains.iter().all(|part| text.contains(part))
            && self.starts.as_ref().is_none_or(|start| text.starts_with(start))
            && self.ends.as_ref().is_none_or(|end| text.ends_with(end))
            && self.words.is_none_or(|count| text.split_whitespace().count() == count)
            && self.final_number.is_none_or(|number| last_number(text) == Some(number))
            && self.json.as_ref().is_none_or(|json| serde_json::from_str(text).ok().as_ref() == Some(json))
    }

    fn holds_of_calls(&self, message: &Message) -> bool {
        let made: Vec<_> = message.tool_calls().map(|call| (&call.name, &call.arguments)).collect();
        let wanted: Vec<_> = self.calls.iter().map(|call| (&call.name, &call.arguments)).collect();
        made == wanted
    }
}

/// The last number that stands in a text, with its sign.
fn last_number(text: &str) -> Option<i64> {
    let words = text.split(|letter: char| !letter.is_ascii_digit() && letter != '-');
    words.filter_map(|word| word.parse().ok()).next_back()
}

/// Whether the model ended its turn itself and every call can be read.
pub(crate) fn well_formed(reply: &Reply) -> bool {
    let ended = matches!(reply.finish, FinishReason::Stop | FinishReason::ToolCalls);
    ended && reply.message.malformed().next().is_none()
}

#[test]
fn the_last_number_has_its_sign() {
    assert_eq!(last_number("3 - 12 = -9."), Some(-9));
    assert_eq!(last_number("none"), None);
}
