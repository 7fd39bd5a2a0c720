//! Encodes text to token ids as Hugging Face's `tokenizers` does, with pieces that never become control tokens.

mod decoding;
mod detokenizer;
mod file;
mod growth;
mod memo;
mod normalizer;
mod tables;

use std::sync::Arc;

use alloquy_core::tokenizer::{Detokenizer, Normalizer, SpecialToken, TokenId, Tokenizer, TokenizerInput};
use alloquy_core::{Error, ErrorKind, Result};
use serde_json::{Value, json};

use self::decoding::{Decoding, Position};
use self::detokenizer::StreamDetokenizer;
use self::file::File;
use self::growth::Growth;
use self::memo::Memo;
use self::normalizer::Respelling;
use self::tables::{Place, Steps, Tables};

/// A tokenizer read from a `tokenizer.json`.
///
/// ```
/// use alloquy_core::tokenizer::{TokenizerInput, Tokenizer, decode};
/// use alloquy_model_files::HuggingFaceTokenizer;
///
/// let json = r#"{
///     "added_tokens": [{"id": 3, "content": "<end>", "special": true, "single_word": false,
///                       "lstrip": false, "rstrip": false, "normalized": false}],
///     "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
///     "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
///     "model": {"type": "BPE", "vocab": {"H": 0, "i": 1, "Hi": 2}, "merges": ["H i"]}
/// }"#;
/// let tokenizer = HuggingFaceTokenizer::from_json(json.as_bytes())?;
/// assert_eq!(tokenizer.encode(&[TokenizerInput::Text("Hi<end>")])?, [2, 3]);
/// assert_eq!(decode(&tokenizer, &[2, 3])?, "Hi<end>");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct HuggingFaceTokenizer {
    tables: Arc<Tables>,
}

impl HuggingFaceTokenizer {
    /// Reads a `tokenizer.json`.
    ///
    /// The file's truncation and padding are ignored, because a prompt is never cut silently.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] when it is no `tokenizer.json`, or when its steps could make a text far too long;
    /// [`ErrorKind::Unsupported`] for a decoder that language models do not have.
    pub fn from_json(json: &[u8]) -> Result<Self> {
        let file: File = serde_json::from_slice(json).map_err(|error| unreadable(error.into()))?;
        // Checked first, because creating the tokenizer runs its normalizer on the added tokens.
        let growth = Growth::read(&file)?;
        let mut tokenizer = tokenizers::Tokenizer::from_bytes(json).map_err(unreadable)?;
        tokenizer.with_truncation(None).map_err(unreadable)?;
        tokenizer.with_padding(None);
        let space = normalizer::space(&file.pre_tokenizer);
        let steps = json!({"normalizer": file.normalizer, "pre_tokenizer": file.pre_tokenizer});
        let middle = without_start(steps);
        let middle: Steps = serde_json::from_value(middle).map_err(|error| unreadable(error.into()))?;
        let decoding = Decoding::read(&file.decoder)?;
        let unknown = file.model.unk_token.and_then(|text| tokenizer.token_to_id(&text));
        let tables = Tables {
            specials: added_tokens(&tokenizer),
            memo: Memo::of(&tokenizer),
            unknown: unknown.or(file.model.unk_id),
            respelling: Respelling::of(&tokenizer, middle.normalizer.as_ref(), space, growth).map(Arc::new),
            tokenizer,
            middle,
            decoding,
            growth,
        };
        Ok(Self { tables: Arc::new(tables) })
    }

    /// Returns the normalizer if it can turn other spellings into an added token, such as `＜think＞` into `<think>`.
    pub fn normalizer(&self) -> Option<Arc<dyn Normalizer>> {
        self.tables.respelling.clone().map(|respelling| respelling as Arc<dyn Normalizer>)
    }

    /// Returns the number of tokens, including added ones.
    pub fn vocabulary(&self) -> usize {
        self.tables.tokenizer.get_vocab_size(true)
    }

    /// Returns the token with this text, as the vocabulary writes it.
    pub fn token(&self, text: &str) -> Option<TokenId> {
        self.tables.tokenizer.token_to_id(text)
    }

