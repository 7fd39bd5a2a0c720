//! Texts that spell a control token only once the tokenizer has normalized them: `＜think＞` under NFKC, `<THINK>` where
//! all becomes small. Knows the tokenizer's normalizer; not messages, and not what a text spells as it is.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use alloquy_core::{Normalized, Normalizer, TokenId};

use crate::edges::Edges;
use crate::mark::marked_in;
use crate::rewrites;
use crate::specials::Specials;
use crate::texts::Voice;

/// The control tokens that are looked for in normalized text.
#[derive(Debug)]
pub(crate) struct Disguises {
    normalizer: Arc<dyn Normalizer>,
    specials: Specials,
    edges: Edges,
}

impl Disguises {
    /// Takes from the normalizer's tokens those that are `control` tokens; `None` when none is.
    pub(crate) fn new(normalizer: Arc<dyn Normalizer>, control: &BTreeSet<TokenId>) -> Option<Self> {
        let tokens = normalizer.tokens().iter().filter(|token| control.contains(&token.id));
        let specials = Specials::new(tokens.map(|token| token.text.as_str()));
        let edges = Edges::new(specials.texts());
        let is_used = specials.texts().next().is_some();
        is_used.then_some(Self { normalizer, specials, edges })
    }

    /// Returns where characters stand of which normalization makes the beginning of a control token, or a part of one
    /// that a template might complete.
    pub(crate) fn starts(&self, voice: Voice, text: &str) -> Vec<usize> {
        let normalized = self.normalizer.normalize(text);
        let mut found = match voice {
            Voice::Name => self.edges.of_name(&normalized.text),
            Voice::Model | Voice::Other => self.edges.of(&normalized.text),
        };
        found.extend(self.beginnings(&normalized.text));
        let mut starts: Vec<_> =
            found.into_iter().filter_map(|start| normalized.places.get(start).copied()).collect();
        rewrites::each(text, |rewritten, places| {
            let normalized = self.normalizer.normalize(rewritten);
            let begun = self.beginnings(&normalized.text).into_iter();
            starts.extend(begun.filter_map(|start| places.get(*normalized.places.get(start)?)));
        });
        starts
    }

    fn beginnings(&self, text: &str) -> Vec<usize> {
        let begins = |start: &usize| {
            let rest = text.get(*start..).unwrap_or_default();
            self.specials.nearly_beginning(rest).next().is_some()
        };
        match self.specials.may_begin_in(text) {
            true => text.char_indices().map(|(start, _)| start).filter(begins).collect(),
            false => Vec::new(),
        }
    }

    /// Returns what of `text` would become a control token and has one of the sorted `places` in it, with that place.
    /// What is one of the sorted `literals` already is left out.
    pub(crate) fn marked(
        &self,
        text: &str,
        places: &[usize],
        literals: &[Range<usize>],
    ) -> Vec<(usize, Range<usize>)> {
        let mut marked = Vec::new();
        let ends = literals.iter().map(|literal| literal.end);
        let nexts = literals.iter().map(|literal| literal.start).chain([text.len()]);
        for (from, to) in std::iter::once(0).chain(ends).zip(nexts) {
            if marked_in(places, from, to).is_some() {
                self.marked_between(text.get(from..to).unwrap_or_default(), from, places, &mut marked);
            }
        }
        marked
    }

    fn marked_between(
        &self,
        text: &str,
        from: usize,
        places: &[usize],
        marked: &mut Vec<(usize, Range<usize>)>,
    ) {
        let normalized = self.normalizer.normalize(text);
        let (mut seen, mut done) = (0, from);
        while let Some((start, special)) = self.specials.next_in(&normalized.text, seen) {
            let range = origin(&normalized, start..start + special.len(), text.len());
            // One character may be the end of a token and the beginning of the next.
            let range = done.max(from + range.start)..from + range.end;
            match marked_in(places, range.start, range.end) {
                Some(place) => {
                    done = range.end;
                    marked.push((place, range));
                    seen = start + special.len();
                }
                // What the template wrote; another may begin in it.
                None => seen = normalized.text.ceil_char_boundary(start + 1),
            }
        }
    }
}

/// Returns the characters that `range` of a normalized text comes from, whole.
fn origin(normalized: &Normalized, range: Range<usize>, length: usize) -> Range<usize> {
    let place = |byte: usize| normalized.places.get(byte).copied();
    let start = place(range.start).unwrap_or(length);
    let last = place(range.end.saturating_sub(1)).unwrap_or(length);
    let after = normalized.places.partition_point(|place| *place <= last);
    start..place(after).unwrap_or(length)
}
