//! Follows a reply through its grammar where nobody held it to that: a server was asked to, and may not have.

use std::sync::Arc;

use alloquy_core::grammar::{Constraint, Progress};
use alloquy_core::tokenizer::{Piece, TokenId};
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::decoder::{Decoder, GrammarSupport, GuidedDecoding};

use crate::thinking::{Stage, Thoughts};

/// Takes the ids of a reply as they come, those of its thinking too.
#[derive(Debug)]
pub(super) struct Verifier {
    decoder: Arc<dyn Decoder>,
    matcher: Box<dyn Constraint>,
    thoughts: Option<Thoughts>,
    stage: Stage,
    /// Thinking has ended, and only white space came since.
    is_between: bool,
    /// The tokens of an opening that may be thinking or the answer.
    opening: Vec<TokenId>,
    /// How many tokens of the answer match.
    matched: usize,
}

impl Verifier {
    /// `None` where there is no grammar, or where the decoder holds replies to it.
    pub(super) fn of(guided: &GuidedDecoding, decoder: &Arc<dyn Decoder>) -> Option<Self> {
        let (_, matcher) = guided.grammar.as_ref()?;
        if decoder.grammar_support() == GrammarSupport::Exact {
            return None;
        }
        Some(Self {
            decoder: Arc::clone(decoder),
            matcher: matcher.fork(),
            thoughts: guided.thinking.as_ref().map(Thoughts::new),
            stage: guided.thinking.as_ref().map(Stage::first).unwrap_or_default(),
            is_between: false,
            opening: Vec::new(),
            matched: 0,
        })
    }

    /// How many tokens of the answer match so far.
    pub(super) fn matched(&self) -> usize {
        self.matched
    }

    /// Takes a token.
    ///
    /// # Errors
    /// Those of the matcher: the reply does not match its grammar.
    pub(super) fn take(&mut self, token: TokenId) -> Result<()> {
        match self.stage {
            Stage::Opening => self.open(token),
            Stage::Thinking => self.think(token),
            Stage::Answer => self.answer(token),
        }
    }

    /// Takes the end of the reply.
    ///
    /// # Errors
    /// When the grammar does not allow an end here.
    pub(super) fn end(&mut self) -> Result<()> {
        self.accept_opening()?;
        match self.matcher.progress()? {
            Progress::MayEnd | Progress::Complete => Ok(()),
            Progress::Open => Err(Error::new(ErrorKind::Invalid, "the reply ends within its grammar")),
        }
    }

    fn bytes(&self, token: TokenId) -> Vec<u8> {
        self.decoder.tokenizer().bytes(token).unwrap_or_default()
    }

    fn open(&mut self, token: TokenId) -> Result<()> {
        let said = self.bytes(token);
        self.opening.push(token);
        self.stage = self.thoughts.as_mut().map(|thoughts| thoughts.opens(&said)).unwrap_or_default();
        match self.stage {
            Stage::Opening => Ok(()),
            Stage::Thinking => {
                self.opening.clear();
                Ok(())
            }
            Stage::Answer => self.accept_opening(),
        }
    }

    fn think(&mut self, token: TokenId) -> Result<()> {
        let said = self.bytes(token);
        let Some(after) = self.thoughts.as_mut().and_then(|thoughts| thoughts.push(&said)) else {
            return Ok(());
        };
        self.stage = Stage::Answer;
        self.is_between = after.iter().all(u8::is_ascii_whitespace);
        if self.is_between {
            return Ok(());
        }
        // The token ends thinking and begins the answer: what it says of that is matched as tokens of its own.
        let begun = String::from_utf8_lossy(after.trim_ascii_start());
        for token in self.decoder.tokenizer().encode(&[Piece::Literal(&begun)])? {
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

    /// What might have begun thinking is the answer.
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
