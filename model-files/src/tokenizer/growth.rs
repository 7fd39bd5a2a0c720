//! How many times as long as a text a tokenizer may make it, read off its file before anything is run.
//!
//! A file of a few lines can ask for more memory than there is: twelve replacements of one letter by ten. What each step
//! can do at most is known beforehand, and what they can do together is the product. Knows no vocabulary.

use alloquy_core::{Error, ErrorKind, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::file::File;

/// The most that a normalizer may make of a text. Those of language models have 12 or less, ALBERT's and XLNet's 726.
const NORMALIZER: usize = 1024;

/// The most that a pre-tokenizer may make of a text; the usual have 4 or less.
const PRE_TOKENIZER: usize = 16;

/// The most that a decoder may make of a token; the usual make it shorter.
const DECODER: usize = 16;

/// Tokenizers that make no more than this of a text are given texts of any length.
const USUAL: usize = 32;

/// How many steps a normalizer, a pre-tokenizer or a decoder may have: each goes through the whole text.
const STEPS: usize = 256;

/// What others may make of a text at most, in bytes.
const MOST: usize = 16 << 20;

/// How often a post-processor may write the text: once.
const SEQUENCES: usize = 1;

/// How many pieces a post-processor may write.
const PIECES: usize = 1024;

/// How long a text may be that a model writes around the words of its vocabulary, in bytes.
const AFFIX: usize = 256;

/// What a tokenizer makes of a byte at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Growth {
    times: usize,
}

impl Growth {
    /// Reads it off a `tokenizer.json`, and refuses one that would make too much.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] for a step that makes too much of a text or a token.
    pub(super) fn read(file: &File) -> Result<Self> {
        let normalizer = times_of(&file.normalizer, of_normalizer);
        let pre_tokenizer = times_of(&file.pre_tokenizer, of_pre_tokenizer);
        let decoder = times_of(&file.decoder, of_decoder);
        for (name, step) in file.steps() {
            check_steps(name, step)?;
        }
        check("normalizer", "a text", normalizer, NORMALIZER)?;
        check("pre_tokenizer", "a text", pre_tokenizer, PRE_TOKENIZER)?;
        check("decoder", "a token", decoder, DECODER)?;
        check_post_processor(&file.post_processor)?;
        check_affix("continuing_subword_prefix", file.model.continuing_subword_prefix.as_deref())?;
        check_affix("end_of_word_suffix", file.model.end_of_word_suffix.as_deref())?;
        let growth = Self { times: normalizer.saturating_mul(pre_tokenizer) };
        growth.check(file.added_tokens.iter().map(|token| token.content.len()).sum(), ErrorKind::Model)?;
        Ok(growth)
    }

    /// Refuses so many bytes of text where too much could become of them.
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
    let message = format!(
        "the {name} of tokenizer.json can make {what} {times} long, and at most {most} times is taken"
    );
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

/// The steps of a step that is a sequence; `None` of one that does something itself.
fn nested(step: &Value) -> Option<&Vec<Value>> {
    let sequences = ["normalizers", "pretokenizers", "decoders", "processors"];
    sequences.iter().find_map(|name| step.get(name)?.as_array())
}

fn count(step: &Value) -> usize {
    nested(step).map_or(1, |steps| steps.iter().map(count).sum())
}

/// What a step makes of a byte at most, or all steps of a sequence, one after the other.
fn times_of(step: &Value, of_step: fn(&Value) -> usize) -> usize {
    match nested(step) {
        Some(steps) => steps.iter().map(|step| times_of(step, of_step)).fold(1, usize::saturating_mul),
        None if step.is_null() => 1,
        None => of_step(step),
    }
}

/// Reference: the longest expansions of UTF-8 are 3 times for canonical decomposition, 11 for that of compatibility, and 2 for
/// small letters (`Ⱥ` has 2 bytes, `ⱥ` has 3).
fn of_normalizer(step: &Value) -> usize {
    match kind(step) {
        "Strip" | "StripAccents" | "Nmt" => 1,
        "Lowercase" | "ByteLevel" => 2,
        "NFC" | "NFD" => 3,
        "NFKC" | "NFKD" => 11,
        // Spaces around ideographs, accents apart, small letters.
        "BertNormalizer" | "Bert" => 2 * 3 * 2,
        "Replace" => of_replacement(step),
        // Before each stretch of text between added tokens.
        "Prepend" => 1 + text(step, "prepend").len(),
        "Precompiled" => of_table(step).unwrap_or(usize::MAX),
        // An older file may have no type.
        _ if step.get("precompiled_charsmap").is_some() => of_table(step).unwrap_or(usize::MAX),
        _ => 12 + text(step, "prepend").len(),
    }
}

fn of_pre_tokenizer(step: &Value) -> usize {
    match kind(step) {
        "ByteLevel" => 2,
        "Metaspace" => 1 + text(step, "replacement").len().max(text(step, "str_rep").len()),
        // The others cut.
        _ => 1,
    }
}

fn of_decoder(step: &Value) -> usize {
    match kind(step) {
        "Replace" => of_replacement(step),
        _ => 1,
    }
}

/// As often as a pattern fits, and where it may be empty once before each byte.
fn of_replacement(step: &Value) -> usize {
    let content = text(step, "content").len();
    let string = step.pointer("/pattern/String").and_then(Value::as_str).map(str::len);
    let regex = step.pointer("/pattern/Regex").and_then(Value::as_str).and_then(shortest);
    match string.or(regex).unwrap_or(0) {
        0 => 1 + content,
        shortest => content.div_ceil(shortest).max(1),
    }
}

/// How long the shortest text is that fits a pattern; `None` of one that only a larger language knows.
fn shortest(pattern: &str) -> Option<usize> {
    regex_syntax::parse(pattern).ok()?.properties().minimum_len()
}

/// The longest text in a table of SentencePiece's: the size of an index, the index, and texts with a NUL behind each.
fn of_table(step: &Value) -> Option<usize> {
    let table = STANDARD.decode(text(step, "precompiled_charsmap")).ok()?;
    let (size, rest) = table.split_first_chunk::<4>()?;
    let texts = rest.get(usize::try_from(u32::from_le_bytes(*size)).ok()?..)?;
    texts.split(|byte| *byte == 0).map(<[u8]>::len).max().map(|longest| longest.max(1))
}

/// A text is written once, with tokens around it.
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

/// A model puts these before or behind each piece of a word that it looks up.
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
