//! Builds the facts of a reply for its node.

use crate::chat_model::Reply;
use crate::report::{ReplyFacts, Usage};
use crate::turn::TurnRequest;

/// Returns the facts of a reply of `model` that was dropped.
pub(super) fn dropped(model: &str, ask: &TurnRequest) -> ReplyFacts {
    let mut facts = ReplyFacts::new(model);
    facts.system_prompt.clone_from(&ask.system_prompt);
    facts
}

/// Returns the facts of a reply of `model`.
pub(super) fn facts(model: &str, reply: &Reply, ask: &TurnRequest) -> ReplyFacts {
    let mut facts = dropped(model, ask);
    facts.finish = Some(reply.finish);
    // Every reply takes tokens, so a usage of zeros is unknown and must not count as free.
    if reply.usage != Usage::default() {
        facts.usage = Some(reply.usage);
    }
    facts.cache = reply.cache;
    facts.begun = reply.begun;
    facts.template = reply.template;
    facts.seed = reply.seed;
    facts.stop_string.clone_from(&reply.stop_string);
    facts.error.clone_from(&reply.error);
    facts.warnings.clone_from(&reply.warnings);
    facts.history_cut.clone_from(&reply.cut);
    facts.facts.clone_from(&reply.facts);
    facts
}
