//! A tokenizer whose tokens are a list of texts.

use alloquy_core::Result;
use alloquy_core::tokenizer::{Detokenizer, SpecialToken, TokenId, Tokenizer, TokenizerInput};

/// Encodes by the longest token that fits; what no token spells is left out. A text in angle brackets is a control token.
#[derive(Clone, Debug)]
pub(crate) struct ListTokenizer {
    tokens: Vec<String>,
    specials: Vec<SpecialToken>,
}

impl ListTokenizer {
    pub(crate) fn new<T: AsRef<str>>(tokens: &[T]) -> Self {
        let tokens: Vec<String> = tokens.iter().map(|token| token.as_ref().to_owned()).collect();
        let special = |(id, text): (TokenId, &String)| {
            let is_control = text.len() > 2 && text.starts_with('<') && text.ends_with('>');
            is_control.then(|| SpecialToken { text: text.clone(), id })
        };
        let specials = (0..).zip(&tokens).filter_map(special).collect();
        Self { tokens, specials }
    }

    fn first(&self, text: &str) -> Option<(TokenId, usize)> {
        let fits = (0..)
            .zip(&self.tokens)
            .filter(|(_, token)| !token.is_empty() && text.starts_with(token.as_str()));
        fits.map(|(id, token)| (id, token.len())).max_by_key(|(_, length)| *length)
    }
}

impl Tokenizer for ListTokenizer {
    fn specials(&self) -> &[SpecialToken] {
        &self.specials
    }

    fn encode(&self, pieces: &[TokenizerInput<'_>]) -> Result<Vec<TokenId>> {
        let mut tokens = Vec::new();
        for piece in pieces {
            let (TokenizerInput::Text(mut rest) | TokenizerInput::Literal(mut rest)) = *piece;
            while !rest.is_empty() {
                let skipped = rest.chars().next().map_or(1, char::len_utf8);
                let length = self.first(rest).map_or(skipped, |(token, length)| {
                    tokens.push(token);
                    length
                });
                rest = &rest[length..];
            }
        }
        Ok(tokens)
    }

    fn bytes(&self, token: TokenId) -> Option<Vec<u8>> {
        self.tokens.get(token as usize).map(|text| text.as_bytes().to_vec())
    }

    fn detokenizer(&self) -> Box<dyn Detokenizer> {
        Box::new(ListDetokenizer(self.tokens.clone()))
    }
}

#[derive(Debug)]
struct ListDetokenizer(Vec<String>);

impl Detokenizer for ListDetokenizer {
    fn push(&mut self, token: TokenId) -> Result<String> {
        Ok(self.0[token as usize].clone())
    }

    fn finish(&mut self) -> String {
        String::new()
    }
}
