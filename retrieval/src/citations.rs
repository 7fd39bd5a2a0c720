//! The numbers by which a reply cites passages.

use std::ops::Range;

/// A citation in a reply, such as `[1]`.
///
/// [`citations`] finds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Citation {
    /// Where it is in the text, in bytes, with its brackets. The numbers of `[1, 2]` have the same place.
    pub place: Range<usize>,
    /// The number, from 1.
    pub number: usize,
}

impl Citation {
    /// Returns the passage that is cited, of those that the prompt had; `None` for a number that no passage has.
    ///
    /// ```
    /// use alloquy_retrieval::citations;
    ///
    /// let passages = ["Tea is grown in Assam."];
    /// let found = citations("In Assam [1], or in Kent [7].");
    /// assert_eq!(found[0].of(&passages), Some(&"Tea is grown in Assam."));
    /// assert_eq!(found[1].of(&passages), None);
    /// ```
    pub fn of<'a, P>(&self, passages: &'a [P]) -> Option<&'a P> {
        passages.get(self.number.checked_sub(1)?)
    }
}

/// Finds the citations in a text: numbers in square brackets, alone or with commas between them.
///
/// ```
/// use alloquy_retrieval::citations;
///
/// let text = "In Assam [1], and since 1839 [2, 3].";
/// let found = citations(text);
/// let numbers: Vec<_> = found.iter().map(|citation| citation.number).collect();
/// assert_eq!(numbers, [1, 2, 3]);
/// assert_eq!(&text[found[1].place.clone()], "[2, 3]");
/// assert!(citations("a[i], [x](y), [1](link), []").is_empty());
/// ```
pub fn citations(text: &str) -> Vec<Citation> {
    let mut found = Vec::new();
    for (start, _) in text.match_indices('[') {
        let inside = text.get(start + 1..).unwrap_or_default();
        let Some((numbers, after)) = inside.split_once(']') else { break };
        // `[1](address)` is a link.
        if after.starts_with('(') {
            continue;
        }
        let place = start..start + numbers.len() + 2;
        let numbers: Option<Vec<usize>> = numbers.split(',').map(number).collect();
        for number in numbers.into_iter().flatten() {
            found.push(Citation { place: place.clone(), number });
        }
    }
    found
}

/// Reads a number of at most six digits, not zero.
fn number(text: &str) -> Option<usize> {
    let text = text.trim();
    let is_number = (1..=6).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_number && *number > 0)
}
