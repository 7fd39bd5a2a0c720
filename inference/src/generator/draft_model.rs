//! A smaller model that guesses the tokens of a larger one, and the check that both have the same tokens.

use std::sync::Arc;

use alloquy_core::tokenizer::{TokenId, Tokenizer, TokenizerInput};
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::Engine;

/// Texts that tokenizers with the same tokens may divide otherwise: spaces, digits, cases, scripts, code.
const PROBES: [&str; 6] = [
    "The quick brown fox jumps over 12345 lazy dogs, doesn't it? Once upon a time",
    "  two  spaces\n\n\n\tand a tab \r\n",
    "def f(x):\n    return {'a': [x ** 2, 3.14159e-10]}  # ok\n",
    "Ünïcödé naïve Straße ИЛИ 中文字符 日本語 한국어 العربية 😀👍🏽",
    "https://example.org/a_b-c?d=%20&e=1#f CamelCaseAndSCREAMING_SNAKE",
    "<|im_start|>user\nHi<|im_end|>\n</s><think>",
];

/// Speculative decoding by a draft model: a smaller model of the same tokenizer guesses the next tokens, and the model computes
/// them in one run.
///
/// A draft is kept as far as the same tokens are sampled from the model, so the reply is the same as without, at any temperature. The
/// draft model has a session for each reply, which follows it. Where [`PromptLookup`](crate::PromptLookup) is set too, it comes
/// first, and the draft model guesses where it finds nothing.
///
/// [`Generator::with_draft`](crate::Generator::with_draft) has an example.
#[derive(Clone, Debug)]
pub struct DraftModel {
    /// The draft model.
    pub engine: Arc<dyn Engine>,
    /// The greatest number of tokens of a draft.
    pub guessed: usize,
}

impl DraftModel {
    /// Drafts of at most eight tokens.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use alloquy_inference::DraftModel;
    /// use alloquy_testing::ScriptedEngine;
    ///
    /// let draft = DraftModel { guessed: 4, ..DraftModel::new(Arc::new(ScriptedEngine::new([]))) };
    /// assert_eq!(draft.guessed, 4);
    /// ```
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine, guessed: 8 }
    }

    /// Checks that the draft model has the same tokens as a model: the same ids for the same texts.
    ///
    /// The number of ids may differ, as some models have ids without a token after the last one.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`], which names both models and the first difference.
    pub(super) fn check(&self, model: &dyn Engine) -> Result<()> {
        let Some(difference) = difference(model, &*self.engine)? else { return Ok(()) };
        let message = format!(
            "model {:?} cannot draft for model {:?}, because their tokens differ: {difference}; a draft model is a smaller one of \
             the same family, with the same tokenizer",
            self.engine.model().name,
            model.model().name,
        );
        Err(Error::new(ErrorKind::Invalid, message))
    }
}

impl From<Arc<dyn Engine>> for DraftModel {
    fn from(engine: Arc<dyn Engine>) -> Self {
        Self::new(engine)
    }
}

/// Returns how the tokens of a draft model differ from those of a model; `None` if they are the same.
fn difference(model: &dyn Engine, draft: &dyn Engine) -> Result<Option<String>> {
    let count = model.model().vocabulary.max(draft.model().vocabulary);
    let (model, draft) = (model.tokenizer(), draft.tokenizer());
    for token in 0..TokenId::try_from(count).unwrap_or(TokenId::MAX) {
        let texts = [model, draft].map(|tokenizer| text(tokenizer, token));
        if let [Some(own), Some(other)] = &texts
            && own != other
        {
            let [own, other] = [own, other].map(|bytes| String::from_utf8_lossy(bytes));
            return Ok(Some(format!("token {token} is {own:?}, and {other:?} in the draft model")));
        }
        if let [Some(only), None] | [None, Some(only)] = &texts {
            let only = String::from_utf8_lossy(only);
            return Ok(Some(format!("only one of them has a token {token}, which is {only:?}")));
        }
    }
    for probe in PROBES {
        let own = model.encode(&[TokenizerInput::Text(probe)])?;
        let other = draft.encode(&[TokenizerInput::Text(probe)])?;
        if own != other {
            let message =
                format!("{probe:?} is {} tokens, and {} others in the draft model", own.len(), other.len());
            return Ok(Some(message));
        }
    }
    Ok(None)
}

/// Returns the text of a token; `None` for an id without a token.
fn text(tokenizer: &dyn Tokenizer, token: TokenId) -> Option<Vec<u8>> {
    tokenizer.bytes(token).filter(|bytes| !bytes.is_empty())
}

#[cfg(test)]
mod tests {
    use alloquy_testing::{NoiseEngine, ScriptedEngine};

    use super::*;

    #[test]
    fn only_a_model_with_the_same_tokens_can_draft() {
        let model = NoiseEngine::new(["<think>"]);
        assert!(DraftModel::new(Arc::new(model.clone())).check(&model).is_ok());
        let error = DraftModel::new(Arc::new(NoiseEngine::new(["<x>"]))).check(&model).unwrap_err();
        assert!(
            error.to_string().contains("token 257 is \"<think>\", and \"<x>\" in the draft model"),
            "{error}"
        );
        let error = DraftModel::new(Arc::new(NoiseEngine::new([]))).check(&model).unwrap_err();
        assert!(error.to_string().contains("only one of them has a token 257"), "{error}");
        let error = DraftModel::new(Arc::new(ScriptedEngine::new([]))).check(&model).unwrap_err();
        assert!(error.to_string().contains("\"scripted\" cannot draft for model \"noise\""), "{error}");
    }
}
