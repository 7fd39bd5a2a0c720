//! Corrects the length that a WAV file's header declares. The header may have been written before the length was known, or the
//! length may be too large for it. Where samples are stored in blocks, the demuxer reads only whole blocks.

use std::borrow::Cow;

use alloquy_core::Result;

use super::limits::invalid;
use crate::riff::{Chunk, Chunks};

/// Returns how many of the `decoded` samples are audio, where a block has `length` of them.
///
/// The last block is padded, and the `fact` chunk counts the samples without the padding. A count that does not end in the last
/// block is ignored: some writers leave it at zero, others count every channel.
///
/// # Errors
/// [`alloquy_core::ErrorKind::Invalid`] for a file that ends within a block.
pub(super) fn samples(bytes: &[u8], decoded: usize, length: u64) -> Result<usize> {
    let format = content(bytes, b"fmt ");
    let block = format.and_then(|format| format.get(12..14)?.try_into().ok()).map_or(0, u16::from_le_bytes);
    let data = content(bytes, b"data").map_or(0, <[u8]>::len);
    let partial = data.checked_rem(usize::from(block)).unwrap_or(0);
    if partial > 0 {
        let message =
            format!("the audio is damaged: its last block has {partial} bytes after {decoded} samples");
        return Err(invalid(message));
    }
    let Some(count) = content(bytes, b"fact").and_then(|fact| fact.first_chunk()) else { return Ok(decoded) };
    let count = u32::from_le_bytes(*count) as usize;
    let before_last = decoded.saturating_sub(usize::try_from(length).unwrap_or(usize::MAX));
    Ok(if count > before_last && count <= decoded { count } else { decoded })
}

/// Returns the content of the first chunk with a name.
fn content<'a>(file: &'a [u8], name: &[u8; 4]) -> Option<&'a [u8]> {
    Chunks::of_file(file).find(|chunk| chunk.name == *name).map(|chunk| chunk.content)
}

/// The least length that means an unknown one. A program that writes to a pipe cannot return to the header, and declares the
/// greatest length that fits. Programs differ in how much of it they leave for the header itself.
const STREAMED: u64 = 0x7fff_f000;

/// What a WAV file lacks of the samples that its header declares.
///
/// A [`Waveform`](crate::Waveform) returns it; [`Waveform::cut`](crate::Waveform::cut) has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaveformCut {
    /// How many bytes of the declared samples are missing.
    pub missing: u64,
    /// How many bytes the last, incomplete frame has. They are left out.
    pub partial: u64,
}

/// A WAV file as the demuxer reads it, and what it lacks of the declared samples.
pub(super) struct Whole<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    pub(super) cut: Option<WaveformCut>,
}

impl<'a> Whole<'a> {
    fn as_it_is(file: &'a [u8]) -> Self {
        Self { bytes: Cow::Borrowed(file), cut: None }
    }
}

/// Returns a WAV file as the demuxer reads it.
///
/// A file gets a header with its real length if it was written to a pipe, was never closed, or is shorter than declared. So does
/// a file of the formats that may be larger than 4 GiB (RF64, BW64). Any other file is returned as it is.
///
/// # Errors
/// [`alloquy_core::ErrorKind::Invalid`] for an RF64 file without lengths, and for a file that has none of its declared samples.
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
                    return Err(invalid("the audio is damaged: its header does not say how long it is"));
                };
                return rewritten(file, is_large, &kept, chunk, length);
            }
            _ => {}
        }
    }
    // The demuxer reports a file without samples.
    Ok(Whole::as_it_is(file))
}

/// Returns the file with the header corrected where that is needed. `kept` are the chunks before the samples in `data`, whose
/// declared length is `length`.
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
    // The header was never completed: the outer length is 0, ends with the header, or is unknown, as in `RIFF ff ff ff ff`.
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
            format!("the audio is damaged: its header has {length} bytes of samples, and {there} are there");
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
        // `fact` counts the samples that the header declared.
        if (missing == 0 && !is_unclosed) || name != b"fact" {
            append(&mut content, name, bytes);
        }
    }
    append(&mut content, b"data", data.rest.get(..samples).unwrap_or(data.rest));
    let mut file = Vec::with_capacity(content.len() + 8);
    append(&mut file, b"RIFF", &content);
    Ok(Whole { bytes: Cow::Owned(file), cut })
}

/// Returns how many bytes a frame, a sample of each channel, takes in formats without blocks: PCM, floating point, A-law, µ-law.
fn frame(chunks: &[Chunk<'_>]) -> Option<u64> {
    let format = chunks.iter().find(|chunk| chunk.name == *b"fmt ")?.content;
    let tag = u16::from_le_bytes(format.get(..2)?.try_into().ok()?);
    let length = u16::from_le_bytes(format.get(12..14)?.try_into().ok()?);
    matches!(tag, 1 | 3 | 6 | 7 | 0xfffe).then_some(u64::from(length))
}

fn append(file: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) {
    file.extend_from_slice(name);
    // A longer file is beyond every limit.
    file.extend(u32::try_from(content.len()).unwrap_or(u32::MAX).to_le_bytes());
    file.extend_from_slice(content);
    if content.len() % 2 == 1 {
        file.push(0);
    }
}
