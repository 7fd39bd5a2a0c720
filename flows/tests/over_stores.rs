//! Flows over stores: they continue in files and in a database, and a step reads the path and not the tree.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod shared;

use std::sync::Arc;

use alloquy_core::store::MemoryStore;
use alloquy_core::{ConversationId, ConversationManager, Manager, Message, Preface};
use alloquy_flows::{Answer, Flow, FlowRunner, Progress};
use alloquy_testing::{EchoModel, FaultStore, StoreCall};
use pollster::block_on;
use serde_json::json;
use shared::{Counter, flow, texts};

fn order() -> Flow {
    flow(
        "
name: order
limits: {visits: 9}
states:
  question: {wait: {say: Tea or coffee?, set: drink}, to: make}
  make: {call: {tool: kitchen, arguments: {drink: '{{drink}}'}, set: made}, to: praise}
  praise: {ask: {text: 'Praise {{made}}', set: praise}, to: again}
  again: {wait: {say: 'More?', set: more}, to: [{if: {keyword: ['no']}, to: thanks}, make]}
  thanks: {say: '{{praise}}. Here: {{made}}'}
",
    )
}

#[test]
fn flows_continue_over_every_store() {
    let folder = tempfile::tempdir().unwrap();
    let urls = [
        format!("file:{}", folder.path().join("files").display()),
        format!("sqlite:{}", folder.path().join("store.db").display()),
    ];
    for url in urls {
        block_on(async {
            let counter = Counter::default();
            let id: ConversationId = "order".parse().unwrap();
            let mut created = false;
            for answer in ["tea", "yes", "no"] {
                // Another process each time, with a store of its own.
                let store = alloquy_storage::open(&url).await.unwrap();
                let manager = Manager::builder(EchoModel).store(store).build().unwrap();
                if !created {
                    let new = alloquy_core::manager::NewConversation::from(Preface::default());
                    let conversation = manager.create(new.id(id.clone())).await.unwrap();
                    runner(&conversation, &counter).run().await.unwrap();
                    created = true;
                }
                let conversation = manager.open(&id).await.unwrap();
                let progress = runner(&conversation, &counter).resume(answer).await.unwrap();
                assert_eq!(matches!(progress, Progress::Ended { .. }), answer == "no", "{url}: {progress:?}");
            }
            let store = alloquy_storage::open(&url).await.unwrap();
            let conversation =
                Manager::builder(EchoModel).store(store).build().unwrap().open(&id).await.unwrap();
            let last = texts(&conversation).await.pop().unwrap();
            assert_eq!(last, "assistant: Praise kitchen 2. Here: kitchen 2", "{url}");
            assert_eq!(counter.arguments(), [json!({"drink": "tea"}), json!({"drink": "tea"})]);
        });
    }
}

fn runner(conversation: &alloquy_core::Conversation, counter: &Counter) -> FlowRunner {
    FlowRunner::new(order(), conversation.clone()).tool(counter.clone())
}

/// Returns the reads of a store, of paths and of whole trees, while an answer is given beside so many branches.
fn reads_beside(branches: usize) -> (usize, usize) {
    block_on(async {
        let store = Arc::new(FaultStore::new(MemoryStore::default()));
        let manager = Manager::builder(EchoModel).store(store.clone()).build().unwrap();
        let conversation = manager.create(Preface::default()).await.unwrap();
        let counter = Counter::default();
        runner(&conversation, &counter).run().await.unwrap();
        let question = conversation.head().await.unwrap();
        for branch in 0..branches {
            conversation.goto(question).await.unwrap();
            conversation.add(Message::assistant(format!("branch {branch}"))).await.unwrap();
        }
        conversation.goto(question).await.unwrap();
        let before = store.calls().len();
        let progress = runner(&conversation, &counter).resume(Answer::from("tea")).await.unwrap();
        assert_eq!(progress.state(), "again");
        let calls = store.calls();
        let count = |call| calls[before..].iter().filter(|made| **made == call).count();
        (count(StoreCall::LoadPath), count(StoreCall::Load))
    })
}

#[test]
fn a_step_reads_the_path_and_not_the_tree() {
    let few = reads_beside(0);
    assert_eq!(few, reads_beside(300));
    assert_eq!(few.1, 0, "no whole tree is read");
}
