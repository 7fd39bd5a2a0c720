//! Checks the first directory of a TIFF before the decoder reads it: the decoder takes 32 bytes for each number in a tag.

use alloquy_core::{Error, Result};
use image::ImageFormat;

use crate::image::damaged::damaged;

/// How many numbers a tag that the decoder reads may have. An image has no more strips than rows.
const MOST: u64 = 1 << 20;

/// The first of the private tags, such as colour profiles, which are not read.
const FOREIGN: u64 = 32_768;

/// Texts and metadata that are not read: the description, and XMP.
const UNREAD: [u64; 2] = [270, 700];

/// Refuses a directory with more numbers than an image can have strips. The decoder refuses a malformed directory.
///
/// # Errors
/// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) for more than 2²⁰ numbers in a tag.
pub(super) fn check(file: &[u8]) -> Result<()> {
    let Some(entries) = Entries::of(file) else { return Ok(()) };
    for (tag, count) in entries {
        if count > MOST && tag < FOREIGN && !UNREAD.contains(&tag) {
            return Err(too_many(tag, count));
        }
    }
    Ok(())
}

fn too_many(tag: u64, count: u64) -> Error {
    damaged(ImageFormat::Tiff, format!("its tag {tag} has {count} numbers, and the limit is {MOST}"))
}

/// Tags, and how many numbers each says that it has.
struct Entries<'a> {
    entries: std::slice::ChunksExact<'a, u8>,
    order: Order,
}

impl<'a> Entries<'a> {
    fn of(file: &'a [u8]) -> Option<Self> {
        let order = match file.get(..2)? {
            b"II" => Order { little: true, wide: false },
            b"MM" => Order { little: false, wide: false },
            _ => return None,
        };
        let order = Order { wide: order.number(file, 2, 2)? == 43, ..order };
        // Classic files have offsets of 4 bytes and entries of 12, large ones of 8 and 20.
        let (at, width, head, entry) = if order.wide { (8, 8, 8, 20) } else { (4, 4, 2, 12) };
        let start = usize::try_from(order.number(file, at, width)?).ok()?;
        let count = usize::try_from(order.number(file, start, head)?).ok()?;
        let all = file.get(start.checked_add(head)?..)?;
        let length = count.saturating_mul(entry).min(all.len());
        Some(Self { entries: all.get(..length)?.chunks_exact(entry), order })
    }
}

impl Iterator for Entries<'_> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        let entry = self.entries.next()?;
        let width = if self.order.wide { 8 } else { 4 };
        Some((self.order.number(entry, 0, 2)?, self.order.number(entry, 4, width)?))
    }
}

/// The order of bytes in a number, and whether the file is a BigTIFF.
#[derive(Clone, Copy)]
struct Order {
    little: bool,
    wide: bool,
}

impl Order {
    fn number(self, bytes: &[u8], at: usize, width: usize) -> Option<u64> {
        let bytes = bytes.get(at..at.checked_add(width)?)?;
        let mut number = 0;
        for (index, byte) in bytes.iter().enumerate() {
            let place = if self.little { index } else { width - 1 - index };
            number |= u64::from(*byte) << (8 * place);
        }
        Some(number)
    }
}
