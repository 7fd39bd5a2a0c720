//! The passages that have a word, in blocks of bytes that any database stores.
//!
//! A block has the key of its first passage as its name. Its bytes are three numbers for each passage: how far its key is from the one
//! before, how often it has the word, and how many words it has. A number takes one byte up to 127, and two up to 16,383:
//!
//! ```text
//! first 40:  0 2 80  3 1 95     passage 40 has the word twice among 80, passage 43 once among 95
//! ```

use std::collections::HashSet;

/// About how many bytes a block has at most: with the columns of its key it fits a page of any database. Adding a passage replaces the
/// last block of each of its words.
const MOST: usize = 1_024;

/// A passage that has a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Posting {
    pub(crate) passage: i64,
    pub(crate) count: u32,
    /// How many words the passage has.
    pub(crate) length: u32,
}

/// Passages in the order of their keys, as they are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) first: i64,
    pub(crate) bytes: Vec<u8>,
}

impl Block {
    /// Adds the passages of the block to a list. `None` if it is damaged.
    pub(crate) fn read(&self, postings: &mut Vec<Posting>) -> Option<()> {
        let mut bytes = self.bytes.as_slice();
        let mut passage = self.first;
        while !bytes.is_empty() {
            let distance = i64::try_from(take(&mut bytes)?).ok()?;
            passage = passage.checked_add(distance)?;
            let count = u32::try_from(take(&mut bytes)?).ok()?;
            let length = u32::try_from(take(&mut bytes)?).ok()?;
            postings.push(Posting { passage, count, length });
        }
        Some(())
    }
}

/// Writes passages, in the order of their keys, as blocks.
pub(crate) fn blocks(postings: &[Posting]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut before = 0;
    for posting in postings {
        let is_full = blocks.last().is_none_or(|block| block.bytes.len() >= MOST);
        if is_full {
            blocks.push(Block { first: posting.passage, bytes: Vec::new() });
            before = posting.passage;
        }
        if let Some(block) = blocks.last_mut() {
            put(&mut block.bytes, posting.passage.abs_diff(before));
            put(&mut block.bytes, posting.count.into());
            put(&mut block.bytes, posting.length.into());
        }
        before = posting.passage;
    }
    blocks
}

/// Writes the keys of removed passages, which blocks may still have.
pub(crate) fn write_keys(keys: &HashSet<i64>) -> Vec<u8> {
    let mut sorted: Vec<i64> = keys.iter().copied().collect();
    sorted.sort_unstable();
    let mut bytes = Vec::new();
    let mut before = 0_i64;
    for key in sorted {
        put(&mut bytes, key.abs_diff(before));
        before = key;
    }
    bytes
}

/// Reads what [`write_keys`] wrote. `None` if it is damaged.
pub(crate) fn read_keys(mut bytes: &[u8]) -> Option<HashSet<i64>> {
    let mut keys = HashSet::new();
    let mut key = 0_i64;
    while !bytes.is_empty() {
        key = key.checked_add(i64::try_from(take(&mut bytes)?).ok()?)?;
        keys.insert(key);
    }
    Some(keys)
}

/// Adds a number: seven bits a byte, the low ones first, and a mark on each byte but the last.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::{Block, Posting, blocks, read_keys, write_keys};

    proptest! {
        #[test]
        fn blocks_read_back(steps in prop::collection::vec((1_i64..1 << 40, any::<u32>(), any::<u32>()), 0..500)) {
            let mut passage = 0;
            let mut postings = Vec::new();
            for (step, count, length) in steps {
                passage += step;
                postings.push(Posting { passage, count, length });
            }
            let mut again = Vec::new();
            for block in blocks(&postings) {
                block.read(&mut again).unwrap();
            }
            prop_assert_eq!(again, postings);
        }

        #[test]
        fn keys_read_back(keys in prop::collection::hash_set(0_i64..i64::MAX, 0..200)) {
            prop_assert_eq!(read_keys(&write_keys(&keys)), Some(keys));
        }

        #[test]
        fn any_bytes_are_read_or_damaged(first in any::<i64>(), bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _: Option<HashSet<i64>> = read_keys(&bytes);
            let _ = Block { first, bytes }.read(&mut Vec::new());
        }
    }
}
