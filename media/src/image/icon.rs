//! The largest picture of an icon, where it is stored as a PNG of any kind. Other icons are left to the reader of the format.

/// How long the head of an icon's list is, and each entry.
const HEAD: usize = 6;
const ENTRY: usize = 16;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Returns the bytes of the largest picture of an icon when that is a PNG.
pub(super) fn png(icon: &[u8]) -> Option<&[u8]> {
    let entries = icon.get(HEAD..)?.chunks_exact(ENTRY).take(count(icon)?);
    let largest = entries.max_by_key(|entry| area(entry))?;
    let (length, start) = (number(largest, 8)?, number(largest, 12)?);
    icon.get(start..start.checked_add(length)?).filter(|bytes| bytes.starts_with(PNG))
}

fn count(icon: &[u8]) -> Option<usize> {
    Some(usize::from(u16::from_le_bytes([*icon.get(4)?, *icon.get(5)?])))
}

/// How many pixels an entry says it has; 0 stands for 256.
fn area(entry: &[u8]) -> usize {
    let side = |byte: Option<&u8>| match byte.copied().unwrap_or_default() {
        0 => 256,
        side => usize::from(side),
    };
    side(entry.first()) * side(entry.get(1))
}

fn number(entry: &[u8], at: usize) -> Option<usize> {
    let bytes = entry.get(at..at + 4)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(bytes)).ok()
}
