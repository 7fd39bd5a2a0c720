//! Compares ids with those of `tokenizers`, and checks that literal text stays literal and that streams split no character.
//! The fixtures are small vocabularies of every kind that language models have.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod common;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use alloquy_core::ErrorKind;
use alloquy_core::tokenizer::{TokenId, Tokenizer, TokenizerInput, decode};
use alloquy_model_files::HuggingFaceTokenizer;
use proptest::prelude::*;

const KINDS: [&str; 5] = ["byte_level", "prepend", "metaspace", "replace", "unigram"];

/// Vocabularies that can write every text, so that decoding gives back what was encoded.
const COMPLETE: [&str; 3] = ["byte_level", "prepend", "replace"];

fn path(kind: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/tokenizers/{kind}.json"))
}

/// The vocabularies are read once, because reading one takes longer than a case.
static READ: LazyLock<HashMap<&str, (HuggingFaceTokenizer, tokenizers::Tokenizer)>> =
    LazyLock::new(|| KINDS.into_iter().map(|kind| (kind, (read(kind), read_reference(kind)))).collect());

fn tokenizer(kind: &str) -> &'static HuggingFaceTokenizer {
    &READ[kind].0
}

fn reference(kind: &str) -> &'static tokenizers::Tokenizer {
    &READ[kind].1
}

fn read(kind: &str) -> HuggingFaceTokenizer {
    HuggingFaceTokenizer::from_json(&std::fs::read(path(kind)).unwrap())
        .unwrap_or_else(|error| panic!("{error:#}"))
}

fn read_reference(kind: &str) -> tokenizers::Tokenizer {
    let mut reference = tokenizers::Tokenizer::from_file(path(kind)).unwrap();
    reference.with_padding(None).with_truncation(None).unwrap();
    reference
}

/// Text that is rich in what tokenizers treat specially.
fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[a-z ]{0,8}",
        1 => "[ \n\t]{1,5}",
        2 => prop::sample::select(vec!["hello", " world", "</s>", "<s>", "<|end|>", "<think>", "<end>", "<sep>", " <sep> ", "|", "▁", "<unk>", "end>", "<0x41>"]).prop_map(str::to_owned),
        1 => "[é中😀\u{FFFD}]{1,3}",
        1 => any::<String>(),
    ];
    prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}

fn pieces() -> impl Strategy<Value = Vec<(bool, String)>> {
    prop::collection::vec((any::<bool>(), text()), 0..5)
}

fn piece((literal, text): &(bool, String)) -> TokenizerInput<'_> {
    if *literal { TokenizerInput::Literal(text) } else { TokenizerInput::Text(text) }
}

