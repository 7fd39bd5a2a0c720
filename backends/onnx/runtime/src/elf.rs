//! Checks that the file of a library is complete, by the lengths in its ELF header.
//!
//! Linux maps a library without a look at its length: a truncated one ends the process with a signal at the first missing
//! page. Other systems compare the length and refuse the file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::error::{LocateError, Result, io_error};

/// The type of a segment that is mapped from the file (`PT_LOAD`).
const LOAD: u64 = 1;

/// Where the numbers of a header are, which depends on the width of addresses.
struct Layout {
    /// The field with the place of the table of segments.
    table: usize,
    /// The field with the length of an entry; the number of entries follows it.
    entry: usize,
    /// The fields of an entry with the segment's place in the file and its length there.
    offset: usize,
    length: usize,
    /// How many bytes these numbers have.
    width: usize,
    /// How many bytes the header has.
    header: u64,
}

const WIDE: Layout = Layout { table: 32, entry: 54, offset: 8, length: 32, width: 8, header: 64 };
const NARROW: Layout = Layout { table: 28, entry: 42, offset: 4, length: 16, width: 4, header: 52 };

/// Refuses a library that is shorter than its header requires.
pub(crate) fn check(path: &Path) -> Result<()> {
    let (bytes, needed) = lengths(path).map_err(io_error("read", path))?;
    if bytes < needed {
        return Err(LocateError::Truncated { path: path.to_owned(), bytes, needed });
    }
    Ok(())
}

/// Returns how many bytes a file has, and how many it needs.
fn lengths(path: &Path) -> io::Result<(u64, u64)> {
    let mut file = File::open(path)?;
    let bytes = file.metadata()?.len();
    Ok((bytes, needed(&mut file)?))
}

/// Returns how many bytes a file needs; 0 for one that is not an ELF file, which fails when it is loaded.
fn needed(file: &mut (impl Read + Seek)) -> io::Result<u64> {
    let mut header = Vec::new();
    file.by_ref().take(64).read_to_end(&mut header)?;
    // The magic number, the width of addresses (2: 64 bits, 1: 32 bits), and the byte order (1: little-endian).
    let layout = match header.get(..6) {
        Some([0x7F, b'E', b'L', b'F', 2, 1]) => WIDE,
        Some([0x7F, b'E', b'L', b'F', 1, 1]) => NARROW,
        _ => return Ok(0),
    };
    let table = number(&header, layout.table, layout.width);
    let entry = number(&header, layout.entry, 2);
    let count = number(&header, layout.entry + 2, 2);
    // At most 2^16 entries of 2^16 bytes, so the product cannot overflow.
    let end = table.saturating_add(entry * count);
    let mut entries = Vec::new();
    file.seek(SeekFrom::Start(table))?;
    file.take(entry * count).read_to_end(&mut entries)?;
    let mut needed = end.max(layout.header);
    for segment in entries.chunks_exact((entry as usize).max(1)) {
        if number(segment, 0, 4) == LOAD {
            let offset = number(segment, layout.offset, layout.width);
            let length = number(segment, layout.length, layout.width);
            needed = needed.max(offset.saturating_add(length));
        }
    }
    Ok(needed)
}

/// Returns the little-endian number of `width` bytes at a place; missing bytes are zero.
fn number(bytes: &[u8], at: usize, width: usize) -> u64 {
    let taken = bytes.iter().skip(at).take(width).rev();
    taken.fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// Returns a header and a table of one segment.
    fn library(offset: u64, length: u64) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..6].copy_from_slice(&[0x7F, b'E', b'L', b'F', 2, 1]);
        bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
        bytes[54..56].copy_from_slice(&56_u16.to_le_bytes());
        bytes[56..58].copy_from_slice(&1_u16.to_le_bytes());
        bytes[64] = 1;
        bytes[72..80].copy_from_slice(&offset.to_le_bytes());
        bytes[96..104].copy_from_slice(&length.to_le_bytes());
        bytes
    }

    fn needed_of(bytes: Vec<u8>) -> u64 {
        needed(&mut Cursor::new(bytes)).unwrap()
    }

    #[test]
    fn a_file_needs_the_length_of_its_last_segment() {
        assert_eq!(needed_of(library(4096, 10)), 4106);
        assert_eq!(needed_of(library(0, 10)), 120, "the table of segments counts too");
        assert_eq!(needed_of(library(u64::MAX, u64::MAX)), u64::MAX);
        assert_eq!(needed_of(b"no library".to_vec()), 0);
        assert_eq!(needed_of(Vec::new()), 0);
    }

    #[test]
    fn no_header_makes_reading_fail() {
        for place in 0..120 {
            for byte in [0, 1, 0x7F, 0x80, 0xFF] {
                let mut bytes = library(4096, 10);
                bytes[place] = byte;
                for length in [place, 64, 120] {
                    let _ = needed(&mut Cursor::new(&bytes[..length])).unwrap();
                }
            }
        }
    }
}
