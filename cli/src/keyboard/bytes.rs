//! Bytes that are typed, made whole characters: an editor ends at a byte that is no UTF-8.

/// Cleans a stream of bytes piece by piece.
#[derive(Debug, Default)]
pub(super) struct Cleaner {
    /// The beginning of a character whose rest has not arrived.
    begun: Vec<u8>,
}

impl Cleaner {
    /// Returns the characters that are whole by now. What is no UTF-8 is U+FFFD, and so is a control character beyond ASCII,
    /// which no key writes and a terminal would obey when it is shown.
    pub(super) fn clean(&mut self, bytes: &[u8]) -> String {
        let mut rest = std::mem::take(&mut self.begun);
        rest.extend_from_slice(bytes);
        let mut cleaned = String::new();
        let mut chunks = rest.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            let shown = |character| match character {
                '\u{80}'..='\u{9F}' => char::REPLACEMENT_CHARACTER,
                character => character,
            };
            cleaned.extend(chunk.valid().chars().map(shown));
            let is_last = chunks.peek().is_none();
            if is_last && is_beginning(chunk.invalid()) {
                self.begun = chunk.invalid().to_vec();
            } else if !chunk.invalid().is_empty() {
                cleaned.push(char::REPLACEMENT_CHARACTER);
            }
        }
        cleaned
    }
}

/// Says whether more bytes could make this a character.
fn is_beginning(bytes: &[u8]) -> bool {
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
