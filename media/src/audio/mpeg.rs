//! Whether a stream of MPEG audio says how many frames it has: without that, nothing tells that it was cut between two of them.

/// What may stand in the first frame: LAME's tag, for streams of one bit rate and of many, and Fraunhofer's. Each may count the
/// frames.
const TAGS: [&[u8; 4]; 3] = [b"Info", b"Xing", b"VBRI"];
/// How long a frame's header is, which begins with eleven ones.
const HEADER: usize = 4;
/// How long the side information is between the header and a tag, by the version and the number of channels.
const SIDE_INFORMATION: [usize; 3] = [9, 17, 32];
/// How many bytes may lie before the end of the first frame, which has 2880 at most.
const HEAD: usize = 4096;

/// Says whether there is a tag; what it counts is the demuxer's to read.
pub(super) fn has_tag(bytes: &[u8]) -> bool {
    let frames = behind_id3(bytes);
    let head = frames.get(..HEAD).unwrap_or(frames);
    let is_header = |at: usize| matches!(head.get(at..), Some([0xff, 0xe0..=0xff, ..]));
    let mut tags = head.windows(4).enumerate().filter(|(_, window)| TAGS.iter().any(|tag| tag == window));
    tags.any(|(at, _)| {
        SIDE_INFORMATION.iter().any(|side| at.checked_sub(HEADER + side).is_some_and(is_header))
    })
}

/// What lies behind ID3 tags: their header has ten bytes, of which the last four have seven bits of the length each.
fn behind_id3(bytes: &[u8]) -> &[u8] {
    match bytes {
        [b'I', b'D', b'3', _, _, _, length @ ..] if length.len() >= 4 => {
            let (length, rest) = length.split_at(4);
            let length = length.iter().fold(0, |sum, byte| sum << 7 | usize::from(byte & 0x7f));
            behind_id3(rest.get(length..).unwrap_or_default())
        }
        _ => bytes,
    }
}
