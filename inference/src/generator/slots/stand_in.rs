//! An engine that computes nothing, for the unit tests of this folder.

use alloquy_core::Result;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::tokenizer::{Detokenizer, SpecialToken, TokenId, Tokenizer, TokenizerInput};
use alloquy_engine::decoder::StateReader;
use alloquy_engine::{CancelToken, Engine, Session};

/// Bytes, a control token, and tokens for two letters: `ab` is 1000, `bc` is 1001.
#[derive(Debug)]
pub(super) struct Pairs([SpecialToken; 1]);

impl Pairs {
    pub(super) fn new() -> Self {
        Self([SpecialToken { text: "<end>".to_owned(), id: 256 }])
    }
}

impl Tokenizer for Pairs {
    fn specials(&self) -> &[SpecialToken] {
        &self.0
    }

    fn encode(&self, pieces: &[TokenizerInput<'_>]) -> Result<Vec<TokenId>> {
        let mut tokens = Vec::new();
        for piece in pieces {
            let (TokenizerInput::Text(text) | TokenizerInput::Literal(text)) = piece;
            tokens.extend(text.bytes().map(TokenId::from));
        }
        Ok(tokens)
    }

    fn bytes(&self, token: TokenId) -> Option<Vec<u8>> {
        match token {
            256 => Some(b"<end>".to_vec()),
            1000 => Some(b"ab".to_vec()),
            1001 => Some(b"bc".to_vec()),
            token => u8::try_from(token).ok().map(|byte| vec![byte]),
        }
    }

    fn detokenizer(&self) -> Box<dyn Detokenizer> {
        Box::new(Silent)
    }
}

/// Decodes nothing: no test of this folder reads a text.
struct Silent;

impl Detokenizer for Silent {
    fn push(&mut self, _: TokenId) -> Result<String> {
        Ok(String::new())
    }

    fn finish(&mut self) -> String {
        String::new()
    }
}

/// An engine whose sessions remember how many units they hold.
#[derive(Debug)]
pub(super) struct Idle {
    model: ModelInfo,
    tokenizer: Pairs,
}

impl Idle {
    pub(super) fn new() -> Self {
        Self { model: ModelInfo::default(), tokenizer: Pairs::new() }
    }
}

impl Engine for Idle {
    fn model(&self) -> &ModelInfo {
        &self.model
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        &self.tokenizer
    }

    fn open(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(IdleSession { held: 0, logits: Vec::new() }))
    }
}

#[derive(Clone, Debug)]
struct IdleSession {
    held: usize,
    logits: Vec<f32>,
}

impl Session for IdleSession {
    fn length(&self) -> usize {
        self.held
    }

    fn forward(&mut self, units: &[PromptUnit], _: &CancelToken) -> Result<&mut [f32]> {
        self.held += units.len();
        Ok(&mut self.logits)
    }

    fn logits(&mut self) -> &mut [f32] {
        &mut self.logits
    }

    fn truncate(&mut self, length: usize) -> Result<usize> {
        self.held = length;
        Ok(length)
    }

    fn fork(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(self.clone()))
    }

    fn snapshot(&self, length: usize, into: &mut Vec<u8>) -> Result<()> {
        into.extend((length as u64).to_le_bytes());
        Ok(())
    }

    fn restore(&mut self, units: &[PromptUnit], state: &mut StateReader<'_>) -> Result<()> {
        state.fill(&mut [0; 8])?;
        state.end()?;
        self.held = units.len();
        Ok(())
    }
}
