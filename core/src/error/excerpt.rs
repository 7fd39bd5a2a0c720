//! Shortens long texts for messages and logs.

use std::borrow::Cow;

/// How many bytes of the start and of the end of a long text are shown.
const SHOWN: (usize, usize) = (1200, 400);

/// Returns a text of up to 1,600 bytes as it is. In a longer text, the number of left-out characters replaces the
/// middle.
///
/// Error messages quote values of any length, and must stay readable in logs.
///
/// ```
/// use alloquy_core::error::excerpt;
///
/// assert_eq!(excerpt("tea"), "tea");
/// let long = excerpt(&"x".repeat(100_000)).into_owned();
/// assert!(long.contains("x […98400 characters more…] x"));
/// ```
pub fn excerpt(text: &str) -> Cow<'_, str> {
    let (start, end) = SHOWN;
    if text.len() <= start + end {
        return Cow::Borrowed(text);
    }
    let (start, rest) = text.split_at(text.floor_char_boundary(start));
    let (left_out, end) = rest.split_at(rest.ceil_char_boundary(rest.len().saturating_sub(end)));
    Cow::Owned(format!("{start} […{} characters more…] {end}", left_out.chars().count()))
}

#[cfg(test)]
mod tests {
    use super::excerpt;

    #[test]
    fn characters_stay_whole_and_are_counted() {
        for (text, shown) in [("é".repeat(800), 800), ("é".repeat(801), 800), ("€".repeat(50_000), 533)] {
            let short = excerpt(&text);
            let sign = text.chars().next().unwrap();
            let count = short.chars().filter(|character| *character == sign).count();
            assert_eq!(count, shown);
            assert!(short.len() < 1_700, "{}", short.len());
            let more = text.chars().count() - shown;
            assert_eq!(short.contains(&format!("[…{more} characters more…]")), more > 0, "{short}");
        }
    }
}
