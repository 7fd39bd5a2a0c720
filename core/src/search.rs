//! What a search finds: nodes, how well each fits, and the page of them that is shown.

mod snippet;
mod text;
mod tokens;

use std::cmp::Ordering;

use self::text::text_of;
use serde::Serialize;

use crate::message::Role;
use crate::query::{Cursor, RANKED, Rank, SearchScope};
use crate::store::{ConversationId, DamagedConversation};
use crate::tree::{Node, NodeId};

pub use snippet::Snippet;
pub use text::{SearchTerm, SearchText};

/// A node in which a text was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SearchHit {
    /// The conversation.
    pub conversation: ConversationId,
    /// The node.
    pub node: NodeId,
    /// Who says it.
    pub role: Role,
    /// The piece around what was found.
    pub snippet: Snippet,
    /// How well it fits; it depends on nothing but the node and the query.
    pub score: f64,
}

/// One page of what a search found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SearchPage {
    /// The hits in the order that was asked for.
    pub hits: Vec<SearchHit>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<Cursor>,
    /// Which hits were compared.
    pub ranked: Ranked,
    /// Conversations that could not be read and so were not searched.
    pub damaged: Vec<DamagedConversation>,
}

/// Which of all hits were compared by relevance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ranked {
    /// Every one.
    All,
    /// The newest ones, this many; there are more, which a search sorted by creation finds.
    Newest(usize),
}

/// A node that a store found for a search: what is shown of it, without its text, of which there may be much.
#[derive(Clone, Debug)]
pub struct Candidate {
    conversation: ConversationId,
    node: NodeId,
    mark: String,
    hit: Option<SearchHit>,
}

impl Candidate {
    /// Says whether the node holds what is searched for.
    pub fn is_hit(&self) -> bool {
        self.hit.is_some()
    }

    /// Orders candidates as stores without an index find them: the newest node first.
    pub fn newest_first(left: &Self, right: &Self) -> Ordering {
        right.node.cmp(&left.node).then_with(|| left.conversation.cmp(&right.conversation))
    }
}

impl SearchScope<'_> {
    /// Looks into a node that a store found, or may have found. By its mark the store finds the same place again; see
    /// [`SearchScope::until`].
    pub fn candidate(&self, conversation: &ConversationId, node: &Node, mark: String) -> Candidate {
        let text = text_of(&node.message);
        let hit = self.text.find(&text).map(|found| SearchHit {
            conversation: conversation.clone(),
            node: node.id,
            role: node.message.role,
            snippet: Snippet::of(&text, &found.places),
            score: found.score,
        });
        Candidate { conversation: conversation.clone(), node: node.id, mark, hit }
    }

    /// Makes the answer to a search of what a store found: newest first, from `until` on, at most `at_most`.
    pub fn page(&self, found: Vec<Candidate>) -> SearchPage {
        match self.is_by_relevance() {
            true => self.best(found),
            false => self.newest(found),
        }
    }

    fn newest(&self, mut found: Vec<Candidate>) -> SearchPage {
        let more = found.get(self.limit).map(|first| self.cursor(first.mark.clone(), None));
        found.truncate(self.limit);
        let hits = found.into_iter().filter_map(|candidate| candidate.hit).collect();
        SearchPage { hits, next: more, ranked: Ranked::All, damaged: Vec::new() }
    }

    fn best(&self, mut found: Vec<Candidate>) -> SearchPage {
        let ranked = if found.len() > RANKED { Ranked::Newest(RANKED) } else { Ranked::All };
        found.truncate(RANKED);
        let until = found.first().map(|newest| newest.mark.clone()).unwrap_or_default();
        let mut hits: Vec<_> = found.into_iter().filter_map(|candidate| candidate.hit).map(rank).collect();
        hits.sort_by(|left, right| better(&left.0, &right.0));
        if let Some(after) = self.after {
            hits.retain(|(rank, _)| better(after, rank).is_lt());
        }
        let last =
            self.limit.checked_sub(1).and_then(|last| hits.get(last)).filter(|_| hits.len() > self.limit);
        let next = last.map(|(rank, _)| self.cursor(until, Some(rank.clone())));
        hits.truncate(self.limit);
        let hits = hits.into_iter().map(|(_, hit)| hit).collect();
        SearchPage { hits, next, ranked, damaged: Vec::new() }
    }
}

fn rank(hit: SearchHit) -> (Rank, SearchHit) {
    (Rank { score: hit.score, node: hit.node, conversation: hit.conversation.clone() }, hit)
}

/// The higher score first, then the newer node.
fn better(left: &Rank, right: &Rank) -> Ordering {
    let scores = right.score.total_cmp(&left.score);
    scores.then(right.node.cmp(&left.node)).then_with(|| left.conversation.cmp(&right.conversation))
}
