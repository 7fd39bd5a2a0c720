//! What either side says of a node beside its message: the name of a branch is a label here, and what a reply took is a
//! [`Usage`]. Knows metadata; not messages, not trees.
//!
//! A state has one map of facts for each node. So a node's facts are made flat here, under the names that they had in
//! `metadata` in version 0.1, which documents of then have in their notes.

use alloquy_core::report::{FinishReason, ReplyFacts, Usage};
use alloquy_core::{Node, Role};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The names of some facts; [`FACTS`] has all of them.
const FINISH: &str = "finish";
const LABEL: &str = "label";
const MODEL: &str = "model";
const PROMPT: &str = "prompt_name";
const SYSTEM_PROMPT: &str = "system_prompt";
const TEMPLATE: &str = "template";
const USAGE: &str = "usage";

/// The names of all facts.
const FACTS: [&str; 13] = [
    LABEL,
    PROMPT,
    SYSTEM_PROMPT,
    MODEL,
    FINISH,
    "stop_string",
    "error",
    USAGE,
    "cache",
    "seed",
    "history_cut",
    TEMPLATE,
    "degradations",
];

/// What a state calls two of them.
const FINISH_REASON: &str = "finish_reason";
const SYSTEM_PROMPT_OVERRIDE: &str = "system_prompt_override";

/// Whatever is said in other words on the other side, in the words of both.
const TRANSLATED: [&str; 7] =
    [LABEL, PROMPT, USAGE, FINISH, FINISH_REASON, SYSTEM_PROMPT, SYSTEM_PROMPT_OVERRIDE];

/// What a state says of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Told {
    pub(super) metadata: Map<String, Value>,
    pub(super) branch_name: Value,
    pub(super) prompt_name: Value,
}

impl Told {
    /// Says facts in the words of a state.
    pub(super) fn of(facts: &Map<String, Value>) -> Self {
        let mut told = Self { metadata: facts.clone(), ..Self::default() };
        for (name, place) in [(LABEL, &mut told.branch_name), (PROMPT, &mut told.prompt_name)] {
            if let Some(text) = text(facts, name).filter(|text| !text.is_empty()) {
                told.metadata.shift_remove(name);
                *place = text.into();
            }
        }
        if let Some(usage) = facts.get(USAGE).and_then(|usage| Usage::deserialize(usage).ok()) {
            told.metadata.insert(USAGE.to_owned(), counted(&usage));
        }
        if let Some(finish) = facts.get(FINISH).and_then(|finish| FinishReason::deserialize(finish).ok()) {
            told.metadata.shift_remove(FINISH);
            told.metadata.insert(FINISH_REASON.to_owned(), reason(finish));
        }
        if let Some(prompt) = text(facts, SYSTEM_PROMPT) {
            told.metadata.shift_remove(SYSTEM_PROMPT);
            told.metadata.insert(SYSTEM_PROMPT_OVERRIDE.to_owned(), prompt.into());
        }
        told
    }

    /// Says the same as facts. What cannot be read stays as it is.
    pub(super) fn facts(&self) -> Map<String, Value> {
        let mut facts = self.metadata.clone();
        for (name, told) in [(LABEL, &self.branch_name), (PROMPT, &self.prompt_name)] {
            let told = told.as_str().filter(|told| !told.is_empty());
            facts.extend(told.map(|told| (name.to_owned(), told.into())));
        }
        if let Some(usage) = self.metadata.get(USAGE).and_then(usage) {
            facts.insert(USAGE.to_owned(), json!(usage));
        }
        let finish = self.metadata.get(FINISH_REASON);
        if let Some(finish) = finish.and_then(|finish| FinishReason::deserialize(finish).ok()) {
            facts.shift_remove(FINISH_REASON);
            facts.insert(FINISH.to_owned(), json!(finish));
        }
        if let Some(prompt) = text(&self.metadata, SYSTEM_PROMPT_OVERRIDE) {
            facts.shift_remove(SYSTEM_PROMPT_OVERRIDE);
            facts.insert(SYSTEM_PROMPT.to_owned(), prompt.into());
        }
        facts
    }

    /// Takes out what would mean something here that nobody meant there.
    pub(super) fn set_aside(&mut self, role: Role) -> Vec<String> {
        let is_reply = role == Role::Assistant;
        let foreign = [LABEL, PROMPT, FINISH, SYSTEM_PROMPT, TEMPLATE].into_iter();
        let foreign = foreign.chain((!is_reply).then_some(MODEL));
        foreign.filter(|name| self.metadata.shift_remove(*name).is_some()).map(str::to_owned).collect()
    }

