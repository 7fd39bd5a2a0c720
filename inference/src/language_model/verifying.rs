//! Checks a reply against its grammar if the decoder does not enforce it, such as a remote server that ignores the request.

use std::sync::Arc;

use alloquy_core::grammar::{GrammarMatcher, MatcherState};
use alloquy_core::tokenizer::{TokenId, TokenizerInput};
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::decoder::{Decoder, GrammarSupport, GuidedDecoding, ThinkingScanner, ThinkingStage};

/// Reads the tokens of a reply as they arrive, also those of its thinking.
#[derive(Debug)]
pub(super) struct Verifier {
    decoder: Arc<dyn Decoder>,
    matcher: Box<dyn GrammarMatcher>,
    thinking: Option<ThinkingScanner>,
    stage: ThinkingStage,
    /// Whether thinking has ended, and only white space has followed.
    is_between: bool,
    /// The first tokens, while they may begin thinking or the answer.
    opening: Vec<TokenId>,
    /// The number of tokens of the answer that match.
    matched: usize,
}

impl Verifier {
    /// Returns `None` if there is no grammar, or if the decoder enforces it.
    pub(super) fn of(guided: &GuidedDecoding, decoder: &Arc<dyn Decoder>) -> Option<Self> {
        let (_, matcher) = guided.grammar.as_ref()?;
        if decoder.grammar_support() == GrammarSupport::Exact {
            return None;
        }
        Some(Self {
            decoder: Arc::clone(decoder),
            matcher: matcher.fork(),
            thinking: guided.thinking.as_ref().map(ThinkingScanner::new),
            stage: guided.thinking.as_ref().map(ThinkingStage::first).unwrap_or_default(),
            is_between: false,
            opening: Vec::new(),
            matched: 0,
        })
    }

    /// Returns the number of tokens of the answer that match so far.
    pub(super) fn matched(&self) -> usize {
        self.matched
    }

    /// Checks the next token.
    ///
    /// # Errors
    /// The error of the matcher if the reply does not match its grammar.
    pub(super) fn take(&mut self, token: TokenId) -> Result<()> {
        match self.stage {
            ThinkingStage::Opening => self.open(token),
            ThinkingStage::Thinking => self.think(token),
            ThinkingStage::Answer => self.answer(token),
        }
    }

    /// Checks the end of the reply.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if the grammar does not allow an end here.
    pub(super) fn end(&mut self) -> Result<()> {
        self.accept_opening()?;
        match self.matcher.progress()? {
            MatcherState::MayEnd | MatcherState::Complete => Ok(()),
            MatcherState::Open => Err(Error::new(ErrorKind::Invalid, "the reply ends within its grammar")),
        }
    }

    fn bytes(&self, token: TokenId) -> Vec<u8> {
        self.decoder.tokenizer().bytes(token).unwrap_or_default()
    }

    fn open(&mut self, token: TokenId) -> Result<()> {
        let bytes = self.bytes(token);
        self.opening.push(token);
        self.stage = self.thinking.as_mut().map(|thinking| thinking.opens(&bytes)).unwrap_or_default();
        match self.stage {
            ThinkingStage::Opening => Ok(()),
            ThinkingStage::Thinking => {
                self.opening.clear();
                Ok(())
            }
            ThinkingStage::Answer => self.accept_opening(),
        }
    }

    fn think(&mut self, token: TokenId) -> Result<()> {
        let bytes = self.bytes(token);
        let Some(end) = self.thinking.as_mut().and_then(|thinking| thinking.push(&bytes)) else {
            return Ok(());
        };
        self.stage = ThinkingStage::Answer;
        self.is_between = end.rest.iter().all(u8::is_ascii_whitespace);
        if self.is_between {
            return Ok(());
        }
        // A token such as `>{` ends thinking and begins the answer. Its part of the answer is matched as tokens of its own.
        let begun = String::from_utf8_lossy(end.rest.trim_ascii_start());
        for token in self.decoder.tokenizer().encode(&[TokenizerInput::Literal(&begun)])? {
            self.accept(token)?;
        }
        Ok(())
    }

    fn answer(&mut self, token: TokenId) -> Result<()> {
        if self.is_between && self.bytes(token).iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        self.is_between = false;
        self.accept(token)
    }

    /// Matches the tokens that might have begun thinking. They belong to the answer.
    fn accept_opening(&mut self) -> Result<()> {
        for token in std::mem::take(&mut self.opening) {
            self.accept(token)?;
        }
        Ok(())
    }

    fn accept(&mut self, token: TokenId) -> Result<()> {
        self.matcher.accept(token)?;
        self.matched += 1;
        Ok(())
    }
}
