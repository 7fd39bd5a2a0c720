//! Encodes whole texts and pairs of texts, as models that read a text once take them: with their first and last tokens, and cut.

use std::fmt;

use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Result};
use tokenizers::{Encoding, PostProcessor as _, TruncationDirection};

use super::file::{File, unreadable};
use super::growth::Growth;
use super::tables::unencodable;

/// A tokenizer for models of embeddings and for rerankers, from a `tokenizer.json`.
///
/// It adds the tokens that the model expects around a text, such as `[CLS]` and `[SEP]`. In the text itself these are only text:
/// whatever a passage spells, it does not become a control token.
///
/// ```
/// use alloquy_model_files::TextTokenizer;
///
/// let json = r#"{
///     "added_tokens": [
///         {"id": 0, "content": "[CLS]", "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false},
///         {"id": 1, "content": "[SEP]", "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false}],
///     "pre_tokenizer": {"type": "WhitespaceSplit"},
///     "post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 0], "sep": ["[SEP]", 1]},
///     "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"[CLS]": 0, "[SEP]": 1, "?": 2, "green": 3, "tea": 4}}
/// }"#;
/// let tokenizer = TextTokenizer::from_json(json.as_bytes())?;
/// let text = tokenizer.encode("green tea", 8)?;
/// assert_eq!((text.ids, text.is_cut), (vec![0, 3, 4, 1], false));
/// let pair = tokenizer.encode_pair("tea", "green green tea", 6)?;
/// assert_eq!((pair.ids, pair.is_cut), (vec![0, 4, 1, 3, 3, 1], true));
/// assert_eq!(pair.types, [0, 0, 0, 1, 1, 1]);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub struct TextTokenizer {
    tokenizer: tokenizers::Tokenizer,
    growth: Growth,
    direction: TruncationDirection,
    limit: Option<usize>,
    pad: TokenId,
    /// The control tokens, sorted. The unknown token is none of them, because any text may become it.
    controls: Vec<TokenId>,
}

/// The tokens of a text or of a pair of texts.
///
/// [`TextTokenizer`] has an example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextTokens {
    /// The ids.
    pub ids: Vec<TokenId>,
    /// The type of each token: which text of a pair it belongs to, as the tokenizer numbers them.
    pub types: Vec<u32>,
    /// Whether the text is longer, and its end is missing.
    pub is_cut: bool,
}

impl TextTokenizer {
    /// Reads a `tokenizer.json`. The file's padding and the length of its truncation have no effect on what is encoded.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] when it is no `tokenizer.json`, or when its steps could make a text far too long.
    pub fn from_json(json: &[u8]) -> Result<Self> {
        let file: File = serde_json::from_slice(json).map_err(|error| unreadable(error.into()))?;
        // Checked first, because creating the tokenizer runs its normalizer on the added tokens.
        let growth = Growth::read(&file)?;
        let mut tokenizer = tokenizers::Tokenizer::from_bytes(json).map_err(unreadable)?;
        let truncation = tokenizer.get_truncation();
        let limit = truncation.map(|truncation| truncation.max_length);
        let direction = truncation.map_or(TruncationDirection::Right, |truncation| truncation.direction);
        let pad = tokenizer.get_padding().map(|padding| padding.pad_id).unwrap_or_default();
        tokenizer.with_truncation(None).map_err(unreadable)?;
        tokenizer.with_padding(None);
        tokenizer.set_encode_special_tokens(true);
        let unknown = file.model.unk_token.and_then(|text| tokenizer.token_to_id(&text));
        let unknown = unknown.or(file.model.unk_id);
        let mut controls = Vec::new();
        for (id, token) in tokenizer.get_added_tokens_decoder() {
            if token.special && Some(id) != unknown {
                controls.push(id);
            }
        }
        controls.sort_unstable();
        Ok(Self { tokenizer, growth, direction, limit, pad, controls })
    }

    /// Returns the number of tokens to which the file itself would cut a text, if it would.
    pub fn limit(&self) -> Option<usize> {
        self.limit
    }

    /// Returns the token that fills the places after a shorter text in a batch; 0 where the file names none.
    pub fn padding(&self) -> TokenId {
        self.pad
    }

    /// Returns how many tokens the tokenizer adds to a text, or to a pair of texts.
    fn added(&self, is_pair: bool) -> usize {
        self.tokenizer.get_post_processor().map_or(0, |processor| processor.added_tokens(is_pair))
    }

    /// Encodes a text as at most `limit` tokens. What is too long is cut at the end, or at the beginning where the file says so.
    ///
    /// # Errors
    /// [`ErrorKind::Tokenize`] for a text that cannot be encoded; [`ErrorKind::Invalid`] if the added tokens alone exceed `limit`.
    pub fn encode(&self, text: &str, limit: usize) -> Result<TextTokens> {
        let room = self.room(limit, self.added(false))?;
        let mut encoding = self.parts(text)?;
        let is_cut = self.cut(&mut encoding, room);
        self.whole(text, encoding, None, is_cut)
    }

