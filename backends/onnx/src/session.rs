//! One conversation's place in a model: how many units its cache holds. Knows no text.

use std::any::Any;
use std::sync::Arc;

use alloquy_core::{Cancel, Error, ErrorKind, Result, Session, Step, TokenId, Unit};
use ort::session::RunOptions;

use crate::decoder::Decoder;
use crate::error::{self, unsupported};
use crate::kv::{Cache, Run, Share, step};

/// How many tokens' logits are held at once: 20 MB for a large vocabulary.
const SCORED_AT_ONCE: usize = 32;

/// A session of an [`OnnxEngine`](crate::OnnxEngine).
#[derive(Debug)]
pub(crate) struct OnnxSession {
    decoder: Arc<Decoder>,
    cache: Cache,
    /// How many positions count; the cache may hold more, from before a rewind.
    held: usize,
    chunk: usize,
    logits: Vec<f32>,
}

impl OnnxSession {
    pub(crate) fn new(decoder: Arc<Decoder>, chunk: usize) -> Self {
        let cache = Cache::new(&decoder);
        Self { decoder, cache, held: 0, chunk, logits: Vec::new() }
    }

    fn share(&mut self, token: TokenId) -> Option<Share<'_>> {
        self.cache.share(token, self.held, &mut self.logits)
    }

    /// Computes tokens at once, and leaves the logits of the last one.
    fn run(&mut self, tokens: &[TokenId]) -> Result<()> {
        let run = Run { tokens, held: self.held, rows: 1, options: None };
        self.cache.run(&self.decoder, &run, &mut self.logits)?;
        self.held += tokens.len();
        Ok(())
    }

    /// As [`run`](Self::run), but whoever cancels ends it at the next node of the graph.
    fn run_a_chunk(&mut self, tokens: &[TokenId], cancel: &Cancel) -> Result<()> {
        let options = Arc::new(RunOptions::new().map_err(error::runtime("prepare a run"))?);
        let ended = Arc::clone(&options);
        // Only a lack of memory keeps it from being ended, and then it comes to its own end.
        let end = move || drop(ended.terminate());
        let run = Run { tokens, held: self.held, rows: 1, options: Some(&options) };
        let ran = cancel.during(end, || self.cache.run(&self.decoder, &run, &mut self.logits));
        match ran {
            // What it wrote stands behind the positions that count.
            Err(_) if cancel.is_cancelled() => cancel.check(),
            Err(error) => Err(error),
            Ok(()) => {
                self.held += tokens.len();
                Ok(())
            }
        }
    }

    fn check_room(&self, count: usize) -> Result<()> {
        let (held, context) = (self.held, self.decoder.context_length);
        match count {
            0 => Err(Error::new(ErrorKind::Invalid, "no units to forward")),
            count if count > context - held => Err(Error::new(
                ErrorKind::ContextOverflow,
                format!("{count} units do not fit behind {held} others into a context of {context}"),
            )),
            _ => Ok(()),
        }
    }
}

