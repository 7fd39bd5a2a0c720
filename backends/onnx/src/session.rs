//! One conversation's place in a model: which units its cache holds. Knows no text.

use std::any::Any;
use std::sync::Arc;

use alloquy_core::prompt::Unit;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Media, Result};
use alloquy_engine::decoder::StateReader;
use alloquy_engine::{Cancel, Session, Step};
use ort::session::RunOptions;

use crate::decoder::Decoder;
use crate::error::{self, unsupported};
use crate::held::Held;
use crate::kv::Cache;
use crate::kv::run::Run;
use crate::kv::step::{Share, Token, step};
use crate::media::MediaReader;
use crate::media::portion::Portion;
use crate::row::Row;

/// How many tokens' logits are held at once: 20 MB for a large vocabulary.
const SCORED_AT_ONCE: usize = 32;

/// A session of an [`OnnxEngine`](crate::OnnxEngine).
#[derive(Debug)]
pub(crate) struct OnnxSession {
    decoder: Arc<Decoder>,
    /// What reads media, where the model takes them.
    media: Option<Arc<MediaReader>>,
    cache: Cache,
    /// What counts; the cache may hold more, from before a rewind.
    held: Held,
    chunk: usize,
    logits: Vec<f32>,
}

impl OnnxSession {
    pub(crate) fn new(decoder: Arc<Decoder>, media: Option<Arc<MediaReader>>, chunk: usize) -> Self {
        let cache = Cache::new(&decoder);
        Self { decoder, media, cache, held: Held::default(), chunk, logits: Vec::new() }
    }

    fn share(&mut self, id: TokenId) -> Option<Share<'_>> {
        let token = Token { id, held: self.held.positions(), shift: self.held.shift() };
        self.cache.share(token, &mut self.logits)
    }

    /// Computes tokens, a chunk at a time, and leaves the logits of the last one.
    fn take_tokens(&mut self, units: &[Unit], cancel: &Cancel) -> Result<()> {
        let tokens = token_ids(units);
        for chunk in tokens.chunks(self.chunk) {
            cancel.check()?;
            let row = Row::of_tokens(chunk, self.held.positions(), self.held.shift());
            match chunk {
                // A step is over before it could be ended.
                [_] => self.run(row)?,
                _ => self.run_a_chunk(row, cancel)?,
            }
            self.held.add_tokens(chunk.len());
        }
        Ok(())
    }

    /// Computes one piece of media, and leaves the logits of its last position. Where attention goes both ways among the
    /// positions of media, they are computed at once; elsewhere a chunk at a time, as tokens are.
    fn take_media(&mut self, media: &Media, cancel: &Cancel) -> Result<()> {
        let reader = self.media.as_ref().ok_or_else(|| without_media(media))?;
        cancel.check()?;
        let shown = ending(cancel, |options| reader.shown(media, &self.decoder.time, options))?;
        let tokens = shown.passage.tokens();
        let size = if self.decoder.layout.token_type_ids.is_some() { tokens.len() } else { self.chunk };
        let (before, shift) = (self.held.positions(), self.held.shift());
        let base = before as i64 + shift;
        for (number, chunk) in tokens.chunks(size).enumerate() {
            cancel.check()?;
            let start = number * size;
            let portion = Portion { shown: &shown, start, base };
            let row = Row { tokens: chunk, held: before + start, shift, media: Some(portion) };
            self.run_a_chunk(row, cancel)?;
        }
        self.held.add_media(tokens.len(), shown.passage.shift());
        Ok(())
    }

    fn run(&mut self, row: Row<'_>) -> Result<()> {
        self.cache.run(&self.decoder, &Run { row, rows: 1, options: None }, &mut self.logits)
    }

    /// As [`run`](Self::run), but whoever cancels ends it at the next node of the graph. What it wrote until then stands
    /// behind the positions that count.
    fn run_a_chunk(&mut self, row: Row<'_>, cancel: &Cancel) -> Result<()> {
        ending(cancel, |options| {
            self.cache.run(&self.decoder, &Run { row, rows: 1, options: Some(options) }, &mut self.logits)
        })
    }

    /// Says of units that cannot be forwarded so, before any is.
    fn check(&self, units: &[Unit]) -> Result<()> {
        let (held, context) = (self.held.positions(), self.decoder.context_length);
        let count = units.iter().map(|unit| self.positions(unit)).sum::<Result<usize>>()?;
        match count {
            0 => Err(Error::new(ErrorKind::Invalid, "no units to forward")),
            count if count > context - held => Err(Error::new(
                ErrorKind::ContextOverflow,
                format!("{count} positions do not fit behind {held} others into a context of {context}"),
            )),
            _ => Ok(()),
        }
    }

    /// Returns how many positions a unit takes, which is one that can be taken.
    fn positions(&self, unit: &Unit) -> Result<usize> {
        match (unit, &self.media) {
            (Unit::Token(token), _) => check_token(*token, &self.decoder).map(|()| 1),
            (Unit::Media(media), Some(reader)) => Ok(reader.passage(media)?.tokens().len()),
            (Unit::Media(media), None) => Err(without_media(media)),
        }
    }
}

