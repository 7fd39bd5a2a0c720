//! A program that ends at any moment: nothing acknowledged is lost, and no call whose result is stored runs again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod shared;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use alloquy_core::store::MemoryStore;
use alloquy_core::{Conversation, ConversationId, ConversationManager, Manager, Preface};
use alloquy_flows::{FlowRunner, FlowStep, Progress};
use alloquy_testing::{FaultStore, ScriptedModel};
use pollster::block_on;
use shared::{Counter, flow, texts};

const FLOW: &str = "
name: order
states:
  question: {wait: {say: What would you like?, set: wish}, to: make}
  make: {call: {tool: kitchen, arguments: {wish: '{{wish}}'}, set: made}, to: ask}
  ask: {ask: {text: 'Praise {{made}}', set: praise}, to: again}
  again: {wait: {set: again}, to: thanks}
  thanks: {say: '{{praise}} {{again}}'}
";

/// What the answers are.
const ANSWERS: [&str; 2] = ["tea", "cake"];

struct World {
    store: Arc<FaultStore<MemoryStore>>,
    id: ConversationId,
    counter: Counter,
}

impl World {
    fn new() -> Self {
        let store = Arc::new(FaultStore::new(MemoryStore::default()).slow());
        let id: ConversationId = "order".parse().unwrap();
        let world = Self { store, id: id.clone(), counter: Counter::default() };
        let new = alloquy_core::manager::NewConversation::from(Preface::default()).id(id);
        block_on(world.manager().create(new)).unwrap();
        world
    }

    /// Another process.
    fn manager(&self) -> Manager {
        let model = ScriptedModel::new([("<assistant>", "Delicious")]);
        Manager::builder(model).store(self.store.clone()).build().unwrap()
    }

    fn runner(&self, manager: &Manager) -> (FlowRunner, Conversation) {
        let conversation = block_on(manager.open(&self.id)).unwrap();
        (FlowRunner::new(flow(FLOW), conversation.clone()).tool(self.counter.clone()), conversation)
    }

    /// The answers that are on the path.
    fn answers(&self) -> Vec<String> {
        let manager = self.manager();
        let (_, conversation) = self.runner(&manager);
        let history = block_on(conversation.history()).unwrap();
        let mut answers = Vec::new();
        for node in history {
            let step = FlowStep::of(&node).unwrap();
            let is_answer = step.is_some_and(|step| ["question", "again"].contains(&step.at.state.as_str()));
            if is_answer && node.message.role == alloquy_core::Role::User {
                answers.push(node.message.text());
            }
        }
        answers
    }

    /// Runs to the end, as one process after the other.
    fn finish(&self) -> Vec<String> {
        let manager = self.manager();
        let (runner, conversation) = self.runner(&manager);
        block_on(async {
            let mut progress = runner.run().await.unwrap();
            while let Progress::Waiting { state, .. } = &progress {
                let answer = if state == "question" { ANSWERS[0] } else { ANSWERS[1] };
                progress = runner.resume(answer).await.unwrap();
            }
            assert_eq!(progress, Progress::Ended { state: "thanks".into() });
            texts(&conversation).await
        })
    }
}

/// Polls a future so often, and drops it. Returns whether it ended.
fn cut<T>(future: impl Future<Output = T>, polls: usize) -> bool {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    (0..polls).any(|_| matches!(future.as_mut().poll(&mut context), Poll::Ready(_)))
}

#[test]
fn a_flow_that_is_dropped_at_any_poll_ends_as_an_undisturbed_one() {
    let undisturbed = World::new().finish();
    assert_eq!(undisturbed.last().unwrap(), "assistant: Delicious cake");
    for answered in 0..=ANSWERS.len() {
        for polls in 1.. {
            let world = World::new();
            let manager = world.manager();
            let (runner, _) = world.runner(&manager);
            let mut acknowledged = 0;
            for answer in ANSWERS.iter().take(answered.saturating_sub(1)) {
                block_on(runner.run()).unwrap();
                block_on(runner.resume(*answer)).unwrap();
                acknowledged += 1;
            }
            let has_ended = match answered.checked_sub(1) {
                None => cut(runner.run(), polls),
                Some(index) => {
                    block_on(runner.run()).unwrap();
                    cut(runner.resume(ANSWERS[index]), polls)
                }
            };
            // The other process waits for what the dropped one stores.
            block_on(manager.flush()).unwrap();
            let before = world.counter.arguments().len();
            let stored = world.answers();
            assert!(stored.len() >= acknowledged + usize::from(has_ended && answered > 0), "{polls} polls");
            let is_made = block_on(async {
                let manager = world.manager();
                let conversation = manager.open(&world.id).await.unwrap();
                let path = conversation.history().await.unwrap();
                path.iter().any(|node| FlowStep::of(node).unwrap().is_some_and(|step| step.key.is_some()))
            });
            assert_eq!(world.finish().len(), undisturbed.len(), "{answered} answers, {polls} polls");
            let after = world.counter.arguments().len();
            if is_made {
                assert_eq!(before, after, "{polls} polls: the call ran again");
            }
            let mut keys = world.counter.keys();
            keys.dedup();
            assert_eq!(keys.len(), 1, "the key of a repeated call is another one");
            if has_ended {
                break;
            }
        }
    }
}
