//! From what a server says to the events of a decoder.

use alloquy_core::report::CacheReport;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::decoder::{DecodeEnd, DecodeEventKind};

use crate::memory::Recorder;
use crate::wire::{Chunk, ChunkToken, ServerEnd, ended_because};

/// A reply while it comes.
#[derive(Debug)]
pub(crate) struct ReplyReader {
    pub(crate) recorder: Recorder,
    /// How many tokens are wanted; of 0, the one token that servers generate is dropped.
    pub(crate) limit: usize,
    pub(crate) stop_tokens: Vec<TokenId>,
    pub(crate) vocabulary: usize,
    /// How many likeliest tokens are wanted.
    pub(crate) logprobs: Option<usize>,
    pub(crate) state: ReplyState,
}

/// How far a reply has come.
#[derive(Debug, Default)]
pub(crate) struct ReplyState {
    /// How many tokens the server has sent.
    pub(crate) seen: usize,
    /// How many of them are the reply's.
    said: usize,
    has_begun: bool,
    cached: Option<usize>,
    /// Whether the number of cached tokens came with the first token.
    is_cached_first: bool,
    /// How it ended. Events of the server may follow, such as its counts.
    pub(crate) end: Option<DecodeEnd>,
}

impl ReplyReader {
    /// Returns whether the prompt is computed. Then no other attempt may be made.
    pub(crate) fn has_begun(&self) -> bool {
        self.state.has_begun
    }

    /// Takes what the server says.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`] for ids out of the vocabulary, and for an end that is no end of a reply.
    pub(crate) fn take(&mut self, chunk: Chunk, events: &mut Vec<DecodeEventKind>) -> Result<()> {
        self.state.cached = self.state.cached.or(chunk.cached);
        if let Some(slot) = chunk.slot {
            self.recorder.served_by(slot);
        }
        for token in chunk.tokens {
            self.state.seen += 1;
            self.token(token, events)?;
        }
        let Some(end) = chunk.end else { return Ok(()) };
        self.begin(events);
        if self.state.end.is_some() {
            return Ok(());
        }
        self.state.end = Some(match end {
            ServerEnd::Stop => DecodeEnd::StopToken(None),
            ServerEnd::Length if self.state.said >= self.limit => DecodeEnd::MaxTokens,
            ServerEnd::Length => return Err(self.short()),
            ServerEnd::Other(reason) => {
                return Err(Error::new(ErrorKind::Backend, ended_because(&reason)));
            }
        });
        Ok(())
    }

    /// Counts what was cached, at the end. Returns a report if that is known only now.
    pub(crate) fn finish(&mut self) -> Option<CacheReport> {
        self.recorder.free();
        if self.state.is_cached_first {
            return None;
        }
        Some(self.recorder.count(self.state.cached?))
    }

    fn token(&mut self, token: ChunkToken, events: &mut Vec<DecodeEventKind>) -> Result<()> {
        if self.state.end.is_some() {
            return Ok(());
        }
        let ChunkToken { id, logprobs } = token;
        if usize::try_from(id).is_ok_and(|id| id >= self.vocabulary) {
            let message = format!(
                "the server generated token {id} and the vocabulary has {} tokens: it serves another model than the folder's",
                self.vocabulary
            );
            return Err(Error::new(ErrorKind::Backend, message));
        }
        self.begin(events);
        if self.limit == 0 {
            self.state.end = Some(DecodeEnd::MaxTokens);
            return Ok(());
        }
        if self.stop_tokens.contains(&id) {
            self.state.end = Some(DecodeEnd::StopToken(Some(id)));
            return Ok(());
        }
        self.recorder.push(id);
        self.state.said += 1;
        let logprobs = self.logprobs.and_then(|wanted| {
            let mut logprobs = logprobs?;
            logprobs.top.truncate(wanted);
            Some(logprobs)
        });
        events.push(DecodeEventKind::Token { id, logprobs });
        if self.state.said == self.limit {
            self.state.end = Some(DecodeEnd::MaxTokens);
        }
        Ok(())
    }

    fn begin(&mut self, events: &mut Vec<DecodeEventKind>) {
        if !self.state.has_begun {
            self.state.has_begun = true;
            self.state.is_cached_first = self.state.cached.is_some();
            events.push(DecodeEventKind::Prefilled(self.recorder.computed(self.state.cached)));
        }
    }

    /// The server's own limit is lower than ours: its context is full.
    fn short(&self) -> Error {
        let message = format!(
            "the server ended the reply after {} of {} tokens: its context is shorter than the model's, so ask for fewer tokens",
            self.state.said, self.limit
        );
        Error::new(ErrorKind::ContextOverflow, message)
    }
}
