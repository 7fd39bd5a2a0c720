//! The words of a segment as a file.
//!
//! All numbers are of [`varint`]: how many rows; how many words each has; how many different words; for each, in their order: its
//! bytes with their number before, how many rows have it, and for each of these its distance from the row before and how often it has the word.

use super::varint;
use crate::postings::{Posting, Postings};

/// The first bytes: what it is, and the version of its layout.
const MAGIC: &[u8; 8] = b"ALQWRD\x00\x01";

/// Returns the words of rows as a file has them.
pub(super) fn write(postings: &Postings) -> Vec<u8> {
    let (words, lengths) = postings.parts();
    let mut bytes = MAGIC.to_vec();
    varint::write(&mut bytes, number(lengths.len()));
    for &length in lengths {
        varint::write(&mut bytes, length);
    }
    varint::write(&mut bytes, number(words.len()));
    for (word, postings) in words {
        varint::write(&mut bytes, number(word.len()));
        bytes.extend(word.as_bytes());
        varint::write(&mut bytes, number(postings.len()));
        let mut next = 0;
        for posting in postings {
            varint::write(&mut bytes, posting.row - next);
            varint::write(&mut bytes, posting.count);
            next = posting.row + 1;
        }
    }
    bytes
}

/// Adds the rows of a file to those that are there. `None` if the file is damaged; then some may have been added.
pub(super) fn read(mut bytes: &[u8], rows: usize, postings: &mut Postings) -> Option<()> {
    let bytes = &mut bytes;
    let first = number(postings.rows());
    if varint::take(bytes, MAGIC.len())? != MAGIC || varint::read(bytes)? != number(rows) {
        return None;
    }
    let mut lengths = Vec::new();
    for _ in 0..rows {
        lengths.push(varint::read(bytes)?);
    }
    postings.extend_lengths(&lengths);
    for _ in 0..varint::read(bytes)? {
        let length = varint::read(bytes)? as usize;
        let word = std::str::from_utf8(varint::take(bytes, length)?).ok()?.to_owned();
        let mut list = Vec::new();
        let mut next: u32 = 0;
        for _ in 0..varint::read(bytes)? {
            let row = next.checked_add(varint::read(bytes)?)?;
            let count = varint::read(bytes)?;
            if row as usize >= rows {
                return None;
            }
            next = row + 1;
            list.push(Posting { row: first.checked_add(row)?, count });
        }
        postings.extend_word(word, list.into_iter());
    }
    bytes.is_empty().then_some(())
}

/// Rows and words are limited by memory long before this limit.
fn number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
