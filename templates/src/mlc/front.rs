//! The tokens that stand before a prompt, and their texts. Knows no tokenizer: a text is given, or a model has it.

use alloquy_core::model_info::ModelInfo;
use alloquy_core::tokenizer::TokenId;

/// What stands before a prompt: prefix tokens, then BOS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Front {
    /// The tokens in front of BOS, or, today, all of them.
    pub(super) tokens: Vec<TokenId>,
    /// Whether BOS follows.
    pub(super) add_bos: bool,
    pub(super) prefix: Option<String>,
    pub(super) bos: Option<String>,
}

impl Front {
    /// The texts of all tokens; the error says what is missing.
    pub(super) fn text(&self) -> Result<String, &'static str> {
        let prefix = match &self.prefix {
            None if !self.tokens.is_empty() => {
                return Err("tokens in front whose texts are not known, give the model");
            }
            prefix => prefix.as_deref().unwrap_or_default(),
        };
        match &self.bos {
            None if self.add_bos => Err("the text of BOS, which was not given"),
            Some(bos) if self.add_bos => Ok(format!("{prefix}{bos}")),
            _ => Ok(prefix.to_owned()),
        }
    }

    /// Takes the texts from a model; the error says what it does not have.
    pub(super) fn take_texts_of(&mut self, model: &ModelInfo) -> Result<(), String> {
        if self.add_bos {
            let bos = model.bos.as_ref().ok_or("a BOS, which the model does not have")?;
            self.bos = Some(bos.text.clone());
        }
        let text_of = |id: &TokenId| {
            let mut tokens = model.specials.iter().chain(&model.bos);
            let token = tokens.find(|token| token.id == *id);
            token
                .map(|token| token.text.as_str())
                .ok_or_else(|| format!("token {id} in front, which is no special token of the model"))
        };
        self.prefix = Some(self.tokens.iter().map(text_of).collect::<Result<_, _>>()?);
        Ok(())
    }

    /// These tokens, with the texts that `known` has of the same ones.
    pub(super) fn with_texts_of(mut self, known: &Self) -> Self {
        self.prefix = known.prefix.clone().filter(|_| self.tokens == known.tokens);
        self.bos = known.bos.clone();
        self
    }
}
