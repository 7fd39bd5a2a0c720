//! Limits how much longer a tokenizer can make a text. The factor is computed from its file before anything is run.
//!
//! A file of a few lines can need more memory than a machine has: twelve replacements of one letter by ten make a text 10¹²
//! times as long. The factor of each step is known beforehand, and the factor of all steps is their product.

use alloquy_core::{Error, ErrorKind, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::file::File;

/// The largest factor of a normalizer. Those of language models have 12 or less, ALBERT's and XLNet's 726.
const NORMALIZER: usize = 1024;

/// The largest factor of a pre-tokenizer. Common ones have 4 or less.
const PRE_TOKENIZER: usize = 16;

/// The largest factor of a decoder. Common ones make a token shorter.
const DECODER: usize = 16;

/// Tokenizers up to this factor accept texts of any length.
const USUAL: usize = 32;

/// How many steps a normalizer, a pre-tokenizer or a decoder may have. Each of them reads the whole text.
const STEPS: usize = 256;

/// How many bytes a tokenizer with a larger factor may make of a text.
const MOST: usize = 16 << 20;

/// How often a post-processor may write the text.
const SEQUENCES: usize = 1;

/// How many pieces a post-processor may write.
const PIECES: usize = 1024;

/// How many bytes a text may have that a model puts before or after a piece of a word.
const AFFIX: usize = 256;

/// The most bytes that a tokenizer makes of one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Growth {
    times: usize,
}

impl Growth {
    /// The factor of NFC.
    pub(super) const COMPOSED: Self = Self { times: 3 };

    /// Computes the factor of a `tokenizer.json`, and checks it against the limits.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] for a step whose factor is too large.
    pub(super) fn read(file: &File) -> Result<Self> {
        let normalizer = times_of(&file.normalizer, of_normalizer);
        let pre_tokenizer = times_of(&file.pre_tokenizer, of_pre_tokenizer);
        let decoder = times_of(&file.decoder, of_decoder);
        for (name, step) in file.steps() {
            check_steps(name, step)?;
        }
        check("normalizer of tokenizer.json", "a text", normalizer, NORMALIZER)?;
        check("pre_tokenizer of tokenizer.json", "a text", pre_tokenizer, PRE_TOKENIZER)?;
        check("decoder of tokenizer.json", "a token", decoder, DECODER)?;
        check_post_processor(&file.post_processor)?;
        check_affix("continuing_subword_prefix", file.model.continuing_subword_prefix.as_deref())?;
        check_affix("end_of_word_suffix", file.model.end_of_word_suffix.as_deref())?;
        let growth = Self { times: normalizer.saturating_mul(pre_tokenizer) };
        growth.check(file.added_tokens.iter().map(|token| token.content.len()).sum(), ErrorKind::Model)?;
        Ok(growth)
    }

    /// Computes the factor of a table of rules of SentencePiece's.
    ///
    /// # Errors
    /// As [`Growth::read`].
    pub(super) fn of_rules(table: &[u8]) -> Result<Self> {
        let rules = if table.is_empty() { 1 } else { longest_of_table(table).unwrap_or(usize::MAX) };
        // A space is written with the three bytes of `▁`.
        let times = rules.saturating_mul(3);
        check("normalizer of the SentencePiece file", "a text", times, NORMALIZER)?;
        Ok(Self { times })
    }

    /// Returns an error if a text of `bytes` bytes could become too long.
    pub(super) fn check(self, bytes: usize, kind: ErrorKind) -> Result<()> {
        let longest = MOST / self.times.max(1);
        if self.times <= USUAL || bytes <= longest {
            return Ok(());
        }
        let message = format!(
            "the tokenizer can make a text {} times as long, so it is given no more than {longest} bytes, and there are {bytes}",
            self.times
        );
        Err(Error::new(kind, message))
    }
}

fn check(name: &str, what: &str, times: usize, most: usize) -> Result<()> {
    if times <= most {
        return Ok(());
    }
    let times = if times == usize::MAX { "endlessly".to_owned() } else { format!("{times} times as") };
    let message = format!("the {name} can make {what} {times} long, and at most {most} times is taken");
    Err(Error::new(ErrorKind::Model, message))
}

fn check_steps(name: &str, step: &Value) -> Result<()> {
    let steps = count(step);
    if steps <= STEPS {
        return Ok(());
    }
    let message = format!("the {name} of tokenizer.json has {steps} steps, and at most {STEPS} are taken");
    Err(Error::new(ErrorKind::Model, message))
}

/// Returns the steps of a sequence; `None` for a single step.
fn nested(step: &Value) -> Option<&Vec<Value>> {
    let sequences = ["normalizers", "pretokenizers", "decoders", "processors"];
    sequences.iter().find_map(|name| step.get(name)?.as_array())
}

