//! Finds the most probable pieces of a text in a unigram model.
//!
//! The sums are rounded exactly as SentencePiece rounds them up to version 0.2.1: two ways to write a text often have the same
//! sum but for its last digit, such as `ha` and `haha`. Version 0.2.3 rounds otherwise.

use std::ops::Range;

use alloquy_core::tokenizer::TokenId;

use super::super::prefixes::Prefixes;
use super::file::{Kind, Piece};

/// How much less an unknown character counts than the least probable piece.
const UNKNOWN: f32 = 10.0;

/// The pieces of a model, by their beginnings.
#[derive(Debug)]
pub(super) struct Unigram {
    prefixes: Prefixes,
    least: f32,
    most: f32,
}

/// The best pieces up to a byte of the text, by the last of them.
#[derive(Clone, Copy, Default)]
struct Best {
    /// Where the last piece starts; `None` if no piece ends here.
    start: Option<usize>,
    /// `None` for an unknown character.
    id: Option<TokenId>,
    score: f32,
}

impl Unigram {
    pub(super) fn of(pieces: &[Piece]) -> Self {
        let mut least = f32::MAX;
        let mut most = f32::MIN_POSITIVE;
        for piece in pieces.iter().filter(|piece| piece.kind == Kind::Normal) {
            least = least.min(piece.score);
            most = most.max(piece.score);
        }
        let written = (0..).zip(pieces).filter(|(_, piece)| piece.kind.is_written());
        Self { prefixes: Prefixes::of(written.map(|(id, piece)| (piece.text.as_str(), id))), least, most }
    }

    /// Returns the pieces of a text by their bytes, with `None` for an unknown character. `piece` returns a piece that may be
    /// used.
    pub(super) fn encode<'p>(
        &self,
        text: &str,
        piece: impl Fn(TokenId) -> Option<&'p Piece>,
    ) -> Vec<(Range<usize>, Option<TokenId>)> {
        let mut ends = vec![Best::default(); text.len() + 1];
        for (start, character) in text.char_indices() {
            let length = character.len_utf8();
            let here = ends.get(start).map_or(0.0, |best| best.score);
            let mut is_known = false;
            let rest = text.as_bytes().get(start..).unwrap_or_default();
            self.prefixes.each(rest, |long, id| {
                let Some(piece) = piece(id) else { return };
                is_known |= long == length;
                let candidate = self.score(piece, long) + f64::from(here);
                if let Some(end) = ends.get_mut(start + long)
                    && (end.start.is_none() || candidate > f64::from(end.score))
                {
                    *end = Best { start: Some(start), id: Some(id), score: candidate as f32 };
                }
            });
            let candidate = self.least - UNKNOWN + here;
            if !is_known
                && let Some(end) = ends.get_mut(start + length)
                && (end.start.is_none() || candidate > end.score)
            {
                *end = Best { start: Some(start), id: None, score: candidate };
            }
        }
        backwards(&ends)
    }

    /// Returns the score of a piece. A symbol that the model's authors defined wins against any other pieces.
    fn score(&self, piece: &Piece, length: usize) -> f64 {
        match piece.kind {
            Kind::UserDefined => f64::from(length as f32 * self.most) - 0.1,
            _ => f64::from(piece.score),
        }
    }
}

/// Collects the best pieces from the end of the text to its start.
fn backwards(ends: &[Best]) -> Vec<(Range<usize>, Option<TokenId>)> {
    let mut pieces = Vec::new();
    let mut end = ends.len().saturating_sub(1);
    while let Some(best) = ends.get(end)
        && let Some(start) = best.start
        && start < end
    {
        pieces.push((start..end, best.id));
        end = start;
    }
    pieces.reverse();
    pieces
}
