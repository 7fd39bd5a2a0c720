//! How long a WAV file says that its sound is: where nobody knew it when the header was written, where it is more than the header has
//! room for, and where the sound lies in blocks, of which the demuxer hands on whole ones alone.

use std::borrow::Cow;

use alloquy_core::Result;

use super::limits::invalid;
use crate::riff::{Chunk, Chunks};

/// Returns how many samples of `decoded` are the sound's, where a block has `length` of them.
///
/// The last block is filled up, and the `fact` chunk counts the samples before that. A count that does not end in the last
/// block is no count of these samples: some writers leave it at zero, others count every channel.
///
/// # Errors
/// [`alloquy_core::ErrorKind::Invalid`] for a file that ends in a block.
pub(super) fn samples(bytes: &[u8], decoded: usize, length: u64) -> Result<usize> {
    let chunk =
        |name: &[u8; 4]| Chunks::of_file(bytes).find(|chunk| chunk.name == *name).map(|chunk| chunk.content);
    let block = chunk(b"fmt ").and_then(|format| format.get(12..14)?.try_into().ok()).map(u16::from_le_bytes);
    let data = chunk(b"data").map_or(0, <[u8]>::len);
    if let Some(more) = block.and_then(|block| data.checked_rem(usize::from(block))).filter(|&more| more > 0)
    {
        let message = format!(
            "the sound is damaged: of its last block {more} bytes are there behind {decoded} samples"
        );
        return Err(invalid(message));
    }
    let counted =
        chunk(b"fact").and_then(|fact| fact.first_chunk()).map(|count| u32::from_le_bytes(*count) as usize);
    let before_last = decoded.saturating_sub(usize::try_from(length).unwrap_or(usize::MAX));
    Ok(counted.filter(|counted| (before_last + 1..=decoded).contains(counted)).unwrap_or(decoded))
}

/// The least length that is none: who writes to a pipe cannot go back to the header, and says that there is as much as there can be.
/// Programs differ by how much room they leave for the header itself.
const STREAMED: u64 = 0x7fff_f000;

/// What a WAV file says that it has of a sound, and has not: its samples end before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaveformCut {
    /// How many bytes of samples its header has that are not there.
    pub missing: u64,
    /// How many bytes of a last frame are there that is not whole; they are no sample and are left out.
    pub partial: u64,
}

/// A WAV file as the demuxer reads it, and what its header has that is not there.
pub(super) struct Whole<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    pub(super) cut: Option<WaveformCut>,
}

impl<'a> Whole<'a> {
    fn as_it_is(file: &'a [u8]) -> Self {
        Self { bytes: Cow::Borrowed(file), cut: None }
    }
}

/// Returns a WAV file as the demuxer reads it: one that was written to a pipe, one that was never closed, one that is shorter than
/// it says, and one of the kinds that may be larger than 4 GiB (RF64, BW64), gets a header with the length of what is there. Any
/// other file is returned as it is.
///
/// # Errors
/// [`alloquy_core::ErrorKind::Invalid`] for an RF64 file that has no lengths, or no samples where it says that there are some.
pub(super) fn with_length(file: &[u8]) -> Result<Whole<'_>> {
    let is_large = file.starts_with(b"RF64") || file.starts_with(b"BW64");
    if !(is_large || file.starts_with(b"RIFF")) || file.get(8..12) != Some(b"WAVE") {
        return Ok(Whole::as_it_is(file));
    }
    let mut kept = Vec::new();
    let mut large = None;
    for chunk in Chunks::of_file(file) {
        match &chunk.name {
            b"ds64" => large = chunk.content.get(8..16).and_then(|length| length.try_into().ok()),
            b"fmt " | b"fact" => kept.push(chunk),
            b"data" => {
                let length = if is_large { large.map(u64::from_le_bytes) } else { Some(chunk.length as u64) };
                let Some(length) = length else {
                    return Err(invalid("the sound is damaged: its header does not say how long it is"));
                };
                return rewritten(file, is_large, &kept, chunk, length);
            }
            _ => {}
        }
    }
    // What has no samples is left to the demuxer, which says so.
    Ok(Whole::as_it_is(file))
}

/// The file with a header of a known length, where it has none.
fn rewritten<'a>(
    file: &'a [u8],
    is_large: bool,
    kept: &[Chunk<'_>],
    data: Chunk<'a>,
    length: u64,
) -> Result<Whole<'a>> {
    let there = data.rest.len() as u64;
    let outer = file.get(4..8).and_then(|outer| outer.try_into().ok()).map_or(0, u32::from_le_bytes);
    let outer = u64::from(outer);
    // Whoever was to complete the header did not: the file says that it ends with it, or does not say where.
    let is_unclosed = !is_large
        && length == 0
        && there > 0
        && (outer >= STREAMED || outer + 8 <= file.len() as u64 - there);
    let is_unknown = is_unclosed || (length > there && length >= STREAMED);
    let taken = if is_unknown { there } else { length.min(there) };
    let partial = frame(kept).and_then(|frame| taken.checked_rem(frame)).unwrap_or(0);
    let missing = if is_unknown { 0 } else { length - taken };
    if missing > 0 && taken == partial {
        let message =
            format!("the sound is damaged: its header has {length} bytes of samples, and {there} are there");
        return Err(invalid(message));
    }
    let cut = Some(WaveformCut { missing, partial }).filter(|cut| *cut != WaveformCut::default());
    let end = file.len() as u64 - there + taken;
    if !is_large && !is_unknown && missing == 0 && outer + 8 >= end {
        return Ok(Whole { bytes: Cow::Borrowed(file), cut });
    }
    let samples = usize::try_from(taken - partial).unwrap_or(usize::MAX);
    let mut content = b"WAVE".to_vec();
    for Chunk { name, content: bytes, .. } in kept {
        // How many samples there were to be is no count of those that are there.
        if (missing == 0 && !is_unclosed) || name != b"fact" {
            append(&mut content, name, bytes);
        }
    }
    append(&mut content, b"data", data.rest.get(..samples).unwrap_or(data.rest));
    let mut file = Vec::with_capacity(content.len() + 8);
    append(&mut file, b"RIFF", &content);
    Ok(Whole { bytes: Cow::Owned(file), cut })
}

/// How many bytes a frame takes, a sample of each channel, where samples lie one by one: PCM, floating point, A-law, µ-law.
fn frame(chunks: &[Chunk<'_>]) -> Option<u64> {
    let format = chunks.iter().find(|chunk| chunk.name == *b"fmt ")?.content;
    let tag = u16::from_le_bytes(format.get(..2)?.try_into().ok()?);
    let length = u16::from_le_bytes(format.get(12..14)?.try_into().ok()?);
    matches!(tag, 1 | 3 | 6 | 7 | 0xfffe).then_some(u64::from(length))
}

fn append(file: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) {
    file.extend_from_slice(name);
    // A file that lies in memory and is longer than this is beyond every limit.
    file.extend(u32::try_from(content.len()).unwrap_or(u32::MAX).to_le_bytes());
    file.extend_from_slice(content);
    if content.len() % 2 == 1 {
        file.push(0);
    }
}
