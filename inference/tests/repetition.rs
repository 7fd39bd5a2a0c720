//! A reply that loops is ended and says so; one that does not is never cut.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;

use alloquy_core::report::{FinishReason, Warning};
use alloquy_core::{ChatModel, ErrorKind, Message, Preface, Reply, Request, Result, SamplingOptions};
use alloquy_inference::{Drafting, Generator, GeneratorOptions, LanguageModel, PromptLookup};
use alloquy_testing::{Draws, ScriptedEngine, TaggedProcessor, TaggedTemplate};

/// Returns the reply of a model that would say `script`, a token for each byte.
fn ask(script: &str, sampling: SamplingOptions, lookup: Option<PromptLookup>) -> Result<Reply> {
    let engine = ScriptedEngine::new([("<assistant>", script)]);
    let options = GeneratorOptions { lookup, drafting: Drafting::Always, ..GeneratorOptions::default() };
    let generator = Generator::new(Arc::new(engine), options)?;
    let model =
        LanguageModel::builder(generator).template(TaggedTemplate).processor(TaggedProcessor).build()?;
    let request = Request::new(Preface::default(), vec![Message::user("Go!")]).sampling(sampling);
    pollster::block_on(async { model.reply(request).await?.finish().await })
}

fn detecting(times: usize) -> SamplingOptions {
    SamplingOptions { repetition_detection: Some(times), ..SamplingOptions::default() }
}

/// A cycle of so many characters, none of them twice.
fn cycle(period: usize) -> String {
    ('!'..='~').filter(|symbol| !symbol.is_ascii_digit()).take(period).collect()
}

/// How many tokens a cycle takes, as docs/sampling.md has it.
fn needed(times: usize, period: usize) -> usize {
    match period {
        1..=7 => 8 * times,
        8..=32 => period * times,
        33..=64 => (32 * times).max(2 * period),
        _ => (period * times / 2).max(2 * period),
    }
}

/// Where a text has ended by the definition: the length, and the shortest cycle.
fn expected(text: &str, times: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    for end in 1..=bytes.len() {
        for period in 1..=128.min(end) {
            let last = &bytes[end - period..end];
            let is_of_numbers =
                last.iter().any(u8::is_ascii_digit) && !last.iter().any(u8::is_ascii_alphabetic);
            let needed = needed(times, period) * if is_of_numbers { 4 } else { 1 };
            if needed > end {
                continue;
            }
            let is_cycle = (end - needed + period..end).all(|at| bytes[at] == bytes[at - period]);
            if is_cycle {
                return Some((end, period));
            }
        }
    }
    None
}

#[test]
fn a_cycle_ends_the_reply_whatever_its_length() {
    for period in [1, 2, 3, 7, 8, 9, 20, 32, 33, 50, 64, 83] {
        let cycle = cycle(period);
        let script = format!("1, 2: {}", cycle.repeat(3000 / period + 1));
        for lookup in [None, Some(PromptLookup::default())] {
            let reply = ask(&script, SamplingOptions::default(), lookup).unwrap();
            let tokens = needed(16, period);
            assert_eq!(reply.finish, FinishReason::Repetition, "a cycle of {period}");
            assert_eq!(reply.message.text(), script[..6 + tokens], "a cycle of {period}");
            assert_eq!(reply.usage.generated, 6 + tokens);
            assert_eq!(reply.warnings, [Warning::RepetitionStopped { period, times: tokens / period }]);
        }
    }
}

#[test]
fn a_reply_ends_exactly_where_the_definition_says() {
    let mut draws = Draws::default();
    let mut looped = 0;
    let mut free = 0;
    for _ in 0..60 {
        // Blocks of few letters and digits, each repeated some times: nearly cycles, and cycles.
        let alphabet = ["ab", "a1", "12", "0 ", "xyz", "-|"][draws.below(6)];
        let mut script = String::from("Well, ");
        while script.len() < 500 {
            let mut block = String::new();
            for _ in 0..=draws.below(12) {
                block.push(char::from(alphabet.as_bytes()[draws.below(alphabet.len())]));
            }
            script += &block.repeat(1 + draws.below(30));
        }
        script.truncate(900);
        let times = 3 + draws.below(12);
        let reply = ask(&script, detecting(times), None).unwrap();
        match expected(&script, times) {
            Some((end, period)) => {
                looped += 1;
                assert_eq!(reply.message.text(), script[..end], "{times} times in {script:?}");
                assert!(
                    matches!(reply.warnings[..], [Warning::RepetitionStopped { period: found, .. }] if found == period),
                    "{:?} instead of {period} in {script:?}",
                    reply.warnings
                );
            }
            None => {
                free += 1;
                assert_eq!(reply.message.text(), script, "{times} times");
                assert_eq!((reply.finish, reply.warnings), (FinishReason::Stop, vec![]));
            }
        }
    }
    assert!(looped > 10 && free > 5, "{looped} loops, {free} replies without one");
}

#[test]
fn what_people_ask_for_is_not_cut() {
    let table = "| a | b |\n|---|---|\n".to_owned() + &"| | |\n".repeat(12);
    let zeros = "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0],\n".repeat(10);
    let lines: String = (1..80).map(|number| format!("{number}. I will not talk.\n")).collect();
    let ten = "I will not talk.\n".repeat(10);
    let code: String = (0..60).map(|line| format!("    assert_eq!(f({line}), g({line}));\n")).collect();
    let rule = "=".repeat(80) + "\n" + &"-".repeat(80);
    for script in [table, zeros, lines, ten, code, rule] {
        let reply = ask(&script, SamplingOptions::default(), None).unwrap();
        assert_eq!(reply.message.text(), script);
        assert_eq!((reply.finish, reply.warnings), (FinishReason::Stop, vec![]));
    }
}

#[test]
fn it_can_be_switched_off_and_set() {
    let script = "ha ".repeat(300);
    let off = ask(&script, detecting(0), None).unwrap();
    assert_eq!((off.finish, off.message.text()), (FinishReason::Stop, script.clone()));
    let soon = ask(&script, detecting(2), None).unwrap();
    assert_eq!((soon.finish, soon.usage.generated), (FinishReason::Repetition, 16));
    let error = ask(&script, detecting(1), None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("at least 2, or 0"), "{error}");
    // A limit that is reached first is the reason.
    let limit = SamplingOptions { max_tokens: Some(50), ..SamplingOptions::default() };
    let short = ask(&script, limit, None).unwrap();
    assert_eq!((short.finish, short.warnings), (FinishReason::Length, vec![]));
}

#[test]
fn a_model_that_loops_can_be_asked_again() {
    let engine = ScriptedEngine::new([
        ("<assistant>", "Well, well, no."),
        ("Loop<end><assistant>", &"la ".repeat(900)),
    ]);
    let generator = Generator::new(Arc::new(engine), 1).unwrap();
    let model = LanguageModel::builder(generator)
        .template(TaggedTemplate)
        .processor(TaggedProcessor)
        .build()
        .unwrap();
    for (text, finish) in [("Loop", FinishReason::Repetition), ("Go!", FinishReason::Stop)].repeat(2) {
        let request = Request::new(Preface::default(), vec![Message::user(text)]);
        let reply = pollster::block_on(async { model.reply(request).await?.finish().await }).unwrap();
        assert_eq!(reply.finish, finish, "{text}");
    }
}
