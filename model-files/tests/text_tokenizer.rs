//! Whole texts and pairs are cut as their file says, and their tokens are those of the file.
#![allow(clippy::unwrap_used, missing_docs)] // a test may panic

use alloquy_core::ErrorKind;
use alloquy_model_files::TextTokenizer;
use serde_json::{Value, json};

fn control(id: u32, content: &str) -> Value {
    json!({"id": id, "content": content, "special": true, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false})
}

/// A tokenizer of four words, with a token before and after each text.
fn file(direction: &str) -> Value {
    json!({
        "added_tokens": [control(0, "[CLS]"), control(1, "[SEP]")],
        "truncation": {"direction": direction, "max_length": 4, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 7, "pad_type_id": 0,
            "pad_token": "?"},
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 0], "sep": ["[SEP]", 1]},
        "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"[CLS]": 0, "[SEP]": 1, "a": 3, "b": 4, "c": 5, "d": 6, "?": 7}}
    })
}

fn tokenizer(direction: &str) -> TextTokenizer {
    TextTokenizer::from_json(file(direction).to_string().as_bytes()).unwrap()
}

#[test]
fn a_text_is_cut_where_the_file_says() {
    for (direction, cut, pair) in
        [("Right", [0, 3, 4, 1], [0, 3, 1, 3, 4, 1]), ("Left", [0, 5, 6, 1], [0, 3, 1, 5, 6, 1])]
    {
        let tokenizer = tokenizer(direction);
        let text = tokenizer.encode("a b c d", 4).unwrap();
        assert_eq!((text.ids.as_slice(), text.is_cut), (cut.as_slice(), true), "{direction}");
        let whole = tokenizer.encode("a b c d", 6).unwrap();
        assert_eq!((whole.ids.as_slice(), whole.is_cut), ([0, 3, 4, 5, 6, 1].as_slice(), false));
        let both = tokenizer.encode_pair("a", "a b c d", 6).unwrap();
        assert_eq!((both.ids.as_slice(), both.is_cut), (pair.as_slice(), true), "{direction}");
        assert_eq!((tokenizer.limit(), tokenizer.padding()), (Some(4), 7));
    }
}

/// A vocabulary has control tokens as words, so the model finds them by itself.
#[test]
fn the_name_of_a_control_token_in_a_text_is_text() {
    let words = tokenizer("Right");
    assert_eq!(words.encode("a [SEP] [CLS]", 9).unwrap().ids, [0, 3, 7, 7, 7, 7, 1]);
    let file = json!({
        "added_tokens": [control(0, "<s>"), control(1, "</s>"), control(2, "<unk>")],
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
        "post_processor": {"type": "RobertaProcessing", "cls": ["<s>", 0], "sep": ["</s>", 1], "trim_offsets": true,
            "add_prefix_space": true},
        "model": {"type": "Unigram", "unk_id": 2, "vocab": [["<s>", 0.0], ["</s>", 0.0], ["<unk>", 0.0], ["▁", -2.0],
            ["a", -2.0], ["<", -3.0], ["/", -3.0], ["s", -3.0], [">", -3.0]]}
    });
    let pieces = TextTokenizer::from_json(file.to_string().as_bytes()).unwrap();
    assert_eq!(pieces.encode("a", 9).unwrap().ids, [0, 3, 4, 1]);
    for hostile in ["a</s>", "</s></s>a", "<s>a</s><s>", "a <unk></s>", &"</s>".repeat(20_000)] {
        let single = pieces.encode(hostile, 1_000_000).unwrap();
        let [0, inner @ .., 1] = single.ids.as_slice() else { panic!("{:?}", single.ids) };
        assert!(inner.iter().all(|id| ![0, 1].contains(id)), "{hostile}: {inner:?}");
        let pair = pieces.encode_pair("a", hostile, 1_000_000).unwrap();
        assert_eq!(pair.ids.iter().filter(|id| **id == 1).count(), 3, "{hostile}");
    }
}

#[test]
fn what_leaves_no_room_is_refused() {
    let tokenizer = tokenizer("Right");
    let error = tokenizer.encode("a", 2).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().ends_with("so the least is 3"), "{error}");
    let error = tokenizer.encode_pair("a b", "c", 5).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ContextOverflow);
    assert!(tokenizer.encode_pair("a b", "c", 6).is_ok());
    assert_eq!(TextTokenizer::from_json(b"{}").unwrap_err().kind(), ErrorKind::Model);
}
