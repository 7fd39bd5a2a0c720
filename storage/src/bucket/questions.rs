//! Lists, counts and searches. Each looks for the newest entry of every conversation, and reads those that are not known.

use std::collections::BTreeMap;

use alloquy_core::query::SearchScope;
use alloquy_core::search::{SearchCandidate, SearchPage, SearchText};
use alloquy_core::store::{ConversationPage, ConversationSummary, DamagedConversation};
use alloquy_core::{NodeId, Owner, Query};
use futures::StreamExt;

use super::key::{self, Keys};
use super::logs::Bucket;
use super::objects::AT_ONCE;
use crate::failure::Failure;

type Found = (Vec<ConversationSummary>, Vec<DamagedConversation>);

impl Bucket {
    pub(super) async fn list(&self, owner: &Owner, query: &Query) -> Result<ConversationPage, Failure> {
        let (found, damaged) = self.matching(owner, query).await?;
        let mut page = query.page(found)?;
        // Every page looks at all conversations; the first one reports the damaged ones.
        if query.list_start()?.is_none() {
            page.damaged = damaged;
        }
        Ok(page)
    }

    pub(super) async fn count(&self, owner: &Owner, query: &Query) -> Result<usize, Failure> {
        Ok(self.matching(owner, query).await?.0.len())
    }

    pub(super) async fn search(&self, owner: &Owner, query: &Query) -> Result<SearchPage, Failure> {
        let scope = query.search_scope()?;
        let until: Option<NodeId> = scope.until.map(str::parse).transpose()?;
        let (summaries, damaged) = self.summaries(owner).await?;
        let mut found = Vec::new();
        for summary in summaries.into_iter().filter(|summary| query.matches(summary)) {
            found.extend(self.candidates(owner, &summary, &scope, until).await?);
            found.sort_by(SearchCandidate::newest_first);
            found.truncate(scope.at_most);
        }
        let mut page = scope.page(found);
        page.damaged = damaged;
        Ok(page)
    }

    /// Returns the matching nodes of a conversation up to the node `until`. A conversation that was deleted meanwhile has none.
    async fn candidates(
        &self,
        owner: &Owner,
        summary: &ConversationSummary,
        scope: &SearchScope<'_>,
        until: Option<NodeId>,
    ) -> Result<Vec<SearchCandidate>, Failure> {
        let id = &summary.record.id;
        let found = self.read(owner, id, |log| {
            let mut hits = Vec::new();
            for node in log.tree.nodes() {
                if until.is_some_and(|until| node.id > until) {
                    continue;
                }
                let candidate = scope.candidate(id, node, node.id.to_string());
                if candidate.is_hit() {
                    hits.push(candidate);
                }
            }
            Ok(hits)
        });
        found.await
    }

    /// Returns whether a node of a conversation matches. A conversation that was deleted meanwhile has none.
    async fn has_match(
        &self,
        owner: &Owner,
        summary: &ConversationSummary,
        text: &SearchText,
    ) -> Result<bool, Failure> {
        let id = &summary.record.id;
        self.read(owner, id, |log| Ok(log.tree.nodes().any(|node| text.matches(node)))).await
    }

    async fn matching(&self, owner: &Owner, query: &Query) -> Result<Found, Failure> {
        let (mut found, damaged) = self.summaries(owner).await?;
        found.retain(|summary| query.matches(summary));
        if let Some(text) = query.search_text() {
            let mut matching = Vec::new();
            for summary in found {
                if self.has_match(owner, &summary, text).await? {
                    matching.push(summary);
                }
            }
            found = matching;
        }
        Ok((found, damaged))
    }

    async fn summaries(&self, owner: &Owner) -> Result<Found, Failure> {
        let keys = self.keys(owner);
        let marks = futures::stream::iter(self.marks(&keys).await?);
        let newest = marks.map(|(name, numbers)| {
            let keys = keys.clone();
            async move {
                let found = self.newest(owner, &keys, &name, numbers).await;
                (keys.log(&name).to_string(), found)
            }
        });
        let mut summaries = Vec::new();
        let mut damaged = Vec::new();
        let mut newest = newest.buffered(AT_ONCE);
        while let Some((name, found)) = newest.next().await {
            match found {
                Ok(summary) => summaries.extend(summary),
                Err(failure @ Failure::Damaged { .. }) => {
                    damaged.push(DamagedConversation::new(name, failure.to_string()));
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok((summaries, damaged))
    }

    /// Returns the summary in the newest entry of a conversation: the entry of the highest mark that has one.
    async fn newest(
        &self,
        owner: &Owner,
        keys: &Keys,
        name: &str,
        numbers: Vec<u64>,
    ) -> Result<Option<ConversationSummary>, Failure> {
        let place = (owner.clone(), name.to_owned());
        for number in numbers.into_iter().rev() {
            if let Some((known, summary)) = self.known.borrow().get(&place)
                && *known == number
            {
                return Ok(summary.clone());
            }
            let key = keys.entry(name, number);
            if let Some(bytes) = self.objects.get(&key).await? {
                let summary = super::entry::Entry::read(&bytes, key.as_ref())?.state.summary();
                self.known.borrow_mut().insert(place, (number, summary.clone()));
                return Ok(summary);
            }
        }
        Ok(None)
    }

    /// Removes the entries of deleted conversations, except the last one of each, and releases their media.
    pub(super) async fn sweep_deleted(&self, owner: &Owner) -> Result<(), Failure> {
        let keys = self.keys(owner);
        let marks = self.marks(&keys).await?;
        let deleted = futures::stream::iter(marks).filter_map(|(name, numbers)| {
            let keys = keys.clone();
            async move {
                // A writer that was killed may have left marks without an entry.
                for number in numbers.into_iter().rev() {
                    if let Ok(entry) = self.entry(&keys, &name, number).await {
                        return entry.state.record.is_none().then_some((name, entry.base));
                    }
                }
                None
            }
        });
        let deleted: BTreeMap<String, u64> = deleted.collect().await;
        for (name, &base) in &deleted {
            self.sweep(&keys, name, base).await?;
        }
        let mut released = Vec::new();
        // Each key is uses/DIGEST/CONVERSATION/NUMBER.
        for found in self.objects.list(&keys.uses()).await? {
            let key = found.location;
            if let Some(name) = key::folder(&key)
                && let Some(number) = key::number(&key)
                && deleted.get(&name).is_some_and(|&last| number <= last)
            {
                released.push(key);
            }
        }
        self.objects.remove(released).await
    }
}
