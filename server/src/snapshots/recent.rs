//! The last turns that this server has answered: what a model may still hold of stored conversations.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloquy_core::store::ConversationStore;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{ConversationId, Message, NodeId, Owner, Request, Result};

/// How many turns are remembered, each of another conversation: as many as a model keeps sessions by default.
const TURNS: usize = 32;

/// How many bytes their texts and media may have together. One turn is remembered however large it is.
const BYTES: usize = 64 << 20;

/// A turn as the model has seen it, and its reply.
#[derive(Debug)]
pub(crate) struct RecentTurn {
    pub(crate) owner: Owner,
    pub(crate) conversation: ConversationId,
    /// The name under which the model is served.
    pub(crate) model: String,
    /// The node that was answered.
    pub(super) parent: Option<NodeId>,
    pub(super) request: Request,
    pub(super) reply: Message,
    pub(super) tokens: Vec<TokenId>,
}

impl RecentTurn {
    /// Returns the request with the reply at the end of its path.
    pub(super) fn with_reply(&self) -> Request {
        let mut request = self.request.clone();
        // The reply has what it began with.
        request.beginning = None;
        if !request.replies.is_empty() {
            request.replies.push(self.tokens.clone());
        }
        request.path.push_sampled(self.reply.clone(), self.tokens.clone());
        request
    }

    /// Checks that the messages are still stored: another process may have deleted them.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](alloquy_core::ErrorKind::NotFound) where they are not, and those of the store.
    pub(super) async fn must_exist(&self, conversations: &dyn ConversationStore) -> Result<()> {
        match self.parent {
            Some(node) => conversations.load_node(&self.owner, &self.conversation, node).await.map(drop),
            None => conversations.record(&self.owner, &self.conversation).await.map(drop),
        }
    }

    fn is_of(&self, owner: &Owner, conversation: &ConversationId) -> bool {
        self.owner == *owner && self.conversation == *conversation
    }

    fn bytes(&self) -> usize {
        let texts = self.request.path.iter().chain(&self.request.preface.messages);
        texts.chain([&self.reply]).map(bytes_of).sum()
    }
}

fn bytes_of(message: &Message) -> usize {
    let texts = message.parts.iter().filter_map(|part| part.as_text().map(str::len));
    let media = message.media().filter_map(|media| media.bytes().map(|bytes| bytes.len()));
    texts.sum::<usize>() + media.sum::<usize>()
}

/// The last turns, the newest first.
#[derive(Debug, Default)]
pub(super) struct RecentTurns(Mutex<VecDeque<(Arc<RecentTurn>, usize)>>);

impl RecentTurns {
    /// Remembers a turn in place of the earlier one of its conversation.
    pub(super) fn note(&self, turn: RecentTurn) {
        let bytes = turn.bytes();
        let mut turns = self.turns();
        turns.retain(|(other, _)| !other.is_of(&turn.owner, &turn.conversation));
        turns.push_front((Arc::new(turn), bytes));
        turns.truncate(TURNS);
        let mut sum: usize = turns.iter().map(|(_, bytes)| bytes).sum();
        while sum > BYTES && turns.len() > 1 {
            let oldest = turns.pop_back().map_or(0, |(_, bytes)| bytes);
            sum = sum.saturating_sub(oldest);
        }
    }

    pub(super) fn find(&self, owner: &Owner, conversation: &ConversationId) -> Option<Arc<RecentTurn>> {
        let turns = self.turns();
        let found = turns.iter().find(|(turn, _)| turn.is_of(owner, conversation));
        found.map(|(turn, _)| Arc::clone(turn))
    }

    pub(super) fn forget(&self, owner: &Owner, conversation: &ConversationId) {
        self.turns().retain(|(turn, _)| !turn.is_of(owner, conversation));
    }

    /// Returns all turns, the newest first.
    pub(super) fn all(&self) -> Vec<Arc<RecentTurn>> {
        self.turns().iter().map(|(turn, _)| Arc::clone(turn)).collect()
    }

    fn turns(&self) -> MutexGuard<'_, VecDeque<(Arc<RecentTurn>, usize)>> {
        // The list is valid even if a thread panicked while it held the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(conversation: &str, bytes: usize) -> RecentTurn {
        RecentTurn {
            owner: Owner::local(),
            conversation: conversation.parse().unwrap(),
            model: "tea".to_owned(),
            parent: None,
            request: Request::default(),
            reply: Message::assistant("x".repeat(bytes)),
            tokens: Vec::new(),
        }
    }

    fn names(turns: &RecentTurns) -> Vec<String> {
        turns.all().iter().map(|turn| turn.conversation.to_string()).collect()
    }

    #[test]
    fn the_last_turn_of_each_conversation_is_remembered_within_limits() {
        let turns = RecentTurns::default();
        for name in ["one", "two", "one"] {
            turns.note(turn(name, 1));
        }
        assert_eq!(names(&turns), ["one", "two"]);
        turns.note(turn("large", BYTES - 1));
        assert_eq!(names(&turns), ["large", "one"], "the oldest leaves");
        turns.note(turn("larger", BYTES + 1));
        assert_eq!(names(&turns), ["larger"], "one stays however large it is");
        for number in 0..=TURNS {
            turns.note(turn(&format!("c{number}"), 1));
        }
        assert_eq!(names(&turns).len(), TURNS);
        turns.forget(&Owner::local(), &"c3".parse().unwrap());
        assert!(turns.find(&Owner::local(), &"c3".parse().unwrap()).is_none());
    }
}
