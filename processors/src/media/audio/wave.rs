//! How long a WAV file says that its sound is, where it lies in blocks: the demuxer hands on whole blocks alone.

use alloquy_core::Result;

use super::limits::invalid;
use crate::media::riff::Chunks;

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
