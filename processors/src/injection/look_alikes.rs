//! Finds texts that become a control token when the tokenizer normalizes them: `＜think＞` under NFKC, or `<THINK>` with a
//! normalizer that writes small letters.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use alloquy_core::tokenizer::{NormalizedText, Normalizer, TokenId};

use super::edges::Edges;
use super::mark::marked_in;
use super::rewrites;
use super::specials::Specials;
use super::texts::Voice;

/// The control tokens that are looked for in normalized text.
#[derive(Clone, Debug)]
pub(crate) struct LookAlikes {
    normalizer: Arc<dyn Normalizer>,
    specials: Specials,
    edges: Edges,
    /// The characters that control tokens end with.
    lasts: BTreeSet<char>,
}

impl LookAlikes {
    /// Takes those of the normalizer's tokens that are `control` tokens; `None` if there are none.
    pub(crate) fn new(normalizer: Arc<dyn Normalizer>, control: &BTreeSet<TokenId>) -> Option<Self> {
        let tokens = normalizer.tokens().iter().filter(|token| control.contains(&token.id));
        let specials = Specials::new(tokens.map(|token| token.text.as_str()));
        let edges = Edges::new(specials.texts());
        let lasts: BTreeSet<_> = specials.texts().filter_map(|text| text.chars().next_back()).collect();
        (!lasts.is_empty()).then_some(Self { normalizer, specials, edges, lasts })
    }

    /// Returns the places of `text` to mark:
    ///
    /// - where normalization produces the beginning of a control token, or a part of one that a template might complete;
    /// - a first character that normalization joins to the end of a control token before it, as U+0338 makes `≯` of `>`.
    pub(crate) fn starts(&self, voice: Voice, text: &str) -> Vec<usize> {
        let normalized = self.normalizer.normalize(text);
        let mut found = match voice {
            Voice::Name => self.edges.of_name(&normalized.text),
            Voice::Model | Voice::Other => self.edges.of(&normalized.text),
        };
        found.extend(self.beginnings(&normalized.text));
        let mut starts: Vec<_> =
            found.into_iter().filter_map(|start| normalized.places.get(start).copied()).collect();
        if let Some(first) = text.chars().next()
            && self.lasts.iter().any(|last| self.is_joined(*last, first))
        {
            starts.push(0);
        }
        rewrites::each(text, |rewritten, places| {
            let normalized = self.normalizer.normalize(rewritten);
            let begun = self.beginnings(&normalized.text).into_iter();
            starts.extend(begun.filter_map(|start| places.get(*normalized.places.get(start)?)));
        });
        // White space may become a visible part of a token, but a template that strips it would leave the mark.
        starts.into_iter().filter_map(|start| visible(text, start)).collect()
    }

    /// Returns whether normalization makes a control token of `symbol` alone.
    pub(crate) fn is_alone(&self, symbol: char) -> bool {
        let normalized = self.normalizer.normalize(symbol.encode_utf8(&mut [0; 4]));
        self.specials.next_in(&normalized.text, 0).is_some()
    }

    fn beginnings(&self, text: &str) -> Vec<usize> {
        let mut beginnings = Vec::new();
        if !self.specials.may_begin_in(text) {
            return beginnings;
        }
        for (start, _) in text.char_indices() {
            let rest = text.get(start..).unwrap_or_default();
            if self.specials.nearly_beginning(rest).next().is_some() {
                beginnings.push(start);
            }
        }
        beginnings
    }

    /// Returns whether normalization joins two characters to another, as `>` and U+0338.
    fn is_joined(&self, left: char, right: char) -> bool {
        if right.is_ascii() {
            return false;
        }
        let alone = self.normalizer.normalize(left.encode_utf8(&mut [0; 4])).text;
        let both = self.normalizer.normalize(&String::from_iter([left, right])).text;
        !both.starts_with(&alone)
    }

    /// Returns the ranges of `text` that would become a control token, or join to the end of one.
    ///
    /// Each has one of the sorted `places` in it, and is returned with that place. The sorted `literals` are left out.
    pub(crate) fn marked(
        &self,
        text: &str,
        places: &[usize],
        literals: &[Range<usize>],
    ) -> Vec<(usize, Range<usize>)> {
        let mut marked = self.joined(text, places, literals);
        let mut cuts: Vec<_> = marked.iter().map(|(_, cut)| cut).chain(literals).cloned().collect();
        cuts.sort_unstable_by_key(|cut| cut.start);
        // Each text between two cuts is normalized by itself, as the tokenizer does.
        let ends = cuts.iter().map(|cut| cut.end);
        let nexts = cuts.iter().map(|cut| cut.start).chain([text.len()]);
        for (from, to) in std::iter::once(0).chain(ends).zip(nexts) {
            if marked_in(places, from, to).is_some() {
                self.marked_between(text.get(from..to).unwrap_or_default(), from, places, &mut marked);
            }
        }
        marked
    }

