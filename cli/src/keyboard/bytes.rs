//! Joins typed bytes to whole characters: a line editor ends at a byte that is no UTF-8.

/// Cleans a stream of bytes piece by piece.
#[derive(Debug, Default)]
pub(super) struct Cleaner {
    /// The first bytes of a character whose rest has not arrived.
    incomplete: Vec<u8>,
}

impl Cleaner {
    /// Returns the characters that are complete. Bytes that are no UTF-8 become U+FFFD, and so does a control character beyond
    /// ASCII, which no key types and which a terminal would obey when it is echoed.
    pub(super) fn clean(&mut self, bytes: &[u8]) -> String {
        let mut rest = std::mem::take(&mut self.incomplete);
        rest.extend_from_slice(bytes);
        let mut cleaned = String::new();
        let mut chunks = rest.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            for character in chunk.valid().chars() {
                let is_control = ('\u{80}'..='\u{9F}').contains(&character);
                cleaned.push(if is_control { char::REPLACEMENT_CHARACTER } else { character });
            }
            let is_last = chunks.peek().is_none();
            if is_last && is_incomplete(chunk.invalid()) {
                self.incomplete = chunk.invalid().to_vec();
            } else if !chunk.invalid().is_empty() {
                cleaned.push(char::REPLACEMENT_CHARACTER);
            }
        }
        cleaned
    }
}

/// Returns whether more bytes could complete this to a character.
fn is_incomplete(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_way_of_cutting_gives_the_same_characters() {
        let bytes = [b"a\xc3\xbc\r\xff\xe2\x82".as_slice(), "€👩‍👧\u{9b}2J".as_bytes()].concat();
        let whole = Cleaner::default().clean(&bytes);
        assert_eq!(whole, "aü\r\u{FFFD}\u{FFFD}€👩‍👧\u{FFFD}2J");
        for cut in 0..bytes.len() {
            let mut cleaner = Cleaner::default();
            let (first, second) = bytes.split_at(cut);
            assert_eq!(cleaner.clean(first) + &cleaner.clean(second), whole, "cut at {cut}");
        }
        let mut cleaner = Cleaner::default();
        let one_by_one: String = bytes.iter().map(|byte| cleaner.clean(&[*byte])).collect();
        assert_eq!(one_by_one, whole);
    }
}
