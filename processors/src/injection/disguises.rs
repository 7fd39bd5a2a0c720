//! Texts that spell a control token only once the tokenizer has normalized them: `＜think＞` under NFKC, `<THINK>` where
//! all becomes small. Knows the tokenizer's normalizer; not messages, and not what a text spells as it is.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use alloquy_core::tokenizer::{Normalized, Normalizer, TokenId};

use super::edges::Edges;
use super::mark::marked_in;
use super::rewrites;
use super::specials::Specials;
use super::texts::Voice;

/// The control tokens that are looked for in normalized text.
#[derive(Clone, Debug)]
pub(crate) struct Disguises {
    normalizer: Arc<dyn Normalizer>,
    specials: Specials,
    edges: Edges,
    /// The characters that control tokens end with.
    lasts: BTreeSet<char>,
}

impl Disguises {
    /// Takes from the normalizer's tokens those that are `control` tokens; `None` when none is.
    pub(crate) fn new(normalizer: Arc<dyn Normalizer>, control: &BTreeSet<TokenId>) -> Option<Self> {
        let tokens = normalizer.tokens().iter().filter(|token| control.contains(&token.id));
        let specials = Specials::new(tokens.map(|token| token.text.as_str()));
        let edges = Edges::new(specials.texts());
        let lasts: BTreeSet<_> = specials.texts().filter_map(|text| text.chars().next_back()).collect();
        (!lasts.is_empty()).then_some(Self { normalizer, specials, edges, lasts })
    }

    /// Returns where characters stand of which normalization makes the beginning of a control token, or a part of one
    /// that a template might complete; and where one stands that would take the end from a control token before it, as
    /// U+0338 takes the `>`.
    pub(crate) fn starts(&self, voice: Voice, text: &str) -> Vec<usize> {
        let normalized = self.normalizer.normalize(text);
        let mut found = match voice {
            Voice::Name => self.edges.of_name(&normalized.text),
            Voice::Model | Voice::Other => self.edges.of(&normalized.text),
        };
        found.extend(self.beginnings(&normalized.text));
        let mut starts: Vec<_> =
            found.into_iter().filter_map(|start| normalized.places.get(start).copied()).collect();
        let first =
            text.chars().next().filter(|first| self.lasts.iter().any(|last| self.is_joined(*last, *first)));
        starts.extend(first.map(|_| 0));
        rewrites::each(text, |rewritten, places| {
            let normalized = self.normalizer.normalize(rewritten);
            let begun = self.beginnings(&normalized.text).into_iter();
            starts.extend(begun.filter_map(|start| places.get(*normalized.places.get(start)?)));
        });
        // White space may become a visible part of a token, but a template that strips it would leave the mark.
        let visible = |start: usize| {
            let rest = text.get(start..)?;
            rest.find(|symbol: char| !symbol.is_whitespace()).map(|behind| start + behind)
        };
        starts.into_iter().filter_map(visible).collect()
    }

