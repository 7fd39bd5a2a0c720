//! Which texts a tokenizer's normalizer makes spell an added token. Knows no conversation.

use alloquy_core::ErrorKind;
use alloquy_core::tokenizer::{Normalized, Normalizer, SpecialToken, TokenId};
use serde_json::Value;
use tokenizers::normalizer::Range;
use tokenizers::{AddedToken, Model as _, NormalizedString, Normalizer as _, NormalizerWrapper};

use super::growth::Growth;

/// A normalizer, and the added tokens that normalized text becomes.
#[derive(Debug)]
pub(super) struct Respelling {
    normalizer: Option<NormalizerWrapper>,
    /// What the pre-tokenizer writes for a space.
    space: Option<char>,
    tokens: Vec<SpecialToken>,
    growth: Growth,
}

impl Respelling {
    /// Collects the tokens that other spellings become: those that `tokenizers` looks for in normalized text, and
    /// those that are a piece of the model's own vocabulary. `None` where no text is rewritten or nothing is looked for.
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
        let is_found = |(id, token): &(TokenId, AddedToken)| {
            token.normalized || tokenizer.get_model().id_to_token(*id).is_some()
        };
        let found = tokenizer.get_added_tokens_decoder().into_iter().filter(is_found);
        let normalized =
            found.map(|(id, token)| SpecialToken { text: respelling.normalize(&token.content).text, id });
        let written = respelling.written();
        let is_respelled = |token: &SpecialToken| match &written {
            Some(written) => token.text.contains(written.as_slice()),
            None => !token.text.is_empty(),
        };
        let mut tokens: Vec<_> = normalized.filter(is_respelled).collect();
        tokens.sort_by_key(|token| token.id);
        respelling.tokens = tokens;
        Some(respelling).filter(|respelling| !respelling.tokens.is_empty())
    }

    /// Returns the characters that are put into texts, where nothing else happens to them: a token without any of
    /// these has no other spelling.
    fn written(&self) -> Option<Vec<char>> {
        let steps = serde_json::to_value(&self.normalizer).ok()?;
        let mut written = written(&steps)?;
        written.extend(self.space);
        Some(written)
    }

    fn rewritten(&self, text: &str) -> tokenizers::Result<NormalizedString> {
        // Whoever encodes such a text gets the error.
        self.growth.check(text.len(), ErrorKind::Tokenize)?;
        let mut normalized = NormalizedString::from(text);
        self.normalizer.as_ref().map_or(Ok(()), |normalizer| normalizer.normalize(&mut normalized))?;
        self.space.map_or(Ok(()), |space| normalized.replace(' ', &space.to_string()))?;
        Ok(normalized)
    }
}

impl Normalizer for Respelling {
    fn tokens(&self) -> &[SpecialToken] {
        &self.tokens
    }

    fn normalize(&self, text: &str) -> Normalized {
        let Ok(rewritten) = self.rewritten(text) else {
            return Normalized { text: text.to_owned(), places: (0..text.len()).collect() };
        };
        let bytes = 0..rewritten.get().len();
        let origin = |byte: usize| rewritten.convert_offsets(Range::Normalized(byte..byte + 1));
        let mut places: Vec<_> = bytes.map(|byte| origin(byte).map_or(0, |origin| origin.start)).collect();
        descend_never(&mut places);
        begin_characters(text, &mut places);
        Normalized { text: rewritten.get().to_owned(), places }
    }
}

fn descend_never(places: &mut [usize]) {
    let mut furthest = 0;
    for place in places {
        furthest = furthest.max(*place);
        *place = furthest;
    }
}

fn begin_characters(text: &str, places: &mut [usize]) {
    for place in places {
        *place = text.floor_char_boundary(*place);
    }
}

/// As [`Respelling::written`], for a normalizer as `tokenizer.json` writes it.
fn written(step: &Value) -> Option<Vec<char>> {
    let text = |name: &str| Some(step.get(name)?.as_str()?.chars().collect::<Vec<_>>());
    match step.get("type").and_then(Value::as_str) {
        None if step.is_null() => Some(Vec::new()),
        Some("Sequence") => {
            let steps = step.get("normalizers")?.as_array()?;
            steps.iter().map(written).collect::<Option<Vec<_>>>().map(|written| written.concat())
        }
        Some("Prepend") => text("prepend"),
        Some("Replace") => text("content").filter(|content| !content.is_empty()),
        _ => None,
    }
}

/// Returns what a pre-tokenizer, as `tokenizer.json` writes it, puts in the place of a space.
pub(super) fn space(step: &Value) -> Option<char> {
    let own = || step.get("replacement")?.as_str()?.chars().next();
    if step.get("type").is_some_and(|kind| kind == "Metaspace") {
        return own();
    }
    let steps = step.get("pretokenizers").and_then(Value::as_array);
    steps.into_iter().flatten().find_map(space)
}
