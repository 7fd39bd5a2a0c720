//! Replies of real models and whole language models with drafts: texts, thinking, tool calls and stops are those without.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::sync::Arc;

use alloquy_constraints::LlguidanceEngine;
use alloquy_core::grammar::Grammar;
use alloquy_core::output::OutputConstraints;
use alloquy_core::processor::PromptPart;
use alloquy_core::prompt::Prompt;
use alloquy_core::report::FinishReason;
use alloquy_core::{ChatModel, Message, Preface, Reply, Request, SamplingOptions};
use alloquy_engine::decoder::{DecodeEventKind, DecodeRequest, Decoder};
use alloquy_engine::{CancelToken, Engine};
use alloquy_inference::{DraftModel, Drafting, Generator, GeneratorOptions, LanguageModel, PromptLookup};
use alloquy_onnx::OnnxEngine;
use alloquy_testing::{GuessingEngine, ScriptedEngine, TaggedProcessor, TaggedTemplate};
use futures::StreamExt;
use pollster::block_on;

const MODEL: &str = "models/stories260k";

fn options(lookup: bool) -> GeneratorOptions {
    let lookup = lookup.then(PromptLookup::default);
    GeneratorOptions { lookup, drafting: Drafting::Always, ..GeneratorOptions::default() }
}

fn generated(generator: &Generator, text: &str, sampling: &SamplingOptions) -> (Vec<u32>, usize, usize) {
    let prompt = Prompt::lower(&[PromptPart::Text(text.into())], generator.tokenizer()).unwrap();
    let request = DecodeRequest::new(prompt, 150).sampling(sampling.clone());
    let (mut tokens, mut guessed, mut kept) = (Vec::new(), 0, 0);
    for event in block_on(generator.decode(request).collect::<Vec<_>>()) {
        match event.unwrap().kind {
            DecodeEventKind::Token { id, .. } => tokens.push(id),
            DecodeEventKind::Speculated(step) => {
                guessed += step.guessed;
                kept += step.kept;
            }
            _ => {}
        }
    }
    (tokens, guessed, kept)
}

#[test]
fn a_model_that_drafts_for_itself_is_nearly_always_right_and_changes_nothing() {
    let Some(folder) = shared::find(MODEL) else { return };
    let engine: Arc<dyn Engine> = Arc::new(OnnxEngine::load(&folder).unwrap());
    let draft: Arc<dyn Engine> = Arc::new(OnnxEngine::load(&folder).unwrap());
    let plain = Generator::new(Arc::clone(&engine), GeneratorOptions::default()).unwrap();
    let greedy = SamplingOptions { temperature: Some(0.0), ..SamplingOptions::default() };
    let sampled = SamplingOptions { temperature: Some(0.8), seed: Some(7), ..SamplingOptions::default() };
    for lookup in [false, true] {
        let with = Generator::with_draft(Arc::clone(&engine), Arc::clone(&draft), options(lookup)).unwrap();
        for text in
            ["Once upon a time", "One day, Lily and Tom went to the park. Lily and", "def f(x):", "a a a"]
        {
            for sampling in [&greedy, &sampled] {
                let (expected, ..) = generated(&plain, text, sampling);
                let (tokens, guessed, kept) = generated(&with, text, sampling);
                assert_eq!(tokens, expected, "{text:?}, {sampling:?}");
                let is_greedy = sampling.temperature == Some(0.0);
                assert!(
                    !is_greedy || lookup || kept * 10 > guessed * 8,
                    "{kept} of {guessed} after {text:?}"
                );
                assert!(guessed > 20, "{guessed} after {text:?}");
            }
        }
    }
}

