//! Compares files of SentencePiece and tiktoken with what their own libraries make of them. `fixtures/vocabularies/make.py`
//! makes the files and writes the ids.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)] // a test may panic

use std::collections::BTreeMap;
use std::path::PathBuf;

use alloquy_core::ErrorKind;
use alloquy_core::tokenizer::{TokenId, Tokenizer, TokenizerInput, decode};
use alloquy_model_files::{Description, HuggingFaceTokenizer, ModelFolder, TokenizerFile};
use proptest::prelude::*;
use serde_json::{Value, json};

/// How many texts there are, and how many share a digest.
const TEXTS: usize = 4000;
const BLOCK: usize = 100;

const SENTENCE_PIECES: [&str; 5] =
    ["bpe_bytes", "bpe_symbols", "bpe_unknown", "unigram_bytes", "unigram_unknown"];

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/vocabularies").join(name)
}

fn fixture(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(path(name)).unwrap()).unwrap()
}

/// Parses description files.
fn description(files: &[(&str, Value)]) -> Description {
    let files: BTreeMap<_, _> =
        files.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect();
    Description::read(&files).unwrap()
}

fn sentence_piece(name: &str) -> HuggingFaceTokenizer {
    sentence_piece_with(name, &[])
}

fn sentence_piece_with(name: &str, files: &[(&str, Value)]) -> HuggingFaceTokenizer {
    let bytes = std::fs::read(path(&format!("{name}.model"))).unwrap();
    let file = TokenizerFile::new("tokenizer.model", bytes);
    HuggingFaceTokenizer::of_file(&file, &description(files))
        .unwrap_or_else(|error| panic!("{name}: {error:#}"))
}

fn ranks() -> Vec<u8> {
    std::fs::read(path("ranks.tiktoken")).unwrap()
}

/// Reads the ranks with a pattern, and with three control tokens after them.
fn tiktoken(pattern: &str) -> HuggingFaceTokenizer {
    let last = ranks().iter().filter(|byte| **byte == b'\n').count();
    let mut config = json!({"added_tokens_decoder": {
        last.to_string(): {"content": "<|endoftext|>", "special": true},
        (last + 1).to_string(): {"content": "<|im_start|>", "special": true},
        (last + 2).to_string(): {"content": "<|im_end|>", "special": true},
    }});
    let mut file = format!("{pattern}.tiktoken");
    let mut kind = "unknown";
    match pattern {
        "llama3" => (file, kind) = ("tokenizer.model".to_owned(), "llama"),
        "glm4" => {
            (file, config["tokenizer_class"]) = ("tokenizer.model".to_owned(), "ChatGLM4Tokenizer".into());
        }
        "kimi" => {
            (file, config["tokenizer_class"]) = ("tiktoken.model".to_owned(), "TikTokenTokenizer".into());
        }
        _ => {}
    }
    let files = [("tokenizer_config.json", config), ("config.json", json!({"model_type": kind}))];
    HuggingFaceTokenizer::of_file(&TokenizerFile::new(file, ranks()), &description(&files))
        .unwrap_or_else(|error| panic!("{pattern}: {error:#}"))
}

/// As `texts` of make.py.
fn texts() -> Vec<String> {
    let parts = fixture("texts.json");
    let parts: Vec<_> = parts.as_array().unwrap().iter().map(|part| part.as_str().unwrap()).collect();
    let mut last = 20_240_517_u64;
    let mut next = || {
        last = last * 48_271 % 2_147_483_647;
        last as usize
    };
    let mut texts = Vec::new();
    for _ in 0..TEXTS {
        let count = next() % 12 + 1;
        texts.push((0..count).map(|_| parts[next() % parts.len()]).collect());
    }
    texts
}

