//! What every media processor must do.
//!
//! ```
//! use alloquy_core::Media;
//! use alloquy_testing::{ScriptedMedia, laws};
//!
//! let (one, same) = (ScriptedMedia::default(), ScriptedMedia::default());
//! laws::media_processor::all(&[&one, &same], &[Media::new("image/png", vec![1, 2])]);
//! ```

use alloquy_core::{Media, Result};
use alloquy_engine::media_processor::{MediaOutline, MediaPiece, MediaProcessor, MediaTensor};

/// Runs every law on processors that may differ in their options, with media of which each may be refused.
///
/// # Panics
/// When a law is broken, with a sentence that says which.
pub fn all(processors: &[&dyn MediaProcessor], media: &[Media]) {
    for processor in processors {
        assert!(!processor.kinds().is_empty(), "{processor:?} takes nothing");
        media.iter().for_each(|media| outlines_begin_and_end_with_positions(*processor, media));
    }
    identities_tell_processors_apart(processors, media);
}

/// What stands for media begins and ends with positions, of which there is one at least.
///
/// # Panics
/// When the law is broken.
pub fn outlines_begin_and_end_with_positions(processor: &dyn MediaProcessor, media: &Media) {
    let Ok(outline) = processor.outline(media) else { return };
    let is_position = |piece: Option<&MediaPiece>| matches!(piece, Some(MediaPiece::Positions { .. }));
    let (first, last) = (outline.pieces.first(), outline.pieces.last());
    assert!(is_position(first) && is_position(last), "a text begins or ends {media:?}: {outline:?}");
    assert!(outline.features() > 0, "no position stands for {media:?}");
}

/// Processors that make something else of any of the media have identities of their own; a processor always has the same.
/// Name one twice, or another of the same options, to see that it always makes the same.
///
/// # Panics
/// When the law is broken.
pub fn identities_tell_processors_apart(processors: &[&dyn MediaProcessor], media: &[Media]) {
    let mut known: Vec<(&dyn MediaProcessor, Vec<Made>)> = Vec::new();
    for processor in processors {
        let made: Vec<_> = media.iter().map(|media| made(*processor, media)).collect();
        assert_eq!(processor.identity(), processor.identity(), "{processor:?} has several identities");
        for (other, before) in known.iter().filter(|(other, _)| other.identity() == processor.identity()) {
            let alike = *before == made;
            assert!(alike, "of one identity, and media become something else: {processor:?}, {other:?}");
        }
        known.push((*processor, made));
    }
}

/// What stands for media, and what an encoder is fed.
type Made = (Result<MediaOutline, String>, Result<Vec<MediaTensor>, String>);

/// What becomes of media; why they are refused is a sentence.
fn made(processor: &dyn MediaProcessor, media: &Media) -> Made {
    let said = |error: alloquy_core::Error| error.to_string();
    (processor.outline(media).map_err(said), processor.tensors(media).map_err(said))
}
