//! The texts of tokens, for lists of how likely they were.

use alloquy::core::sampling::{TokenLogprob, TokenLogprobs};
use alloquy::core::tokenizer::TokenId;
use alloquy::inference::LanguageModel;
use serde_json::{Map, Value};

/// Knows the texts of a model's tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct TokenTexts(Option<LanguageModel>);

impl From<Option<&LanguageModel>> for TokenTexts {
    fn from(model: Option<&LanguageModel>) -> Self {
        Self(model.cloned())
    }
}

impl TokenTexts {
    /// Returns the bytes that a token adds to a text.
    fn bytes(&self, token: TokenId) -> Option<Vec<u8>> {
        self.0.as_ref()?.tokenizer().bytes(token)
    }

    /// Returns a line for a token: its text, how likely it was, and the likeliest in its place.
    pub(crate) fn line(&self, token: &TokenLogprobs) -> String {
        let mut line = self.chance(&token.sampled);
        if !token.top.is_empty() {
            let likeliest: Vec<_> = token.top.iter().map(|token| self.chance(token)).collect();
            line = format!("{line:<24} of {}", likeliest.join(", "));
        }
        line
    }

    fn chance(&self, token: &TokenLogprob) -> String {
        let percent = f64::from(token.logprob).exp() * 100.0;
        match self.bytes(token.token) {
            Some(bytes) => format!("{:?} {percent:.1} %", String::from_utf8_lossy(&bytes)),
            None => format!("token {} {percent:.1} %", token.token),
        }
    }

    /// Adds to each token of `logprobs`, where an event has them, its text. A token that is a part of a character has its bytes too.
    pub(crate) fn added_to(&self, mut event: Value) -> Value {
        for place in event.get_mut("logprobs").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(Value::Object(sampled)) = place.get_mut("sampled") {
                self.add(sampled);
            }
            for top in place.get_mut("top").and_then(Value::as_array_mut).into_iter().flatten() {
                if let Value::Object(top) = top {
                    self.add(top);
                }
            }
        }
        event
    }

    fn add(&self, token: &mut Map<String, Value>) {
        let id = token.get("token").and_then(Value::as_u64).and_then(|id| TokenId::try_from(id).ok());
        let Some(bytes) = id.and_then(|id| self.bytes(id)) else { return };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if text.as_bytes() != bytes {
            token.insert("bytes".to_owned(), bytes.into());
        }
        token.insert("text".to_owned(), text.into());
    }
}