proptest! {
    #[test]
    fn one_text_gives_the_ids_of_the_reference(text in text()) {
        for kind in KINDS {
            let wanted = reference(kind).encode(text.as_str(), false).unwrap();
            prop_assert_eq!(&tokenizer(kind).encode(&[TokenizerInput::Text(&text)]).unwrap(), wanted.get_ids(), "{}", kind);
        }
    }

    #[test]
    fn a_text_that_begins_like_others_has_the_ids_of_the_reference(
        start in text(),
        changes in prop::collection::vec((0..=100_usize, text()), 1..5),
    ) {
        // Long enough to be remembered.
        let mut long = format!("{start}<s>").repeat(1100_usize.div_ceil(start.len() + 3));
        for (kept, more) in changes {
            let kept = long.floor_char_boundary(long.len() * kept / 100);
            long.truncate(kept.max(long.floor_char_boundary(1100)));
            long += &more;
            for kind in KINDS {
                let wanted = reference(kind).encode(long.as_str(), false).unwrap();
                prop_assert_eq!(&tokenizer(kind).encode(&[TokenizerInput::Text(&long)]).unwrap(), wanted.get_ids(), "{}", kind);
            }
        }
    }

    #[test]
    fn texts_side_by_side_are_one_text(left in text(), right in text()) {
        for kind in KINDS {
            let tokenizer = tokenizer(kind);
            let whole = tokenizer.encode(&[TokenizerInput::Text(&format!("{left}{right}"))]).unwrap();
            prop_assert_eq!(tokenizer.encode(&[TokenizerInput::Text(&left), TokenizerInput::Text(&right)]).unwrap(), whole, "{}", kind);
        }
    }

    #[test]
    fn a_literal_gives_no_special_token(before in text(), text in text()) {
        for kind in KINDS {
            let tokenizer = tokenizer(kind);
            for pieces in [vec![TokenizerInput::Literal(&text)], vec![TokenizerInput::Text(&before), TokenizerInput::Literal(&text)]] {
                let ahead = tokenizer.encode(&pieces[..pieces.len() - 1]).unwrap().len();
                let tokens = tokenizer.encode(&pieces).unwrap();
                let added = tokens[ahead..].iter().find(|token| is_forbidden(kind, tokenizer, **token));
                prop_assert_eq!(added, None, "{}: {:?} of {:?}", kind, tokens, pieces);
            }
        }
    }

    #[test]
    fn what_was_encoded_in_pieces_is_decoded(pieces in pieces()) {
        for kind in COMPLETE {
            let text: String = pieces.iter().map(|(_, text)| text.as_str()).collect();
            // The other texts of special tokens are changed by the tokenizer itself: spaces around `<sep>` vanish,
            // and SentencePiece of the old kind writes one after each; `▁` is a space to it.
            prop_assume!(!["<sep>", "<s>", "</s>", "<unk>", "▁"].iter().any(|special| text.contains(special)));
            prop_assume!(!text.contains("<0x"));
            let tokenizer = tokenizer(kind);
            let tokens = tokenizer.encode(&pieces.iter().map(piece).collect::<Vec<_>>()).unwrap();
            prop_assert_eq!(decode(tokenizer, &tokens).unwrap(), text, "{}: {:?}", kind, tokens);
        }
    }

    #[test]
    fn a_stream_decodes_like_the_reference(text in text()) {
        for kind in KINDS {
            let reference = reference(kind);
            let tokens = reference.encode(text.as_str(), false).unwrap();
            // The reference decodes special tokens as if they were text.
            let tokens: Vec<_> = tokens.get_ids().iter().copied().filter(|token| !spells_oddly(kind, *token)).collect();
            let wanted = reference.decode(&tokens, false).unwrap();
            prop_assert_eq!(decode(tokenizer(kind), &tokens).unwrap(), wanted, "{}: {:?}", kind, tokens);
        }
    }

    #[test]
    fn broken_characters_are_replaced_as_in_one_text(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
        let tokenizer = tokenizer("byte_level");
        let tokens: Vec<_> = bytes.iter().map(|byte| byte_token(tokenizer, *byte)).collect();
        prop_assert_eq!(decode(tokenizer, &tokens).unwrap(), String::from_utf8_lossy(&bytes));
    }
}

/// GPT-2 writes unprintable bytes as the characters from U+0100 on.
fn byte_token(tokenizer: &HuggingFaceTokenizer, byte: u8) -> TokenId {
    let before = (0..byte).filter(|byte| !is_printable(*byte)).count() as u32;
    let character =
        if is_printable(byte) { char::from(byte) } else { char::from_u32(0x100 + before).unwrap() };
    tokenizer.token(&character.to_string()).unwrap()
}

fn is_printable(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF)
}

/// In `replace`, `|` is an added token of one character that no other token can write.
fn is_forbidden(kind: &str, tokenizer: &HuggingFaceTokenizer, token: TokenId) -> bool {
    let special = tokenizer.specials().iter().find(|special| special.id == token);
    special.is_some_and(|special| special.text != "<unk>" && !(kind == "replace" && special.text == "|"))
}

fn spells_oddly(kind: &str, token: TokenId) -> bool {
    let tokenizer = tokenizer(kind);
    tokenizer.specials().iter().any(|special| special.id == token && !special.text.is_ascii())
}

#[test]
fn specials_come_out_as_their_texts() {
    let tokenizer = tokenizer("byte_level");
    for text in ["<|end|>", "<think>", "<｜bos▁café｜>"] {
        let tokens = tokenizer.encode(&[TokenizerInput::Text(text)]).unwrap();
        assert_eq!(tokens.len(), 1, "{text}");
        assert_eq!(decode(tokenizer, &tokens).unwrap(), text);
        let spelled = tokenizer.encode(&[TokenizerInput::Literal(text)]).unwrap();
        assert!(spelled.len() > 1, "{text}");
        assert_eq!(decode(tokenizer, &spelled).unwrap(), text);
    }
    let ids: Vec<_> = tokenizer.specials().iter().map(|special| special.id).collect();
    assert!(ids.is_sorted() && ids.len() == 4);
}

#[test]
fn literal_text_gives_no_control_token_even_if_the_model_has_it_as_a_piece() {
    let tokenizer = tokenizer("unigram");
    let [text, literal] = [TokenizerInput::Text("</s>"), TokenizerInput::Literal("</s>")]
        .map(|piece| tokenizer.encode(&[piece]).unwrap());
    assert_eq!(text, [2]);
    assert!(!literal.contains(&2) && literal.len() >= 4, "{literal:?}");
    // The same for a control token that merges lead to.
    let replace = self::tokenizer("replace");
    let end = replace.token("<end>").unwrap();
    assert_eq!(replace.encode(&[TokenizerInput::Text("<end>")]).unwrap(), [end]);
    assert!(!replace.encode(&[TokenizerInput::Literal("<end>")]).unwrap().contains(&end));
}

