//! Finds the lengths of prompts with parts of a path. It estimates most of them, and counts as few as possible.

use std::collections::HashMap;
use std::sync::Arc;

use alloquy_core::message::PathOutline;
use alloquy_core::prompt::PromptCounter;
use alloquy_core::template::PromptEnd;
use alloquy_core::{Request, Result};

/// How many units a byte has before anything is counted.
const RATE: f64 = 0.25;

/// How many steps of a search use estimates.
const GUESSES: u32 = 4;

/// The lengths of one request's prompt without some of its messages.
pub(crate) struct Lengths<'a> {
    length: &'a dyn PromptCounter,
    request: &'a Request,
    /// How many messages at the beginning always stay.
    lead: usize,
    /// The weights of the messages, from which lengths are estimated.
    outline: Arc<PathOutline>,
    counted: HashMap<(usize, usize), usize>,
    /// How many units a weight has, by the last count.
    rate: f64,
}

impl<'a> Lengths<'a> {
    pub(crate) fn new(
        length: &'a dyn PromptCounter,
        request: &'a Request,
        lead: usize,
        outline: Arc<PathOutline>,
    ) -> Self {
        Self { length, request, lead, outline, counted: HashMap::new(), rate: RATE }
    }

    /// Counts the prompt with the messages that always stay and those from `start` to `end`. If others follow, it ends where the
    /// model was called.
    pub(crate) fn units(&mut self, start: usize, end: usize) -> Result<usize> {
        if let Some(units) = self.counted.get(&(start, end)) {
            return Ok(*units);
        }
        let mut request = self.request.clone();
        request.path = self.request.path.excerpt(self.lead, &[], start..end);
        if end < self.request.path.len() {
            request.ending = PromptEnd::Generation;
        }
        let units = self.length.units(&request)?;
        let weight = self.weight(start, end);
        if weight > 0.0 && units > 0 {
            self.rate = units as f64 / weight;
        }
        self.counted.insert((start, end), units);
        Ok(units)
    }

    /// Returns the first of `starts` with which the prompt up to `end` has at most `most` units, or the last of them.
    ///
    /// `known` is the result of the last time, with which the search begins.
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

    /// Returns whether the prompt from the first of `starts` up to `end` has at most `most` units.
    ///
    /// It counts from `known` on, and then from earlier and earlier starts. The first prompt that is too long decides, since an
    /// earlier start makes it longer.
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

    /// Returns the index of the first of `ends`, from `from` on, with which the prompt from `start` on has more than `most` units.
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

    /// Returns by how many units the prompt is shorter without the messages from `from` to `to`.
    ///
    /// The messages may be far longer than the window. So they are counted in parts that begin at one of `starts`.
    pub(crate) fn left_out(
        &mut self,
        from: usize,
        to: usize,
        starts: &[usize],
        most: usize,
    ) -> Result<usize> {
        let mut left = from;
        let mut all = 0;
        while left < to {
            let later = starts.partition_point(|start| *start <= left);
            let ahead = starts.get(later..).unwrap_or_default();
            let near = ahead
                .partition_point(|start| *start < to && self.weight(left, *start) * self.rate <= most as f64);
            let next = ahead.get(near).copied().unwrap_or(to).min(to);
            // Both prompts end with the group that follows the part. For groups at 0, 2, 4 and 6 and the part 0..4, they are 0..6
            // and 4..6.
            let following = starts.get(starts.partition_point(|start| *start <= next)).copied();
            let end = following.unwrap_or(self.request.path.len());
            all += self.units(left, end)?.saturating_sub(self.units(next, end)?);
            left = next;
        }
        Ok(all)
    }

    /// Returns the weight of the messages that always stay and of a range.
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

/// The search for the first place at which a condition holds that holds at every later place too.
///
/// It first tests estimated places, and then places farther and farther from there. So the number of tests hardly depends on the
/// number of places.
struct Search {
    /// It does not hold before this place.
    low: usize,
    /// It holds from this place on.
    high: usize,
    /// How many places were tested.
    looks: u32,
    /// Whether a place was found where it does not hold, and one where it does.
    seen: (bool, bool),
}

impl Search {
    fn among(count: usize) -> Self {
        Self { low: 0, high: count, looks: 0, seen: (false, false) }
    }

    /// Returns the place to test next; `None` when the place is found.
    fn next(&self, guess: usize) -> Option<usize> {
        let last = self.high.checked_sub(1).filter(|last| self.low <= *last)?;
        if self.looks < GUESSES {
            return Some(guess.clamp(self.low, last));
        }
        // Estimates were of no help. With a bound on both sides the search halves the range; with one, it doubles its steps away
        // from it: 1, 2, 4.
        let step = 1_usize.checked_shl(self.looks - GUESSES).unwrap_or(usize::MAX);
        let (is_below_seen, is_above_seen) = self.seen;
        if is_below_seen && is_above_seen {
            Some(self.low + (last - self.low) / 2)
        } else if is_below_seen {
            Some(self.low.saturating_add(step - 1).min(last))
        } else {
            Some(last.saturating_sub(step - 1).max(self.low))
        }
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
