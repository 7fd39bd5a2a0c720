//! Texts as a model may write them: in other tokens than its tokenizer would.

use std::collections::HashMap;

use alloquy_core::tokenizer::{TokenId, Tokenizer, TokenizerInput};
use alloquy_model_files::HuggingFaceTokenizer;

use crate::draws::Draws;

#[derive(Debug)]
pub(crate) struct Spelling {
    /// Ordinary tokens by their bytes.
    tokens: HashMap<Vec<u8>, TokenId>,
}

impl Spelling {
    pub(crate) fn new(tokenizer: &HuggingFaceTokenizer) -> Self {
        let special = |id: &TokenId| tokenizer.specials().iter().any(|special| special.id == *id);
        let ordinary = (0..tokenizer.vocabulary() as TokenId).filter(|id| !special(id));
        let spelled = ordinary.filter_map(|id| Some((tokenizer.bytes(id)?, id)));
        Self { tokens: spelled.filter(|(bytes, _)| !bytes.is_empty()).collect() }
    }

    /// A text in tokens, some of them split where they need not be.
    pub(crate) fn spelled(&self, text: &str, tokenizer: &dyn Tokenizer, draws: &mut Draws) -> Vec<TokenId> {
        // A model writes behind its prompt, where nothing begins.
        let pieces = [TokenizerInput::Text("."), TokenizerInput::Text(text)];
        let before = tokenizer.encode(&pieces[..1]).unwrap().len();
        let whole = tokenizer.encode(&pieces).unwrap();
        let begins = |tokens: &[TokenId]| {
            tokens.iter().flat_map(|token| tokenizer.bytes(*token).unwrap()).collect::<Vec<_>>()
                == text.as_bytes()
        };
        let canonical = whole.get(before..).filter(|tokens| begins(tokens));
        let canonical =
            canonical.map_or_else(|| tokenizer.encode(&[TokenizerInput::Text(text)]).unwrap(), <[_]>::to_vec);
        canonical.into_iter().flat_map(|token| self.respelled(token, tokenizer, draws)).collect()
    }

    fn respelled(&self, token: TokenId, tokenizer: &dyn Tokenizer, draws: &mut Draws) -> Vec<TokenId> {
        let bytes = tokenizer.bytes(token).unwrap_or_default();
        let ordinary = self.tokens.contains_key(&bytes);
        if bytes.len() < 2 || !ordinary || !draws.chance(25) {
            return vec![token];
        }
        let (first, second) = bytes.split_at(1 + draws.below(bytes.len() - 1));
        match (self.tokens.get(first), self.tokens.get(second)) {
            (Some(first), Some(second)) => vec![*first, *second],
            _ => vec![token],
        }
    }
}
