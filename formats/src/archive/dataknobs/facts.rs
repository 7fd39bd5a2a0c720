//! Translates the facts of a node beside its message: the name of a branch is a label here, the counts of tokens are a
//! [`Usage`]. Knows metadata; not messages, not trees.
//!
//! A state has one map of facts for each node. So a node's facts become one flat map here, under the names that they had
//! in `metadata` in version 0.1. Documents of that version have these names in their notes.

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

/// The names of two facts in a state.
const FINISH_REASON: &str = "finish_reason";
const SYSTEM_PROMPT_OVERRIDE: &str = "system_prompt_override";

/// The names of every fact that the two sides name or write differently, in both spellings.
const TRANSLATED: [&str; 7] =
    [LABEL, PROMPT, USAGE, FINISH, FINISH_REASON, SYSTEM_PROMPT, SYSTEM_PROMPT_OVERRIDE];

/// The facts of a node as a state has them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StateFacts {
    pub(super) metadata: Map<String, Value>,
    pub(super) branch_name: Value,
    pub(super) prompt_name: Value,
}

impl StateFacts {
    /// Translates flat facts into those of a state.
    pub(super) fn of(facts: &Map<String, Value>) -> Self {
        let mut stated = Self { metadata: facts.clone(), ..Self::default() };
        for (name, place) in [(LABEL, &mut stated.branch_name), (PROMPT, &mut stated.prompt_name)] {
            if let Some(text) = text(facts, name).filter(|text| !text.is_empty()) {
                stated.metadata.shift_remove(name);
                *place = text.into();
            }
        }
        if let Some(usage) = facts.get(USAGE).and_then(|usage| Usage::deserialize(usage).ok()) {
            stated.metadata.insert(USAGE.to_owned(), counted(&usage));
        }
        if let Some(finish) = facts.get(FINISH).and_then(|finish| FinishReason::deserialize(finish).ok()) {
            stated.metadata.shift_remove(FINISH);
            stated.metadata.insert(FINISH_REASON.to_owned(), reason(finish));
        }
        if let Some(prompt) = text(facts, SYSTEM_PROMPT) {
            stated.metadata.shift_remove(SYSTEM_PROMPT);
            stated.metadata.insert(SYSTEM_PROMPT_OVERRIDE.to_owned(), prompt.into());
        }
        stated
    }

    /// Translates back into flat facts. What cannot be read stays as it is.
    pub(super) fn facts(&self) -> Map<String, Value> {
        let mut facts = self.metadata.clone();
        for (name, stated) in [(LABEL, &self.branch_name), (PROMPT, &self.prompt_name)] {
            if let Some(text) = stated.as_str()
                && !text.is_empty()
            {
                facts.insert(name.to_owned(), text.into());
            }
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

    /// Removes metadata of the host's own whose name has a meaning here, and returns the names.
    pub(super) fn set_aside(&mut self, role: Role) -> Vec<String> {
        let mut names = Vec::new();
        for name in [LABEL, PROMPT, FINISH, SYSTEM_PROMPT, TEMPLATE, MODEL] {
            let is_known_to_both = name == MODEL && role == Role::Assistant;
            if !is_known_to_both && self.metadata.shift_remove(name).is_some() {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// Returns the entries of the metadata that `other` lacks or that have another value in it.
    pub(super) fn difference(&self, other: &Self) -> Map<String, Value> {
        let mut differing = self.metadata.clone();
        differing.retain(|name, value| other.metadata.get(name) != Some(value));
        differing
    }

    /// Returns whether there is a usage whose counts cannot be read.
    pub(super) fn is_uncounted(&self) -> bool {
        match self.metadata.get(USAGE) {
            None | Some(Value::Null) => false,
            Some(stated) => usage(stated).is_none() && Usage::deserialize(stated).is_err(),
        }
    }
}

/// Adds the facts of a node to its `metadata`; they replace entries of the same name.
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

/// The inverse of [`flat`]: sets the facts and the metadata of a node, as far as one map distinguishes them.
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

/// What one map cannot hold of a node: facts of middleware, and metadata under the names of facts.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Unmixed {
    reply: Option<Box<ReplyFacts>>,
    label: Option<String>,
    prompt_name: Option<String>,
    /// The entries under the names of facts.
    metadata: Map<String, Value>,
}

impl Unmixed {
    /// Notes a node unless [`set`] restores it from its flat facts.
    pub(super) fn of(node: &Node, metadata: &Map<String, Value>, flat: Map<String, Value>) -> Option<Self> {
        let mut restored = node.clone();
        set(&mut restored, flat);
        let is_same = restored.reply == node.reply
            && restored.label == node.label
            && restored.prompt_name == node.prompt_name
            && restored.metadata == *metadata;
        if is_same {
            return None;
        }
        Some(Self {
            reply: node.reply.clone(),
            label: node.label.clone(),
            prompt_name: node.prompt_name.clone(),
            metadata: named_like_facts(metadata),
        })
    }

    /// Restores a noted node that has the facts `flat`; returns false when these were changed since.
    pub(super) fn restore(self, flat: &Map<String, Value>, node: &mut Node) -> bool {
        let mut noted = node.clone();
        noted.reply = self.reply;
        noted.label = self.label;
        noted.prompt_name = self.prompt_name;
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

/// Returns the entries of `metadata` that the two sides name or write differently.
pub(super) fn translated(metadata: &Map<String, Value>) -> Map<String, Value> {
    let mut found = Map::new();
    for name in TRANSLATED {
        if let Some(value) = metadata.get(name) {
            found.insert(name.to_owned(), value.clone());
        }
    }
    found
}

/// Replaces the translated entries of `metadata` by `facts`.
pub(super) fn put_back(metadata: &mut Map<String, Value>, facts: &Map<String, Value>) {
    for name in TRANSLATED {
        metadata.shift_remove(name);
    }
    metadata.extend(facts.clone());
}

fn text<'a>(metadata: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    metadata.get(name)?.as_str()
}

fn counted(usage: &Usage) -> Value {
    let total = usage.prompt.saturating_add(usage.generated);
    json!({"prompt_tokens": usage.prompt, "completion_tokens": usage.generated, "total_tokens": total})
}

/// Reads how many tokens a reply took. One count of two is enough: the other is left out where it is zero.
fn usage(stated: &Value) -> Option<Usage> {
    let prompt = count(stated, "prompt_tokens")?;
    let generated = count(stated, "completion_tokens")?;
    if prompt.is_none() && generated.is_none() {
        return None;
    }
    Some(Usage::new(prompt.unwrap_or_default(), generated.unwrap_or_default()))
}

/// Reads one count: `Some(None)` when there is none, `None` when it is no number of tokens.
fn count(stated: &Value, name: &str) -> Option<Option<usize>> {
    match stated.get(name) {
        None | Some(Value::Null) => Some(None),
        Some(count) => Some(Some(usize::try_from(count.as_u64()?).ok()?)),
    }
}

/// Dataknobs has the reasons `stop`, `length` and `tool_calls`; every other reason keeps its name here.
fn reason(finish: FinishReason) -> Value {
    match finish {
        FinishReason::StopString => json!(FinishReason::Stop),
        FinishReason::ContextFull | FinishReason::Repetition => json!(FinishReason::Length),
        finish => json!(finish),
    }
}