#[test]
fn rejected_drafts_leave_the_session_of_a_real_model_as_it_was() {
    let Some(folder) = shared::find(MODEL) else { return };
    let engine: Arc<dyn Engine> = Arc::new(OnnxEngine::load(&folder).unwrap());
    let draft = GuessingEngine::new(Arc::clone(&engine), 0.5);
    let with =
        Generator::with_draft(Arc::clone(&engine), DraftModel::new(Arc::new(draft)), options(true)).unwrap();
    let plain = Generator::new(Arc::clone(&engine), GeneratorOptions::default()).unwrap();
    let greedy = SamplingOptions { temperature: Some(0.0), ..SamplingOptions::default() };
    let mut text = "Once upon a time".to_owned();
    for _ in 0..3 {
        let (expected, ..) = generated(&plain, &text, &greedy);
        let (tokens, guessed, kept) = generated(&with, &text, &greedy);
        assert_eq!(tokens, expected);
        assert!(kept < guessed, "{kept} of {guessed}");
        text += " there was a tree.";
    }
    let [left, right] = [&with, &plain].map(|generator| block_on(generator.statistics()).unwrap());
    assert_eq!((left.cached, left.computed, left.sessions), (right.cached, right.computed, right.sessions));
    // The same logits follow.
    let probe = Prompt::lower(&[PromptPart::Text(text.as_str().into())], engine.tokenizer()).unwrap();
    let scores = [&with, &plain]
        .map(|generator| block_on(generator.score(probe.clone(), vec![vec![5, 6, 7]])).unwrap()[0].clone());
    for (left, right) in scores[0].iter().zip(&scores[1]) {
        assert!((left.logprob - right.logprob).abs() < 1e-3, "{left:?} and {right:?}");
    }
    let mut session = engine.open().unwrap();
    assert_eq!(session.forward(&probe.units, &CancelToken::default()).unwrap().len(), 512);
}

/// A language model that follows a script, with a draft model that is right half of the time or without one.
fn scripted(reply: &str, specials: &[&str], draft: bool) -> LanguageModel {
    let engine = ScriptedEngine::new([("<assistant>", reply)]).specials(specials.iter().copied());
    let engine: Arc<dyn Engine> = Arc::new(engine);
    let generator = if draft {
        let guessing = DraftModel::new(Arc::new(GuessingEngine::new(Arc::clone(&engine), 0.7)));
        Generator::with_draft(engine, guessing, options(true)).unwrap()
    } else {
        Generator::new(engine, GeneratorOptions::default()).unwrap()
    };
    let builder = LanguageModel::builder(generator).template(TaggedTemplate).processor(TaggedProcessor);
    builder.grammars(LlguidanceEngine::default()).build().unwrap()
}

fn asked(model: &LanguageModel, request: Request) -> Reply {
    block_on(async { model.reply(request).await.unwrap().finish().await.unwrap() })
}

fn same(reply: &str, change: fn(Request) -> Request) -> Reply {
    let request = || change(Request::new(Preface::default(), vec![Message::user("Go!")]));
    let expected = asked(&scripted(reply, &["<call>"], false), request());
    let said = asked(&scripted(reply, &["<call>"], true), request());
    assert_eq!(said.message, expected.message);
    assert_eq!((said.finish, &said.tokens), (expected.finish, &expected.tokens));
    assert_eq!((said.stop_string.as_ref(), said.usage), (expected.stop_string.as_ref(), expected.usage));
    assert_eq!(said.warnings, expected.warnings);
    said
}

#[test]
fn stops_grammars_and_limits_end_replies_where_they_do_without_drafts() {
    let text = "one two three four five six seven, one two three four five six seven";
    let whole = same(text, |request| request);
    let speculation = whole.speculation.unwrap();
    assert!(speculation.kept > 20 && speculation.kept < speculation.guessed, "{speculation:?}");
    for end in 1..12 {
        let limited = SamplingOptions { max_tokens: Some(end), ..SamplingOptions::default() };
        let request = Request::new(Preface::default(), vec![Message::user("Go!")]).sampling(limited);
        let expected = asked(&scripted(text, &[], false), request.clone());
        let said = asked(&scripted(text, &[], true), request);
        assert_eq!((said.tokens, said.finish), (expected.tokens, expected.finish), "{end} tokens");
    }
    let stopped = same(text, |request| {
        request.sampling(SamplingOptions { stop: vec!["five s".to_owned()], ..SamplingOptions::default() })
    });
    assert_eq!(stopped.finish, FinishReason::StopString);
    let formed = same(text, |request| {
        let grammar = Grammar::Regex("(one|two|three|four|[ a-z]){1,40}".to_owned());
        request.output(OutputConstraints::default().grammar(grammar))
    });
    assert!(!formed.tokens.is_empty());
}
