//! Whether the file of a library is all there. Knows of ELF what says how long a file must be.
//!
//! Linux maps a library without asking for its length: one that was cut ends the process with a signal at the first page that is
//! not there. Other systems compare and refuse.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::error::{LocateError, Result, io_error};

/// A part of the file that is mapped.
const LOAD: u64 = 1;

/// Where the numbers of a header are, which depends on how wide addresses are.
struct Layout {
    /// The place of the first entry of the table of parts.
    table: usize,
    /// How long an entry is; how many there are comes after it.
    entry: usize,
    /// In an entry: where a part begins in the file, and how long it is there.
    offset: usize,
    length: usize,
    /// How many bytes such numbers have.
    width: usize,
    /// How many bytes the header has.
    header: u64,
}

const WIDE: Layout = Layout { table: 32, entry: 54, offset: 8, length: 32, width: 8, header: 64 };
const NARROW: Layout = Layout { table: 28, entry: 42, offset: 4, length: 16, width: 4, header: 52 };

/// Refuses a library that is shorter than it says.
pub(crate) fn check(path: &Path) -> Result<()> {
    let look = || -> io::Result<(u64, u64)> {
        let mut file = File::open(path)?;
        let bytes = file.metadata()?.len();
        Ok((bytes, needed(&mut file)?))
    };
    let (bytes, needed) = look().map_err(io_error("read", path))?;
    if bytes < needed {
        return Err(LocateError::Cut { path: path.to_owned(), bytes, needed });
    }
    Ok(())
}

/// Returns how many bytes a file has to have; 0 for one that is no ELF file, which says so when it is loaded.
fn needed(file: &mut (impl Read + Seek)) -> io::Result<u64> {
    let mut header = Vec::new();
    file.by_ref().take(64).read_to_end(&mut header)?;
    // Its magic number, how wide addresses are, and that the lowest byte of a number comes first.
    let layout = match header.get(..6) {
        Some([0x7F, b'E', b'L', b'F', 2, 1]) => WIDE,
        Some([0x7F, b'E', b'L', b'F', 1, 1]) => NARROW,
        _ => return Ok(0),
    };
    let [table, entry, count] = [
        number(&header, layout.table, layout.width),
        number(&header, layout.entry, 2),
        number(&header, layout.entry + 2, 2),
    ];
    // At most 2^16 entries of 2^16 bytes: nothing overflows that does not say so.
    let end = table.saturating_add(entry * count);
    let mut entries = Vec::new();
    file.seek(SeekFrom::Start(table))?;
    file.take(entry * count).read_to_end(&mut entries)?;
    let mut needed = end.max(layout.header);
    for part in entries.chunks_exact((entry as usize).max(1)) {
        if number(part, 0, 4) == LOAD {
            let (offset, length) =
                (number(part, layout.offset, layout.width), number(part, layout.length, layout.width));
            needed = needed.max(offset.saturating_add(length));
        }
    }
    Ok(needed)
}

/// Returns the number of so many bytes at a place; what is not there is zero.
fn number(bytes: &[u8], at: usize, width: usize) -> u64 {
    let taken = bytes.iter().skip(at).take(width).rev();
    taken.fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A header and a table of one part.
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

    #[test]
    fn a_file_has_to_be_as_long_as_its_last_part() {
        let of = |bytes: Vec<u8>| needed(&mut Cursor::new(bytes)).unwrap();
        assert_eq!(of(library(4096, 10)), 4106);
        assert_eq!(of(library(0, 10)), 120, "the table of parts counts too");
        assert_eq!(of(library(u64::MAX, u64::MAX)), u64::MAX);
        assert_eq!(of(b"no library".to_vec()), 0);
        assert_eq!(of(Vec::new()), 0);
    }

    #[test]
    fn whatever_a_header_says_is_read() {
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