    /// Returns the characters at `places` that join to the character before.
    fn joined(&self, text: &str, places: &[usize], literals: &[Range<usize>]) -> Vec<(usize, Range<usize>)> {
        let mut joined = Vec::new();
        for place in places.iter().copied() {
            let Some((before, after)) = text.split_at_checked(place) else { continue };
            let Some(left) = before.chars().next_back() else { continue };
            let Some(right) = after.chars().next() else { continue };
            let is_literal = literals.iter().any(|literal| literal.contains(&place));
            if !is_literal && self.is_joined(left, right) {
                joined.push((place, place..place + right.len_utf8()));
            }
        }
        joined
    }

    fn marked_between(
        &self,
        text: &str,
        from: usize,
        places: &[usize],
        marked: &mut Vec<(usize, Range<usize>)>,
    ) {
        let normalized = self.normalizer.normalize(text);
        let mut seen = 0;
        let mut done = from;
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
                // A token of the template. Another may begin inside of it.
                None => seen = normalized.text.ceil_char_boundary(start + 1),
            }
        }
    }
}

/// Returns the place of the first visible character of `text` from `start` on.
fn visible(text: &str, start: usize) -> Option<usize> {
    let rest = text.get(start..)?;
    let blank = rest.find(|symbol: char| !symbol.is_whitespace())?;
    Some(start + blank)
}

/// Returns the whole characters that `range` of a normalized text comes from, in a text of `length` bytes.
///
/// If `ﬁ` at byte 1 becomes `fi`, then the range of the `i` comes from bytes 1 to 4.
fn origin(normalized: &NormalizedText, range: Range<usize>, length: usize) -> Range<usize> {
    let places = &normalized.places;
    let start = places.get(range.start).copied().unwrap_or(length);
    let last = places.get(range.end.saturating_sub(1)).copied().unwrap_or(length);
    let after = places.partition_point(|place| *place <= last);
    start..places.get(after).copied().unwrap_or(length)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use alloquy_core::tokenizer::{NormalizedText, Normalizer, SpecialToken};

    use super::LookAlikes;
    use crate::injection::texts::Voice;

    /// Writes small letters, splits `ﬁ`, removes soft hyphens and joins `>` with a stroke.
    #[derive(Debug)]
    struct Small([SpecialToken; 1]);

    impl Normalizer for Small {
        fn tokens(&self) -> &[SpecialToken] {
            &self.0
        }

        fn normalize(&self, text: &str) -> NormalizedText {
            let mut normalized = NormalizedText::default();
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

    fn look_alikes(token: &str) -> LookAlikes {
        let normalizer = Small([SpecialToken { text: token.to_owned(), id: 1 }]);
        LookAlikes::new(Arc::new(normalizer), &BTreeSet::from([1])).unwrap()
    }

    fn starts(look_alikes: &LookAlikes, voice: Voice, text: &str) -> Vec<usize> {
        BTreeSet::from_iter(look_alikes.starts(voice, text)).into_iter().collect()
    }

    #[test]
    fn starts_are_places_of_the_text_before_normalization() {
        let look_alikes = look_alikes("<fin>");
        assert_eq!(starts(&look_alikes, Voice::Other, "é <ﬁN>"), [3]);
        assert_eq!(starts(&look_alikes, Voice::Other, "<\u{AD}f\u{AD}in>"), [0]);
        assert_eq!(starts(&look_alikes, Voice::Other, "a <\u{AD}Fi"), [2]);
        assert_eq!(starts(&look_alikes, Voice::Name, "ﬁN"), [3]);
        assert_eq!(starts(&look_alikes, Voice::Other, "<F/no_thinkin>"), [0]);
        assert_eq!(starts(&look_alikes, Voice::Other, "\u{338}"), [0]);
        assert_eq!(starts(&look_alikes, Voice::Other, "ﬁn"), [0; 0]);
    }

    #[test]
    fn white_space_is_never_marked() {
        let look_alikes = look_alikes("<a▁b>");
        assert_eq!(starts(&look_alikes, Voice::Other, " "), [0; 0]);
        assert_eq!(starts(&look_alikes, Voice::Other, " b>"), [1, 2]);
        assert_eq!(starts(&look_alikes, Voice::Other, "x <a "), [2]);
    }

    #[test]
    fn whole_characters_are_marked() {
        let look_alikes = look_alikes("<f");
        assert_eq!(look_alikes.marked("a<ﬁ><ﬁ>", &[6], &[]), [(6, 6..10)]);
        assert_eq!(
            look_alikes.marked("a<ﬁ><ﬁ>", &[1, 6], &[std::ops::Range { start: 1, end: 5 }]),
            [(6, 6..10)]
        );
        assert_eq!(look_alikes.marked("a<\u{AD}F>", &[0], &[]), []);
    }

    #[test]
    fn a_character_that_joins_to_the_end_of_a_token_is_cut_off() {
        let look_alikes = look_alikes("<fin>");
        assert_eq!(look_alikes.marked("<fin>\u{338}", &[5], &[]), [(5, 5..7)]);
    }

    #[test]
    fn only_control_tokens_are_looked_for() {
        let normalizer = Small([SpecialToken { text: "<b>".to_owned(), id: 1 }]);
        assert!(LookAlikes::new(Arc::new(normalizer), &BTreeSet::from([2])).is_none());
    }
}
