//! What counts the tokens of a text.

use unicode_segmentation::UnicodeSegmentation as _;

/// Counts the tokens of a text.
pub(super) type Count = dyn Fn(&str) -> usize + Send + Sync;

/// Counts words and punctuation marks. Long ones, and long white space, count once for each 16 characters, so that a limit of tokens limits
/// the length of any text.
pub(super) fn count_words(text: &str) -> usize {
    let mut count = 0;
    for segment in text.split_word_bounds() {
        let characters = segment.chars().count();
        count += if segment.trim().is_empty() { characters / 16 } else { characters.div_ceil(16) };
    }
    count
}
