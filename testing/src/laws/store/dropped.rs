//! Turns that are dropped together with their manager, as the handler of a request does when its client disconnects.

use std::sync::Arc;

use alloquy_core::report::CacheReport;
use alloquy_core::store::ConversationStore;
use alloquy_core::stream::EventStream;
use alloquy_core::tree::NodeStatus;
use alloquy_core::{
    ChatModel, Conversation, ConversationId, ConversationManager, Delta, Manager, Message, Owner, Preface,
    Reply, ReplyStream, Request, Result, TurnEvent,
};
use async_trait::async_trait;
use futures::StreamExt;

use super::outcomes::must;

/// The number of turns that a law drops.
const TURNS: usize = 20;

/// The reply of the model, one word a delta.
const WORDS: [&str; 6] = ["this ", "is ", "never ", "read ", "to ", "the end"];

/// A model that waits for its reader between the words of its reply.
#[derive(Debug)]
struct Speaker;

#[async_trait]
impl ChatModel for Speaker {
    fn name(&self) -> &str {
        "speaker"
    }

    async fn reply(&self, _: Request) -> Result<ReplyStream> {
        Ok(EventStream::new(|mut emit| async move {
            emit.send_all(WORDS.map(|word| Delta::Text(word.to_owned()))).await;
            Ok(Reply::new(Message::assistant(WORDS.concat())))
        }))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

fn manager(store: &Arc<dyn ConversationStore>, owner: &Owner) -> Manager {
    let builder = Manager::builder(Speaker).store(Arc::clone(store)).owner(owner.clone());
    must("a manager", builder.build())
}

/// Of 20 turns that are dropped after some words, each with its manager, 20 are kept. Their questions and replies are on the
/// path to the head.
///
/// The law is for stores that finish [`append_and_move`](ConversationStore::append_and_move) after its future is dropped.
/// With other stores such a reply is kept only while its manager lives and is used again.
///
/// # Panics
/// When the law is broken.
pub async fn dropped_turns_are_kept<S: ConversationStore>(open: impl AsyncFn() -> S) {
    let store: Arc<dyn ConversationStore> = Arc::new(open().await);
    let kept = count_kept(&store, TURNS).await;
    assert_eq!(kept, TURNS, "of {TURNS} dropped turns of {TURNS} managers, {kept} are kept");
}

/// Closing a store first finishes the calls of dropped turns. `open` opens the same place each time.
///
/// The law is for stores that outlive the process and finish [`append_and_move`](ConversationStore::append_and_move) after its
/// future is dropped.
///
/// # Panics
/// When the law is broken.
pub async fn closing_keeps_dropped_turns<S: ConversationStore>(open: impl AsyncFn() -> S) {
    for words in 0..4 {
        let owner: Owner = must("an owner", format!("last client {words}").parse());
        let store: Arc<dyn ConversationStore> = Arc::new(open().await);
        let id = drop_turn(&store, &owner, words).await;
        must("close", store.close().await);
        let reopened: Arc<dyn ConversationStore> = Arc::new(open().await);
        let conversation = must("open", manager(&reopened, &owner).open(&id).await);
        assert!(is_kept(&conversation).await, "a turn that is dropped before its store is closed is kept");
    }
}

/// Drops `turns` turns with their managers, and returns how many are kept as interrupted replies.
///
/// # Panics
/// When another call fails than those of a dropped turn.
pub async fn count_kept(store: &Arc<dyn ConversationStore>, turns: usize) -> usize {
    let mut kept = 0;
    for number in 0..turns {
        let owner: Owner = must("an owner", format!("client {number}").parse());
        // A turn may be a word or two ahead of its reader, so the number of words that are read varies.
        let id = drop_turn(store, &owner, number % 4).await;
        let conversation = must("open", manager(store, &owner).open(&id).await);
        kept += usize::from(is_kept(&conversation).await);
    }
    kept
}

/// Drops a turn and its manager, `words` words after its first one.
async fn drop_turn(store: &Arc<dyn ConversationStore>, owner: &Owner, words: usize) -> ConversationId {
    let manager = manager(store, owner);
    let conversation = must("create", manager.create(Preface::default()).await);
    let mut turn = conversation.send("Does anybody listen?");
    let mut received = 0;
    while received <= words {
        let event = turn.next().await;
        received += usize::from(matches!(event, Some(Ok(TurnEvent::Delta(_)))));
        assert!(event.is_some(), "the turn is dropped before it ends");
    }
    conversation.id().clone()
}

async fn is_kept(conversation: &Conversation) -> bool {
    let history = must("history", conversation.history().await);
    let [question, reply] = history.as_slice() else { return false };
    let said = reply.message.text();
    question.message.text() == "Does anybody listen?"
        && reply.status == NodeStatus::Interrupted
        && !said.is_empty()
        && WORDS.concat().starts_with(&said)
}
