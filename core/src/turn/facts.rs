//! What a node remembers of its reply, for people and statistics.

use serde_json::{Map, Value};

use crate::chat_model::Reply;
use crate::report::Usage;
use crate::tree::{CUT, FINISH, MODEL, TEMPLATE, USAGE};

/// Returns what the node of a reply of `model` remembers.
pub(super) fn facts(model: &str, reply: &Reply) -> Map<String, Value> {
    let mut facts = Map::new();
    facts.insert(MODEL.to_owned(), model.into());
    let mut remember = |name: &str, value: serde_json::Result<Value>| {
        // These types are plain structs of numbers and names, which always serialise.
        facts.extend(value.ok().filter(|value| !value.is_null()).map(|value| (name.to_owned(), value)));
    };
    remember(FINISH, serde_json::to_value(reply.finish));
    remember("stop_string", serde_json::to_value(&reply.stop_string));
    remember("error", serde_json::to_value(&reply.error));
    // No reply takes nothing at all: what is zero throughout is not known, and must not count as free.
    let usage = (reply.usage != Usage::default()).then_some(reply.usage);
    remember(USAGE, serde_json::to_value(usage));
    remember("cache", serde_json::to_value(reply.cache));
    remember("seed", serde_json::to_value(reply.seed));
    remember(CUT, serde_json::to_value(&reply.cut));
    remember(TEMPLATE, serde_json::to_value(reply.template));
    if !reply.degradations.is_empty() {
        remember("degradations", serde_json::to_value(&reply.degradations));
    }
    facts
}
