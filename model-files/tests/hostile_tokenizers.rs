//! Tokenizers that could make a text far too long are refused when they are read, with the reason.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)] // a test may panic

use alloquy_core::ErrorKind;
use alloquy_core::tokenizer::{Tokenizer as _, TokenizerInput};
use alloquy_model_files::HuggingFaceTokenizer;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

fn fixture(name: &str) -> Value {
    let path = format!("{}/tests/fixtures/tokenizers/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns a working tokenizer with one changed field.
fn with(field: &str, value: Value) -> Value {
    let mut tokenizer = fixture("byte_level");
    tokenizer[field] = value;
    tokenizer
}

fn refusal(tokenizer: &Value) -> String {
    let error = HuggingFaceTokenizer::from_json(tokenizer.to_string().as_bytes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Model, "{error}");
    error.to_string()
}

fn replace(from: &str, to: &str) -> Value {
    json!({"type": "Replace", "pattern": {"String": from}, "content": to})
}

fn replace_all(pattern: &str, to: &str) -> Value {
    json!({"type": "Replace", "pattern": {"Regex": pattern}, "content": to})
}

#[allow(clippy::needless_pass_by_value)] // steps are made where they are given
fn sequence(steps: Vec<Value>) -> Value {
    json!({"type": "Sequence", "normalizers": steps})
}

fn refusal_of_steps(steps: Vec<Value>) -> String {
    refusal(&with("normalizer", sequence(steps)))
}

#[test]
fn a_normalizer_that_explodes_is_refused_before_it_is_run() {
    assert_eq!(
        refusal_of_steps(vec![replace("h", &"h".repeat(10)); 12]),
        "the normalizer of tokenizer.json can make a text 1000000000000 times as long, and at most 1024 times is taken"
    );
    for steps in [
        vec![replace("h", &"h".repeat(1_000_000))],
        vec![replace("", "hh"); 12],
        vec![replace_all("", "hhh"); 12],
        vec![replace_all("(?=h)", "hhh"); 12],
        vec![replace_all("h*", "hhh"); 12],
        vec![replace_all("^", "hhh"), replace("h", &"h".repeat(1000))],
        vec![replace_all(r"\s|h", &"h ".repeat(5)); 12],
        vec![replace(&"h".repeat(300), &"h".repeat(3000)); 12],
        vec![json!({"type": "Prepend", "prepend": "h".repeat(2000)})],
        vec![json!({"type": "Prepend", "prepend": "hhh"}), replace("h", &"h".repeat(600))],
        vec![json!({"type": "NFKD"}), replace("\u{644}", &"\u{FDFA}".repeat(50)), json!({"type": "NFKD"})],
        vec![json!({"type": "ByteLevel"}); 40],
        vec![sequence(vec![replace("h", "hhhh"); 3]), sequence(vec![replace("h", "hhhh"); 3])],
    ] {
        let refusal = refusal_of_steps(steps.clone());
        assert!(
            refusal.starts_with("the normalizer of tokenizer.json can make a text "),
            "{steps:?}: {refusal}"
        );
    }
    let many = refusal_of_steps(vec![replace("a", "b"); 100_000]);
    assert_eq!(many, "the normalizer of tokenizer.json has 100000 steps, and at most 256 are taken");
}

#[test]
fn an_exploding_step_that_only_an_added_token_meets_is_refused_too() {
    let token = json!({"id": 90_000, "content": "h".repeat(1 << 20), "special": true, "single_word": false,
        "lstrip": false, "rstrip": false, "normalized": true});
    let mut tokenizer = with("normalizer", sequence(vec![replace("h", &"h".repeat(500))]));
    tokenizer["added_tokens"].as_array_mut().unwrap().push(token);
    let refusal = refusal(&tokenizer);
    assert!(
        refusal.contains("can make a text 1000 times as long, so it is given no more than 16777 bytes"),
        "{refusal}"
    );
}

#[test]
fn tables_of_rules_are_measured() {
    let index = [0; 4];
    let size = (index.len() as u32).to_le_bytes();
    let table = [&size[..], &index, "x".repeat(5000).as_bytes()].concat();
    let long = json!({"type": "Precompiled", "precompiled_charsmap": STANDARD.encode(table)});
    let refused = refusal(&with("normalizer", long));
    assert!(refused.contains("a text 5000 times as long"), "{refused}");
    let damaged = json!({"type": "Precompiled", "precompiled_charsmap": "AA=="});
    let refused = refusal(&with("normalizer", damaged));
    assert!(refused.contains("a text endlessly long"), "{refused}");
}

#[test]
fn pre_tokenizers_decoders_and_post_processors_are_measured_too() {
    let byte_level =
        json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": false});
    let pre_tokenizers = json!({"type": "Sequence", "pretokenizers": vec![byte_level; 30]});
    let refused = refusal(&with("pre_tokenizer", pre_tokenizers));
    let expected = "the pre_tokenizer of tokenizer.json can make a text 1073741824 times";
    assert!(refused.starts_with(expected), "{refused}");
    let decoders = json!({"type": "Sequence", "decoders": vec![replace("h", &"h".repeat(10)); 12]});
    let refused = refusal(&with("decoder", decoders));
    let expected = "the decoder of tokenizer.json can make a token 1000000000000 times";
    assert!(refused.starts_with(expected), "{refused}");
    for pieces in [
        vec![json!({"Sequence": {"id": "A", "type_id": 0}}); 1000],
        vec![json!({"SpecialToken": {"id": "<s>", "type_id": 0}}); 1_000_000],
    ] {
        let post_processor = json!({"type": "TemplateProcessing", "single": pieces, "pair": [],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}});
        let nested = json!({"type": "Sequence", "processors": [post_processor.clone()]});
        for step in [post_processor, nested] {
            let refused = refusal(&with("post_processor", step));
            assert!(refused.contains("at most 1024 pieces and 1 time are taken"), "{refused}");
        }
    }
    let mut tokenizer = fixture("byte_level");
    tokenizer["model"]["continuing_subword_prefix"] = "h".repeat(1 << 20).into();
    assert!(
        refusal(&tokenizer).starts_with("the continuing_subword_prefix of tokenizer.json has 1048576 bytes")
    );
}

#[test]
fn a_tokenizer_with_a_large_factor_accepts_only_short_texts() {
    let tokenizer = with("normalizer", sequence(vec![replace("h", &"h".repeat(100))]));
    let tokenizer = HuggingFaceTokenizer::from_json(tokenizer.to_string().as_bytes()).unwrap();
    assert!(tokenizer.encode(&[TokenizerInput::Text(&"h".repeat(1000))]).is_ok());
    let long = "h".repeat(1 << 20);
    for piece in [TokenizerInput::Text(&long), TokenizerInput::Literal(&long)] {
        let error = tokenizer.encode(&[piece]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tokenize);
        assert_eq!(
            error.to_string(),
            "the tokenizer can make a text 200 times as long, so it is given no more than 83886 bytes, and there are 1048576"
        );
    }
}

#[test]
fn the_tokenizers_of_language_models_are_accepted() {
    let strip = json!({"type": "Strip", "strip_left": true, "strip_right": true});
    let accents = json!({"type": "StripAccents"});
    let spaces = replace_all(" {2,}", " ");
    let albert = vec![
        replace("``", "\""),
        replace("''", "\""),
        json!({"type": "NFKD"}),
        accents,
        json!({"type": "Lowercase"}),
        strip,
        spaces,
    ];
    for normalizer in [
        Value::Null,
        json!({"type": "NFC"}),
        replace(" ", "▁"),
        sequence(vec![json!({"type": "Prepend", "prepend": "▁"}), replace(" ", "▁")]),
        sequence(vec![json!({"type": "NFC"}), replace_all(r"\s+", " "), json!({"type": "Lowercase"})]),
        sequence(albert),
    ] {
        let tokenizer = with("normalizer", normalizer.clone());
        let read = HuggingFaceTokenizer::from_json(tokenizer.to_string().as_bytes());
        assert!(read.is_ok(), "{normalizer}: {read:?}");
    }
    // Their texts may have any length.
    let llama = sequence(vec![json!({"type": "Prepend", "prepend": "▁"}), replace(" ", "▁")]);
    let tokenizer =
        HuggingFaceTokenizer::from_json(with("normalizer", llama).to_string().as_bytes()).unwrap();
    assert!(tokenizer.encode(&[TokenizerInput::Literal(&"hello ".repeat(1 << 13))]).is_ok());
}
