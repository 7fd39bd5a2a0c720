//! Normalizes texts as a tokenizer does, for the added tokens that other spellings become: `＜think＞` becomes `<think>`.

use alloquy_core::ErrorKind;
use alloquy_core::tokenizer::{NormalizedText, Normalizer, SpecialToken};
use serde_json::Value;
use tokenizers::normalizer::Range;
use tokenizers::{Model as _, NormalizedString, Normalizer as _, NormalizerWrapper};

use super::growth::Growth;

/// A normalizer, and the added tokens that it can make of other spellings.
#[derive(Debug)]
pub(super) struct Respelling {
    normalizer: Option<NormalizerWrapper>,
    /// The character that the pre-tokenizer writes for a space.
    space: Option<char>,
    tokens: Vec<SpecialToken>,
    growth: Growth,
}

impl Respelling {
    /// Collects the tokens that other spellings can become; `None` if there are none.
    ///
    /// These are the added tokens that `tokenizers` looks for in normalized text, and those that are a piece of the model's
    /// own vocabulary.
    pub(super) fn of(
        tokenizer: &tokenizers::Tokenizer,
        normalizer: Option<&NormalizerWrapper>,
        space: Option<char>,
        growth: Growth,
    ) -> Option<Self> {
        if normalizer.is_none() && space.is_none() {
            return None;
        }
        let mut respelling = Self { normalizer: normalizer.cloned(), space, tokens: Vec::new(), growth };
        let written = respelling.written();
        for (id, token) in tokenizer.get_added_tokens_decoder() {
            if !token.normalized && tokenizer.get_model().id_to_token(id).is_none() {
                continue;
            }
            let text = respelling.normalize(&token.content).text;
            let has_other_spellings = match &written {
                Some(written) => text.contains(written.as_slice()),
                None => !text.is_empty(),
            };
            if has_other_spellings {
                respelling.tokens.push(SpecialToken { text, id });
            }
        }
        respelling.tokens.sort_by_key(|token| token.id);
        if respelling.tokens.is_empty() {
            return None;
        }
        Some(respelling)
    }

    /// Lists tokens that a normalizer may make of other spellings.
    pub(super) fn of_tokens(
        normalizer: NormalizerWrapper,
        tokens: Vec<SpecialToken>,
        growth: Growth,
    ) -> Self {
        Self { normalizer: Some(normalizer), space: None, tokens, growth }
    }

    /// Returns the characters that the normalizer writes into texts if that is all that it does; `None` if it does more.
    ///
    /// A normalizer that only replaces a space by `▁` writes `▁`: a token without `▁` has no other spelling.
    fn written(&self) -> Option<Vec<char>> {
        let steps = serde_json::to_value(&self.normalizer).ok()?;
        let mut written = written(&steps)?;
        written.extend(self.space);
        Some(written)
    }

    fn rewritten(&self, text: &str) -> tokenizers::Result<NormalizedString> {
        self.growth.check(text.len(), ErrorKind::Tokenize)?;
        let mut normalized = NormalizedString::from(text);
        if let Some(normalizer) = &self.normalizer {
            normalizer.normalize(&mut normalized)?;
        }
        if let Some(space) = self.space {
            normalized.replace(' ', &space.to_string())?;
        }
        Ok(normalized)
    }
}

impl Normalizer for Respelling {
    fn tokens(&self) -> &[SpecialToken] {
        &self.tokens
    }

    fn normalize(&self, text: &str) -> NormalizedText {
        // A text that cannot be normalized stays as it is: encoding it reports the error.
        let Ok(rewritten) = self.rewritten(text) else {
            return NormalizedText { text: text.to_owned(), places: (0..text.len()).collect() };
        };
        // For each byte of the normalized text, the start of the character that it comes from. Places never descend, even
        // where the normalizer reordered characters.
        let mut places = Vec::with_capacity(rewritten.get().len());
        let mut furthest = 0;
        for byte in 0..rewritten.get().len() {
            let origin = rewritten.convert_offsets(Range::Normalized(byte..byte + 1));
            furthest = furthest.max(origin.map_or(0, |origin| origin.start));
            places.push(text.floor_char_boundary(furthest));
        }
        NormalizedText { text: rewritten.get().to_owned(), places }
    }
}

/// As [`Respelling::written`], for a normalizer of `tokenizer.json`.
fn written(step: &Value) -> Option<Vec<char>> {
    match step.get("type").and_then(Value::as_str) {
        None if step.is_null() => Some(Vec::new()),
        Some("Sequence") => {
            let steps = step.get("normalizers")?.as_array()?;
            steps.iter().map(written).collect::<Option<Vec<_>>>().map(|written| written.concat())
        }
        Some("Prepend") => characters(step, "prepend"),
        Some("Replace") => characters(step, "content").filter(|content| !content.is_empty()),
        _ => None,
    }
}

fn characters(step: &Value, name: &str) -> Option<Vec<char>> {
    Some(step.get(name)?.as_str()?.chars().collect())
}

/// Returns the character that a pre-tokenizer of `tokenizer.json` writes for a space, such as `▁`.
pub(super) fn space(step: &Value) -> Option<char> {
    if step.get("type").is_some_and(|kind| kind == "Metaspace") {
        return step.get("replacement")?.as_str()?.chars().next();
    }
    let steps = step.get("pretokenizers").and_then(Value::as_array);
    steps.into_iter().flatten().find_map(space)
}
