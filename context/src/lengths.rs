//! How long the prompts of a path's parts are, counted where it has to be and guessed from there on. Knows no policy.

use std::collections::HashMap;
use std::sync::Arc;

use alloquy_core::message::PathOutline;
use alloquy_core::prompt::PromptLength;
use alloquy_core::template::Ending;
use alloquy_core::{Request, Result};

/// How many units a byte is, until it is counted.
const RATE: f64 = 0.25;

/// How often a search trusts guesses.
const GUESSES: u32 = 4;

/// The lengths of one request's prompt without some of its messages.
pub(crate) struct Lengths<'a> {
    length: &'a dyn PromptLength,
    request: &'a Request,
    /// How many messages at the beginning always stay.
    lead: usize,
    /// What the messages weigh.
    outline: Arc<PathOutline>,
    counted: HashMap<(usize, usize), usize>,
    /// How many units a weight is, as it was counted last.
    rate: f64,
}

impl<'a> Lengths<'a> {
    pub(crate) fn new(
        length: &'a dyn PromptLength,
        request: &'a Request,
        lead: usize,
        outline: Arc<PathOutline>,
    ) -> Self {
        Self { length, request, lead, outline, counted: HashMap::new(), rate: RATE }
    }

    /// Counts the prompt of what always stays and of the messages from `start` to `end`. Where others follow, an answer was
    /// asked for.
    pub(crate) fn units(&mut self, start: usize, end: usize) -> Result<usize> {
        if let Some(units) = self.counted.get(&(start, end)) {
            return Ok(*units);
        }
        let mut request = self.request.clone();
        request.path = self.request.path.excerpt(self.lead, &[], start..end);
        if end < self.request.path.len() {
            request.ending = Ending::Answer;
        }
        let units = self.length.units(&request)?;
        let weight = self.weight(start, end);
        if weight > 0.0 && units > 0 {
            self.rate = units as f64 / weight;
        }
        self.counted.insert((start, end), units);
        Ok(units)
    }

    /// The first of `starts` from which on the prompt up to `end` has no more than `most` units, or the last one where none
    /// is; `known` is where it was the last time. Of later ones less is to be counted.
    pub(crate) fn first_fitting(
        &mut self,
        starts: &[usize],
        end: usize,
        most: usize,
        known: Option<usize>,
    ) -> Result<usize> {
        let mut search = Search::among(starts.len());
        let known = known.map(|known| starts.partition_point(|start| *start < known));
        let mut guess = known.unwrap_or_else(|| self.guessed_start(starts, end, most));
        while let Some(index) = search.next(guess) {
            let start = starts.get(index).copied().unwrap_or(end);
            search.note(index, self.units(start, end)? <= most);
            guess = self.guessed_start(starts, end, most);
        }
        Ok(starts.get(search.found()).or(starts.last()).copied().unwrap_or(self.lead))
    }

    /// Says whether the prompt from the first of `starts` up to `end` has no more than `most` units. It looks from `known` on
    /// ever farther back: one from a later place that is too long says enough.
    pub(crate) fn is_whole(
        &mut self,
        starts: &[usize],
        end: usize,
        most: usize,
        known: Option<usize>,
    ) -> Result<bool> {
        let known = known.map(|known| starts.partition_point(|start| *start < known));
        let mut index = known.unwrap_or_else(|| self.guessed_start(starts, end, most));
        index = index.min(starts.len().saturating_sub(1));
        let mut step = 1;
        while let Some(start) = starts.get(index) {
            let fits = self.units(*start, end)? <= most;
            if !fits || index == 0 {
                return Ok(fits);
            }
            index = index.saturating_sub(step);
            step *= 2;
        }
        Ok(false)
    }

    /// The index of the first of `ends`, from `from` on, up to which the prompt from `start` on has more than `most` units.
    pub(crate) fn first_full(
        &mut self,
        start: usize,
        ends: &[usize],
        from: usize,
        most: usize,
    ) -> Result<Option<usize>> {
        let ends = ends.get(from..).unwrap_or_default();
        let mut search = Search::among(ends.len());
        let mut guess = self.guessed_end(start, ends, most);
        while let Some(index) = search.next(guess) {
            let end = ends.get(index).copied().unwrap_or(start);
            search.note(index, self.units(start, end)? > most);
            guess = self.guessed_end(start, ends, most);
        }
        Ok(Some(search.found()).filter(|found| *found < ends.len()).map(|found| from + found))
    }

    /// How many units the prompt is shorter without the messages from `from` to `to`. They are counted with no more than a
    /// part of the path at a time, each taken up at one of `starts`: what is left out may be far longer than what fits.
    pub(crate) fn left_out(
        &mut self,
        from: usize,
        to: usize,
        starts: &[usize],
        most: usize,
    ) -> Result<usize> {
        let (mut left, mut all) = (from, 0);
        while left < to {
            let later = starts.partition_point(|start| *start <= left);
            let is_near = |start: &usize| *start < to && self.weight(left, *start) * self.rate <= most as f64;
            let ahead = starts.get(later..).unwrap_or_default();
            let next = ahead.get(ahead.partition_point(is_near)).copied().unwrap_or(to).min(to);
            // Up to behind the messages with which the path would go on, or its end.
            let behind = starts.get(starts.partition_point(|start| *start <= next)).copied();
            let end = behind.unwrap_or(self.request.path.len());
            all += self.units(left, end)?.saturating_sub(self.units(next, end)?);
            left = next;
        }
        Ok(all)
    }

    /// What is kept and a range weigh.
    fn weight(&self, start: usize, end: usize) -> f64 {
        let range = self.outline.weight(end).saturating_sub(self.outline.weight(start));
        (self.outline.weight(self.lead) + range) as f64
    }

    fn guessed_start(&self, starts: &[usize], end: usize, most: usize) -> usize {
        starts.partition_point(|start| self.weight(*start, end) * self.rate > most as f64)
    }

    fn guessed_end(&self, start: usize, ends: &[usize], most: usize) -> usize {
        ends.partition_point(|end| self.weight(start, *end) * self.rate <= most as f64)
    }
}

/// The search for the first of several places at which something holds that from there on always does. It looks where it is
/// guessed to be, and then ever farther from there: how many places there are is of no consequence.
struct Search {
    /// Before here it does not hold.
    low: usize,
    /// From here on it does.
    high: usize,
    /// How often it was looked.
    looks: u32,
    /// Whether it was seen not to hold, and to hold.
    seen: (bool, bool),
}

impl Search {
    fn among(count: usize) -> Self {
        Self { low: 0, high: count, looks: 0, seen: (false, false) }
    }

    /// Where to look next.
    fn next(&self, guess: usize) -> Option<usize> {
        let last = self.high.checked_sub(1).filter(|last| self.low <= *last)?;
        if self.looks < GUESSES {
            return Some(guess.clamp(self.low, last));
        }
        let step = 1_usize.checked_shl(self.looks - GUESSES).unwrap_or(usize::MAX);
        Some(match self.seen {
            (true, true) => self.low + (last - self.low) / 2,
            (true, false) => self.low.saturating_add(step - 1).min(last),
            _ => last.saturating_sub(step - 1).max(self.low),
        })
    }

    fn note(&mut self, place: usize, holds: bool) {
        self.looks += 1;
        if holds {
            (self.high, self.seen.1) = (place, true);
        } else {
            (self.low, self.seen.0) = (place + 1, true);
        }
    }

    fn found(&self) -> usize {
        self.low
    }
}