fn count(step: &Value) -> usize {
    nested(step).map_or(1, |steps| steps.iter().map(count).sum())
}

/// Returns the factor of a step; for a sequence, the product of the factors of its steps.
fn times_of(step: &Value, of_step: fn(&Value) -> usize) -> usize {
    match nested(step) {
        Some(steps) => steps.iter().map(|step| times_of(step, of_step)).fold(1, usize::saturating_mul),
        None if step.is_null() => 1,
        None => of_step(step),
    }
}

/// Returns the factor of a normalizer's step.
///
/// In UTF-8, canonical decomposition makes a text up to 3 times as long, and compatibility decomposition up to 11 times. Lower
/// case makes it less than 2 times as long: `Ⱥ` has 2 bytes, `ⱥ` has 3.
fn of_normalizer(step: &Value) -> usize {
    match kind(step) {
        "Strip" | "StripAccents" | "Nmt" => 1,
        "Lowercase" | "ByteLevel" => 2,
        "NFC" | "NFD" => 3,
        "NFKC" | "NFKD" => 11,
        // Spaces around ideographs, decomposition, lower case.
        "BertNormalizer" | "Bert" => 2 * 3 * 2,
        "Replace" => of_replacement(step),
        // It is prepended to each text between added tokens, which may be a single byte.
        "Prepend" => 1 + text(step, "prepend").len(),
        "Precompiled" => of_table(step).unwrap_or(usize::MAX),
        // Older files have no type.
        _ if step.get("precompiled_charsmap").is_some() => of_table(step).unwrap_or(usize::MAX),
        _ => 12 + text(step, "prepend").len(),
    }
}

fn of_pre_tokenizer(step: &Value) -> usize {
    match kind(step) {
        "ByteLevel" => 2,
        "Metaspace" => 1 + text(step, "replacement").len().max(text(step, "str_rep").len()),
        // The others only split a text.
        _ => 1,
    }
}

fn of_decoder(step: &Value) -> usize {
    match kind(step) {
        "Replace" => of_replacement(step),
        _ => 1,
    }
}

/// Returns the factor of a replacement. A pattern matches at most once in as many bytes as its shortest match has; a pattern
/// that matches the empty text matches before each byte.
fn of_replacement(step: &Value) -> usize {
    let content = text(step, "content").len();
    let string = step.pointer("/pattern/String").and_then(Value::as_str).map(str::len);
    let regex = step.pointer("/pattern/Regex").and_then(Value::as_str).and_then(shortest);
    match string.or(regex).unwrap_or(0) {
        0 => 1 + content,
        shortest => content.div_ceil(shortest).max(1),
    }
}

/// Returns the length of the shortest match of a pattern; `None` for a pattern with features such as look-ahead.
fn shortest(pattern: &str) -> Option<usize> {
    regex_syntax::parse(pattern).ok()?.properties().minimum_len()
}

/// Returns the length of the longest text in a table of SentencePiece's. A table has the size of an index, the index, and texts
/// that each end in NUL.
fn of_table(step: &Value) -> Option<usize> {
    longest_of_table(&STANDARD.decode(text(step, "precompiled_charsmap")).ok()?)
}

fn longest_of_table(table: &[u8]) -> Option<usize> {
    let (size, rest) = table.split_first_chunk::<4>()?;
    let texts = rest.get(usize::try_from(u32::from_le_bytes(*size)).ok()?..)?;
    texts.split(|byte| *byte == 0).map(<[u8]>::len).max().map(|longest| longest.max(1))
}

/// Checks that a post-processor writes the text once, with tokens around it.
fn check_post_processor(step: &Value) -> Result<()> {
    for step in nested(step).into_iter().flatten() {
        check_post_processor(step)?;
    }
    let pieces = step.get("single").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let sequences = pieces.iter().filter(|piece| piece.get("Sequence").is_some()).count();
    if sequences > SEQUENCES || pieces.len() > PIECES {
        let message = format!(
            "the post_processor of tokenizer.json writes {} pieces and a text {sequences} times; at most {PIECES} pieces and \
             {SEQUENCES} time are taken",
            pieces.len()
        );
        return Err(Error::new(ErrorKind::Model, message));
    }
    Ok(())
}

/// Checks the length of a text that a model puts before or after each piece of a word.
fn check_affix(name: &str, affix: Option<&str>) -> Result<()> {
    let length = affix.map_or(0, str::len);
    if length <= AFFIX {
        return Ok(());
    }
    let message = format!("the {name} of tokenizer.json has {length} bytes, and at most {AFFIX} are taken");
    Err(Error::new(ErrorKind::Model, message))
}

fn kind(step: &Value) -> &str {
    text(step, "type")
}

fn text<'v>(step: &'v Value, name: &str) -> &'v str {
    step.get(name).and_then(Value::as_str).unwrap_or_default()
}
