//! A stored conversation continues after a restart without computing its prompt again, with real KV caches.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::path::Path;
use std::sync::Arc;

use alloquy_constraints::LlguidanceEngine;
use alloquy_core::grammar::Grammar;
use alloquy_core::output::OutputConstraints;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{
    ConversationId, ConversationManager as _, Manager, Owner, Preface, Reply, SamplingOptions, TurnRequest,
};
use alloquy_engine::Engine;
use alloquy_engine::decoder::{Snapshot, SnapshotError};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_onnx::OnnxEngine;
use alloquy_storage::{SavedSnapshot, SnapshotFolder};
use alloquy_testing::Draws;
use pollster::block_on;

/// One that writes into its cache, and one that gives it anew.
const MODELS: [&str; 2] = ["models/tiny/genai-qwen3-fp32", "models/tiny/optimum-qwen3"];

/// What a model of random weights says is no text otherwise, and the template would write it anew.
const WORD: &str = "[a-z]{12}";

const QUESTIONS: [&str; 4] = ["What is a noun?", "And a verb?", "Why are there both?", "Is that so?"];

fn round(model: &Path) -> LanguageModel {
    let engine = Arc::new(OnnxEngine::builder(model).threads(1).load().unwrap());
    let template = alloquy_templates::detect(engine.model()).unwrap().template;
    let processor = alloquy_processors::detect(engine.model()).processor;
    let builder = LanguageModel::builder(Generator::new(engine, GeneratorOptions::default()).unwrap())
        .template(template)
        .processor(processor);
    builder.grammars(LlguidanceEngine::default()).build().unwrap()
}

/// A process: a model that was loaded anew, and a store that was opened anew.
struct Process {
    round: LanguageModel,
    manager: Manager,
}

impl Process {
    async fn start(model: &Path, store: &str) -> Self {
        let round = round(model);
        // Drawn at random, so that the tokens depend on every logit.
        let sampling = SamplingOptions {
            temperature: Some(1.0),
            seed: Some(11),
            max_tokens: Some(12),
            ..SamplingOptions::default()
        };
        let store = alloquy_storage::open(store).await.unwrap();
        let builder = Manager::builder(round.clone()).store(store).sampling(sampling);
        Self { round, manager: builder.build().unwrap() }
    }

    async fn ask(&self, questions: &[&str]) -> Vec<Reply> {
        let chat = self.manager.open_or_create(&tea(), Preface::system("Be brief.")).await.unwrap();
        let word = OutputConstraints::default().grammar(Grammar::Regex(WORD.to_owned()));
        let mut replies = Vec::new();
        for question in questions {
            let ask = TurnRequest::from(*question).output(word.clone());
            replies.push(chat.send(ask).finish().await.unwrap().reply);
        }
        replies
    }

    async fn snapshot(&self) -> Snapshot {
        let chat = self.manager.open(&tea()).await.unwrap();
        self.round.snapshot(&chat.request().await.unwrap()).await.unwrap()
    }
}

fn tea() -> ConversationId {
    "tea".parse().unwrap()
}

fn tokens(replies: &[Reply]) -> Vec<&[TokenId]> {
    replies.iter().map(|reply| &*reply.tokens).collect()
}

#[test]
fn a_conversation_goes_on_after_a_restart_as_if_there_had_been_none() {
    for name in MODELS {
        let Some(model) = shared::find(name) else { return };
        let place = tempfile::tempdir().unwrap();
        let store = format!("sqlite:{}", place.path().join("chats.db").display());
        let folder = SnapshotFolder::beside(&store).unwrap().unwrap();
        block_on(async {
            let whole = Process::start(&model, "memory:").await.ask(&QUESTIONS).await;

            let before = Process::start(&model, &store).await;
            let said = before.ask(&QUESTIONS[..2]).await;
            let written = folder.write(&Owner::local(), &tea(), &before.snapshot().await).unwrap();
            assert_eq!(written, SavedSnapshot::Kept { evicted: 0 });
            drop(before);

            let after = Process::start(&model, &store).await;
            let kept = folder.open(&Owner::local(), &tea()).unwrap().unwrap();
            let restored = after.round.restore(kept).await.unwrap();
            let rest = after.ask(&QUESTIONS[2..]).await;

            assert_eq!(tokens(&[said, rest.clone()].concat()), tokens(&whole), "{name}");
            for (after, wanted) in rest.iter().zip(&whole[2..]) {
                assert_eq!(after.cache, wanted.cache, "{name}: as much is reused as without a restart");
            }
            assert_eq!(rest[0].cache.unwrap().cached, restored, "{name}: all that was restored is reused");
            let reply = restored - whole[1].usage.prompt;
            assert!(
                reply + 1 >= whole[1].tokens.len(),
                "{name}: {reply} tokens of the reply before were restored"
            );
        });
    }
}

#[test]
fn what_another_export_computed_is_refused_and_computed_again() {
    let [Some(one), Some(other)] = MODELS.map(shared::find) else { return };
    block_on(async {
        let process = Process::start(&one, "memory:").await;
        let said = process.ask(&QUESTIONS[..1]).await;
        let bytes = process.snapshot().await.bytes().to_vec();
        let process = Process::start(&other, "memory:").await;
        assert_eq!(process.round.restore(bytes).await, Err(SnapshotError::OtherModel));
        let again = process.ask(&QUESTIONS[..1]).await;
        assert_eq!((again[0].cache.unwrap().cached, tokens(&again)), (0, tokens(&said)));
    });
}

#[test]
fn a_thousand_damaged_caches_are_refused_and_the_next_reply_is_right() {
    let Some(model) = shared::find(MODELS[0]) else { return };
    let mut draws = Draws::default();
    block_on(async {
        let process = Process::start(&model, "memory:").await;
        process.ask(&QUESTIONS[..2]).await;
        let whole = process.snapshot().await.bytes().to_vec();
        let next = Process::start(&model, "memory:").await;
        for _ in 0..1000 {
            let mut damaged = whole.clone();
            match draws.below(3) {
                0 => damaged.truncate(draws.below(whole.len())),
                _ => damaged[draws.below(whole.len())] ^= 1 << draws.below(8),
            }
            next.round.restore(damaged).await.unwrap_err();
        }
        assert_eq!(next.round.cache_statistics().await.unwrap().sessions, 0, "nothing of them is held");
        let said = next.ask(&QUESTIONS[..2]).await;
        let wanted = Process::start(&model, "memory:").await.ask(&QUESTIONS[..2]).await;
        assert_eq!(tokens(&said), tokens(&wanted));
        assert_eq!(said[0].cache.unwrap().cached, 0);
    });
}
