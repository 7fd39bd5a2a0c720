//! Encodes text to token ids as Hugging Face's `tokenizers` does, with pieces that never become control tokens.

mod added;
mod decoding;
mod detokenizer;
mod file;
mod growth;
mod memo;
mod merging;
mod normalizer;
mod plain;
mod prefixes;
mod protobuf;
mod sentencepiece;
mod tables;
mod text_tokenizer;
mod tiktoken;

use std::sync::Arc;

use alloquy_core::tokenizer::{Detokenizer, Normalizer, SpecialToken, TokenId, Tokenizer, TokenizerInput};
use alloquy_core::{ErrorKind, Result};
use serde_json::{Value, json};

use self::decoding::{Decoding, Position};
use self::detokenizer::{Decodes, StreamDetokenizer};
use self::file::{File, unreadable};
use self::growth::Growth;
use self::memo::Memo;
use self::normalizer::Respelling;
use self::plain::Plain;
use self::tables::{Place, Steps, Tables};
use crate::description::Description;
use crate::tokenizer_file::{TOKENIZER_JSON, TokenizerFile};

pub use self::text_tokenizer::{TextTokenizer, TextTokens};

/// A tokenizer of a model, from its `tokenizer.json`, or from a file of SentencePiece or tiktoken.
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
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Json(Arc<Tables>),
    Plain(Arc<Plain>),
}

impl HuggingFaceTokenizer {
    /// Reads a tokenizer's file of any kind. Where it is not a `tokenizer.json`, the description files have the tokens that the
    /// model adds: `tokenizer_config.json`, `added_tokens.json` and `special_tokens_map.json`.
    ///
    /// # Errors
    /// As [`HuggingFaceTokenizer::from_json`]; [`ErrorKind::Unsupported`] for a SentencePiece model of words or characters,
    /// and for a tiktoken file whose pattern to split text into words is not known.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use alloquy_core::tokenizer::{Tokenizer, TokenizerInput};
    /// use alloquy_model_files::{Description, HuggingFaceTokenizer, TokenizerFile};
    /// use base64::Engine as _;
    /// use base64::engine::general_purpose::STANDARD;
    ///
    /// let config = r#"{"added_tokens_decoder": {"256": {"content": "<end>"}}}"#;
    /// let files = BTreeMap::from([("tokenizer_config.json".to_owned(), config.to_owned())]);
    /// // A file of tiktoken has a token in base64 and its rank on each line. This one has a token for each byte.
    /// let lines = (0..=255_u8).map(|byte| format!("{} {byte}\n", STANDARD.encode([byte])));
    /// let file = TokenizerFile::new("cl100k_base.tiktoken", lines.collect::<String>());
    /// let tokenizer = HuggingFaceTokenizer::of_file(&file, &Description::read(&files)?)?;
    /// assert_eq!(tokenizer.encode(&[TokenizerInput::Text("Hi<end>")])?, [72, 105, 256]);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn of_file(file: &TokenizerFile, description: &Description) -> Result<Self> {
        if file.name == TOKENIZER_JSON {
            return Self::from_json(&file.bytes);
        }
        Ok(Self { kind: Kind::Plain(Arc::new(Plain::read(file, description)?)) })
    }

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
        Ok(Self { kind: Kind::Json(Arc::new(tables)) })
    }

    /// Returns the normalizer if it can turn other spellings into an added token, such as `＜think＞` into `<think>`.
    pub fn normalizer(&self) -> Option<Arc<dyn Normalizer>> {
        match &self.kind {
            Kind::Json(tables) => {
                tables.respelling.clone().map(|respelling| respelling as Arc<dyn Normalizer>)
            }
            Kind::Plain(plain) => plain.normalizer(),
        }
    }

    /// Returns the number of tokens, including added ones.
    pub fn vocabulary(&self) -> usize {
        match &self.kind {
            Kind::Json(tables) => tables.tokenizer.get_vocab_size(true),
            Kind::Plain(plain) => plain.len(),
        }
    }

    /// Returns the token with this text, as the vocabulary writes it.
    pub fn token(&self, text: &str) -> Option<TokenId> {
        match &self.kind {
            Kind::Json(tables) => tables.tokenizer.token_to_id(text),
            Kind::Plain(plain) => plain.token(text),
        }
    }

    /// Returns a token's text as the vocabulary writes it, such as `▁Once`.
    pub fn spelling(&self, token: TokenId) -> Option<String> {
        match &self.kind {
            Kind::Json(tables) => tables.tokenizer.id_to_token(token),
            Kind::Plain(plain) => plain.spelling(token),
        }
    }

    fn decodes(&self) -> Arc<dyn Decodes> {
        match &self.kind {
            Kind::Json(tables) => Arc::clone(tables) as Arc<dyn Decodes>,
            Kind::Plain(plain) => Arc::clone(plain) as Arc<dyn Decodes>,
        }
    }
}

impl Tokenizer for HuggingFaceTokenizer {
    fn specials(&self) -> &[SpecialToken] {
        match &self.kind {
            Kind::Json(tables) => &tables.specials,
            Kind::Plain(plain) => &plain.specials,
        }
    }

    fn encode(&self, pieces: &[TokenizerInput<'_>]) -> Result<Vec<TokenId>> {
        match &self.kind {
            Kind::Json(tables) => encode(tables, pieces),
            Kind::Plain(plain) => plain.encode(pieces),
        }
    }

    fn bytes(&self, token: TokenId) -> Option<Vec<u8>> {
        match &self.kind {
            Kind::Json(tables) => tables.bytes(token, Position::Within),
            Kind::Plain(plain) => plain.bytes(token, Position::Within),
        }
    }

    /// Starts decoding.
    ///
    /// A SentencePiece vocabulary writes the first word of a text with a space that the text does not have. Like Hugging
    /// Face's, the decoder drops it at the start of a stream. For a stream that continues a text, push the tokens before it
    /// first and discard their text.
    fn detokenizer(&self) -> Box<dyn Detokenizer> {
        Box::new(StreamDetokenizer::new(self.decodes()))
    }
}

fn encode(tables: &Tables, pieces: &[TokenizerInput<'_>]) -> Result<Vec<TokenId>> {
    tables.growth.check(pieces.iter().map(|piece| piece.text().len()).sum(), ErrorKind::Tokenize)?;
    let mut tokens = Vec::new();
    let mut place = Place::Start;
    for run in joined(pieces) {
        match (run, place) {
            (Run::Text(text), Place::Start) => tokens.extend(tables.encode_start(&text)?),
            (Run::Text(text), Place::Middle) => tables.encode_middle(&text, &mut tokens)?,
            (Run::Literal(text), place) => tables.encode_literal(text, place, &mut tokens)?,
        }
        place = Place::Middle;
    }
    Ok(tokens)
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
