//! Cuts a text into units: control tokens, texts that look like control tokens, and single characters.

use std::collections::{BTreeSet, HashSet};

use alloquy_core::model_info::ModelInfo;

/// The longest text between `<` and `>` that looks like a token.
const LONGEST: usize = 48;

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit<'t> {
    pub(super) text: &'t str,
    /// A control token, or a text that looks like one.
    pub(super) is_token: bool,
    /// A control token of the model.
    pub(super) is_known: bool,
}

impl Unit<'_> {
    pub(super) fn is_white(&self) -> bool {
        self.text.chars().all(char::is_whitespace)
    }

    pub(super) fn is_digit(&self) -> bool {
        self.text.len() == 1 && self.text.chars().all(|symbol| symbol.is_ascii_digit())
    }

    /// A letter or a digit of a word.
    pub(super) fn is_word(&self) -> bool {
        !self.is_token && self.text.chars().all(char::is_alphanumeric)
    }
}

/// Cuts texts into units.
#[derive(Debug)]
pub(super) struct Cutter<'m> {
    tokens: HashSet<&'m str>,
    /// The lengths of tokens, longest first.
    lengths: Vec<usize>,
    /// The first bytes of tokens.
    firsts: HashSet<u8>,
}

impl<'m> Cutter<'m> {
    /// Takes the control tokens of a model, except those of white space.
    pub(super) fn new(model: &'m ModelInfo) -> Self {
        let specials = model.specials.iter().chain(&model.bos).map(|special| special.text.trim());
        let tokens: HashSet<_> = specials.filter(|special| !special.is_empty()).collect();
        let lengths: BTreeSet<_> = tokens.iter().map(|token| token.len()).collect();
        let firsts = tokens.iter().filter_map(|token| token.bytes().next()).collect();
        Self { tokens, lengths: lengths.into_iter().rev().collect(), firsts }
    }

    pub(super) fn units<'t>(&self, text: &'t str) -> Vec<Unit<'t>> {
        let mut units = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let known = self.known(rest);
            let token = known.or_else(|| bracketed(rest));
            let (text, others) = rest.split_at(token.unwrap_or(first.len_utf8()));
            units.push(Unit { text, is_token: token.is_some(), is_known: known.is_some() });
            rest = others;
        }
        units
    }

    /// Returns the length of the control token that `text` begins with.
    fn known(&self, text: &str) -> Option<usize> {
        let first = text.bytes().next()?;
        if !self.firsts.contains(&first) {
            return None;
        }
        let starts = self.lengths.iter().filter_map(|length| text.get(..*length));
        starts.filter(|start| self.tokens.contains(start)).map(str::len).next()
    }
}

/// Returns the length of the text from `<` to `>` that `text` begins with.
fn bracketed(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('<')?;
    let end = inside.find(|symbol: char| symbol.is_whitespace() || "<>".contains(symbol))?;
    (end > 0 && end < LONGEST && inside.get(end..)?.starts_with('>')).then_some(end + 2)
}
