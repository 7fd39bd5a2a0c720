//! One conversation's place in a model: how many units its cache holds. Knows no text.

use std::sync::Arc;

use alloquy_core::{Cancel, Error, ErrorKind, Result, Session, TokenId, Unit};

use crate::decoder::Decoder;
use crate::error::unsupported;
use crate::kv::Cache;

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

impl Session for OnnxSession {
    fn resident(&self) -> usize {
        self.held
    }

    fn forward(&mut self, units: &[Unit], cancel: &Cancel) -> Result<&mut [f32]> {
        self.check_room(units.len())?;
        let tokens = units.iter().map(|unit| token(unit, &self.decoder)).collect::<Result<Vec<_>>>()?;
        for chunk in tokens.chunks(self.chunk) {
            cancel.check()?;
            self.cache.run(&self.decoder, chunk, self.held, 1, &mut self.logits)?;
            self.held += chunk.len();
        }
        Ok(&mut self.logits)
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
            self.cache.run(&self.decoder, &tokens, self.held, tokens.len(), &mut self.logits)?;
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

    fn fork(&self) -> Result<Box<dyn Session>> {
        let cache = self.cache.fork(&self.decoder, self.held)?;
        let decoder = Arc::clone(&self.decoder);
        Ok(Box::new(Self { decoder, cache, held: self.held, chunk: self.chunk, logits: Vec::new() }))
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
