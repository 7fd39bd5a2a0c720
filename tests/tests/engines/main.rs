//! One stored conversation that ONNX Runtime, a server of llama.cpp and one of vLLM continue in turn. It says which servers are
//! absent.
// A test may panic, and prints figures.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stdout)]

mod hostile;
#[path = "../../../backends/openai/tests/llama/mod.rs"]
mod llama;
mod place;
mod script;
#[path = "../shared/mod.rs"]
mod shared;
#[path = "../../../backends/openai/tests/vllm_server/mod.rs"]
mod vllm_server;

use std::path::Path;
use std::sync::Arc;

use alloquy_core::grammar::Grammar;
use alloquy_core::output::OutputConstraints;
use alloquy_core::prompt::{Prompt, PromptUnit};
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{
    ChatModel as _, ConversationId, ConversationManager as _, ErrorKind, Message, Preface, Request, Role,
    SamplingOptions,
};
use alloquy_engine::decoder::{DecodeEventKind, DecodeRequest, Decoder};
use alloquy_inference::{Generator, GeneratorOptions};
use alloquy_onnx::OnnxEngine;
use alloquy_openai::RemoteDecoder;
use futures::StreamExt;
use hostile::Counts;
use llama::Llama;
use place::Place;
use pollster::block_on;
use script::{Step, TURNS, step};
use serde_json::Value;
use vllm_server::{Alone, Vllm};

