//! A fuzz test of reply parsers: recorded replies, cut in every way and mutated, never make one panic, read differently in
//! pieces, or lose a word.
//!
//! `cargo xtask fuzz replies` runs it over as many mutations as one asks for.
#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::path::Path;
use std::{env, fs};

use alloquy_core::model_info::ModelInfo;
use alloquy_core::processor::{Channel, DataProcessor, ProcessorInput};
use alloquy_core::template::PromptEnd;
use alloquy_core::{Message, Preface, ToolSpec};
use alloquy_processors::DataProcessorConfig;
use alloquy_testing::{Draws, ReadReply};
use serde_json::{Value, json};

/// How many mutated replies a plain test run reads.
const PLAIN_RUN: u64 = 20_000;

/// A word that no recorded reply contains.
const WORD: &str = "Quark";

/// The recorded replies of a family, and the prompt's end of each.
struct Corpus {
    family: &'static str,
    replies: Vec<(String, String)>,
}

impl Corpus {
    fn of(family: &'static str) -> Self {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/replies/{family}.json"));
        let cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let text =
            |case: &Value, key: &str| case.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        // An id that stands behind the arguments it names is not the call's: those have one by then.
        let kept = cases.iter().filter(|case| !text(case, "about").contains("an id"));
        Self { family, replies: kept.map(|case| (text(case, "reply"), text(case, "rendered"))).collect() }
    }
}

/// Channels that a host has set.
fn two_channels() -> DataProcessorConfig {
    let joke = Channel::new("joke", "<joke>", "</joke>");
    DataProcessorConfig::default().channel(joke).channel(Channel::new("plan", "[[plan:", "]]"))
}

fn preface() -> Preface {
    let parameters =
        json!({"type": "object", "properties": {"a": {"type": "integer"}, "city": {"type": "string"}}});
    let tool = |name: &str| ToolSpec::new(name, "A tool", parameters.clone());
    Preface::default().tool(tool("weather")).tool(tool("add"))
}

fn read<'a>(
    processor: &dyn DataProcessor,
    preface: &Preface,
    rendered: &str,
    pieces: impl IntoIterator<Item = &'a str>,
) -> ReadReply {
    let path = [Message::user("Hi")];
    ReadReply::new(
        processor.reply_parser(rendered, ProcessorInput::new(preface, &path, PromptEnd::Generation)),
        pieces,
    )
}

/// What mutations put between: pieces of every notation.
const FRAGMENTS: &[&str] = &[
    "\"",
    "'",
    "\\",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ",",
    ":",
    ";",
    "=",
    "\n",
    " ",
    "<",
    "|>",
    "```",
    "</",
    "é",
    "👩‍🚀",
    "\u{200d}",
    "1e999",
    "null",
    "True",
    "\"name\": ",
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "<|call|>",
    "<|end|>",
    "<|message|>",
    "<escape>",
    "<|\"|>",
    "call:",
    "</parameter>",
    "</function>",
    "<![CDATA[",
    "]]>",
    "<joke>",
    "</joke>",
    "[[plan:",
    "]]",
];

fn mutated(corpus: &Corpus, draws: &mut Draws) -> (String, String) {
    let (mut reply, rendered) = corpus.replies[draws.below(corpus.replies.len())].clone();
    for _ in 0..draws.below(5) {
        let left = draws.border(&reply);
        let right = draws.border(&reply);
        let (left, right) = (left.min(right), left.max(right));
        match draws.below(5) {
            0 => reply.replace_range(left..right, ""),
            1 => reply.insert_str(left, FRAGMENTS[draws.below(FRAGMENTS.len())]),
            2 => {
                let copied = reply[left..right].to_owned();
                reply.insert_str(left, &copied);
            }
            3 => {
                let (other, _) = &corpus.replies[draws.below(corpus.replies.len())];
                let cut = draws.border(other);
                reply.replace_range(left.., &other[cut..]);
            }
            _ => reply.truncate(right),
        }
        reply.truncate(reply.floor_char_boundary(2_000));
    }
    (reply, rendered)
}

fn check(processor: &dyn DataProcessor, reply: &str, rendered: &str, draws: &mut Draws) {
    let preface = preface();
    let mut planted = reply.to_owned();
    planted.insert_str(draws.border(reply), WORD);
    let whole = read(processor, &preface, rendered, [planted.as_str()]);
    let longest = [2, 5, 17, 60][draws.below(4)];
    let pieces = draws.pieces(&planted, longest);
    let name = processor.name();
    assert_eq!(read(processor, &preface, rendered, pieces.iter().copied()), whole, "{name}: {pieces:?}");
    assert_eq!(whole.joined, whole.message.parts, "{name}: {planted:?}");
    assert!(whole.says(WORD), "{name}: {WORD:?} of {planted:?} is not in {:?}", whole.message);
}

fn every_two_cuts(processor: &dyn DataProcessor, corpus: &Corpus) -> u64 {
    let preface = preface();
    let mut cuts = 0;
    for (reply, rendered) in &corpus.replies {
        let whole = read(processor, &preface, rendered, [reply.as_str()]);
        let borders: Vec<_> = reply.char_indices().map(|(border, _)| border).chain([reply.len()]).collect();
        for (index, &left) in borders.iter().enumerate() {
            for &right in &borders[index..] {
                let pieces = [&reply[..left], &reply[left..right], &reply[right..]];
                assert_eq!(read(processor, &preface, rendered, pieces), whole, "{pieces:?}");
                cuts += 1;
            }
        }
    }
    cuts
}

#[test]
fn mutated_replies_lose_nothing() {
    let asked = env::var("ALLOQUY_FUZZ_REPLIES").ok().map(|number| number.parse::<u64>().unwrap());
    let corpora: Vec<_> = alloquy_processors::families().map(Corpus::of).collect();
    let mut draws = Draws::default();
    let total = asked.unwrap_or(PLAIN_RUN);
    for corpus in &corpora {
        let model = ModelInfo::default();
        let processor = alloquy_processors::named(corpus.family, &model).unwrap();
        let configured = alloquy_processors::named_with(corpus.family, &model, &two_channels()).unwrap();
        for number in 0..total / u64::try_from(corpora.len()).unwrap() {
            let (reply, rendered) = mutated(corpus, &mut draws);
            let processor = if number % 2 == 0 { &processor } else { &configured };
            check(&**processor, &reply, &rendered, &mut draws);
        }
        if asked.is_some() {
            let cuts = every_two_cuts(&*processor, corpus) + every_two_cuts(&*configured, corpus);
            println!("{}: {} recorded replies, {cuts} ways to cut them", corpus.family, corpus.replies.len());
        }
    }
    println!("{total} mutated replies");
}
