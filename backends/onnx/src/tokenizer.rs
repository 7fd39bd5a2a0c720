//! Text to token ids as Hugging Face's `tokenizers` does it, with pieces that stay plain text. Knows no model.

use std::sync::Arc;

use alloquy_core::{
    Detokenizer, Error, ErrorKind, Normalizer, Piece, Result, SpecialToken, TokenId, Tokenizer,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokenizers::{
    Encoding, Model as _, NormalizedString, Normalizer as _, NormalizerWrapper, OffsetReferential,
    OffsetType, PreTokenizedString, PreTokenizer as _, PreTokenizerWrapper,
};

mod detokenizer;
mod growth;
mod memo;
mod respelling;

use detokenizer::{Decoding, StreamDetokenizer};
use growth::Growth;
use memo::Memo;
use respelling::Respelling;

/// A tokenizer read from a `tokenizer.json`.
///
/// ```
/// use alloquy_core::{Piece, Tokenizer, decode};
/// use alloquy_onnx::HuggingFaceTokenizer;
///
/// let json = r#"{
///     "added_tokens": [{"id": 3, "content": "<end>", "special": true, "single_word": false,
///                       "lstrip": false, "rstrip": false, "normalized": false}],
///     "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
///     "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
///     "model": {"type": "BPE", "vocab": {"H": 0, "i": 1, "Hi": 2}, "merges": ["H i"]}
/// }"#;
/// let tokenizer = HuggingFaceTokenizer::from_json(json.as_bytes())?;
/// assert_eq!(tokenizer.encode(&[Piece::Text("Hi<end>")])?, [2, 3]);
/// assert_eq!(decode(&tokenizer, &[2, 3])?, "Hi<end>");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct HuggingFaceTokenizer {
    tables: Arc<Tables>,
}

#[derive(Debug)]
struct Tables {
    tokenizer: tokenizers::Tokenizer,
    /// The normalizer and the pre-tokenizer without what they do at the start of a text.
    middle: Steps,
    /// What other spellings can become an added token, where any can.
    respelling: Option<Arc<Respelling>>,
    specials: Vec<SpecialToken>,
    /// What the model gives for characters that it cannot write.
    unknown: Option<TokenId>,
    decoding: Decoding,
    growth: Growth,
    memo: Memo,
}

/// What happens to text before the model sees it.
#[derive(Debug, Default, Deserialize)]
struct Steps {
    normalizer: Option<NormalizerWrapper>,
    pre_tokenizer: Option<PreTokenizerWrapper>,
}

/// Where a piece stands in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Start,
    Middle,
}

/// The parts of the file that are read before the tokenizer is made, because it does not show them, or would do with them
/// what it must not.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    pre_tokenizer: Value,
    #[serde(default)]
    post_processor: Value,
    #[serde(default)]
    decoder: Value,
    #[serde(default)]
    added_tokens: Vec<Added>,
    model: Model,
}

