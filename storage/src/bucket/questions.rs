//! Lists, counts and searches: the newest entry of every conversation is looked at, and read where it is not known.

use std::collections::BTreeMap;

use alloquy_core::query::SearchScope;
use alloquy_core::search::{Candidate, SearchPage, SearchText};
use alloquy_core::store::{ConversationPage, ConversationSummary, DamagedConversation};
use alloquy_core::{NodeId, Owner, Query};
use futures::StreamExt;
use object_store::path::Path;

use super::key::{self, Keys};
use super::logs::Bucket;
use super::objects::AT_ONCE;
use crate::failure::Failure;

type Found = (Vec<ConversationSummary>, Vec<DamagedConversation>);

impl Bucket {
    pub(super) async fn list(&self, owner: &Owner, query: &Query) -> Result<ConversationPage, Failure> {
        let (found, damaged) = self.matching(owner, query).await?;
        let mut page = query.page(found)?;
        // Every page looks at all of them; the first one says which are damaged.
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
            found.sort_by(Candidate::newest_first);
            found.truncate(scope.at_most);
        }
        let mut page = scope.page(found);
        page.damaged = damaged;
        Ok(page)
    }

    /// The nodes of a conversation, up to one of them, that hold what is searched for; none of one that was deleted meanwhile.
    async fn candidates(
        &self,
        owner: &Owner,
        summary: &ConversationSummary,
        scope: &SearchScope<'_>,
        until: Option<NodeId>,
    ) -> Result<Vec<Candidate>, Failure> {
        let id = &summary.record.id;
        let found = self.read(owner, id, |log| {
            let nodes = log.tree.nodes().filter(|node| until.is_none_or(|until| node.id <= until));
            let looked = nodes.map(|node| scope.candidate(id, node, node.id.to_string()));
            Ok(looked.filter(Candidate::is_hit).collect())
        });
        found.await
    }

    /// Says whether a node of a conversation says something; none does of one that was deleted meanwhile.
    async fn says(
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
            let mut saying = Vec::new();
            for summary in found {
                if self.says(owner, &summary, text).await? {
                    saying.push(summary);
                }
            }
            found = saying;
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
        let (mut summaries, mut damaged) = (Vec::new(), Vec::new());
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

    /// What the newest entry of a conversation says: the highest mark whose entry is there tells which that is.
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

    /// Removes what entries of deleted conversations occupy, but for the last one of each, and releases what they
    /// referred to.
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
        let is_gone = |use_: &Path| {
            let last = key::folder(use_).and_then(|name| deleted.get(&name));
            last.is_some_and(|&last| key::number(use_).is_some_and(|number| number <= last))
        };
        let uses = self.objects.list(&keys.uses()).await?;
        let gone = uses.into_iter().map(|found| found.location).filter(is_gone);
        self.objects.remove(gone.collect()).await
    }
}