/// The engines, and the servers as long as they are needed.
struct Engines {
    engines: Vec<(&'static str, Arc<dyn Decoder>, usize)>,
    _servers: (Option<Llama>, Option<Alone>),
}

impl Engines {
    /// Starts what this machine has, at least two of them.
    fn start() -> Option<Self> {
        let model = shared::find("models/stories260k")?;
        let tokenizer = shared::find("models/stories260k-hf64")?;
        let llama = Llama::start()?;
        let vllm = Vllm::alone();
        let engine = OnnxEngine::builder(model).threads(1).load().unwrap();
        let local = Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap();
        let mut engines: Vec<(_, Arc<dyn Decoder>, _)> = vec![("onnx", Arc::new(local), 1)];
        engines.push(("llamacpp", remote(&llama.url, &tokenizer), 1));
        if let Some(vllm) = &vllm {
            engines.push(("vllm", remote(&vllm.url, &tokenizer), 32));
        }
        Some(Self { engines, _servers: (Some(llama), vllm) })
    }
}

fn remote(url: &str, tokenizer: &Path) -> Arc<dyn Decoder> {
    Arc::new(block_on(RemoteDecoder::connect(url, tokenizer)).unwrap())
}

/// The continuation of a prompt with a temperature of 0.
async fn greedy(decoder: &dyn Decoder, prompt: &[TokenId], limit: usize) -> Vec<TokenId> {
    let units = prompt.iter().copied().map(PromptUnit::Token).collect();
    let sampling = SamplingOptions { temperature: Some(0.0), ..SamplingOptions::default() };
    let mut events = decoder.decode(DecodeRequest::new(Prompt { units }, limit).sampling(sampling));
    let mut ids = Vec::new();
    while let Some(event) = events.next().await {
        if let DecodeEventKind::Token { id, .. } = event.unwrap().kind {
            ids.push(id);
        }
    }
    ids
}

#[test]
fn a_stored_conversation_continues_on_each_engine_in_turn() {
    let Some(engines) = Engines::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let store = format!("sqlite:{}", folder.path().join("chats.db").display());
    let id: ConversationId = "tale".parse().unwrap();
    block_on(async {
        let mut places = Vec::new();
        for (name, decoder, block) in &engines.engines {
            places.push(Place::new(name, Arc::clone(decoder), *block, &store).await);
        }
        places[0].manager.open_or_create(&id, Preface::default()).await.unwrap();
        let mut last = Vec::new();
        for turn in 0..TURNS {
            let at = turn % places.len();
            let reply = places[at].run(&id, step(turn)).await;
            if step(turn) == Step::Regenerate {
                assert_eq!(reply.reply.tokens, last, "turn {turn}: a second reply of another engine");
            }
            last = reply.reply.tokens;
        }
        compare(&places, &id).await;
        for place in &places {
            println!("{}: {:?}", place.name, place.tally);
        }
    });
}

/// Each node has the same prompt and the same greedy reply on each engine.
async fn compare(places: &[Place], id: &ConversationId) {
    let mut replies = 0;
    let mut longest = 0;
    let tree = places[0].manager.open(id).await.unwrap().tree().await.unwrap();
    for node in tree.nodes() {
        let mut prompts = Vec::new();
        for place in places {
            let conversation = place.manager.open(id).await.unwrap();
            prompts.push(place::prompt(&conversation, node.id).await);
        }
        assert!(prompts.windows(2).all(|pair| pair[0] == pair[1]), "after {node:?}: {prompts:?}");
        if node.message.role != Role::Assistant || node.tokens.is_empty() {
            continue;
        }
        replies += 1;
        let conversation = places[0].manager.open(id).await.unwrap();
        let asked = place::prompt(&conversation, node.parent.unwrap()).await;
        longest = longest.max(asked.len());
        for place in places {
            let ids = greedy(&*place.decoder, &asked, node.tokens.len()).await;
            assert_eq!(ids, node.tokens, "{} after {asked:?}", place.name);
        }
    }
    assert_eq!(replies, TURNS);
    println!("{} nodes, {replies} replies, prompts of up to {longest} tokens", tree.len());
}

#[test]
fn hostile_texts_send_no_control_tokens() {
    let Some(tokenizer) = shared::find("models/stories260k-hf64") else { return };
    // Earlier prompts are not kept: to look through thousands of them takes the server ten times as long as the prompt.
    if let Some(server) = Llama::with_slots("2", &["cache_ram_mib=0"]) {
        let decoder = remote(&server.url, &tokenizer);
        let read = |messages: &[Value]| hostile::read_by_llama(&server.url, messages);
        check("llama.cpp", &block_on(hostile::send(&decoder, read)));
    }
    if let Some(server) = Vllm::alone() {
        let decoder = remote(&server.url, &tokenizer);
        let read = |messages: &[Value]| hostile::read_by_vllm(&server.url, messages);
        check("vLLM", &block_on(hostile::send(&decoder, read)));
    }
}

fn check(server: &str, counts: &Counts) {
    println!("{server}: {counts:?}");
    assert_eq!(counts.ours, 0, "control tokens are sent to {server}");
    assert!(counts.theirs > 0, "the chat endpoint of {server} reads the same texts without control tokens");
}

#[test]
fn scores_and_choices_are_the_same_on_each_engine() {
    let Some(engines) = Engines::start() else { return };
    let before = [1, 403, 407, 261, 378];
    let target = vec![432, 383, 286, 261, 376, 298];
    let mut scores: Vec<(&str, Vec<f32>)> = Vec::new();
    for (name, decoder, _) in &engines.engines {
        let units = before.iter().copied().map(PromptUnit::Token).collect();
        match block_on(decoder.score(Prompt { units }, vec![target.clone()])) {
            Ok(found) => scores.push((name, found[0].iter().map(|score| score.logprob).collect())),
            Err(error) => {
                assert_eq!((error.kind(), *name), (ErrorKind::Unsupported, "llamacpp"), "{error:#}");
            }
        }
        let model = place::language_model(decoder);
        let choice = OutputConstraints::default().grammar(Grammar::choice(["yes", "no"]));
        let sampling = SamplingOptions { temperature: Some(0.0), ..SamplingOptions::default() };
        let request = Request::new(Preface::default(), vec![Message::user("Tom ran.")])
            .sampling(sampling)
            .output(choice);
        let reply = block_on(async { model.reply(request).await.unwrap().finish().await.unwrap() });
        println!("{name}: {:?} {:?} {:?}", reply.message.text(), reply.tokens, reply.warnings);
        assert!(["yes", "no"].contains(&reply.message.text().as_str()), "{name}: {reply:?}");
    }
    for (name, other) in &scores[1..] {
        for (left, right) in scores[0].1.iter().zip(other) {
            assert!((left - right).abs() < 1e-3, "{name}: {scores:?}");
        }
    }
}
