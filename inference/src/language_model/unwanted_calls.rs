//! Finds calls in the reply of a decoder that does not exclude them, where none is wanted.

use alloquy_core::report::Warning;
use alloquy_core::tokenizer::TokenId;
use alloquy_engine::decoder::{Decoder, ExcludedTexts, GuidedDecoding};

use crate::stop::StopStrings;

/// Looks for excluded texts in the reply of a decoder that does not enforce their exclusion.
#[derive(Debug)]
pub(super) struct UnwantedCalls {
    tokens: Vec<(TokenId, String)>,
    texts: StopStrings,
    found: Option<String>,
}

impl UnwantedCalls {
    /// Returns `None` if nothing is excluded, if the decoder enforces it, or if a grammar decides what the reply contains.
    pub(super) fn of(
        excluded: &ExcludedTexts,
        guided: &GuidedDecoding,
        decoder: &dyn Decoder,
    ) -> Option<Self> {
        if excluded.is_empty() || guided.grammar.is_some() || decoder.enforces_exclusions() {
            return None;
        }
        let mut tokens = Vec::new();
        for special in decoder.tokenizer().specials() {
            if excluded.tokens.contains(&special.id) {
                tokens.push((special.id, special.text.clone()));
            }
        }
        Some(Self { tokens, texts: StopStrings::new(excluded.texts.clone()), found: None })
    }

    /// Takes a token of the reply and its text.
    pub(super) fn take(&mut self, token: TokenId, text: &str) {
        if self.found.is_some() {
            return;
        }
        let excluded = self.tokens.iter().find(|(id, _)| *id == token);
        self.found = excluded.map(|(_, text)| text.clone()).or_else(|| self.texts.push(text).1);
    }

    /// Returns the warning for the first excluded text, if there was one.
    pub(super) fn warning(self) -> Option<Warning> {
        self.found.map(|marker| Warning::UnwantedCall { marker })
    }
}
