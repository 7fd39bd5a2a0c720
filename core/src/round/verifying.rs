//! Follows a reply through its grammar where nobody held it to that: a server was asked to, and may not have.

use std::sync::Arc;

use crate::constraint::{Constraint, Progress};
use crate::decoder::{Decoder, GrammarSupport, GuidedDecoding, ThinkingRule};
use crate::tokenizer::{Piece, TokenId};
use crate::{Error, ErrorKind, Result};

/// Takes the ids of a reply as they come, those of its thinking too.
#[derive(Debug)]
pub(super) struct Verifier {
    decoder: Arc<dyn Decoder>,
    matcher: Box<dyn Constraint>,
    thinking: Option<ThinkingRule>,
    stage: Stage,
    /// The bytes of the reply so far that belong to its opening or its thinking.
    text: Vec<u8>,
    /// The tokens of an opening that may be thinking or the answer.
    opening: Vec<TokenId>,
    /// How many tokens of the answer match.
    matched: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Thinking may begin, or the answer.
    Opening,
    Thinking,
    /// Thinking has ended: white space may come before the answer.
    Between,
    Answer,
}

impl Verifier {
    /// `None` where there is no grammar, or where the decoder holds replies to it.
    pub(super) fn of(guided: &GuidedDecoding, decoder: &Arc<dyn Decoder>) -> Option<Self> {
        let (_, matcher) = guided.grammar.as_ref()?;
        if decoder.grammar_support() == GrammarSupport::Exact {
            return None;
        }
        let stage = match &guided.thinking {
            None => Stage::Answer,
            Some(rule) if rule.is_open => Stage::Thinking,
            Some(_) => Stage::Opening,
        };
        Some(Self {
            decoder: Arc::clone(decoder),
            matcher: matcher.fork(),
            thinking: guided.thinking.clone(),
            stage,
            text: Vec::new(),
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
            Stage::Between => self.begin(token),
            Stage::Answer => self.accept(token),
        }
    }

    /// Takes the end of the reply.
    ///
    /// # Errors
    /// When the grammar does not allow an end here.
    pub(super) fn end(&mut self) -> Result<()> {
        for token in std::mem::take(&mut self.opening) {
            self.accept(token)?;
        }
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
        self.text.extend(said);
        self.opening.push(token);
        let start = self.thinking.as_ref().map(|rule| rule.start.trim().as_bytes()).unwrap_or_default();
        let text = self.text.trim_ascii_start();
        if text.starts_with(start) {
            self.stage = Stage::Thinking;
            self.text.clear();
            self.opening.clear();
            return Ok(());
        }
        if start.starts_with(text) {
            return Ok(());
        }
        self.stage = Stage::Answer;
        for token in std::mem::take(&mut self.opening) {
            self.accept(token)?;
        }
        Ok(())
    }

    fn think(&mut self, token: TokenId) -> Result<()> {
        let said = self.bytes(token);
        self.text.extend(said);
        let end = self.thinking.as_ref().map(|rule| rule.end.trim().as_bytes()).unwrap_or_default();
        let found = self.text.windows(end.len().max(1)).position(|window| window == end);
        let Some(at) = found else {
            // What may be a part of the end is kept.
            let surplus = self.text.len().saturating_sub(end.len());
            self.text.drain(..surplus);
            return Ok(());
        };
        let rest = self.text.split_off(at + end.len());
        self.stage = Stage::Between;
        if rest.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        // The token ends thinking and begins the answer: what it says of that is matched as tokens of its own.
        let rest = String::from_utf8_lossy(rest.trim_ascii_start()).into_owned();
        let tokens = self.decoder.tokenizer().encode(&[Piece::Literal(&rest)])?;
        self.stage = Stage::Answer;
        for token in tokens {
            self.accept(token)?;
        }
        Ok(())
    }

    fn begin(&mut self, token: TokenId) -> Result<()> {
        if self.bytes(token).iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        self.stage = Stage::Answer;
        self.accept(token)
    }

    fn accept(&mut self, token: TokenId) -> Result<()> {
        self.matcher.accept(token)?;
        self.matched += 1;
        Ok(())
    }
}