impl File {
    /// Returns what happens to texts and tokens, by name.
    fn steps(&self) -> [(&'static str, &Value); 4] {
        [
            ("normalizer", &self.normalizer),
            ("pre_tokenizer", &self.pre_tokenizer),
            ("post_processor", &self.post_processor),
            ("decoder", &self.decoder),
        ]
    }
}

#[derive(Deserialize)]
struct Added {
    content: String,
}

/// What a model gives for characters that it cannot write, by text or by number, and what it writes around pieces.
#[derive(Deserialize)]
struct Model {
    unk_token: Option<String>,
    unk_id: Option<TokenId>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
}

impl HuggingFaceTokenizer {
    /// Reads a `tokenizer.json`.
    ///
    /// Truncation and padding that the file asks for are left out: a prompt is never cut silently.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] when it is not one, or one that would make far too much of a text, [`ErrorKind::Unsupported`] for a decoder that language models
    /// do not have.
    pub fn from_json(json: &[u8]) -> Result<Self> {
        let unreadable =
            |source| Error::new(ErrorKind::Model, "tokenizer.json cannot be read").with_source(source);
        let file: File = serde_json::from_slice(json).map_err(|error| unreadable(error.into()))?;
        // Making the tokenizer normalizes its added tokens.
        let growth = Growth::read(&file)?;
        let mut tokenizer = tokenizers::Tokenizer::from_bytes(json).map_err(unreadable)?;
        tokenizer.with_truncation(None).map_err(unreadable)?;
        tokenizer.with_padding(None);
        let space = respelling::space(&file.pre_tokenizer);
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

    /// Returns how text is rewritten before tokens are looked for, where other spellings can become an added token.
    pub fn normalizer(&self) -> Option<Arc<dyn Normalizer>> {
        self.tables.respelling.clone().map(|respelling| respelling as Arc<dyn Normalizer>)
    }

    /// Returns how many tokens there are, added ones included.
    pub fn vocabulary(&self) -> usize {
        self.tables.tokenizer.get_vocab_size(true)
    }

    /// Returns the token with this text.
    pub fn token(&self, text: &str) -> Option<TokenId> {
        self.tables.tokenizer.token_to_id(text)
    }

    /// Returns a token's text as the vocabulary spells it, such as `▁Once`.
    pub fn spelling(&self, token: TokenId) -> Option<String> {
        self.tables.tokenizer.id_to_token(token)
    }
}

impl Tokenizer for HuggingFaceTokenizer {
    fn specials(&self) -> &[SpecialToken] {
        &self.tables.specials
    }

    fn encode(&self, pieces: &[Piece<'_>]) -> Result<Vec<TokenId>> {
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
        detokenizer::token_bytes(&self.tables, token, detokenizer::Position::Within)
    }

    /// Starts decoding.
    ///
    /// A SentencePiece vocabulary writes a text's first word with a space that the text does not have; like
    /// Hugging Face's, the decoder drops it at the start of a stream. For a stream that goes on in the middle
    /// of a text, push the tokens before it first and leave aside what they give.
    fn detokenizer(&self) -> Box<dyn Detokenizer> {
        Box::new(StreamDetokenizer::new(Arc::clone(&self.tables)))
    }
}

impl Tables {
    /// Text at the start: exactly what `tokenizers` does.
    fn encode_start(&self, text: &str) -> Result<Vec<TokenId>> {
        let failed = |source| unencodable(text, source);
        if self.memo.is_long(text) {
            return self.memo.encode(text, |rest| self.tokenizer.encode(rest, false).map_err(failed));
        }
        let encoding = self.tokenizer.encode_fast(text, false).map_err(failed)?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Text after something else: what stands before its first added token must not be taken for a start.
    fn encode_middle(&self, text: &str, tokens: &mut Vec<TokenId>) -> Result<()> {
        let (before, from) = text.split_at(self.first_added(text));
        if !before.is_empty() {
            tokens.extend(self.plain(before, Place::Middle)?.get_ids());
        }
        if !from.is_empty() {
            tokens.extend(self.encode_start(from)?);
        }
        Ok(())
    }

    /// Returns the byte at which the first added token of `text` starts, or its length.
    fn first_added(&self, text: &str) -> usize {
        let added = self.tokenizer.get_added_vocabulary();
        let split = added.extract_and_normalize(self.tokenizer.get_normalizer(), text);
        let splits = split.get_splits(OffsetReferential::Original, OffsetType::Byte);
        let mut starts =
            splits.into_iter().filter(|(.., tokens)| tokens.is_some()).map(|(_, (start, _), _)| start);
        starts.next().filter(|&start| text.is_char_boundary(start)).unwrap_or(text.len())
    }

    /// Text without added tokens.
    fn encode_literal(&self, text: &str, place: Place, tokens: &mut Vec<TokenId>) -> Result<()> {
        let normalized = self.normalized(text, place)?;
        self.encode_normalized(normalized.get(), place, tokens)
    }

    /// A model may come upon an added token by itself, because its vocabulary has it or because its merges lead there:
    /// the text is then cut inside it, until none is left.
    fn encode_normalized(&self, text: &str, place: Place, tokens: &mut Vec<TokenId>) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let encoding = self.modelled(text.into(), place)?;
        match self.cut_inside_added(text, &encoding)? {
            None => tokens.extend(encoding.get_ids()),
            Some(cut) => {
                let (left, right) = text.split_at(cut);
                self.encode_normalized(left, place, tokens)?;
                self.encode_normalized(right, Place::Middle, tokens)?;
            }
        }
        Ok(())
    }

