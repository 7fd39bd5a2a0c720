//! Finds the largest image of an icon if it is a PNG. The `image` crate decodes all other icons.

/// The lengths of the head of an icon's list, and of each entry.
const HEAD: usize = 6;
const ENTRY: usize = 16;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Returns the bytes of the largest image of an icon when that is a PNG.
pub(super) fn png(icon: &[u8]) -> Option<&[u8]> {
    let entries = icon.get(HEAD..)?.chunks_exact(ENTRY).take(count(icon)?);
    let largest = entries.max_by_key(|entry| area(entry))?;
    let length = number(largest, 8)?;
    let start = number(largest, 12)?;
    icon.get(start..start.checked_add(length)?).filter(|bytes| bytes.starts_with(PNG))
}

fn count(icon: &[u8]) -> Option<usize> {
    Some(usize::from(u16::from_le_bytes([*icon.get(4)?, *icon.get(5)?])))
}

/// Returns how many pixels an entry declares.
fn area(entry: &[u8]) -> usize {
    side(entry, 0) * side(entry, 1)
}

/// Returns a side of an entry's image, where 0 means 256.
fn side(entry: &[u8], at: usize) -> usize {
    match entry.get(at) {
        None | Some(0) => 256,
        Some(&side) => usize::from(side),
    }
}

fn number(entry: &[u8], at: usize) -> Option<usize> {
    let bytes = entry.get(at..at + 4)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(bytes)).ok()
}