    /// Returns a token's text as the vocabulary writes it, such as `▁Once`.
    pub fn spelling(&self, token: TokenId) -> Option<String> {
        self.tables.tokenizer.id_to_token(token)
    }
}

impl Tokenizer for HuggingFaceTokenizer {
    fn specials(&self) -> &[SpecialToken] {
        &self.tables.specials
    }

    fn encode(&self, pieces: &[TokenizerInput<'_>]) -> Result<Vec<TokenId>> {
        self.tables.growth.check(pieces.iter().map(|piece| piece.text().len()).sum(), ErrorKind::Tokenize)?;
        let mut tokens = Vec::new();
        let mut place = Place::Start;
        for run in joined(pieces) {
            match (run, place) {
                (Run::Text(text), Place::Start) => tokens.extend(self.tables.encode_start(&text)?),
                (Run::Text(text), Place::Middle) => self.tables.encode_middle(&text, &mut tokens)?,
                (Run::Literal(text), place) => self.tables.encode_literal(text, place, &mut tokens)?,
            }
            place = Place::Middle;
        }
        Ok(tokens)
    }

    fn bytes(&self, token: TokenId) -> Option<Vec<u8>> {
        self.tables.bytes(token, Position::Within)
    }

    /// Starts decoding.
    ///
    /// A SentencePiece vocabulary writes the first word of a text with a space that the text does not have. Like Hugging
    /// Face's, the decoder drops it at the start of a stream. For a stream that continues a text, push the tokens before it
    /// first and discard their text.
    fn detokenizer(&self) -> Box<dyn Detokenizer> {
        Box::new(StreamDetokenizer::new(Arc::clone(&self.tables)))
    }
}

/// Returns the added tokens, in the order of their ids.
fn added_tokens(tokenizer: &tokenizers::Tokenizer) -> Vec<SpecialToken> {
    let added =
        tokenizer.get_added_tokens_decoder().into_iter().filter(|(_, token)| !token.content.is_empty());
    let mut specials: Vec<_> = added.map(|(id, token)| SpecialToken { text: token.content, id }).collect();
    specials.sort_by_key(|special| special.id);
    specials
}

enum Run<'a> {
    Text(String),
    Literal(&'a str),
}

/// Joins adjacent texts, because a border between two of them has no meaning.
fn joined<'a>(pieces: &[TokenizerInput<'a>]) -> Vec<Run<'a>> {
    let mut runs: Vec<Run<'a>> = Vec::new();
    for piece in pieces.iter().filter(|piece| !piece.text().is_empty()) {
        match (runs.last_mut(), piece) {
            (Some(Run::Text(text)), TokenizerInput::Text(more)) => text.push_str(more),
            (_, TokenizerInput::Text(text)) => runs.push(Run::Text((*text).to_owned())),
            (_, TokenizerInput::Literal(text)) => runs.push(Run::Literal(text)),
        }
    }
    runs
}

fn unreadable(source: tokenizers::Error) -> Error {
    Error::new(ErrorKind::Model, "tokenizer.json cannot be read").with_source(source)
}

/// Removes from a step of `tokenizer.json` what it does only at the start of a text, such as a space before the first word.
fn without_start(mut step: Value) -> Value {
    let kind = step.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let Some(fields) = step.as_object_mut() else {
        return step;
    };
    match kind.as_str() {
        "Prepend" => return Value::Null,
        "Metaspace" => {
            fields.shift_remove("add_prefix_space");
            fields.insert("prepend_scheme".to_owned(), json!("never"));
        }
        "ByteLevel" => {
            fields.insert("add_prefix_space".to_owned(), json!(false));
        }
        "Strip" => {
            fields.insert("strip_left".to_owned(), json!(false));
        }
        _ => {}
    }
    for nested in fields.values_mut() {
        match nested {
            Value::Object(_) => *nested = without_start(nested.take()),
            Value::Array(steps) => {
                *steps = std::mem::take(steps).into_iter().map(without_start).collect();
                steps.retain(|step| !step.is_null());
            }
            _ => {}
        }
    }
    step
}
