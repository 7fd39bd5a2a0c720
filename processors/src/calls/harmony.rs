//! Tool calls as messages to a tool, in OpenAI's harmony format: `functions.name … <|message|>{…}`.
//!
//! A channel and the type of the content may follow the recipient, in either order.

use super::call::{Begun, Call};
use super::json::{object, spaced};

const MESSAGE: &str = "<|message|>";
const CHANNEL: &str = "<|channel|>";
const NAMESPACE: &str = "functions.";

/// The words of a head besides the recipient.
const ASIDES: [&str; 7] = [
    "<|channel|>commentary",
    "<|channel|>analysis",
    "<|constrain|>json",
    "<|constrain|>",
    "commentary",
    "json",
    "code",
];

pub(crate) fn read(text: &str) -> Result<Vec<Call>, String> {
    let (head, arguments) = text.split_once(MESSAGE).ok_or_else(|| format!("expected `{MESSAGE}`"))?;
    let spaced = head.replace("<|", " <|");
    let mut words = spaced.split_whitespace();
    let name = words.next().map(without_namespace).filter(|name| !name.is_empty());
    let name = name.ok_or("a call needs a recipient")?.to_owned();
    if let Some(word) = words.find(|word| !ASIDES.contains(word)) {
        return Err(format!("a head says recipient, channel and type, not {word:?}"));
    }
    let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
    let arguments = object(arguments).ok_or("the arguments are no JSON object")?;
    Ok(vec![Call { name, arguments }])
}

fn without_namespace(recipient: &str) -> &str {
    recipient.strip_prefix(NAMESPACE).unwrap_or(recipient)
}

pub(crate) fn begun(text: &str) -> Vec<Begun> {
    let Some((head, arguments)) = text.split_once(MESSAGE) else {
        return Vec::new();
    };
    let recipient = head.split([' ', '<']).next().unwrap_or_default();
    let start = text.len() - arguments.len();
    vec![Begun {
        id: None,
        name: without_namespace(recipient).to_owned(),
        arguments: Some(start..usize::MAX),
    }]
}

pub(crate) fn write(calls: &[Call]) -> String {
    let mut written = String::new();
    for call in calls {
        let arguments = spaced(&call.arguments.clone().into());
        written += &format!("{NAMESPACE}{}{CHANNEL}commentary json{MESSAGE}{arguments}", call.name);
    }
    written
}
