//! Notes how many places guards removed, from an answer and from what the model read.

use std::collections::BTreeMap;

use alloquy::core::TurnReply;
use alloquy::guards::redact::{HISTORY_REDACTION_FACT, REDACTION_FACT};
use serde_json::{Map, Value};

/// Returns the facts of all replies of a turn.
pub(super) fn facts_of(turn: &TurnReply) -> Vec<&Map<String, Value>> {
    let mut all = Vec::new();
    for node in &turn.nodes {
        all.extend(node.reply.as_ref().map(|reply| &reply.facts));
    }
    all
}

/// Describes what was removed, from the facts of one or several replies.
pub(super) fn removed(facts: &[&Map<String, Value>]) -> Vec<String> {
    let mut notes = Vec::new();
    for (fact, place) in [(HISTORY_REDACTION_FACT, "what the model read"), (REDACTION_FACT, "the answer")] {
        let mut counts = BTreeMap::new();
        for facts in facts {
            add(&mut counts, facts.get(fact));
        }
        notes.extend(described(&counts, place));
    }
    notes
}

fn add(counts: &mut BTreeMap<String, usize>, more: Option<&Value>) {
    for (name, times) in more.and_then(Value::as_object).into_iter().flatten() {
        let times = times.as_u64().and_then(|times| usize::try_from(times).ok());
        *counts.entry(name.clone()).or_default() += times.unwrap_or_default();
    }
}

/// Describes how often patterns matched in a place, by their names; `None` if none did.
pub(crate) fn described(counts: &BTreeMap<String, usize>, place: &str) -> Option<String> {
    if counts.is_empty() {
        return None;
    }
    let all: usize = counts.values().sum();
    let noun = if all == 1 { "place" } else { "places" };
    let names: Vec<_> = counts.iter().map(|(name, times)| format!("{name} {times}")).collect();
    Some(format!("(guards removed {all} {noun} from {place}: {})", names.join(", ")))
}
