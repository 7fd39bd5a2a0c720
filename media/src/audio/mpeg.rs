//! Finds out whether a stream of MPEG audio says how many frames it has. Without that, a cut between two frames cannot be detected.

/// The tags that a first frame may have: LAME's for a constant and for a variable bit rate, and Fraunhofer's. Each may count
/// the frames.
const TAGS: [&[u8; 4]; 3] = [b"Info", b"Xing", b"VBRI"];
/// The length of a frame's header, whose first eleven bits are ones.
const HEADER: usize = 4;
/// The lengths of the side information between the header and a tag, by the version and the number of channels.
const SIDE_INFORMATION: [usize; 3] = [9, 17, 32];
/// How many bytes are searched for a tag; a first frame has 2880 at most.
const HEAD: usize = 4096;

/// Returns whether there is a tag. The demuxer reads what it counts.
pub(super) fn has_tag(bytes: &[u8]) -> bool {
    let frames = after_id3(bytes);
    let head = frames.get(..HEAD).unwrap_or(frames);
    for (at, window) in head.windows(4).enumerate() {
        if TAGS.iter().any(|tag| *tag == window) && follows_header(head, at) {
            return true;
        }
    }
    false
}

/// Returns whether the side information of a frame ends where a tag begins.
fn follows_header(head: &[u8], tag: usize) -> bool {
    SIDE_INFORMATION.iter().any(|side| {
        let header = tag.checked_sub(HEADER + side).and_then(|start| head.get(start..));
        matches!(header, Some([0xff, 0xe0..=0xff, ..]))
    })
}

/// Returns the bytes after ID3 tags. Their header has ten bytes, and each of the last four has seven bits of the length.
fn after_id3(bytes: &[u8]) -> &[u8] {
    match bytes {
        [b'I', b'D', b'3', _, _, _, length @ ..] if length.len() >= 4 => {
            let (length, rest) = length.split_at(4);
            let length = length.iter().fold(0, |sum, byte| sum << 7 | usize::from(byte & 0x7f));
            after_id3(rest.get(length..).unwrap_or_default())
        }
        _ => bytes,
    }
}
