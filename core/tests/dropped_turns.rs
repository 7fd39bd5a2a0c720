//! Replies that nobody waits for, models that fail midway, saves that fail.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;

use alloquy_core::report::CacheReport;
use alloquy_core::store::{ConversationStore, MemoryStore};
use alloquy_core::stream::EventStream;
use alloquy_core::tree::NodeStatus;
use alloquy_core::turn::PartialReplyPolicy;
use alloquy_core::{
    ChatModel, Conversation, Delta, Error, ErrorKind, Manager, Preface, ReplyStream, Request, Result,
    TurnEvent,
};
use alloquy_testing::{EchoModel, FaultStore, StoreCall};
use futures::StreamExt;
use futures::channel::mpsc;
use futures::future::BoxFuture;
use pollster::block_on;

const SAID: &str = "one two three four";

async fn over(policy: PartialReplyPolicy) -> (Manager, Conversation) {
    let manager = Manager::builder(EchoModel).partial_replies(policy).build().unwrap();
    let conversation = manager.create(Preface::default()).await.unwrap();
    (manager, conversation)
}

/// Takes a turn up to its `pieces`th piece of a reply, and drops it.
async fn drop_after(conversation: &Conversation, pieces: usize) {
    let mut turn = conversation.send(SAID);
    let mut heard = 0;
    while heard < pieces {
        let Some(event) = turn.next().await else { return };
        heard += usize::from(matches!(event, Ok(TurnEvent::Delta(_))));
    }
}

#[test]
fn the_text_so_far_of_a_dropped_reply_is_kept() {
    block_on(async {
        let (manager, conversation) = over(PartialReplyPolicy::Keep).await;
        drop_after(&conversation, 2).await;
        manager.flush().await.unwrap();
        let kept = conversation.history().await.unwrap();
        let reply = kept.last().unwrap();
        assert_eq!((kept.len(), reply.status), (2, NodeStatus::Interrupted));
        let text = reply.message.text();
        assert!(text.starts_with("one two ") && SAID.starts_with(&text), "{text:?}");
        assert_eq!((reply.model(), reply.usage()), (Some("echo"), None), "what it took nobody knows");
        assert_eq!(conversation.send("on").finish().await.unwrap().text(), "on");
        assert_eq!(conversation.history().await.unwrap().len(), 4);
    });
}

#[test]
fn a_dropped_reply_is_discarded_if_the_policy_says_so() {
    block_on(async {
        let (_, conversation) = over(PartialReplyPolicy::Discard).await;
        drop_after(&conversation, 2).await;
        assert_eq!((conversation.head().await.unwrap(), conversation.tree().await.unwrap().len()), (None, 1));
        let turn = conversation.send(SAID);
        turn.cancel();
        assert!(turn.finish().await.unwrap_err().is_cancelled());
        assert_eq!(conversation.send("on").finish().await.unwrap().text(), "on");
    });
}

#[test]
fn a_turn_dropped_at_any_moment_leaves_its_message_with_or_without_a_reply() {
    block_on(async {
        let mut replies = 0;
        for events in 0..10 {
            let (_, conversation) = over(PartialReplyPolicy::Keep).await;
            let mut turn = conversation.send(SAID);
            for _ in 0..events {
                turn.next().await;
            }
            drop(turn);
            let tree = conversation.tree().await.unwrap();
            let head = conversation.head().await.unwrap();
            assert_eq!(head, (tree.len() == 2).then(|| tree.leaves()[0]), "after {events} events");
            replies += tree.len().saturating_sub(1);
            assert_eq!(conversation.send("on").finish().await.unwrap().text(), "on");
        }
        assert!((5..10).contains(&replies), "{replies}");
    });
}

#[test]
fn a_dropped_reply_is_a_branch_if_another_writer_was_faster() {
    block_on(async {
        let (_, conversation) = over(PartialReplyPolicy::Keep).await;
        let mut turn = conversation.send(SAID);
        while !matches!(turn.next().await, Some(Ok(TurnEvent::Delta(_)))) {}
        let other = conversation.add("other").await.unwrap();
        drop(turn);
        assert_eq!(conversation.head().await.unwrap(), other.node);
        assert_eq!(conversation.tree().await.unwrap().len(), 3);
    });
}

/// Says two words and fails, or fails at once.
#[derive(Debug)]
struct Failing(usize);

