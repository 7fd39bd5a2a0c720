//! A session of the engine: the units that it holds, and the cache with their positions.

use std::any::Any;
use std::sync::Arc;

use alloquy_core::prompt::PromptUnit;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Media, Result};
use alloquy_engine::decoder::StateReader;
use alloquy_engine::{BatchStep, CancelToken, Session};
use ort::session::RunOptions;

use crate::cached_units::CachedUnits;
use crate::decoder::Decoder;
use crate::error::{self, invalid, unsupported};
use crate::kv::Cache;
use crate::kv::run::Run;
use crate::kv::step::{Share, Token, step};
use crate::media::MediaReader;
use crate::media::media_chunk::MediaChunk;
use crate::row::Row;

/// The number of tokens whose logits are in memory at once: 20 MB for a large vocabulary.
const SCORED_AT_ONCE: usize = 32;

/// A session of an [`OnnxEngine`](crate::OnnxEngine).
#[derive(Debug)]
pub(crate) struct OnnxSession {
    /// The reader of media, where the model takes media.
    media: Option<Arc<MediaReader>>,
    cache: Cache,
    /// The units that count; the cache may hold more from before a rewind.
    cached: CachedUnits,
    chunk: usize,
    logits: Vec<f32>,
    /// Declared after the cache, whose tensors are dropped first: they may be in memory of the graph's provider.
    decoder: Arc<Decoder>,
}

impl OnnxSession {
    pub(crate) fn new(decoder: Arc<Decoder>, media: Option<Arc<MediaReader>>, chunk: usize) -> Result<Self> {
        let cache = Cache::new(&decoder)?;
        Ok(Self { decoder, media, cache, cached: CachedUnits::default(), chunk, logits: Vec::new() })
    }

    fn share(&mut self, id: TokenId) -> Option<Share<'_>> {
        let token = Token { id, cached: self.cached.positions(), shift: self.cached.shift() };
        self.cache.share(token, &mut self.logits)
    }

    /// Computes tokens, a chunk at a time, and keeps the logits of the last one.
    fn take_tokens(&mut self, units: &[PromptUnit], cancel: &CancelToken) -> Result<()> {
        let tokens = token_ids(units);
        for chunk in tokens.chunks(self.chunk) {
            cancel.check()?;
            let row = Row::of_tokens(chunk, self.cached.positions(), self.cached.shift());
            match chunk {
                // One token is computed before a cancellation could have an effect.
                [_] => self.run(row)?,
                _ => self.run_a_chunk(row, cancel)?,
            }
            self.cached.add_tokens(chunk.len());
        }
        Ok(())
    }

    /// Computes one piece of media, and keeps the logits of its last position. If attention goes both ways among the positions of
    /// media, they are computed at once; otherwise a chunk at a time, as tokens are.
    fn take_media(&mut self, media: &Media, cancel: &CancelToken) -> Result<()> {
        let reader = self.media.as_ref().ok_or_else(|| without_media(media))?;
        cancel.check()?;
        let input = ending(cancel, |options| reader.input(media, &self.decoder.time, options))?;
        let tokens = input.positions.tokens();
        let size = if self.decoder.layout.token_type_ids.is_some() { tokens.len() } else { self.chunk };
        let before = self.cached.positions();
        let shift = self.cached.shift();
        let base = before as i64 + shift;
        for (number, chunk) in tokens.chunks(size).enumerate() {
            cancel.check()?;
            let start = number * size;
            let media_chunk = MediaChunk { input: &input, start, base };
            let row = Row { tokens: chunk, cached: before + start, shift, media: Some(media_chunk) };
            self.run_a_chunk(row, cancel)?;
        }
        self.cached.add_media(tokens.len(), input.positions.shift());
        Ok(())
    }

    fn run(&mut self, row: Row<'_>) -> Result<()> {
        self.cache.run(&self.decoder, &Run { row, rows: 1, options: None }, &mut self.logits)
    }

    /// As [`run`](Self::run), but a cancellation ends it at the next node of the graph. Positions that were written until then
    /// do not count.
    fn run_a_chunk(&mut self, row: Row<'_>, cancel: &CancelToken) -> Result<()> {
        ending(cancel, |options| {
            self.cache.run(&self.decoder, &Run { row, rows: 1, options: Some(options) }, &mut self.logits)
        })
    }

    /// Refuses units that cannot be computed, before any is computed.
    fn check(&self, units: &[PromptUnit]) -> Result<()> {
        let cached = self.cached.positions();
        let context = self.decoder.context_length;
        let count = units.iter().map(|unit| self.positions(unit)).sum::<Result<usize>>()?;
        if count == 0 {
            return Err(invalid("no units to forward"));
        }
        if count > context - cached {
            let message =
                format!("{count} positions do not fit after {cached} others into a context of {context}");
            return Err(Error::new(ErrorKind::ContextOverflow, message));
        }
        Ok(())
    }

    /// Returns how many positions a unit takes; an error if the model cannot take it.
    fn positions(&self, unit: &PromptUnit) -> Result<usize> {
        match (unit, &self.media) {
            (PromptUnit::Token(token), _) => check_token(*token, &self.decoder).map(|()| 1),
            (PromptUnit::Media(media), Some(reader)) => Ok(reader.positions(media)?.tokens().len()),
            (PromptUnit::Media(media), None) => Err(without_media(media)),
        }
    }
}