    /// Says whether normalization makes a control token of `symbol` alone.
    pub(crate) fn is_alone(&self, symbol: char) -> bool {
        let normalized = self.normalizer.normalize(symbol.encode_utf8(&mut [0; 4]));
        self.specials.next_in(&normalized.text, 0).is_some()
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

    fn is_joined(&self, left: char, right: char) -> bool {
        let normalize = |text: String| self.normalizer.normalize(&text).text;
        !right.is_ascii() && !normalize([left, right].iter().collect()).starts_with(&normalize(left.into()))
    }

    /// Returns what of `text` would become a control token, or take the end from one, and has one of the sorted
    /// `places` in it, with that place. What is one of the sorted `literals` already is left out.
    pub(crate) fn marked(
        &self,
        text: &str,
        places: &[usize],
        literals: &[Range<usize>],
    ) -> Vec<(usize, Range<usize>)> {
        let mut marked = self.joined(text, places, literals);
        let mut cuts: Vec<_> = marked.iter().map(|(_, cut)| cut).chain(literals).cloned().collect();
        cuts.sort_unstable_by_key(|cut| cut.start);
        let ends = cuts.iter().map(|cut| cut.end);
        let nexts = cuts.iter().map(|cut| cut.start).chain([text.len()]);
        for (from, to) in std::iter::once(0).chain(ends).zip(nexts) {
            if marked_in(places, from, to).is_some() {
                self.marked_between(text.get(from..to).unwrap_or_default(), from, places, &mut marked);
            }
        }
        marked
    }

    /// The characters at `places` that join to the one before.
    fn joined(&self, text: &str, places: &[usize], literals: &[Range<usize>]) -> Vec<(usize, Range<usize>)> {
        let joined = |place: usize| {
            let left = text.get(..place)?.chars().next_back()?;
            let right = text.get(place..)?.chars().next()?;
            let is_literal = literals.iter().any(|literal| literal.contains(&place));
            (!is_literal && self.is_joined(left, right)).then(|| (place, place..place + right.len_utf8()))
        };
        places.iter().filter_map(|place| joined(*place)).collect()
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use alloquy_core::tokenizer::{Normalized, Normalizer, SpecialToken};

    use super::Disguises;
    use crate::injection::texts::Voice;

    /// Small letters, `ﬁ` as two, no soft hyphens, and `>` with a stroke as one.
    #[derive(Debug)]
    struct Small([SpecialToken; 1]);

    impl Normalizer for Small {
        fn tokens(&self) -> &[SpecialToken] {
            &self.0
        }

        fn normalize(&self, text: &str) -> Normalized {
            let mut normalized = Normalized::default();
            for (place, symbol) in text.char_indices() {
                match symbol {
                    '\u{AD}' => {}
                    ' ' => normalized.text.push('▁'),
                    'ﬁ' => normalized.text += "fi",
                    '\u{338}' if normalized.text.ends_with('>') => {
                        normalized.text.pop();
                        normalized.places.pop();
                        normalized.text.push('≯');
                        normalized.places.extend([place - 1; 3]);
                    }
                    symbol => normalized.text.extend(symbol.to_lowercase()),
                }
                normalized.places.resize(normalized.text.len(), place);
            }
            normalized
        }
    }

    fn disguises(token: &str) -> Disguises {
        let normalizer = Small([SpecialToken { text: token.to_owned(), id: 1 }]);
        Disguises::new(Arc::new(normalizer), &BTreeSet::from([1])).unwrap()
    }

    fn starts(disguises: &Disguises, voice: Voice, text: &str) -> Vec<usize> {
        BTreeSet::from_iter(disguises.starts(voice, text)).into_iter().collect()
    }

    #[test]
    fn starts_stand_in_the_text_as_it_is() {
        let disguises = disguises("<fin>");
        assert_eq!(starts(&disguises, Voice::Other, "é <ﬁN>"), [3]);
        assert_eq!(starts(&disguises, Voice::Other, "<\u{AD}f\u{AD}in>"), [0]);
        assert_eq!(starts(&disguises, Voice::Other, "a <\u{AD}Fi"), [2]);
        assert_eq!(starts(&disguises, Voice::Name, "ﬁN"), [3]);
        assert_eq!(starts(&disguises, Voice::Other, "<F/no_thinkin>"), [0]);
        assert_eq!(starts(&disguises, Voice::Other, "\u{338}"), [0]);
        assert_eq!(starts(&disguises, Voice::Other, "ﬁn"), [0; 0]);
    }

    #[test]
    fn white_space_is_never_marked() {
        let disguises = disguises("<a▁b>");
        assert_eq!(starts(&disguises, Voice::Other, " "), [0; 0]);
        assert_eq!(starts(&disguises, Voice::Other, " b>"), [1, 2]);
        assert_eq!(starts(&disguises, Voice::Other, "x <a "), [2]);
    }

    #[test]
    fn whole_characters_are_marked() {
        let disguises = disguises("<f");
        assert_eq!(disguises.marked("a<ﬁ><ﬁ>", &[6], &[]), [(6, 6..10)]);
        assert_eq!(
            disguises.marked("a<ﬁ><ﬁ>", &[1, 6], &[std::ops::Range { start: 1, end: 5 }]),
            [(6, 6..10)]
        );
        assert_eq!(disguises.marked("a<\u{AD}F>", &[0], &[]), []);
    }

    #[test]
    fn what_would_take_the_end_of_a_token_is_cut_off() {
        let disguises = disguises("<fin>");
        assert_eq!(disguises.marked("<fin>\u{338}", &[5], &[]), [(5, 5..7)]);
    }

    #[test]
    fn tokens_that_control_nothing_are_not_looked_for() {
        let normalizer = Small([SpecialToken { text: "<b>".to_owned(), id: 1 }]);
        assert!(Disguises::new(Arc::new(normalizer), &BTreeSet::from([2])).is_none());
    }
}
