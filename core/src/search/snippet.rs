//! The piece of a text around the matches of a search.

use std::ops::Range;

use serde::{Serialize, Serializer};

/// A piece of a text around the matches of a search.
///
/// ```
/// use alloquy_core::{ConversationManager, Manager, Preface, Query};
/// use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let manager = Manager::new(EchoModel);
/// let conversation = manager.create(Preface::default()).await?;
/// conversation.add("A cup of green tea").await?;
/// let page = manager.search(&Query::default().text("green")?).await?;
/// let snippet = &page.hits[0].snippet;
/// let mut shown = snippet.text.clone();
/// for highlight in snippet.highlights.iter().rev() {
///     shown.insert(highlight.end, '*');
///     shown.insert(highlight.start, '*');
/// }
/// assert_eq!(shown, "A cup of *green* tea");
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Snippet {
    /// The piece, as it is in the text.
    pub text: String,
    /// The matches, in bytes of the piece.
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

/// The characters that are shown before the first match, and the most in all.
const BEFORE: usize = 40;
const SNIPPET: usize = 160;

/// The largest number of bytes in a snippet.
pub(super) const SNIPPET_BYTES: usize = 4 * SNIPPET;

impl Snippet {
    pub(super) fn of(text: &str, places: &[Range<usize>]) -> Self {
        let first = places.first().map_or(0, |place| place.start);
        let before = text.get(..first).unwrap_or_default();
        let start = before.char_indices().rev().take(BEFORE).last().map_or(first, |(index, _)| index);
        let rest = text.get(start..).unwrap_or_default();
        let end = rest.char_indices().nth(SNIPPET).map_or(rest.len(), |(index, _)| index);
        let piece = rest.get(..end).unwrap_or_default();
        let mut highlights = Vec::new();
        for place in places {
            // The first match is at the start, so no match begins before it. Matches after the end are left out.
            let highlight = place.start.saturating_sub(start)..place.end.saturating_sub(start).min(end);
            if highlight.start < highlight.end {
                highlights.push(highlight);
            }
        }
        Self { text: piece.to_owned(), highlights, offset: start, length: text.len() }
    }
}
