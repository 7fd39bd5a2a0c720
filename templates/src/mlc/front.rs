//! The prefix tokens and BOS before a prompt, and their texts, which the caller or a model provides.

use alloquy_core::model_info::ModelInfo;
use alloquy_core::tokenizer::TokenId;

/// The start of a prompt: prefix tokens, then BOS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Front {
    /// The tokens before BOS; in today's templates, all of them.
    pub(super) tokens: Vec<TokenId>,
    /// Whether BOS follows.
    pub(super) add_bos: bool,
    pub(super) prefix: Option<String>,
    pub(super) bos: Option<String>,
}

impl Front {
    /// Returns the text of all tokens. The error says what is missing.
    pub(super) fn text(&self) -> Result<String, &'static str> {
        let prefix = match &self.prefix {
            None if !self.tokens.is_empty() => {
                return Err("the text of its prefix tokens, which was not given");
            }
            prefix => prefix.as_deref().unwrap_or_default(),
        };
        match &self.bos {
            None if self.add_bos => Err("the text of BOS, which was not given"),
            Some(bos) if self.add_bos => Ok(format!("{prefix}{bos}")),
            _ => Ok(prefix.to_owned()),
        }
    }

    /// Reads the texts from a model. The error says what the model does not have.
    pub(super) fn take_texts_of(&mut self, model: &ModelInfo) -> Result<(), String> {
        if self.add_bos {
            let bos = model.bos.as_ref().ok_or("a BOS, which the model does not have")?;
            self.bos = Some(bos.text.clone());
        }
        let mut prefix = String::new();
        for id in &self.tokens {
            match model.specials.iter().chain(&model.bos).find(|token| token.id == *id) {
                Some(token) => prefix.push_str(&token.text),
                None => return Err(format!("prefix token {id}, which is not a special token of the model")),
            }
        }
        self.prefix = Some(prefix);
        Ok(())
    }

    /// Returns these tokens with the texts of `known`, if the tokens are the same.
    pub(super) fn with_texts_of(mut self, known: &Self) -> Self {
        self.prefix = known.prefix.clone().filter(|_| self.tokens == known.tokens);
        self.bos = known.bos.clone();
        self
    }
}
