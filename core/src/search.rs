//! The results of a search: nodes, their scores, and pages of them.

mod snippet;
mod text;
mod tokens;

use std::cmp::Ordering;

use self::text::text_of;
use serde::Serialize;

use crate::message::Role;
use crate::query::{MAX_RANKED, PageCursor, Rank, SearchScope};
use crate::store::{ConversationId, DamagedConversation};
use crate::tree::{Node, NodeId};

pub use snippet::Snippet;
pub use text::{SearchTerm, SearchText};
pub use tokens::{Token, Tokens, tokens};

/// A node that matches a search.
///
/// A [`SearchScope`] creates it from a node.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SearchHit {
    /// The conversation.
    pub conversation: ConversationId,
    /// The node.
    pub node: NodeId,
    /// The role of its message.
    pub role: Role,
    /// The text around the matches.
    pub snippet: Snippet,
    /// How well it matches; it depends only on the node and the query.
    pub score: f64,
}

/// One page of search results.
///
/// A [`SearchScope`] creates it from the nodes that a store found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SearchPage {
    /// The hits in the requested order.
    pub hits: Vec<SearchHit>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<PageCursor>,
    /// Which hits were compared by relevance.
    pub ranked: Ranking,
    /// Conversations that could not be read and were not searched.
    pub damaged: Vec<DamagedConversation>,
}

/// Which of all hits were compared by relevance.
///
/// A [`SearchScope`] decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ranking {
    /// Every one.
    All,
    /// This many of the newest hits; there are more, which a search sorted by creation finds.
    Newest(usize),
}

/// A node that a store found for a search: its hit, without the whole text, which may be long.
///
/// A [`SearchScope`] creates it.
#[derive(Clone, Debug)]
pub struct SearchCandidate {
    conversation: ConversationId,
    node: NodeId,
    mark: String,
    hit: Option<SearchHit>,
}

impl SearchCandidate {
    /// Returns whether the node matches the search.
    pub fn is_hit(&self) -> bool {
        self.hit.is_some()
    }

    /// Orders candidates by their nodes, the newest first, for stores without an index.
    pub fn newest_first(left: &Self, right: &Self) -> Ordering {
        right.node.cmp(&left.node).then_with(|| left.conversation.cmp(&right.conversation))
    }
}

impl SearchScope<'_> {
    /// Searches a node that a store found, or may have found. With the mark, the store finds the same place again; see
    /// [`SearchScope::until`].
    pub fn candidate(&self, conversation: &ConversationId, node: &Node, mark: String) -> SearchCandidate {
        let text = text_of(&node.message);
        let hit = self.text.find(&text).map(|found| SearchHit {
            conversation: conversation.clone(),
            node: node.id,
            role: node.message.role,
            snippet: Snippet::of(&text, &found.places),
            score: found.score,
        });
        SearchCandidate { conversation: conversation.clone(), node: node.id, mark, hit }
    }

    /// Returns the page of a search from the nodes that a store found: newest first, from `until` on, at most
    /// `at_most`.
    pub fn page(&self, found: Vec<SearchCandidate>) -> SearchPage {
        if self.is_by_relevance() { self.best(found) } else { self.newest(found) }
    }

    fn newest(&self, mut found: Vec<SearchCandidate>) -> SearchPage {
        let more = found.get(self.limit).map(|first| self.cursor(first.mark.clone(), None));
        found.truncate(self.limit);
        let hits = found.into_iter().filter_map(|candidate| candidate.hit).collect();
        SearchPage { hits, next: more, ranked: Ranking::All, damaged: Vec::new() }
    }

    fn best(&self, mut found: Vec<SearchCandidate>) -> SearchPage {
        let ranked = if found.len() > MAX_RANKED { Ranking::Newest(MAX_RANKED) } else { Ranking::All };
        found.truncate(MAX_RANKED);
        let until = found.first().map(|newest| newest.mark.clone()).unwrap_or_default();
        let mut hits: Vec<_> = found.into_iter().filter_map(|candidate| candidate.hit).map(rank).collect();
        hits.sort_by(|left, right| better(&left.0, &right.0));
        if let Some(after) = self.after {
            hits.retain(|(rank, _)| better(after, rank).is_lt());
        }
        let is_more = hits.len() > self.limit;
        hits.truncate(self.limit);
        let last = hits.last().filter(|_| is_more);
        let next = last.map(|(rank, _)| self.cursor(until, Some(rank.clone())));
        let hits = hits.into_iter().map(|(_, hit)| hit).collect();
        SearchPage { hits, next, ranked, damaged: Vec::new() }
    }
}

fn rank(hit: SearchHit) -> (Rank, SearchHit) {
    (Rank { score: hit.score, node: hit.node, conversation: hit.conversation.clone() }, hit)
}

/// Orders hits: the higher score first, then the newer node.
fn better(left: &Rank, right: &Rank) -> Ordering {
    let scores = right.score.total_cmp(&left.score);
    scores.then(right.node.cmp(&left.node)).then_with(|| left.conversation.cmp(&right.conversation))
}
