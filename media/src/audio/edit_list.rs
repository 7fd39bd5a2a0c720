//! Reads how many samples an MP4 file's edit list leaves out of the beginning of its audio, where an encoder puts its padding. The
//! demuxer does not apply the list.

/// The boxes from a track to its edit list.
const PATH: [&[u8; 4]; 2] = [b"edts", b"elst"];

/// Returns how many samples of a track lie before its beginning; 0 where the file does not say, or is no MP4.
///
/// Times of an edit list are in the unit of the track, which for audio is the sample almost always.
pub(super) fn samples_before(bytes: &[u8], track: u32) -> u64 {
    let moov = Boxes(bytes).find(|(kind, _)| kind == b"moov").map(|(_, moov)| moov);
    let mut traks = moov.into_iter().flat_map(Boxes).filter(|(kind, _)| kind == b"trak");
    let trak = traks.find(|(_, trak)| track_id(trak) == Some(track)).map(|(_, trak)| trak);
    trak.and_then(|trak| inner(trak, &PATH)).and_then(media_time).unwrap_or_default()
}

fn track_id(trak: &[u8]) -> Option<u32> {
    let header = inner(trak, &[b"tkhd"])?;
    // Version 1 has its times in 64 bits.
    number(header, if header.first() == Some(&1) { 20 } else { 12 })
}

/// The time at which the first edit that is not empty begins.
fn media_time(list: &[u8]) -> Option<u64> {
    let entries = list.get(8..)?;
    let times: Vec<i64> = if list.first() == Some(&1) {
        // Version 1 has durations and times of 64 bits.
        entries.chunks_exact(20).filter_map(|entry| Some(wide_number(entry, 8)? as i64)).collect()
    } else {
        entries.chunks_exact(12).filter_map(|entry| Some(i64::from(number(entry, 4)? as i32))).collect()
    };
    // An empty edit, which only delays the audio, has the time -1.
    times.into_iter().find_map(|time| u64::try_from(time).ok())
}

fn inner<'a>(bytes: &'a [u8], path: &[&[u8; 4]]) -> Option<&'a [u8]> {
    path.iter().try_fold(bytes, |bytes, kind| {
        Boxes(bytes).find(|(found, _)| found == *kind).map(|(_, content)| content)
    })
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_be_bytes)
}

fn wide_number(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from(number(bytes, at)?) << 32 | u64::from(number(bytes, at + 4)?))
}

/// The boxes that follow each other in a file or in a box.
struct Boxes<'a>(&'a [u8]);

impl<'a> Iterator for Boxes<'a> {
    type Item = ([u8; 4], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let kind = self.0.get(4..8)?.try_into().ok()?;
        let (header, length) = match number(self.0, 0)? {
            0 => (8, self.0.len()),
            1 => (16, usize::try_from(wide_number(self.0, 8)?).ok()?),
            length => (8, length as usize),
        };
        let content = self.0.get(header..length)?;
        self.0 = self.0.get(length..)?;
        Some((kind, content))
    }
}