    /// Returns a place to cut `text` so that the first added token in its encoding falls apart.
    fn cut_inside_added(&self, text: &str, encoding: &Encoding) -> Result<Option<usize>> {
        for (&token, &(start, end)) in encoding.get_ids().iter().zip(encoding.get_offsets()) {
            let Some(special) = self.special(token) else {
                continue;
            };
            let spelled = text.get(start..end).unwrap_or_default();
            if Some(token) == self.unknown && !spelled.contains(&special.text) {
                continue;
            }
            let second = spelled.char_indices().nth(1).map(|(index, _)| start + index);
            if second.is_some() {
                return Ok(second);
            }
            if self.tokenizer.get_added_vocabulary().is_special_token(&special.text) {
                let message =
                    format!("{spelled:?} cannot be written without the special token {:?}", special.text);
                return Err(Error::new(ErrorKind::Tokenize, message));
            }
            // A single character that the vocabulary has only as an added, not special token: it is that text.
        }
        Ok(None)
    }

    /// Normalizer, pre-tokenizer and model, with no look at the added tokens.
    fn plain(&self, text: &str, place: Place) -> Result<Encoding> {
        self.modelled(self.normalized(text, place)?, place)
    }

    fn normalized(&self, text: &str, place: Place) -> Result<NormalizedString> {
        let normalizer = match place {
            Place::Start => self.tokenizer.get_normalizer(),
            Place::Middle => self.middle.normalizer.as_ref(),
        };
        let mut normalized = NormalizedString::from(text);
        let done = normalizer.map_or(Ok(()), |normalizer| normalizer.normalize(&mut normalized));
        done.map(|()| normalized).map_err(|source| unencodable(text, source))
    }

    /// Pre-tokenizer and model.
    fn modelled(&self, normalized: NormalizedString, place: Place) -> Result<Encoding> {
        let pre_tokenizer = match place {
            Place::Start => self.tokenizer.get_pre_tokenizer(),
            Place::Middle => self.middle.pre_tokenizer.as_ref(),
        };
        let start: String = normalized.get().chars().take(40).collect();
        let mut words = PreTokenizedString::from(normalized);
        let encode = || -> tokenizers::Result<Encoding> {
            pre_tokenizer.map_or(Ok(()), |pre_tokenizer| pre_tokenizer.pre_tokenize(&mut words))?;
            self.tokenizer.get_model().tokenize_in_pretokenized(&mut words, None)?;
            words.into_encoding(None, 0, OffsetType::Byte)
        };
        encode().map_err(|source| unencodable(&start, source))
    }

    fn special(&self, token: TokenId) -> Option<&SpecialToken> {
        let index = self.specials.binary_search_by_key(&token, |special| special.id).ok()?;
        self.specials.get(index)
    }
}

fn unencodable(text: &str, source: tokenizers::Error) -> Error {
    let start: String = text.chars().take(40).collect();
    Error::new(ErrorKind::Tokenize, format!("the text that starts {start:?} cannot be encoded"))
        .with_source(source)
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

/// Joins neighbouring texts: a border between two of them means nothing.
fn joined<'a>(pieces: &[Piece<'a>]) -> Vec<Run<'a>> {
    let mut runs: Vec<Run<'a>> = Vec::new();
    for piece in pieces.iter().filter(|piece| !piece.text().is_empty()) {
        match (runs.last_mut(), piece) {
            (Some(Run::Text(text)), Piece::Text(more)) => text.push_str(more),
            (_, Piece::Text(text)) => runs.push(Run::Text((*text).to_owned())),
            (_, Piece::Literal(text)) => runs.push(Run::Literal(text)),
        }
    }
    runs
}

/// Takes out of a step, as `tokenizer.json` writes it, what it does at the start of a text only.
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
        "ByteLevel" => drop(fields.insert("add_prefix_space".to_owned(), json!(false))),
        "Strip" => drop(fields.insert("strip_left".to_owned(), json!(false))),
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
