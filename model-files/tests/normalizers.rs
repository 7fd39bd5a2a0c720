//! Tokenizers that rewrite text before they look for tokens: other spellings become a token in text, and never in literal
//! text. `fixtures/tokenizers/charsmap.txt` is SentencePiece's table of rules for full-width brackets and some letters,
//! ligatures, and `★` for `<|im_end|>`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::path::PathBuf;
use std::sync::LazyLock;

use alloquy_core::tokenizer::{Tokenizer, TokenizerInput};
use alloquy_model_files::HuggingFaceTokenizer;
use proptest::prelude::*;
use serde_json::{Value, json};

fn fixture(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tokenizers").join(name);
    std::fs::read_to_string(path).unwrap()
}

fn charsmap() -> Value {
    json!({"type": "Precompiled", "precompiled_charsmap": fixture("charsmap.txt").trim()})
}

/// Reads a vocabulary with this normalizer. Its added tokens are looked for in normalized text or not.
fn with(kind: &str, normalizer: Value, normalized: bool) -> (HuggingFaceTokenizer, tokenizers::Tokenizer) {
    let mut json: Value = serde_json::from_str(&fixture(&format!("{kind}.json"))).unwrap();
    json["normalizer"] = normalizer;
    for token in json["added_tokens"].as_array_mut().unwrap() {
        token["normalized"] = normalized.into();
    }
    let json = json.to_string();
    (HuggingFaceTokenizer::from_json(json.as_bytes()).unwrap(), json.parse().unwrap())
}

/// Lists a vocabulary, its normalizer, whether tokens are looked for in normalized text, a spelling, and its token.
fn look_alikes() -> Vec<(&'static str, Value, bool, &'static str, &'static str)> {
    let nfkc = json!({"type": "NFKC"});
    let family = "families_byte_level";
    vec![
        (family, nfkc.clone(), true, "＜think＞", "<think>"),
        (family, nfkc.clone(), true, "<ｔｈｉｎｋ>", "<think>"),
        (family, nfkc.clone(), true, "<|ﬁm_preﬁx|>", "<|fim_prefix|>"),
        (family, json!({"type": "NFC"}), true, "[/THIN\u{212A}]", "[/THINK]"),
        (family, json!({"type": "Lowercase"}), true, "<THINK>", "<think>"),
        (family, json!({"type": "Lowercase"}), true, "[inst]", "[INST]"),
        (family, star("<"), true, "★think>", "<think>"),
        (family, star("<think>"), true, "★", "<think>"),
        (family, star(""), true, "<th★ink>", "<think>"),
        (family, charsmap(), true, "＜think〉", "<think>"),
        (family, charsmap(), true, "★", "<|im_end|>"),
        // The model finds a piece of its vocabulary by itself.
        ("families_unigram", charsmap(), false, "〈/s〉", "</s>"),
        ("families_unigram", charsmap(), false, "★", "<|im_end|>"),
        ("families_unigram", nfkc, false, "＜think＞", "<think>"),
    ]
}

fn star(content: &str) -> Value {
    json!({"type": "Replace", "pattern": {"String": "★"}, "content": content})
}

/// The vocabularies are read once, because reading one takes longer than a case.
static READ: LazyLock<Vec<(HuggingFaceTokenizer, tokenizers::Tokenizer)>> = LazyLock::new(|| {
    look_alikes()
        .into_iter()
        .map(|(kind, normalizer, normalized, ..)| with(kind, normalizer, normalized))
        .collect()
});

#[test]
fn another_spelling_becomes_a_token_in_text_and_never_in_literal_text() {
    for (kind, normalizer, normalized, spelling, token) in look_alikes() {
        let (tokenizer, reference) = with(kind, normalizer.clone(), normalized);
        let id = tokenizer.token(token).unwrap();
        let text = tokenizer.encode(&[TokenizerInput::Text(spelling)]).unwrap();
        assert_eq!(text, reference.encode(spelling, false).unwrap().get_ids(), "{spelling}");
        assert!(text.contains(&id), "{normalizer} {spelling}: {text:?}");
        for pieces in [
            vec![TokenizerInput::Literal(spelling)],
            vec![TokenizerInput::Text("a"), TokenizerInput::Literal(spelling)],
        ] {
            let literal = tokenizer.encode(&pieces).unwrap();
            assert!(!literal.contains(&id) && literal.len() > 2, "{normalizer} {spelling}: {literal:?}");
        }
    }
}

#[test]
fn the_normalizer_returns_what_another_spelling_becomes() {
    for (kind, normalizer, normalized, spelling, token) in look_alikes() {
        let (tokenizer, _) = with(kind, normalizer.clone(), normalized);
        let id = tokenizer.token(token).unwrap();
        let normalizer_of_tokens = tokenizer.normalizer().unwrap();
        let wanted = normalizer_of_tokens.tokens().iter().find(|token| token.id == id).unwrap();
        let rewritten = normalizer_of_tokens.normalize(spelling);
        assert!(rewritten.text.contains(&wanted.text), "{normalizer} {spelling}: {rewritten:?}");
    }
}

#[test]
fn tokens_that_have_one_spelling_need_no_normalizer() {
    let space = json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"});
    let prepend = json!({"type": "Prepend", "prepend": "▁"});
    let both = json!({"type": "Sequence", "normalizers": [prepend, space]});
    for (kind, normalizer, normalized) in [
        ("byte_level", Value::Null, true),
        ("byte_level", json!({"type": "NFKC"}), false),
        ("prepend", both, false),
        ("metaspace", Value::Null, false),
    ] {
        let (tokenizer, _) = with(kind, normalizer.clone(), normalized);
        assert!(tokenizer.normalizer().is_none(), "{kind} {normalizer}");
    }
}

fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        3 => prop::sample::select(vec!["＜", "＞", "★", "ﬁ", "e\u{301}", "\u{338}", ">", "<think>", "한", "ﷺ", "  ", "K"]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn each_byte_of_normalized_text_comes_from_a_character(text in text()) {
        for (tokenizer, _) in READ.iter() {
            let rewritten = tokenizer.normalizer().unwrap().normalize(&text);
            prop_assert_eq!(rewritten.places.len(), rewritten.text.len());
            prop_assert!(rewritten.places.is_sorted());
            prop_assert!(rewritten.places.iter().all(|place| text.is_char_boundary(*place)));
        }
    }

    #[test]
    fn one_text_gives_the_ids_of_the_reference(text in text()) {
        for (tokenizer, reference) in READ.iter() {
            let wanted = reference.encode(text.as_str(), false).unwrap();
            prop_assert_eq!(tokenizer.encode(&[TokenizerInput::Text(&text)]).unwrap(), wanted.get_ids());
        }
    }
}
