//! Measures what a matcher adds to each token with a vocabulary of 150 000, and what compiling a grammar costs.
//!
//! `cargo bench -p alloquy-constraints`. The vocabulary is made up; its tokens are as long as those of a real one.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)] // a benchmark may panic

use std::hint::black_box;

use alloquy_constraints::LlguidanceEngine;
use alloquy_core::Result;
use alloquy_core::grammar::{Grammar, GrammarEngine, GrammarMatcher};
use alloquy_core::tokenizer::{Detokenizer, SpecialToken, TokenId, Tokenizer, TokenizerInput, Vocabulary};
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::json;

const SIZE: usize = 150_000;

/// A vocabulary of bytes, then of words of two to nine letters, half of them after a space, with numbers and signs.
#[derive(Debug)]
struct Words {
    specials: Vec<SpecialToken>,
    words: Vec<Vec<u8>>,
}

impl Words {
    fn new() -> Self {
        let mut words: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        while words.len() < SIZE - 1 {
            let alphabet: &[u8] = match draw(20) {
                0 => b"0123456789",
                1 => b"{}[]():;,.\"'\\/<>=+-*&|!? \n\t",
                _ => b"etaoinshrdlcumwfgypbvkjxqzETAOIN",
            };
            let mut word = if draw(2) == 0 { b" ".to_vec() } else { Vec::new() };
            word.extend((0..2 + draw(8)).map(|_| alphabet[draw(alphabet.len() as u64) as usize]));
            words.push(word);
        }
        let end = SpecialToken { text: "<end>".to_owned(), id: (SIZE - 1) as TokenId };
        words.push(b"<end>".to_vec());
        Self { specials: vec![end], words }
    }
}

impl Tokenizer for Words {
    fn specials(&self) -> &[SpecialToken] {
        &self.specials
    }

    fn encode(&self, _: &[TokenizerInput<'_>]) -> Result<Vec<TokenId>> {
        Ok(Vec::new())
    }

    fn bytes(&self, token: TokenId) -> Option<Vec<u8>> {
        self.words.get(token as usize).cloned()
    }

    fn detokenizer(&self) -> Box<dyn Detokenizer> {
        panic!("nothing is decoded here")
    }
}

/// Matches a text as if it were a reply, with a mask before each token, and starts again at its end.
struct Walk<'a> {
    fresh: &'a dyn Fn() -> Box<dyn GrammarMatcher>,
    constraint: Box<dyn GrammarMatcher>,
    text: &'a [u8],
    at: usize,
    logits: Vec<f32>,
}

impl<'a> Walk<'a> {
    fn new(fresh: &'a dyn Fn() -> Box<dyn GrammarMatcher>, text: &'a str) -> Self {
        Self { fresh, constraint: fresh(), text: text.as_bytes(), at: 0, logits: vec![0.0; SIZE] }
    }

    fn mask(&mut self) {
        self.logits.fill(0.0);
        self.constraint.mask(&mut self.logits).unwrap();
        black_box(&self.logits);
    }

    fn advance(&mut self) {
        if self.at == self.text.len() {
            self.constraint = (self.fresh)();
            self.at = 0;
        }
        self.constraint.accept(TokenId::from(self.text[self.at])).unwrap();
        self.at += 1;
    }
}

fn grammars() -> Vec<(&'static str, Grammar, &'static str)> {
    let person = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 40},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "tags": {"type": "array", "items": {"enum": ["red", "green", "blue"]}, "maxItems": 4},
            "note": {"type": "string"},
        },
        "required": ["name", "age", "tags", "note"],
        "additionalProperties": false,
    });
    vec![
        (
            "schema",
            Grammar::JsonSchema(person),
            r#"{"name": "Ada Lovelace", "age": 36, "tags": ["red", "blue"], "note": "wrote of it first"}"#,
        ),
        (
            "regex",
            Grammar::Regex("[A-Z][a-z]+( [a-z]+){3,9}\\.".to_owned()),
            "The mask is made again each time.",
        ),
        ("choice", Grammar::choice(["yes", "no", "perhaps"]), "perhaps"),
    ]
}

fn benchmarks(criterion: &mut Criterion) {
    let vocabulary = Vocabulary::new(&Words::new(), SIZE, &[(SIZE - 1) as TokenId]);
    let constraints = LlguidanceEngine::default();
    let mut once = criterion.benchmark_group("once");
    once.sample_size(10);
    once.bench_function("vocabulary", |bencher| bencher.iter(|| constraints.prepare(&vocabulary).unwrap()));
    once.finish();
    let compiler = constraints.prepare(&vocabulary).unwrap();
    for (name, grammar, text) in grammars() {
        let fresh = || compiler.compile(&grammar).unwrap();
        criterion.bench_function(&format!("compile/{name}"), |bencher| bencher.iter(fresh));
        let mut walk = Walk::new(&fresh, text);
        criterion.bench_function(&format!("mask/{name}"), |bencher| {
            bencher.iter_custom(|count| {
                let mut spent = std::time::Duration::ZERO;
                for _ in 0..count {
                    let start = std::time::Instant::now();
                    walk.mask();
                    spent += start.elapsed();
                    walk.advance();
                }
                spent
            });
        });
    }
}

criterion_group!(benches, benchmarks);
criterion_main!(benches);