/// Computes one token in each of several sessions, at once where the graph takes several rows.
pub(crate) fn forward_many(decoder: &Decoder, steps: &mut [Step<'_>]) -> Result<()> {
    let count = steps.len();
    let mut sessions = Vec::with_capacity(count);
    for Step { session, unit } in steps {
        let session: &mut dyn Any = *session;
        let foreign = || Error::new(ErrorKind::Invalid, "a session of another engine cannot step here");
        let session = session.downcast_mut::<OnnxSession>().ok_or_else(foreign)?;
        session.check_room(1)?;
        sessions.push((token(unit, decoder)?, session));
    }
    let shares = sessions.iter_mut().filter_map(|(token, session)| session.share(*token));
    let mut shares: Vec<_> = shares.collect();
    if decoder.layout.takes_rows && count > 0 && shares.len() == count {
        step(decoder, &mut shares)?;
        sessions.into_iter().for_each(|(_, session)| session.held += 1);
        return Ok(());
    }
    drop(shares);
    sessions.into_iter().try_for_each(|(token, session)| session.run(&[token]))
}

impl Session for OnnxSession {
    fn resident(&self) -> usize {
        self.held
    }

    fn forward(&mut self, units: &[Unit], cancel: &Cancel) -> Result<&mut [f32]> {
        self.check_room(units.len())?;
        let tokens = units.iter().map(|unit| token(unit, &self.decoder)).collect::<Result<Vec<_>>>()?;
        for chunk in tokens.chunks(self.chunk) {
            cancel.check()?;
            match chunk {
                // A step is over before it could be ended.
                [_] => self.run(chunk)?,
                _ => self.run_a_chunk(chunk, cancel)?,
            }
        }
        Ok(&mut self.logits)
    }

    fn reserve(&mut self, units: usize) {
        self.cache.reserve(units.min(self.decoder.context_length));
    }

    fn logits(&mut self) -> &mut [f32] {
        &mut self.logits
    }

    /// Takes as many tokens at once as their logits are worth the room. A graph that computes the last logits alone is
    /// run again, token by token: what it has appended does not count yet.
    fn forward_each(&mut self, units: &[Unit], cancel: &Cancel, each: &mut dyn FnMut(&[f32])) -> Result<()> {
        for chunk in units.chunks(self.chunk.min(SCORED_AT_ONCE)) {
            self.check_room(chunk.len())?;
            cancel.check()?;
            let tokens = chunk.iter().map(|unit| token(unit, &self.decoder)).collect::<Result<Vec<_>>>()?;
            let run = Run { tokens: &tokens, held: self.held, rows: tokens.len(), options: None };
            self.cache.run(&self.decoder, &run, &mut self.logits)?;
            let rows = self.logits.chunks_exact(self.decoder.layout.vocabulary);
            if rows.len() == tokens.len() {
                rows.for_each(&mut *each);
                self.held += tokens.len();
                continue;
            }
            for unit in chunk {
                each(self.forward(std::slice::from_ref(unit), cancel)?);
            }
        }
        Ok(())
    }

    fn truncate(&mut self, length: usize) -> Result<usize> {
        self.held = self.held.min(length);
        Ok(self.held)
    }

    fn bytes(&self) -> usize {
        self.cache.bytes(&self.decoder)
    }

    fn copied(&self) -> usize {
        self.cache.copied()
    }

    fn fork(&self) -> Result<Box<dyn Session>> {
        let cache = self.cache.fork(self.held);
        let decoder = Arc::clone(&self.decoder);
        Ok(Box::new(Self { decoder, cache, held: self.held, chunk: self.chunk, logits: Vec::new() }))
    }

    fn snapshot(&self, length: usize, into: &mut Vec<u8>) -> Result<()> {
        match length <= self.held {
            true => self.cache.snapshot(&self.decoder, length, into),
            false => {
                let message = format!("{} units are held, not {length}", self.held);
                Err(Error::new(ErrorKind::Invalid, message))
            }
        }
    }

    fn restore(&mut self, units: &[Unit], state: &[u8]) -> Result<()> {
        let context = self.decoder.context_length;
        if units.len() > context {
            let message = format!("{} units do not fit into a context of {context}", units.len());
            return Err(Error::new(ErrorKind::ContextOverflow, message));
        }
        units.iter().try_for_each(|unit| token(unit, &self.decoder).map(drop))?;
        self.cache = Cache::restored(&self.decoder, units.len(), state)?;
        self.held = units.len();
        self.logits.clear();
        Ok(())
    }
}

fn token(unit: &Unit, decoder: &Decoder) -> Result<TokenId> {
    match unit {
        // A graph looks its tokens up without a check of its own.
        Unit::Token(token) if (*token as usize) < decoder.layout.vocabulary => Ok(*token),
        Unit::Token(token) => {
            let message = format!("token {token} is not one of the {} tokens", decoder.layout.vocabulary);
            Err(Error::new(ErrorKind::Invalid, message))
        }
        Unit::Media(_) => Err(unsupported("this session takes tokens only, not media")),
    }
}