    /// Returns what of the metadata `other` says otherwise or not at all.
    pub(super) fn difference(&self, other: &Self) -> Map<String, Value> {
        let differs = |(name, value): &(&String, &Value)| other.metadata.get(*name) != Some(value);
        let differing = self.metadata.iter().filter(differs);
        differing.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Says whether a reply took tokens, but nobody can read how many.
    pub(super) fn is_uncounted(&self) -> bool {
        let is_unread = |told: &Value| usage(told).is_none() && Usage::deserialize(told).is_err();
        self.metadata.get(USAGE).is_some_and(|told| !told.is_null() && is_unread(told))
    }
}

/// Returns `metadata` of a node with the facts of the node in it, which win over entries of the same name.
pub(super) fn flat(node: &Node, mut metadata: Map<String, Value>) -> Map<String, Value> {
    // The host's own texts of these names would be read as the name of a branch and of a prompt: a note keeps them.
    take_text(&mut metadata, LABEL);
    take_text(&mut metadata, PROMPT);
    put(&mut metadata, LABEL, node.label.as_ref());
    put(&mut metadata, PROMPT, node.prompt_name.as_ref());
    let Some(reply) = &node.reply else { return metadata };
    put(&mut metadata, SYSTEM_PROMPT, reply.system_prompt.as_ref());
    put(&mut metadata, MODEL, Some(&reply.model));
    put(&mut metadata, FINISH, reply.finish.as_ref());
    put(&mut metadata, "stop_string", reply.stop_string.as_ref());
    put(&mut metadata, "error", reply.error.as_ref());
    put(&mut metadata, USAGE, reply.usage.as_ref());
    put(&mut metadata, "cache", reply.cache.as_ref());
    put(&mut metadata, "seed", reply.seed.as_ref());
    put(&mut metadata, "history_cut", reply.history_cut.as_ref());
    put(&mut metadata, TEMPLATE, reply.template.as_ref());
    put(&mut metadata, "degradations", Some(&reply.warnings).filter(|warnings| !warnings.is_empty()));
    metadata
}

fn put<T: Serialize>(metadata: &mut Map<String, Value>, name: &str, fact: Option<&T>) {
    if let Some(fact) = fact {
        metadata.insert(name.to_owned(), json!(fact));
    }
}

/// The inverse of [`flat`]: gives a node its facts and its metadata, as far as one map can say which is which.
pub(super) fn set(node: &mut Node, mut flat: Map<String, Value>) {
    node.label = take_text(&mut flat, LABEL);
    node.prompt_name = take_text(&mut flat, PROMPT);
    node.reply = None;
    if node.message.role == Role::Assistant {
        node.reply = ReplyFacts::take_from(&mut flat).map(Box::new);
    }
    node.metadata = flat;
}

fn take_text(metadata: &mut Map<String, Value>, name: &str) -> Option<String> {
    let text = text(metadata, name)?.to_owned();
    metadata.shift_remove(name);
    Some(text)
}

/// What one map cannot say of a node: facts of middleware, and metadata under names that facts have.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Unmixed {
    reply: Option<Box<ReplyFacts>>,
    label: Option<String>,
    prompt_name: Option<String>,
    /// The entries under names that facts have.
    metadata: Map<String, Value>,
}

impl Unmixed {
    /// Notes a node unless it is what [`set`] makes of its flat facts.
    pub(super) fn of(node: &Node, metadata: &Map<String, Value>, flat: Map<String, Value>) -> Option<Self> {
        let mut again = node.clone();
        set(&mut again, flat);
        let is_same = (&again.reply, &again.label, &again.prompt_name, &again.metadata)
            == (&node.reply, &node.label, &node.prompt_name, metadata);
        if is_same {
            return None;
        }
        let (reply, label, prompt_name) = (node.reply.clone(), node.label.clone(), node.prompt_name.clone());
        Some(Self { reply, label, prompt_name, metadata: named_like_facts(metadata) })
    }

    /// Puts back what was noted of a node that has the facts `flat`; says whether they are still those that were noted.
    pub(super) fn restore(self, flat: &Map<String, Value>, node: &mut Node) -> bool {
        let mut noted = node.clone();
        (noted.reply, noted.label, noted.prompt_name) = (self.reply, self.label, self.prompt_name);
        if named_like_facts(&self::flat(&noted, self.metadata.clone())) != named_like_facts(flat) {
            return false;
        }
        noted.metadata.retain(|name, _| !FACTS.contains(&name.as_str()));
        noted.metadata.extend(self.metadata);
        *node = noted;
        true
    }
}

fn named_like_facts(metadata: &Map<String, Value>) -> Map<String, Value> {
    let mut found = metadata.clone();
    found.retain(|name, _| FACTS.contains(&name.as_str()));
    found
}

/// Returns those of `metadata` that have other words on the other side.
pub(super) fn translated(metadata: &Map<String, Value>) -> Map<String, Value> {
    let found =
        TRANSLATED.into_iter().filter_map(|name| Some((name.to_owned(), metadata.get(name)?.clone())));
    found.collect()
}

/// Puts `facts` in the place of what `metadata` has of them in either words.
pub(super) fn put_back(metadata: &mut Map<String, Value>, facts: &Map<String, Value>) {
    TRANSLATED.into_iter().for_each(|name| drop(metadata.shift_remove(name)));
    metadata.extend(facts.clone());
}

fn text<'a>(metadata: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    metadata.get(name)?.as_str()
}

fn counted(usage: &Usage) -> Value {
    let (prompt, reply) = (usage.prompt, usage.generated);
    json!({"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt.saturating_add(reply)})
}

/// Reads how many tokens a reply took. One count of two is enough: the other is left out where it is zero.
fn usage(told: &Value) -> Option<Usage> {
    let count = |name: &str| match told.get(name) {
        None | Some(Value::Null) => Some(None),
        Some(count) => count.as_u64().and_then(|count| usize::try_from(count).ok()).map(Some),
    };
    let (prompt, reply) = (count("prompt_tokens")?, count("completion_tokens")?);
    let (prompt, generated) = match (prompt, reply) {
        (None, None) => return None,
        (prompt, reply) => (prompt.unwrap_or_default(), reply.unwrap_or_default()),
    };
    Some(Usage::new(prompt, generated))
}

/// The words of dataknobs are `stop`, `length` and `tool_calls`; what is none of them is said in ours.
fn reason(finish: FinishReason) -> Value {
    match finish {
        FinishReason::StopString => json!(FinishReason::Stop),
        FinishReason::ContextFull => json!(FinishReason::Length),
        finish => json!(finish),
    }
}
