//! Finds the tokens in a text that a model's files add to a vocabulary, such as `<|im_end|>`.

use std::collections::BTreeMap;

use alloquy_core::tokenizer::{SpecialToken, TokenId};
use alloquy_core::{Error, Result};
use serde_json::Value;

use super::prefixes::Prefixes;
use crate::description::Description;
use crate::error::model;

/// An added token, and what it does to the text around it.
#[derive(Clone, Debug, Default)]
pub(super) struct Added {
    pub(super) text: String,
    /// Whether it takes the spaces before it.
    takes_before: bool,
    /// Whether it takes the spaces after it.
    takes_after: bool,
    /// Whether it must be a word of its own.
    is_word: bool,
}

impl Added {
    /// Returns whether it does nothing to the text around it.
    pub(super) fn is_plain(&self) -> bool {
        !self.takes_before && !self.takes_after && !self.is_word
    }
}

/// The added tokens of a model by their ids.
#[derive(Debug, Default)]
pub(super) struct AddedTokens {
    tokens: BTreeMap<TokenId, Added>,
    prefixes: Prefixes,
    /// Whether a token starts with this byte.
    starts: Vec<bool>,
}

/// An added token in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) id: TokenId,
}

impl AddedTokens {
    pub(super) fn of(tokens: BTreeMap<TokenId, Added>) -> Self {
        let mut starts = vec![false; 256];
        for added in tokens.values() {
            if let Some(first) = added.text.bytes().next()
                && let Some(start) = starts.get_mut(usize::from(first))
            {
                *start = true;
            }
        }
        let prefixes = Prefixes::of(tokens.iter().map(|(id, added)| (added.text.as_str(), *id)));
        Self { tokens, prefixes, starts }
    }

    /// Returns the first added token from the byte `from` on; of several that start there, the longest.
    /// Earlier tokens took what is before `from`.
    pub(super) fn next(&self, text: &str, from: usize) -> Option<Found> {
        let rest = text.as_bytes().get(from..)?;
        for (index, byte) in rest.iter().enumerate() {
            if !self.starts.get(usize::from(*byte)).copied().unwrap_or_default() {
                continue;
            }
            let Some((length, id)) = self.prefixes.longest(rest.get(index..).unwrap_or_default()) else {
                continue;
            };
            let Some(added) = self.tokens.get(&id) else { continue };
            let start = from + index;
            if let Some(found) = added.found(text, start, start + length, from, id) {
                return Some(found);
            }
        }
        None
    }
}

impl Added {
    fn found(&self, text: &str, start: usize, end: usize, taken: usize, id: TokenId) -> Option<Found> {
        let before = text.get(..start)?;
        let after = text.get(end..)?;
        if self.is_word && (before.ends_with(is_of_word) || after.starts_with(is_of_word)) {
            return None;
        }
        let mut found = Found { start, end, id };
        if self.takes_before {
            found.start = before.trim_end().len().max(taken);
        }
        if self.takes_after {
            found.end = text.len() - after.trim_start().len();
        }
        Some(found)
    }
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The files that name tokens by their roles, and the roles.
const NAMING: [&str; 2] = ["tokenizer_config.json", "special_tokens_map.json"];
const ROLES: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"];

/// Reads the added tokens from a model's files. `token` returns the id of a text in the vocabulary.
///
/// # Errors
/// [`ErrorKind::Model`](alloquy_core::ErrorKind::Model) for an id that is not a number.
pub(super) fn read(
    description: &Description,
    token: impl Fn(&str) -> Option<TokenId>,
) -> Result<BTreeMap<TokenId, Added>> {
    let mut tokens = BTreeMap::new();
    if let Some(Value::Object(listed)) = description.at(("added_tokens.json", "")) {
        for (text, id) in listed {
            let id = id.as_u64().and_then(|id| TokenId::try_from(id).ok());
            let id = id.ok_or_else(|| bad_id("added_tokens.json", text))?;
            tokens.insert(id, Added { text: text.clone(), ..Added::default() });
        }
    }
    if let Some(Value::Object(listed)) = description.at(("tokenizer_config.json", "/added_tokens_decoder")) {
        for (id, entry) in listed {
            let id = id.parse().map_err(|_| bad_id("tokenizer_config.json /added_tokens_decoder", id))?;
            if let Some(added) = added(entry) {
                tokens.insert(id, added);
            }
        }
    }
    for file in NAMING {
        let mut named: Vec<_> =
            ROLES.iter().filter_map(|role| description.pointer(file, &format!("/{role}"))).collect();
        for list in ["additional_special_tokens", "extra_special_tokens"] {
            let more = description.pointer(file, &format!("/{list}")).and_then(Value::as_array);
            named.extend(more.into_iter().flatten());
        }
        for added in named.into_iter().filter_map(added) {
            if let Some(id) = token(&added.text) {
                tokens.entry(id).or_insert(added);
            }
        }
    }
    tokens.retain(|_, added| !added.text.is_empty());
    Ok(tokens)
}

/// Reads a token that is given by its text, or by an object with its `content`.
fn added(entry: &Value) -> Option<Added> {
    let text = entry.as_str().or_else(|| entry.get("content")?.as_str())?.to_owned();
    Some(Added {
        text,
        takes_before: flag(entry, "lstrip"),
        takes_after: flag(entry, "rstrip"),
        is_word: flag(entry, "single_word"),
    })
}

fn flag(entry: &Value, name: &str) -> bool {
    entry.get(name).and_then(Value::as_bool).unwrap_or_default()
}

fn bad_id(place: &str, entry: &str) -> Error {
    model(format!("{place} has {entry:?} with an id that is no number of a token"))
}

/// Adds tokens that a vocabulary has by itself.
pub(super) fn extend(tokens: &mut BTreeMap<TokenId, Added>, more: impl Iterator<Item = SpecialToken>) {
    for special in more {
        // A file may have another text for the same id, which then counts.
        tokens.entry(special.id).or_insert(Added { text: special.text, ..Added::default() });
    }
}
