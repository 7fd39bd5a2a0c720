//! One search for the passages of a prompt.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use alloquy_core::prompt_library::{PromptRetrieval, Values};
use alloquy_core::query::{Filter, MetadataValue};
use alloquy_core::{Error, Node, Owner, Result};
use serde_json::Value;

use crate::facts::{RetrievalFacts, RetrievalOutcome};
use crate::time_limit::{TimeLimit, within};
use crate::{Lookup, Passage, Retriever, lookup_key};

/// One search for the passages of a prompt, and what came of it.
pub(super) struct Search<'a> {
    pub(super) retrieval: &'a PromptRetrieval,
    pub(super) facts: RetrievalFacts,
    pub(super) passages: Option<Vec<Passage>>,
    /// Whether the passages were searched for now, and not taken from an earlier message.
    pub(super) is_new: bool,
    pub(super) error: Option<Error>,
    lookup: Lookup,
    retriever: Option<&'a dyn Retriever>,
}

impl<'a> Search<'a> {
    /// Fills the query in.
    pub(super) fn new(retrieval: &'a PromptRetrieval, values: &Values) -> Result<Self> {
        let query = retrieval.query.render(values)?;
        let mut lookup = Lookup::new(query.text());
        if let Some(limit) = retrieval.limit {
            lookup = lookup.limit(limit);
        }
        let facts = RetrievalFacts {
            retriever: retrieval.retriever.clone(),
            query: lookup.text.clone(),
            missing: query.missing,
            limit: lookup.limit.get(),
            filters: retrieval.filters.clone(),
            header: retrieval.header.as_ref().map(|header| header.template().to_owned()),
            item: retrieval.item.as_ref().map(|item| item.template().to_owned()),
            key: None,
            at: now(),
            outcome: RetrievalOutcome::Found(Vec::new()),
            failed: BTreeMap::new(),
        };
        Ok(Self { retrieval, facts, passages: None, is_new: false, error: None, lookup, retriever: None })
    }

    /// Computes the key of the lookup, which needs the version of the index.
    pub(super) async fn prepare(
        &mut self,
        retriever: &'a dyn Retriever,
        owner: &Owner,
        limit: Option<&TimeLimit>,
    ) {
        self.retriever = Some(retriever);
        for (name, value) in &self.facts.filters {
            match equals(name, value) {
                Ok(filter) => self.lookup = self.lookup.clone().filter(filter),
                Err(error) => return self.error = Some(error),
            }
        }
        let version = within(limit, retriever.version(owner)).await;
        match version.and_then(|version| lookup_key(owner, &self.facts.retriever, version, &self.lookup)) {
            Ok(key) => self.facts.key = Some(key),
            Err(error) => self.error = Some(error),
        }
    }

    /// Takes the passages of an earlier message, if it made this lookup and its passages are fresh.
    pub(super) fn use_node(&mut self, node: &Node, fresh_for: Option<Duration>) -> Result<()> {
        for earlier in RetrievalFacts::of(&node.metadata)?.into_values() {
            let age = Duration::from_millis(self.facts.at.saturating_sub(earlier.at));
            let is_fresh = fresh_for.is_none_or(|limit| age <= limit);
            if earlier.key != self.facts.key || !is_fresh {
                continue;
            }
            if let Some(passages) = earlier.passages() {
                self.passages = Some(passages.to_vec());
                self.facts.at = earlier.at;
                self.facts.failed = earlier.failed;
                self.facts.outcome = RetrievalOutcome::As(node.id);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Forgets the passages of an earlier message.
    pub(super) fn forget(&mut self) {
        if self.passages.take().is_some() {
            self.facts.at = now();
            self.facts.failed.clear();
        }
    }

    /// Searches, unless it has passages or has failed.
    pub(super) async fn run(&mut self, owner: &Owner, limit: Option<&TimeLimit>) {
        let Some(retriever) = self.retriever.filter(|_| self.passages.is_none() && self.error.is_none())
        else {
            return;
        };
        let found = within(limit, retriever.find(owner, &self.lookup)).await;
        // The index may have changed since the version was read.
        let keyed = found.and_then(|found| {
            let key = lookup_key(owner, &self.facts.retriever, found.version, &self.lookup)?;
            Ok((found, key))
        });
        match keyed {
            Ok((found, key)) => {
                self.is_new = true;
                self.facts.key = Some(key);
                self.passages = Some(found.passages);
                for failed in found.failed {
                    self.facts.failed.insert(failed.name, failed.error);
                }
            }
            Err(error) => self.error = Some(error),
        }
    }
}

/// The condition that an entry of the metadata has a value, or one of several.
fn equals(name: &str, value: &Value) -> Result<Filter> {
    let values = match value {
        Value::Array(values) => values.as_slice(),
        value => std::slice::from_ref(value),
    };
    let mut allowed = Vec::with_capacity(values.len());
    for value in values {
        let value = MetadataValue::try_from(value.clone()).map_err(|error| {
            error.context(format_args!("the filter {name:?} of a retrieval demands {value}"))
        })?;
        allowed.push(value);
    }
    Ok(Filter::one_of(name, allowed))
}

/// The present time, in milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