    /// Encodes a pair of texts as at most `limit` tokens. Only the second text is cut.
    ///
    /// # Errors
    /// As [`TextTokenizer::encode`]; [`ErrorKind::ContextOverflow`] if the first text leaves no room for a token of the second.
    pub fn encode_pair(&self, first: &str, second: &str, limit: usize) -> Result<TextTokens> {
        let room = self.room(limit, self.added(true))?;
        let start = self.parts(first)?;
        let tokens = start.len();
        let Some(left) = room.checked_sub(tokens).filter(|&left| left > 0) else {
            let message = format!(
                "the text has {tokens} tokens, and the model reads {room} together with those of a passage: shorten the text"
            );
            return Err(Error::new(ErrorKind::ContextOverflow, message));
        };
        let mut end = self.parts(second)?;
        let is_cut = self.cut(&mut end, left);
        self.whole(first, start, Some(end), is_cut)
    }

    fn room(&self, limit: usize, added: usize) -> Result<usize> {
        limit.checked_sub(added).filter(|&room| room > 0).ok_or_else(|| {
            let message = format!(
                "a limit of {limit} tokens leaves no room for a text: the tokenizer adds {added}, so the least is {}",
                added + 1
            );
            Error::new(ErrorKind::Invalid, message)
        })
    }

    fn parts(&self, text: &str) -> Result<Encoding> {
        self.growth.check(text.len(), ErrorKind::Tokenize)?;
        let encoding = self.tokenizer.encode_fast(text, false).map_err(|source| unencodable(text, source))?;
        if self.has_control(&encoding) { self.without_controls(text) } else { Ok(encoding) }
    }

    /// Encodes a text in which the model itself finds a control token, because its vocabulary has it as a word. The text is divided inside
    /// of each, until none is left: `a</s>` becomes `a<` and `/s>`.
    fn without_controls(&self, text: &str) -> Result<Encoding> {
        let mut parts = vec![text];
        loop {
            let mut encodings = Vec::with_capacity(parts.len());
            let mut divided = Vec::new();
            for part in &parts {
                let encoding = self.tokenizer.encode(*part, false);
                let encoding = encoding.map_err(|source| unencodable(part, source))?;
                self.divide(part, &encoding, &mut divided);
                encodings.push(encoding);
            }
            if !encodings.iter().any(|encoding| self.has_control(encoding)) {
                return Ok(Encoding::merge(encodings, true));
            }
            if divided.len() == parts.len() {
                let start: String = text.chars().take(40).collect();
                let message =
                    format!("the text that starts {start:?} cannot be written without a control token");
                return Err(Error::new(ErrorKind::Tokenize, message));
            }
            parts = divided;
        }
    }

    /// Appends the parts of a text, which is divided after the first character of each control token. Nothing divides a single character.
    fn divide<'t>(&self, text: &'t str, encoding: &Encoding, into: &mut Vec<&'t str>) {
        let mut from = 0;
        for (&id, &(start, end)) in encoding.get_ids().iter().zip(encoding.get_offsets()) {
            let spelled = text.get(start..end).unwrap_or_default();
            let second = spelled.char_indices().nth(1).map_or(0, |(place, _)| start + place);
            if self.is_control(id) && second > from {
                into.push(text.get(from..second).unwrap_or_default());
                from = second;
            }
        }
        into.push(text.get(from..).unwrap_or_default());
    }

    fn has_control(&self, encoding: &Encoding) -> bool {
        encoding.get_ids().iter().any(|&id| self.is_control(id))
    }

    fn is_control(&self, id: TokenId) -> bool {
        self.controls.binary_search(&id).is_ok()
    }

    /// Cuts a text to `room` tokens, and returns whether it was longer.
    fn cut(&self, encoding: &mut Encoding, room: usize) -> bool {
        let is_longer = encoding.len() > room;
        if is_longer {
            encoding.truncate(room, 0, self.direction);
            // The rest would be given tokens of its own.
            drop(encoding.take_overflowing());
        }
        is_longer
    }

    /// Adds the tokens around the texts.
    fn whole(
        &self,
        text: &str,
        first: Encoding,
        second: Option<Encoding>,
        is_cut: bool,
    ) -> Result<TextTokens> {
        let whole = self.tokenizer.post_process(first, second, true);
        let whole = whole.map_err(|source| unencodable(text, source))?;
        Ok(TextTokens { ids: whole.get_ids().to_vec(), types: whole.get_type_ids().to_vec(), is_cut })
    }
}

impl fmt::Debug for TextTokenizer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = formatter.debug_struct("TextTokenizer");
        fields.field("limit", &self.limit).field("pad", &self.pad).finish_non_exhaustive()
    }
}