#[async_trait::async_trait]
impl ChatModel for Failing {
    fn name(&self) -> &str {
        "failing"
    }
    async fn reply(&self, _: Request) -> Result<ReplyStream> {
        let words = self.0;
        Ok(EventStream::new(move |mut emit| async move {
            for _ in 0..words {
                emit.send(Delta::Text("word ".to_owned())).await;
            }
            Err(Error::new(ErrorKind::Backend, "the line is dead"))
        }))
    }
    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

#[test]
fn the_text_before_a_failure_of_the_model_is_kept() {
    block_on(async {
        let conversation = |words, policy| async move {
            let manager = Manager::builder(Failing(words)).partial_replies(policy).build().unwrap();
            manager.create(Preface::default()).await.unwrap()
        };
        let kept = conversation(2, PartialReplyPolicy::Keep).await;
        let reply = kept.send("Hi").finish().await.unwrap();
        assert_eq!(
            (reply.text().as_str(), reply.reply.error.as_deref()),
            ("word word ", Some("the line is dead"))
        );
        assert_eq!(kept.history().await.unwrap()[1].status, NodeStatus::Interrupted);
        // A question that is refused before the first word was never asked.
        for (words, policy, left) in [(0, PartialReplyPolicy::Keep, 0), (2, PartialReplyPolicy::Discard, 1)] {
            let conversation = conversation(words, policy).await;
            assert_eq!(conversation.send("Hi").finish().await.unwrap_err().kind(), ErrorKind::Backend);
            assert_eq!(
                (conversation.head().await.unwrap(), conversation.tree().await.unwrap().len()),
                (None, left)
            );
        }
    });
}

/// Drops a turn over a store that takes its time, with a manager whose work `spawn` starts.
async fn dropped_over_slow_store(
    spawn: impl Fn(BoxFuture<'static, ()>) + Send + Sync + 'static,
) -> (Arc<FaultStore<MemoryStore>>, Manager, Conversation) {
    let store = Arc::new(FaultStore::new(MemoryStore::default()).slow());
    let manager = Manager::builder(EchoModel).store(store.clone()).spawner(spawn).build().unwrap();
    let conversation = manager.create(Preface::default()).await.unwrap();
    drop_after(&conversation, 2).await;
    (store, manager, conversation)
}

#[test]
fn a_spawner_stores_a_dropped_reply_without_another_call() {
    block_on(async {
        let (sender, mut spawned) = mpsc::unbounded();
        let spawn = move |work| sender.unbounded_send(work).unwrap();
        let (store, manager, conversation) = dropped_over_slow_store(spawn).await;
        let id = conversation.id().clone();
        let owner = manager.owner().clone();
        drop((conversation, manager));
        assert_eq!(store.inner().load(&owner, &id).await.unwrap().1.len(), 1, "the question alone");
        spawned.next().await.unwrap().await;
        let (record, tree) = store.inner().load(&owner, &id).await.unwrap();
        assert_eq!((record.head, tree.len()), (Some(tree.leaves()[0]), 2));
        assert!(spawned.next().await.is_none(), "of one dropped turn there is one task");
    });
}

#[test]
fn a_spawner_that_panics_leaves_a_dropped_reply_to_the_next_call() {
    block_on(async {
        let (_, _, conversation) = dropped_over_slow_store(|_| panic!("there is no runtime")).await;
        let history = conversation.history().await.unwrap();
        assert_eq!(history.last().unwrap().status, NodeStatus::Interrupted);
    });
}

/// Everything that a chat shows, and everything that its store holds.
async fn both(conversation: &Conversation, store: &MemoryStore) {
    let owner = alloquy_core::Owner::local();
    let (record, tree) = store.load(&owner, conversation.id()).await.unwrap();
    assert_eq!(conversation.record().await.unwrap(), record);
    assert_eq!(conversation.tree().await.unwrap(), tree);
    assert_eq!(conversation.history().await.unwrap().last().map(|node| node.id), record.head);
}

#[test]
fn after_any_failed_save_the_shown_messages_are_the_stored_ones() {
    let changes = [
        StoreCall::Append,
        StoreCall::AppendAndMove,
        StoreCall::SetHead,
        StoreCall::UpdateMetadata,
        StoreCall::Prune,
    ];
    let mut failures = 0;
    let mut rounds = 0;
    for call in changes {
        for successes in 0..6 {
            block_on(async {
                let store = Arc::new(FaultStore::new(MemoryStore::default()));
                let manager = Manager::builder(EchoModel).store(store.clone()).build().unwrap();
                let conversation = manager.create(Preface::default()).await.unwrap();
                store.fail(call, successes);
                let first = conversation.send("One").finish().await;
                both(&conversation, store.inner()).await;
                let mut outcomes = vec![first.map(drop)];
                outcomes.push(conversation.add("Two").await.map(drop));
                both(&conversation, store.inner()).await;
                outcomes.push(conversation.goto(None).await);
                outcomes.push(
                    conversation.bookmark("here", "0".parse::<alloquy_core::tree::Address>().unwrap()).await,
                );
                outcomes.push(conversation.send("Three").finish().await.map(drop));
                both(&conversation, store.inner()).await;
                drop_after(&conversation, 1).await;
                outcomes.push(manager.flush().await);
                outcomes.push(conversation.fork().await.map(drop));
                outcomes.push(conversation.reset().await);
                both(&conversation, store.inner()).await;
                let failed = outcomes.iter().filter(|outcome| outcome.is_err()).count();
                assert!(failed <= 3, "{call:?} {successes}: {outcomes:?}");
                failures += failed;
                rounds += 1;
                // Once the store works again, so does the conversation.
                store.recover();
                conversation.reset().await.unwrap();
                assert_eq!(conversation.send("on").finish().await.unwrap().text(), "on");
                both(&conversation, store.inner()).await;
            });
        }
    }
    assert!(failures > rounds / 3, "{failures} failures in {rounds} rounds");
}
