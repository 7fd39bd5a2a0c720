//! The piece of a text that is shown of what was found. Knows places in a text; not what was searched for.

use std::ops::Range;

use serde::{Serialize, Serializer};

/// A piece of a text around what was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Snippet {
    /// The piece, as it stands in the text.
    pub text: String,
    /// What was found, in bytes of the piece.
    #[serde(serialize_with = "pairs")]
    pub highlights: Vec<Range<usize>>,
    /// Where in the text the piece begins, in bytes.
    pub offset: usize,
    /// How long the text is, in bytes.
    pub length: usize,
}

/// Writes ranges as pairs: the first byte, and the one after the last.
fn pairs<S: Serializer>(ranges: &[Range<usize>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(ranges.iter().map(|range| [range.start, range.end]))
}

/// How many characters of a text stand before the first thing found, and how many at most in all.
const BEFORE: usize = 40;
const SNIPPET: usize = 160;

/// How many bytes the characters of a snippet have at most.
pub(super) const SNIPPET_BYTES: usize = 4 * SNIPPET;

impl Snippet {
    pub(super) fn of(text: &str, places: &[Range<usize>]) -> Self {
        let first = places.first().map_or(0, |place| place.start);
        let before = text.get(..first).unwrap_or_default();
        let start = before.char_indices().rev().take(BEFORE).last().map_or(first, |(index, _)| index);
        let rest = text.get(start..).unwrap_or_default();
        let end = rest.char_indices().nth(SNIPPET).map_or(rest.len(), |(index, _)| index);
        let piece = rest.get(..end).unwrap_or_default();
        let inside = |place: &Range<usize>| {
            let place = place.start.checked_sub(start)?..place.end.checked_sub(start)?.min(end);
            (place.start < place.end).then_some(place)
        };
        Self {
            text: piece.to_owned(),
            highlights: places.iter().filter_map(inside).collect(),
            offset: start,
            length: text.len(),
        }
    }
}
