//! What of a prompt is computed again by a model with convolutions or recurrent layers, which goes back only to marked places.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::sync::Arc;

use alloquy_core::SamplingOptions;
use alloquy_core::prompt::{Prompt, PromptUnit};
use alloquy_core::report::{CacheReport, MissReason};
use alloquy_core::tokenizer::TokenId;
use alloquy_engine::Engine;
use alloquy_engine::decoder::{DecodeEvent, DecodeEventKind, Decoder, SnapshotIdentity, SnapshotSource};
use alloquy_inference::{Generator, Sampler};
use alloquy_onnx::OnnxEngine;
use futures::StreamExt;
use pollster::block_on;

const MODELS: [&str; 2] = ["models/stateful/lfm2-fp32", "models/stateful/qwen3_5-fp32"];

/// The number of tokens of a reply.
const REPLY: usize = 6;

fn prompt(tokens: &[TokenId]) -> Prompt {
    Prompt { units: tokens.iter().copied().map(PromptUnit::Token).collect() }
}

/// Generates a reply, and returns it with the report of the prompt.
fn replied(generator: &Generator, tokens: &[TokenId]) -> (CacheReport, Vec<TokenId>) {
    let sampler = Sampler::new(&SamplingOptions::default()).unwrap();
    let stream = generator.generate(prompt(tokens), sampler, REPLY);
    let mut report = None;
    let mut reply = Vec::new();
    for event in block_on(stream.collect::<Vec<_>>()) {
        let DecodeEvent { kind, .. } = event.unwrap();
        match kind {
            DecodeEventKind::Prefilled(prefilled) => report = Some(prefilled),
            DecodeEventKind::Token { id, .. } => reply.push(id),
            _ => {}
        }
    }
    (report.unwrap(), reply)
}

fn generator(model: &str) -> Option<Generator> {
    let engine = OnnxEngine::builder(shared::find(model)?).threads(1).load().unwrap();
    Some(Generator::new(Arc::new(engine) as Arc<dyn Engine>, 2).unwrap())
}

/// Returns the reply of a generator that has computed nothing yet.
fn fresh(model: &str, tokens: &[TokenId]) -> Vec<TokenId> {
    replied(&generator(model).unwrap(), tokens).1
}

#[test]
fn a_next_turn_computes_what_is_new_and_an_edit_goes_back_to_a_mark() {
    for model in MODELS {
        let Some(generator) = generator(model) else { return };
        let first: Vec<TokenId> = (20..70).collect();
        let (report, reply) = replied(&generator, &first);
        assert_eq!((report.cached, report.computed), (0, 50), "{model}");

        // The last token of a reply is computed with the next prompt.
        let next = [&first[..], &reply, &[7, 8, 9]].concat();
        let (report, answer) = replied(&generator, &next);
        assert_eq!((report.cached, report.miss), (50 + REPLY - 1, None), "{model}");
        assert_eq!(answer, fresh(model, &next), "{model}");

        // Another opening of the reply: what precedes the last units of the prompt is there.
        let other = [&first[..46], &[11, 12, 13, 14]].concat();
        let (report, answer) = replied(&generator, &other);
        assert_eq!((report.cached, report.miss), (42, Some(MissReason::NotRewindable)), "{model}");
        assert_eq!(answer, fresh(model, &other), "{model}");

        // Another question: no state is kept within the first one.
        let edited = [&first[..30], &[11, 12, 13, 14]].concat();
        let (report, answer) = replied(&generator, &edited);
        assert_eq!((report.cached, report.miss), (0, Some(MissReason::NotRewindable)), "{model}");
        assert_eq!(answer, fresh(model, &edited), "{model}");
    }
}

#[test]
fn what_was_computed_is_saved_and_restored() {
    for model in MODELS {
        let Some(before) = generator(model) else { return };
        let first: Vec<TokenId> = (20..70).collect();
        let (_, reply) = replied(&before, &first);
        let whole = [&first[..], &reply].concat();
        let identity = before.identity().unwrap();
        let origin = SnapshotIdentity::new(identity, identity);
        let snapshot = block_on(before.snapshot(prompt(&whole), origin)).unwrap();
        assert_eq!(snapshot.units().len(), whole.len() - 1, "{model}");

        let after = generator(model).unwrap();
        let source = SnapshotSource::from(snapshot.bytes().to_vec());
        assert_eq!(block_on(after.restore(source, origin)).unwrap(), whole.len() - 1, "{model}");
        let next = [&whole[..], &[7, 8, 9]].concat();
        let (report, answer) = replied(&after, &next);
        assert_eq!((report.cached, report.miss), (whole.len() - 1, None), "{model}");
        assert_eq!(answer, fresh(model, &next), "{model}");
    }
}
