//! Puts units into chunks.

use std::ops::Range;

use super::count::Count;
use super::units::Unit;
use crate::document::lines::Cut;

/// Puts the units of a section, which begins at `start`, into chunks. It returns the bytes of each chunk, and how many of them are also at
/// the end of the one before.
pub(super) fn pack(
    text: &str,
    start: usize,
    units: &[Unit],
    limit: usize,
    overlap: usize,
    count: &Count,
) -> Vec<(Range<usize>, usize)> {
    let packer = Packer { text, start, units, limit, count };
    let mut chunks = Vec::new();
    let mut first = 0;
    let mut repeated = 0;
    while first < units.len() {
        let (from, next) = packer.chunk(first, repeated);
        let range = packer.end(from)..packer.end(next);
        chunks.push((range, packer.end(first) - packer.end(from)));
        repeated = packer.repeated(first, next, overlap);
        first = next;
    }
    chunks
}

struct Packer<'a> {
    text: &'a str,
    start: usize,
    units: &'a [Unit],
    limit: usize,
    count: &'a Count,
}

impl Packer<'_> {
    /// Returns where the first `number` units end.
    fn end(&self, number: usize) -> usize {
        let last = number.checked_sub(1).and_then(|last| self.units.get(last));
        last.map_or(self.start, |unit| unit.end)
    }

    fn tokens(&self, units: Range<usize>) -> usize {
        self.units.get(units).unwrap_or_default().iter().map(|unit| unit.tokens).sum()
    }

    /// Returns the units of a chunk whose new ones begin with `first`, and that repeats the `repeated` units before it.
    fn chunk(&self, first: usize, repeated: usize) -> (usize, usize) {
        let mut from = first - repeated.min(first);
        let mut tokens = self.tokens(from..first);
        let mut next = first;
        while let Some(unit) = self.units.get(next) {
            if tokens + unit.tokens > self.limit && next > first {
                break;
            }
            tokens += unit.tokens;
            next += 1;
        }
        if next < self.units.len() {
            next = self.best_cut(from, first, next);
        }
        // The tokens of a text may be more than those of its parts: a tokenizer decides. Then the chunk gets smaller.
        while !self.fits(from, next) && (from < first || next > first + 1) {
            if from < first {
                from = first;
            } else {
                next = first + (next - first).div_ceil(2);
            }
        }
        (from, next)
    }

    fn fits(&self, from: usize, next: usize) -> bool {
        let text = self.text.get(self.end(from)..self.end(next)).unwrap_or_default();
        (self.count)(text) <= self.limit
    }

    /// Returns the best place to end a chunk in its last two thirds: of equally good ones, the last.
    fn best_cut(&self, from: usize, first: usize, next: usize) -> usize {
        let mut tokens = self.tokens(from..first);
        let mut best = next;
        let mut best_cut = None;
        for (place, unit) in self.units.iter().enumerate().take(next).skip(first) {
            tokens += unit.tokens;
            if tokens * 3 >= self.limit && Some(unit.cut) >= best_cut {
                best = place + 1;
                best_cut = Some(unit.cut);
            }
        }
        best
    }

    /// Returns how many of the new units of a chunk the next one repeats: at most `overlap` tokens, beginning with a sentence where there is
    /// one, else with a word, and never white space alone.
    fn repeated(&self, first: usize, next: usize, overlap: usize) -> usize {
        let mut tokens = 0;
        let mut words = 0;
        let mut sentences = 0;
        for place in (first..next).rev() {
            let Some(unit) = self.units.get(place) else { break };
            tokens += unit.tokens;
            if tokens > overlap {
                break;
            }
            let text = self.text.get(self.end(place)..unit.end).unwrap_or_default();
            if !text.trim().is_empty() {
                words = next - place;
                let before = place.checked_sub(1).and_then(|before| self.units.get(before));
                if before.is_none_or(|before| before.cut >= Cut::Sentence) {
                    sentences = words;
                }
            }
        }
        if sentences > 0 { sentences } else { words }
    }
}