/// Runs what ends at the next node of a graph when somebody cancels.
fn ending<T>(cancel: &Cancel, run: impl FnOnce(&RunOptions) -> Result<T>) -> Result<T> {
    let options = Arc::new(RunOptions::new().map_err(error::runtime("prepare a run"))?);
    let ended = Arc::clone(&options);
    // Only a lack of memory keeps it from being ended, and then it comes to its own end.
    let end = move || drop(ended.terminate());
    match cancel.during(end, || run(&options)) {
        Err(error) => cancel.check().and(Err(error)),
        done => done,
    }
}

/// Computes one unit in each of several sessions, at once where all are tokens and the graph takes several rows.
pub(crate) fn forward_many(decoder: &Decoder, steps: &mut [Step<'_>]) -> Result<()> {
    let count = steps.len();
    let mut sessions = Vec::with_capacity(count);
    for Step { session, unit } in steps {
        let session: &mut dyn Any = *session;
        let foreign = || Error::new(ErrorKind::Invalid, "a session of another engine cannot step here");
        let session = session.downcast_mut::<OnnxSession>().ok_or_else(foreign)?;
        session.check(std::slice::from_ref(unit))?;
        sessions.push((*unit, session));
    }
    let shares = sessions.iter_mut().filter_map(|(unit, session)| session.share(token_id(unit)?));
    let mut shares: Vec<_> = shares.collect();
    if decoder.layout.takes_rows && count > 0 && shares.len() == count {
        step(decoder, &mut shares)?;
        sessions.into_iter().for_each(|(_, session)| session.held.add_tokens(1));
        return Ok(());
    }
    drop(shares);
    let one_by_one = |(unit, session): (&Unit, &mut OnnxSession)| {
        session.forward(std::slice::from_ref(unit), &Cancel::default()).map(drop)
    };
    sessions.into_iter().try_for_each(one_by_one)
}

impl Session for OnnxSession {
    fn resident(&self) -> usize {
        self.held.units()
    }

    fn forward(&mut self, units: &[Unit], cancel: &Cancel) -> Result<&mut [f32]> {
        self.check(units)?;
        for stretch in units.chunk_by(are_tokens) {
            match stretch {
                [Unit::Media(media)] => self.take_media(media, cancel)?,
                tokens => self.take_tokens(tokens, cancel)?,
            }
        }
        Ok(&mut self.logits)
    }

    fn reserve(&mut self, units: usize) {
        let positions = units + self.held.positions() - self.held.units();
        self.cache.reserve(positions.min(self.decoder.context_length));
    }

    fn logits(&mut self) -> &mut [f32] {
        &mut self.logits
    }

    /// Takes as many tokens at once as their logits are worth the room. A graph that computes the last logits alone is
    /// run again, token by token: what it has appended does not count yet.
    fn forward_each(&mut self, units: &[Unit], cancel: &Cancel, each: &mut dyn FnMut(&[f32])) -> Result<()> {
        let size = self.chunk.min(SCORED_AT_ONCE);
        for chunk in units.chunk_by(are_tokens).flat_map(|stretch| stretch.chunks(size)) {
            self.check(chunk)?;
            cancel.check()?;
            let tokens = token_ids(chunk);
            if !tokens.is_empty() {
                let row = Row::of_tokens(&tokens, self.held.positions(), self.held.shift());
                let run = Run { row, rows: tokens.len(), options: None };
                self.cache.run(&self.decoder, &run, &mut self.logits)?;
                let rows = self.logits.chunks_exact(self.decoder.layout.vocabulary);
                if rows.len() == tokens.len() {
                    rows.for_each(&mut *each);
                    self.held.add_tokens(tokens.len());
                    continue;
                }
            }
            for unit in chunk {
                each(self.forward(std::slice::from_ref(unit), cancel)?);
            }
        }
        Ok(())
    }

    fn truncate(&mut self, length: usize) -> Result<usize> {
        self.held.truncate(length);
        Ok(self.held.units())
    }

    fn bytes(&self) -> usize {
        self.cache.bytes(&self.decoder)
    }

    fn copied(&self) -> usize {
        self.cache.copied()
    }

    fn fork(&self) -> Result<Box<dyn Session>> {
        let cache = self.cache.fork(self.held.positions());
        let (decoder, media) = (Arc::clone(&self.decoder), self.media.clone());
        let (held, logits) = (self.held.clone(), Vec::new());
        Ok(Box::new(Self { decoder, media, cache, held, chunk: self.chunk, logits }))
    }

    fn snapshot(&self, length: usize, into: &mut Vec<u8>) -> Result<()> {
        if length > self.held.units() {
            let message = format!("{} units are held, not {length}", self.held.units());
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        self.held.write(length, into);
        self.cache.snapshot(&self.decoder, self.held.positions_of(length), into)
    }

    fn restore(&mut self, units: &[Unit], state: &mut StateReader<'_>) -> Result<()> {
        let check = |unit: &Unit| token_id(unit).map_or(Ok(()), |token| check_token(token, &self.decoder));
        units.iter().try_for_each(check)?;
        let media = units.iter().find(|unit| matches!(unit, Unit::Media(_)));
        if let (Some(Unit::Media(media)), None) = (media, &self.media) {
            return Err(without_media(media));
        }
        let held = Held::read(units.iter().map(|unit| token_id(unit).is_none()), state)?;
        let (positions, context) = (held.positions(), self.decoder.context_length);
        if positions > context {
            let message = format!("{positions} positions do not fit into a context of {context}");
            return Err(Error::new(ErrorKind::ContextOverflow, message));
        }
        let cache = Cache::restored(&self.decoder, positions, state)?;
        state.end()?;
        (self.cache, self.held) = (cache, held);
        self.logits.clear();
        Ok(())
    }
}

fn are_tokens(left: &Unit, right: &Unit) -> bool {
    matches!((left, right), (Unit::Token(_), Unit::Token(_)))
}

fn token_id(unit: &Unit) -> Option<TokenId> {
    match unit {
        Unit::Token(token) => Some(*token),
        Unit::Media(_) => None,
    }
}

fn token_ids(units: &[Unit]) -> Vec<TokenId> {
    units.iter().filter_map(token_id).collect()
}

/// A graph looks its tokens up without a check of its own.
fn check_token(token: TokenId, decoder: &Decoder) -> Result<()> {
    let vocabulary = decoder.layout.vocabulary;
    match (token as usize) < vocabulary {
        true => Ok(()),
        false => {
            let message = format!("token {token} is not one of the {vocabulary} tokens");
            Err(Error::new(ErrorKind::Invalid, message))
        }
    }
}

pub(crate) fn without_media(media: &Media) -> Error {
    unsupported(format!("this model was loaded without anything that reads media, such as {media:?}"))
}
