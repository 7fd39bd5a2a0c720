//! What a reply begins with, as ids at the end of the prompt.

use alloquy_core::chat_model::ReplyBeginning;
use alloquy_core::processor::PromptPart;
use alloquy_core::prompt::{PreparedPrompt, PromptUnit};
use alloquy_core::tokenizer::{TokenId, TokenizerInput};
use alloquy_core::{Error, ErrorKind, Request, Result};

use super::LanguageModel;

impl LanguageModel {
    /// Adds what the reply begins with to its prompt, and returns its ids.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for ids that the vocabulary does not have, and for one that ends replies; and those of the tokenizer.
    pub(super) fn begin(&self, request: &Request, prepared: &mut PreparedPrompt) -> Result<Vec<TokenId>> {
        let ids = match &request.beginning {
            None => return Ok(Vec::new()),
            Some(ReplyBeginning::Tokens(ids)) => {
                self.must_be_of_a_reply(ids)?;
                ids.clone()
            }
            Some(ReplyBeginning::Text(text)) => self.spoken_ids(&prepared.parts, text)?,
            Some(_) => {
                let message = "this beginning of a reply is unknown here: give a text, or tokens";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        };
        if !ids.is_empty() {
            prepared.prompt.units.extend(ids.iter().copied().map(PromptUnit::Token));
            prepared.parts.push(PromptPart::Tokens(ids.clone()));
        }
        Ok(ids)
    }

    fn must_be_of_a_reply(&self, ids: &[TokenId]) -> Result<()> {
        let model = self.model();
        for id in ids {
            let is_known = usize::try_from(*id).is_ok_and(|id| id < model.vocabulary);
            if !is_known {
                let message = format!(
                    "the beginning has token {id}, and the vocabulary of {:?} ends before it",
                    model.name
                );
                return Err(Error::new(ErrorKind::Invalid, message));
            }
            if model.stop_tokens.contains(id) {
                let message = format!("the beginning has token {id}, which ends replies of {:?}", model.name);
                return Err(Error::new(ErrorKind::Invalid, message));
            }
        }
        Ok(())
    }

    /// Returns the ids of a text that follows a prompt, as the model would write it.
    fn spoken_ids(&self, before: &[PromptPart], text: &str) -> Result<Vec<TokenId>> {
        let spoken = self.spoken(text);
        let head = self.outlines.lower(&*self.decoder, before)?;
        let mut parts = before.to_vec();
        parts.extend(spoken.iter().cloned());
        let whole = self.outlines.lower(&*self.decoder, &parts)?;
        if whole.units.starts_with(&head.units) {
            return Ok(whole.tokens().skip(head.units.len()).flatten().collect());
        }
        // The end of the prompt and the start of the text would be one token: the text is encoded alone.
        let mut pieces = Vec::with_capacity(spoken.len());
        for part in &spoken {
            match part {
                PromptPart::Text(text) => pieces.push(TokenizerInput::Text(text)),
                PromptPart::Literal(text) => pieces.push(TokenizerInput::Literal(text)),
                _ => {}
            }
        }
        self.tokenizer().encode(&pieces)
    }

    /// Divides a text into what only a model writes, such as the markers of its thinking, and all else, in which control tokens stay text.
    fn spoken(&self, text: &str) -> Vec<PromptPart> {
        let mut markers = self.processor.call_texts();
        for channel in self.processor.channels() {
            markers.push(channel.start.trim().to_owned());
            markers.push(channel.end.trim().to_owned());
        }
        markers.retain(|marker| !marker.is_empty());
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((place, marker)) = first_of(&markers, rest) {
            let (literal, found) = rest.split_at(place);
            if !literal.is_empty() {
                parts.push(PromptPart::Literal(literal.to_owned()));
            }
            parts.push(PromptPart::Text(marker.to_owned()));
            rest = found.strip_prefix(marker).unwrap_or_default();
        }
        if !rest.is_empty() {
            parts.push(PromptPart::Literal(rest.to_owned()));
        }
        parts
    }
}

/// Finds the marker that a text has first, of several there the longest.
fn first_of<'m>(markers: &'m [String], text: &str) -> Option<(usize, &'m str)> {
    let mut first: Option<(usize, &str)> = None;
    for marker in markers {
        let Some(place) = text.find(marker.as_str()) else { continue };
        let is_better = match first {
            None => true,
            Some((best, known)) => place < best || place == best && marker.len() > known.len(),
        };
        if is_better {
            first = Some((place, marker));
        }
    }
    first
}