/// As `digest` of make.py.
fn digest(block: &[Vec<TokenId>]) -> String {
    let mut value = 0xCBF2_9CE4_8422_2325_u64;
    for number in block.iter().flat_map(|ids| ids.iter().copied().chain([u32::MAX])) {
        for byte in number.to_le_bytes() {
            value = (value ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }
    format!("{value:016x}")
}

fn check(name: &str, tokenizer: &HuggingFaceTokenizer, golden: &Value) {
    let texts = texts();
    let ids: Vec<Vec<_>> =
        texts.iter().map(|text| tokenizer.encode(&[TokenizerInput::Text(text)]).unwrap()).collect();
    for (index, wanted) in golden["first"].as_array().unwrap().iter().enumerate() {
        assert_eq!(json!(ids[index]), *wanted, "{name}: {:?}", texts[index]);
    }
    let blocks: Vec<_> = ids.chunks(BLOCK).map(digest).collect();
    assert_eq!(blocks.len(), TEXTS / BLOCK);
    let wanted = golden["blocks"].as_array().unwrap();
    let other: Vec<_> = (0..blocks.len()).filter(|index| wanted[*index] != blocks[*index]).collect();
    assert!(other.is_empty(), "{name}: the ids of some texts differ in the hundreds {other:?}");
}

#[test]
fn the_ids_are_those_of_sentencepiece() {
    let golden = fixture("golden.json");
    for name in SENTENCE_PIECES {
        check(name, &sentence_piece(name), &golden[name]);
    }
}

#[test]
fn the_ids_are_those_of_tiktoken() {
    let golden = fixture("golden.json");
    for pattern in ["r50k_base", "cl100k_base", "o200k_base", "qwen", "llama3", "glm4", "kimi"] {
        check(pattern, &tiktoken(pattern), &golden[pattern]);
    }
}

fn encoded(tokenizer: &HuggingFaceTokenizer, pieces: &[TokenizerInput<'_>]) -> Vec<TokenId> {
    tokenizer.encode(pieces).unwrap()
}

fn text(tokenizer: &HuggingFaceTokenizer, text: &str) -> Vec<TokenId> {
    encoded(tokenizer, &[TokenizerInput::Text(text)])
}

fn literal(tokenizer: &HuggingFaceTokenizer, text: &str) -> Vec<TokenId> {
    encoded(tokenizer, &[TokenizerInput::Literal(text)])
}

fn spellings(tokenizer: &HuggingFaceTokenizer, tokens: &[TokenId]) -> Vec<String> {
    tokens.iter().map(|token| tokenizer.spelling(*token).unwrap()).collect()
}

#[test]
fn control_tokens_are_in_texts_and_never_in_literal_text() {
    let mut tokenizers: Vec<_> = SENTENCE_PIECES.iter().map(|name| (*name, sentence_piece(name))).collect();
    tokenizers.extend(["qwen", "kimi"].map(|pattern| (pattern, tiktoken(pattern))));
    for (name, tokenizer) in tokenizers {
        let specials = tokenizer.specials();
        assert!(
            specials.len() >= 2 && specials.is_sorted_by_key(|special| special.id),
            "{name}: {specials:?}"
        );
        for special in specials {
            let around = format!("a{}b", special.text);
            assert!(text(&tokenizer, &around).contains(&special.id), "{name}: {special:?}");
            for pieces in [
                vec![TokenizerInput::Literal(around.as_str())],
                vec![TokenizerInput::Text("a"), TokenizerInput::Literal(&special.text)],
            ] {
                let tokens = encoded(&tokenizer, &pieces);
                assert!(!tokens.contains(&special.id), "{name}: {special:?} in {tokens:?}");
            }
            assert_eq!(decode(&tokenizer, &[special.id]).unwrap(), special.text, "{name}");
        }
    }
}

#[test]
fn runs_of_spaces_and_lines_are_no_control_tokens() {
    let tokenizer = sentence_piece("bpe_symbols");
    let specials: Vec<_> = tokenizer.specials().iter().map(|special| special.text.as_str()).collect();
    assert_eq!(specials, ["<s>", "</s>", "<start_of_turn>", "<end_of_turn>", "<table>", "|"]);
    for plain in ["a\n\nb", "a  b", "\n\n"] {
        assert_eq!(literal(&tokenizer, plain), text(&tokenizer, plain), "{plain:?}");
    }
    assert!(tokenizer.normalizer().is_none(), "they have one spelling");
}

#[test]
fn other_spellings_of_a_symbol_are_shown_by_the_normalizer() {
    let tokenizer = sentence_piece("unigram_unknown");
    let normalizer = tokenizer.normalizer().unwrap();
    let symbol = tokenizer.token("<sep>").unwrap();
    let wanted = normalizer.tokens().iter().find(|token| token.id == symbol).unwrap();
    for spelling in ["＜sep〉", "★", "<\u{200b}sep>", "<ｓep>"] {
        let becomes = text(&tokenizer, spelling).contains(&symbol);
        assert_eq!(normalizer.normalize(spelling).text.contains(&wanted.text), becomes, "{spelling}");
        assert!(!literal(&tokenizer, spelling).contains(&symbol), "{spelling}");
    }
    assert!(text(&tokenizer, "★").contains(&symbol));
    // Qwen composes texts before it looks for control tokens.
    let normalizer = tiktoken("qwen").normalizer().unwrap();
    assert_eq!(normalizer.normalize("<\u{338}a").text, "≮a");
    assert!(tiktoken("kimi").normalizer().is_none());
}

#[test]
fn a_space_is_written_before_the_first_word_and_by_default_after_added_tokens() {
    let config = |value: Value| [("tokenizer_config.json", value)];
    let older = sentence_piece("bpe_bytes");
    assert_eq!(spellings(&older, &text(&older, "a<s>a")), ["▁a", "<s>", "▁a"]);
    let newer = sentence_piece_with("bpe_bytes", &config(json!({"legacy": false})));
    assert_eq!(spellings(&newer, &text(&newer, "a<s>a")), ["▁a", "<s>", "a"]);
    let without = sentence_piece_with("bpe_bytes", &config(json!({"add_prefix_space": false})));
    assert_eq!(spellings(&without, &text(&without, "a<s>a")), ["a", "<s>", "a"]);
    // Pieces of one text are no starts.
    let pieces = [TokenizerInput::Text("a"), TokenizerInput::Literal("a"), TokenizerInput::Text("a<s>a")];
    assert_eq!(spellings(&older, &encoded(&older, &pieces)), ["▁a", "a", "a", "<s>", "▁a"]);
}

#[test]
fn spaces_between_literal_and_other_text_stay() {
    let tokenizer = sentence_piece("unigram_unknown");
    let pieces = [TokenizerInput::Text("a "), TokenizerInput::Literal("a "), TokenizerInput::Text(" a ")];
    assert_eq!(spellings(&tokenizer, &encoded(&tokenizer, &pieces)).concat(), "▁a▁a▁▁a");
    assert_eq!(text(&tokenizer, "  a   a  "), text(&tokenizer, "a a"));
    assert_eq!(text(&tokenizer, "   "), [0; 0]);
}

#[test]
fn added_tokens_come_from_the_description_files() {
    let decoder = json!({
        "900": {"content": "<|user|>", "rstrip": true},
        "901": {"content": "<|end|>", "lstrip": true},
        "902": {"content": "word", "single_word": true},
        "903": {"content": "<|user|><|end|>"},
    });
    let files = [
        ("tokenizer_config.json", json!({"added_tokens_decoder": decoder, "eos_token": {"content": "aa"}})),
        ("added_tokens.json", json!({"<|more|>": 950})),
        ("special_tokens_map.json", json!({"unk_token": "<unk>", "pad_token": "not there"})),
    ];
    let tokenizer = sentence_piece_with("bpe_symbols", &files);
    let a = tokenizer.token("a").unwrap();
    assert_eq!(text(&tokenizer, "<|user|> \n a"), [900, a]);
    assert_eq!(text(&tokenizer, "a \n<|end|>"), [a, 901]);
    assert_eq!(text(&tokenizer, "<|user|><|end|>"), [903], "the longest is found");
    assert_eq!(text(&tokenizer, "word"), [902]);
    assert!(!text(&tokenizer, "words").contains(&902) && !text(&tokenizer, "swordfish").contains(&902));
    assert_eq!(text(&tokenizer, "<|more|>"), [950]);
    assert_eq!(text(&tokenizer, "<unk>"), [0]);
    assert_eq!(tokenizer.vocabulary(), 951);
    // A piece that a role names is a control token.
    let named = tokenizer.token("aa").unwrap();
    assert_eq!(text(&tokenizer, "aa"), [named]);
    assert_eq!(literal(&tokenizer, "aa"), [a, a]);
    assert_eq!(decode(&tokenizer, &[950, named]).unwrap(), "<|more|>aa");
    assert!(tokenizer.detokenizer().push(951).is_err());
    let bad = description(&[("added_tokens.json", json!({"<|more|>": -1}))]);
    let file = TokenizerFile::new("spiece.model", std::fs::read(path("bpe_symbols.model")).unwrap());
    let error = HuggingFaceTokenizer::of_file(&file, &bad).unwrap_err();
    assert!(error.to_string().contains("added_tokens.json has \"<|more|>\" with an id"), "{error}");
}

#[test]
fn the_control_tokens_of_qwen_and_llama_are_known_if_no_file_lists_them() {
    let last = ranks().iter().filter(|byte| **byte == b'\n').count() as TokenId;
    let file = TokenizerFile::new("qwen.tiktoken", ranks());
    let tokenizer = HuggingFaceTokenizer::of_file(&file, &description(&[])).unwrap();
    assert_eq!(text(&tokenizer, "<|im_start|><|im_end|>"), [last + 1, last + 2]);
    assert_eq!(tokenizer.token("<|extra_204|>"), Some(last + 207));
    assert_eq!(tokenizer.vocabulary(), last as usize + 208);
    let llama = TokenizerFile::new("tokenizer.model", ranks());
    let files = [("config.json", json!({"model_type": "llama"}))];
    let tokenizer = HuggingFaceTokenizer::of_file(&llama, &description(&files)).unwrap();
    assert_eq!(text(&tokenizer, "<|start_header_id|><|eot_id|>"), [last + 6, last + 9]);
}

#[test]
fn a_tiktoken_file_whose_pattern_is_not_known_is_refused() {
    let file = TokenizerFile::new("house.tiktoken", ranks());
    let files = [("config.json", json!({"model_type": "llama"}))];
    let error = HuggingFaceTokenizer::of_file(&file, &description(&files)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let said = error.to_string();
    assert!(said.contains("\"house.tiktoken\" (tokenizer_class \"none\", model_type \"llama\")"), "{said}");
    assert!(
        said.contains("known: r50k_base, p50k_base, cl100k_base, o200k_base, o200k_harmony, qwen"),
        "{said}"
    );
}

#[test]
fn the_folder_has_one_tokenizer() {
    let folder = std::env::temp_dir().join(format!("alloquy-vocabularies-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let name = |folder: &PathBuf| ModelFolder::open(folder).unwrap().tokenizer().map(|file| file.name);
    assert!(name(&folder).unwrap_err().to_string().ends_with("has no tokenizer.json"));
    std::fs::write(folder.join("vocab.json"), "{}").unwrap();
    let error = name(&folder).unwrap_err().to_string();
    assert!(error.contains("has vocab.json, which is not read, and none of tokenizer.json"), "{error}");
    for file in ["qwen.tiktoken", "spiece.model", "tokenizer.model", "tokenizer.json"] {
        std::fs::write(folder.join(file), "x").unwrap();
        assert_eq!(name(&folder).unwrap(), file);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A grammar is matched against the bytes of tokens, appended to a text.
#[test]
fn the_bytes_of_tokens_obey_the_laws() {
    let texts = ["Hello world", " two  spaces ", "{\"name\": \"Zoë\"}\n", "中文 😀", "<0x41>"];
    for name in ["bpe_bytes", "bpe_symbols", "unigram_bytes"] {
        alloquy_testing::laws::tokenizer::all(&sentence_piece(name), &texts);
    }
    alloquy_testing::laws::tokenizer::all(&tiktoken("o200k_base"), &texts);
}

#[test]
fn damaged_files_are_refused_with_the_reason() {
    let sentence_piece = std::fs::read(path("bpe_bytes.model")).unwrap();
    let cut = &sentence_piece[..sentence_piece.len() / 2];
    for (name, bytes, said) in [
        ("tokenizer.model", cut, "ends within a field"),
        ("tokenizer.model", b"".as_slice(), "has no pieces"),
        ("tokenizer.model", b"\x0a\x05\x0a\x03<0>", "has 0 unknown tokens, and must have one"),
        ("tokenizer.model", b"\x0a\x07\x0a\x03\xff\xff\xff\x18\x02", "is not UTF-8"),
        ("qwen.tiktoken", b"IQ== 0\nIg==", "line 2 of the tiktoken file has no space"),
        (
            "qwen.tiktoken",
            b"IQ== 0\nIQ== 1",
            "line 2 of the tiktoken file has an empty token, or one or a rank that another",
        ),
        ("qwen.tiktoken", b"I 0", "line 1 of the tiktoken file has a token that is not base64"),
        ("qwen.tiktoken", b"IQ== x", "line 1 of the tiktoken file has a rank that is no number"),
        ("qwen.tiktoken", b"IQ== 0\n", "has no token for the byte 0x00"),
    ] {
        let file = TokenizerFile::new(name, bytes);
        let error = HuggingFaceTokenizer::of_file(&file, &description(&[])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Model, "{error}");
        assert!(error.to_string().contains(said), "{said}: {error}");
    }
}

fn rich_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        3 => "[a-z ]{0,8}",
        1 => "[ \n\t]{1,5}",
        2 => prop::sample::select(vec!["hello", "</s>", "<s>", "<sep>", "<start_of_turn>", "★", "|", "▁", "ﬁ", "<|im_end|>", "<0x41>"]).prop_map(str::to_owned),
        1 => "[é中😀\u{FFFD}]{1,3}",
        1 => any::<String>(),
    ];
    prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}

/// The vocabularies are read once, because reading one takes longer than a case.
static READ: std::sync::LazyLock<Vec<HuggingFaceTokenizer>> = std::sync::LazyLock::new(|| {
    let sentence_pieces = SENTENCE_PIECES.iter().map(|name| sentence_piece(name));
    sentence_pieces.chain(["cl100k_base", "qwen"].map(tiktoken)).collect()
});

proptest! {
    #[test]
    fn literal_text_gives_no_control_token(before in rich_text(), text in rich_text()) {
        for tokenizer in READ.iter() {
            let before = TokenizerInput::Text(&before);
            let ahead = tokenizer.encode(&[before]).unwrap().len();
            let tokens = tokenizer.encode(&[before, TokenizerInput::Literal(&text)]).unwrap();
            let added = tokens.iter().skip(ahead).find(|token| tokenizer.specials().iter().any(|special| special.id == **token));
            prop_assert_eq!(added, None, "{:?}", text);
        }
    }

    #[test]
    fn texts_side_by_side_are_one_text(left in rich_text(), right in rich_text()) {
        for tokenizer in READ.iter() {
            let whole = tokenizer.encode(&[TokenizerInput::Text(&format!("{left}{right}"))]).unwrap();
            let pieces = [TokenizerInput::Text(&left), TokenizerInput::Text(&right)];
            prop_assert_eq!(tokenizer.encode(&pieces).unwrap(), whole);
        }
    }

    #[test]
    fn what_was_encoded_is_decoded(text in rich_text()) {
        // `bpe_symbols`, which has no rules, and `cl100k_base`.
        for (index, wanted) in [(1, text.replace('▁', " ")), (5, text.clone())] {
            let ids = READ[index].encode(&[TokenizerInput::Literal(&text)]).unwrap();
            prop_assert_eq!(decode(&READ[index], &ids).unwrap(), wanted);
        }
    }

    #[test]
    fn damage_never_panics(kind in 0..6_usize, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), kept in 1..=100_usize, text in rich_text()) {
        let name = SENTENCE_PIECES.get(kind);
        let mut bytes = name.map_or_else(ranks, |name| std::fs::read(path(&format!("{name}.model"))).unwrap());
        for (index, byte) in &changes {
            let place = index.index(bytes.len());
            bytes[place] = *byte;
        }
        bytes.truncate(bytes.len() * kept.max(1) / 100);
        let file = TokenizerFile::new(if name.is_some() { "tokenizer.model" } else { "qwen.tiktoken" }, bytes);
        if let Ok(tokenizer) = HuggingFaceTokenizer::of_file(&file, &description(&[])) {
            for piece in [TokenizerInput::Text(&text), TokenizerInput::Literal(&text)] {
                if let Ok(tokens) = tokenizer.encode(&[piece]) {
                    prop_assert!(decode(&tokenizer, &tokens).is_ok());
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn a_text_that_begins_like_others_has_the_ids_of_a_new_one(
        start in rich_text(),
        changes in prop::collection::vec((0..=100_usize, rich_text()), 1..4),
    ) {
        for tokenizer in READ.iter() {
            // Long enough to be remembered.
            let mut long = format!("{start}<s>").repeat(1100_usize.div_ceil(start.len() + 3));
            for (kept, more) in &changes {
                let kept = long.floor_char_boundary(long.len() * kept / 100);
                long.truncate(kept.max(long.floor_char_boundary(1100)));
                long += more;
                // Texts of several pieces are not remembered.
                let anew = [TokenizerInput::Text(&long), TokenizerInput::Literal("")];
                let wanted = tokenizer.encode(&anew).unwrap();
                prop_assert_eq!(tokenizer.encode(&[TokenizerInput::Text(&long)]).unwrap(), wanted);
            }
        }
    }
}