fn spellings(tokenizer: &HuggingFaceTokenizer, tokens: &[TokenId]) -> Vec<String> {
    tokens.iter().map(|token| tokenizer.spelling(*token).unwrap()).collect()
}

#[test]
fn a_later_piece_gets_no_space_in_front() {
    for kind in ["prepend", "metaspace", "unigram"] {
        let tokenizer = tokenizer(kind);
        let first = tokenizer.encode(&[TokenizerInput::Text("hello")]).unwrap();
        assert_eq!(spellings(tokenizer, &first).concat(), "▁hello", "{kind}");
        let later =
            tokenizer.encode(&[TokenizerInput::Literal("a"), TokenizerInput::Text("lo</s>")]).unwrap();
        let spellings = spellings(tokenizer, &later);
        assert!(!spellings[1..].concat().contains('▁'), "{kind}: {spellings:?}");
        assert_eq!(later.last(), Some(&2), "{kind}");
    }
}

#[test]
fn a_character_is_returned_when_it_is_complete() {
    let tokenizer = tokenizer("byte_level");
    let tokens = tokenizer.encode(&[TokenizerInput::Text("中😀")]).unwrap();
    let mut stream = tokenizer.detokenizer();
    let parts: Vec<_> = tokens.iter().map(|token| stream.push(*token).unwrap()).collect();
    assert_eq!(parts.iter().filter(|part| !part.is_empty()).collect::<Vec<_>>(), ["中", "😀"]);
    for token in &tokens[..tokens.len() - 1] {
        stream.push(*token).unwrap();
    }
    assert_eq!(stream.finish(), "\u{FFFD}");
}

#[test]
fn a_stream_starts_without_the_space_that_its_first_word_is_written_with() {
    let tokenizer = tokenizer("prepend");
    let hello = tokenizer.token("▁hello").unwrap();
    let mut start = tokenizer.detokenizer();
    assert_eq!([start.push(hello).unwrap(), start.push(hello).unwrap()], ["hello", " hello"]);
    // In the middle of a text, the space is part of the text.
    let mut middle = tokenizer.detokenizer();
    middle.push(tokenizer.token("h").unwrap()).unwrap();
    assert_eq!(middle.push(hello).unwrap(), " hello");
}

#[test]
fn a_token_outside_of_the_vocabulary_is_an_error() {
    let error = tokenizer("prepend").detokenizer().push(99_999).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::Tokenize, "token 99999 is not in the vocabulary")
    );
}

#[test]
fn a_decoder_of_another_kind_is_refused() {
    let json = std::fs::read_to_string(path("byte_level")).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&json).unwrap();
    json["decoder"] = serde_json::json!({"type": "WordPiece", "prefix": "##", "cleanup": true});
    let error = HuggingFaceTokenizer::from_json(json.to_string().as_bytes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("only ByteLevel, Metaspace, and sequences"), "{error}");
}

#[test]
fn the_tokenizers_of_models_agree_with_the_reference() {
    let Some(models) = common::models() else { return };
    let text = "Once upon a time, there was a <|im_start|>girl</s> called Éloïse <think>\n\n  x";
    for name in ["stories260k", "tiny/genai-qwen3-fp32", "tiny/optimum-gemma3"] {
        let path = models.join(name).join("tokenizer.json");
        let tokenizer = HuggingFaceTokenizer::from_json(&std::fs::read(&path).unwrap()).unwrap();
        let reference = tokenizers::Tokenizer::from_file(path).unwrap();
        let wanted = reference.encode(text, false).unwrap();
        assert_eq!(tokenizer.encode(&[TokenizerInput::Text(text)]).unwrap(), wanted.get_ids(), "{name}");
        assert_eq!(
            decode(&tokenizer, wanted.get_ids()).unwrap(),
            reference.decode(wanted.get_ids(), false).unwrap(),
            "{name}"
        );
    }
}

/// A grammar is matched against the bytes of tokens, appended to a text.
#[test]
fn the_bytes_of_tokens_obey_the_laws() {
    let texts = ["Hello world", " two  spaces ", "{\"name\": \"Zoë\"}\n", "中文 😀", "<0x41>"];
    for kind in COMPLETE {
        alloquy_testing::laws::tokenizer::all(tokenizer(kind), &texts);
    }
}
