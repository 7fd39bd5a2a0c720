//! What the nodes of a turn remember of a model that computes: ids of tokens, counts, and what was computed ahead.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;

use alloquy_core::store::HeadMove;
use alloquy_core::{Conversation, Manager, Preface, TurnRequest};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};
use pollster::block_on;

async fn conversation() -> Conversation {
    let engine = Arc::new(ScriptedEngine::new([("<user>Hi<end><assistant>", "Hello!")]));
    let round = LanguageModel::builder(Generator::new(engine, GeneratorOptions::default()).unwrap())
        .template(TaggedTemplate)
        .processor(TaggedProcessor)
        .build()
        .unwrap();
    Manager::new(round).create(Preface::default()).await.unwrap()
}

#[test]
fn a_turn_makes_two_nodes_and_moves_the_head() {
    block_on(async {
        let conversation = conversation().await;
        let reply = conversation.send("Hi").finish().await.unwrap();
        assert_eq!((reply.text().as_str(), reply.head), ("Hello!", HeadMove::Moved));
        let history = conversation.history().await.unwrap();
        assert_eq!(
            history.iter().map(|node| node.id).collect::<Vec<_>>(),
            [reply.answers().unwrap(), reply.node]
        );
        let answer = history.last().unwrap();
        assert_eq!(answer.tokens, "Hello!".bytes().map(u32::from).collect::<Vec<_>>());
        assert!(answer.metadata.is_empty());
        insta::assert_json_snapshot!(answer.reply);
    });
}

#[test]
fn added_messages_wait_for_an_answer_and_warming_computes_them() {
    block_on(async {
        let conversation = conversation().await;
        conversation.add("Hi").await.unwrap();
        let warm = conversation.warm(TurnRequest::default()).await.unwrap().unwrap();
        let reply = conversation.complete(TurnRequest::default()).finish().await.unwrap();
        let cache = reply.reply.cache.unwrap();
        assert_eq!((reply.text().as_str(), cache.cached, cache.computed), ("Hello!", warm.prompt, 1));
    });
}
