//! Task groups: what runs in one ends together, or alone, and can be waited for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use alloquy_core::report::{CacheReport, FinishReason};
use alloquy_core::stop::TaskGroup;
use alloquy_core::turn::TurnEnd;
use alloquy_core::{
    ChatModel, Conversation, Delta, Manager, Message, Preface, Reply, ReplyStream, Request, Result,
    TurnRequest,
};
use alloquy_testing::{EchoModel, ScriptedModel};
use futures::StreamExt;
use pollster::block_on;

/// Says a word and then waits for its signal, for good if it never comes.
#[derive(Clone, Debug, Default)]
struct Waiting(Arc<AtomicUsize>);

#[async_trait::async_trait]
impl ChatModel for Waiting {
    fn name(&self) -> &str {
        "waiting"
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let said = Arc::clone(&self.0);
        Ok(ReplyStream::new(|mut emit| async move {
            emit.send(Delta::Text("Hm.".to_owned())).await;
            said.fetch_add(1, Ordering::SeqCst);
            request.stop.cut(futures::stream::pending::<()>()).next().await;
            Ok(cancelled())
        }))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

fn cancelled() -> Reply {
    let mut reply = Reply::new(Message::assistant("Hm."));
    reply.finish = FinishReason::Cancelled;
    reply
}

#[test]
fn cancelling_wakes_waiting_tasks_on_any_thread() {
    let model = Waiting::default();
    let group = TaskGroup::new();
    let threads: Vec<_> = (0..8)
        .map(|number: usize| {
            let manager = Manager::new(model.clone());
            let group = group.clone();
            thread::spawn(move || {
                block_on(async {
                    let conversation = manager.create(Preface::default()).await.unwrap();
                    let turn = conversation
                        .send(TurnRequest::from(format!("{number}?")).group(&group))
                        .finish()
                        .await
                        .unwrap();
                    (turn.end, turn.text(), conversation.history().await.unwrap().len())
                })
            })
        })
        .collect();
    while model.0.load(Ordering::SeqCst) < threads.len() {
        thread::yield_now();
    }
    assert_eq!(group.running(), threads.len());
    group.cancel();
    block_on(group.ended());
    for thread in threads {
        assert_eq!(
            thread.join().unwrap(),
            (TurnEnd::Cancelled, "Hm.".to_owned(), 2),
            "what was said is kept"
        );
    }
}

#[test]
fn a_task_is_cancelled_alone_and_ends_when_it_is_dropped() {
    let manager = Manager::new(Waiting::default());
    let group = TaskGroup::new();
    block_on(async {
        let conversation = manager.create(Preface::default()).await.unwrap();
        let turns = ["one?", "two?", "three?"]
            .map(|question| conversation.send(TurnRequest::from(question).group(&group)));
        let [one, two, three] = turns;
        one.cancel();
        assert_eq!(one.finish().await.unwrap().end, TurnEnd::Cancelled);
        assert!(!two.stop_signal().is_stopped() && !group.is_cancelled());
        assert_eq!(group.running(), 2);
        drop(two);
        assert_eq!(group.running(), 1);
        let (ended, ()) = futures::join!(three.finish(), async {
            group.cancel();
            group.ended().await;
        });
        assert_eq!(ended.unwrap().end, TurnEnd::Cancelled);
        assert_eq!(group.running(), 0);
    });
}

#[test]
fn a_group_that_was_cancelled_stays_so() {
    let manager = Manager::new(EchoModel);
    let group = TaskGroup::new();
    group.cancel();
    block_on(async {
        group.ended().await;
        let conversation = manager.create(Preface::default()).await.unwrap();
        let late = conversation.send(TurnRequest::from("too late").group(&group)).finish().await.unwrap_err();
        assert!(late.is_cancelled());
        assert_eq!(conversation.head().await.unwrap(), None, "the question is a branch");
        assert_eq!(conversation.send("in time").finish().await.unwrap().text(), "in time");
    });
}

#[test]
fn conversations_in_memory_and_bare_replies_can_be_in_a_group() {
    let model: Arc<dyn ChatModel> = Arc::new(ScriptedModel::new([("<assistant>", "A long answer.")]));
    let group = TaskGroup::new();
    let conversation = Conversation::new(Arc::clone(&model));
    block_on(async {
        let task = group.begin();
        let request = Request::new(Preface::default(), vec![Message::user("Hi")]).stop(task.stop_signal());
        let mut bare = task.hold(model.reply(request).await.unwrap());
        let mut turn = conversation.send(TurnRequest::from("Hi").group(&group));
        assert!(bare.next().await.is_some() && turn.next().await.is_some());
        assert_eq!(group.running(), 2);
        group.cancel();
        assert_eq!(bare.finish().await.unwrap().finish, FinishReason::Cancelled);
        assert_eq!(turn.finish().await.unwrap().reply.finish, FinishReason::Cancelled);
        group.ended().await;
        let history = conversation.history().await.unwrap();
        assert!(history[1].message.text().starts_with('A'), "what was said is kept");
    });
}

#[test]
fn several_tasks_can_await_the_end() {
    let group = TaskGroup::new();
    let task = group.begin();
    let waiting: Vec<_> = (0..4)
        .map(|_| {
            let group = group.clone();
            thread::spawn(move || block_on(group.ended()))
        })
        .collect();
    assert_eq!(group.running(), 1);
    drop(task);
    waiting.into_iter().for_each(|thread| thread.join().unwrap());
}