/// Calls `run` with options through which a cancellation ends the run at the next node of the graph.
fn ending<T>(cancel: &CancelToken, run: impl FnOnce(&RunOptions) -> Result<T>) -> Result<T> {
    let options = Arc::new(RunOptions::new().map_err(error::runtime("prepare a run"))?);
    let ended = Arc::clone(&options);
    let done = cancel.during(
        move || {
            // This fails only for lack of memory, and then the run is completed.
            let _ = ended.terminate();
        },
        || run(&options),
    );
    if done.is_err() {
        cancel.check()?;
    }
    done
}

/// Computes one unit in each of several sessions: together if all are tokens and the graph takes several rows, else one by one.
pub(crate) fn forward_many(decoder: &Decoder, steps: &mut [BatchStep<'_>]) -> Result<()> {
    let count = steps.len();
    let mut sessions = Vec::with_capacity(count);
    for BatchStep { session, unit } in steps {
        let session: &mut dyn Any = *session;
        let Some(session) = session.downcast_mut::<OnnxSession>() else {
            return Err(invalid("a session of another engine cannot step here"));
        };
        session.check(std::slice::from_ref(unit))?;
        sessions.push((*unit, session));
    }
    let shares = sessions.iter_mut().filter_map(|(unit, session)| session.share(token_id(unit)?));
    let mut shares: Vec<_> = shares.collect();
    if decoder.layout.takes_rows && count > 0 && shares.len() == count {
        step(decoder, &mut shares)?;
        for (_, session) in sessions {
            session.cached.add_tokens(1);
        }
        return Ok(());
    }
    drop(shares);
    for (unit, session) in sessions {
        session.forward(std::slice::from_ref(unit), &CancelToken::default())?;
    }
    Ok(())
}

impl Session for OnnxSession {
    fn length(&self) -> usize {
        self.cached.units()
    }

    fn forward(&mut self, units: &[PromptUnit], cancel: &CancelToken) -> Result<&mut [f32]> {
        self.check(units)?;
        for segment in units.chunk_by(are_tokens) {
            match segment {
                [PromptUnit::Media(media)] => self.take_media(media, cancel)?,
                tokens => self.take_tokens(tokens, cancel)?,
            }
        }
        Ok(&mut self.logits)
    }

    fn reserve(&mut self, units: usize) {
        let positions = units + self.cached.positions() - self.cached.units();
        self.cache.reserve(positions.min(self.decoder.context_length));
    }

    fn logits(&mut self) -> &mut [f32] {
        &mut self.logits
    }

    /// Computes up to [`SCORED_AT_ONCE`] tokens at once. A graph that only computes the logits of the last token is run again,
    /// token by token: the positions that the first run appended do not count yet.
    fn forward_each(
        &mut self,
        units: &[PromptUnit],
        cancel: &CancelToken,
        each: &mut dyn FnMut(&[f32]),
    ) -> Result<()> {
        let size = self.chunk.min(SCORED_AT_ONCE);
        for chunk in units.chunk_by(are_tokens).flat_map(|segment| segment.chunks(size)) {
            self.check(chunk)?;
            cancel.check()?;
            let tokens = token_ids(chunk);
            if !tokens.is_empty() {
                let row = Row::of_tokens(&tokens, self.cached.positions(), self.cached.shift());
                let run = Run { row, rows: tokens.len(), options: None };
                self.cache.run(&self.decoder, &run, &mut self.logits)?;
                let rows = self.logits.chunks_exact(self.decoder.layout.vocabulary);
                if rows.len() == tokens.len() {
                    for row in rows {
                        each(row);
                    }
                    self.cached.add_tokens(tokens.len());
                    continue;
                }
            }
            for unit in chunk {
                each(self.forward(std::slice::from_ref(unit), cancel)?);
            }
        }
        Ok(())
    }

    /// A model with states keeps fewer units where it has none for `length`: it goes back to those that it has.
    fn truncate(&mut self, length: usize) -> Result<usize> {
        self.cached.truncate(self.reaches(length));
        Ok(self.cached.units())
    }

    fn rewinds(&self) -> bool {
        self.cache.rewinds()
    }

    fn reaches(&self, length: usize) -> usize {
        let mut length = length.min(self.cached.units());
        loop {
            let positions = self.cached.positions_of(length);
            let reached = self.cache.reaches(positions);
            if reached == positions {
                return length;
            }
            // States inside of a piece of media, where a cancellation left them, are of no use.
            length = self.cached.units_of(reached);
        }
    }

    fn mark(&mut self) {
        self.cache.mark(&self.decoder, self.cached.positions());
    }

    fn bytes(&self) -> usize {
        self.cache.bytes(&self.decoder)
    }

    fn copied(&self) -> usize {
        self.cache.copied()
    }

    fn fork(&self) -> Result<Box<dyn Session>> {
        let cache = self.cache.fork(self.cached.positions());
        let decoder = Arc::clone(&self.decoder);
        let media = self.media.clone();
        let cached = self.cached.clone();
        let logits = Vec::new();
        Ok(Box::new(Self { decoder, media, cache, cached, chunk: self.chunk, logits }))
    }

    fn snapshot(&self, length: usize, into: &mut Vec<u8>) -> Result<()> {
        if length > self.cached.units() {
            return Err(invalid(format!("{} units are cached, not {length}", self.cached.units())));
        }
        if self.reaches(length) < length {
            let message = format!("the model's states after {length} units are not kept");
            return Err(unsupported(message));
        }
        self.cached.write(length, into);
        self.cache.snapshot(&self.decoder, self.cached.positions_of(length), into)
    }

    fn restore(&mut self, units: &[PromptUnit], state: &mut StateReader<'_>) -> Result<()> {
        for token in token_ids(units) {
            check_token(token, &self.decoder)?;
        }
        for unit in units {
            if let PromptUnit::Media(media) = unit
                && self.media.is_none()
            {
                return Err(without_media(media));
            }
        }
        let cached = CachedUnits::read(units.iter().map(|unit| token_id(unit).is_none()), state)?;
        let positions = cached.positions();
        let context = self.decoder.context_length;
        if positions > context {
            let message = format!("{positions} positions do not fit into a context of {context}");
            return Err(Error::new(ErrorKind::ContextOverflow, message));
        }
        let cache = Cache::restored(&self.decoder, positions, state)?;
        state.end()?;
        self.cache = cache;
        self.cached = cached;
        self.logits.clear();
        Ok(())
    }
}

fn are_tokens(left: &PromptUnit, right: &PromptUnit) -> bool {
    matches!((left, right), (PromptUnit::Token(_), PromptUnit::Token(_)))
}

fn token_id(unit: &PromptUnit) -> Option<TokenId> {
    match unit {
        PromptUnit::Token(token) => Some(*token),
        PromptUnit::Media(_) => None,
    }
}

fn token_ids(units: &[PromptUnit]) -> Vec<TokenId> {
    units.iter().filter_map(token_id).collect()
}

/// Refuses a token beyond the vocabulary: a graph does not check its tokens itself.
fn check_token(token: TokenId, decoder: &Decoder) -> Result<()> {
    let vocabulary = decoder.layout.vocabulary;
    if token as usize >= vocabulary {
        return Err(invalid(format!("token {token} is not one of the {vocabulary} tokens")));
    }
    Ok(())
}

pub(crate) fn without_media(media: &Media) -> Error {
    unsupported(format!("this model was loaded without anything that reads media, such as {media:?}"))
}
