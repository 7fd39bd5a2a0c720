//! What every media processor must do.
//!
//! ```
//! use alloquy_core::{Media, laws, testing::ScriptedMedia};
//!
//! let (one, same) = (ScriptedMedia::default(), ScriptedMedia::default());
//! laws::media_processor::all(&[&one, &same], &[Media::new("image/png", vec![1, 2])]);
//! ```

use crate::Result;
use crate::media::Media;
use crate::media_processor::{MediaOutline, MediaPiece, MediaProcessor, MediaTensor};

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

/// Processors that make something else of any of the media have identities of their own; a processor always has the same, and
/// always makes the same.
///
/// # Panics
/// When the law is broken.
pub fn identities_tell_processors_apart(processors: &[&dyn MediaProcessor], media: &[Media]) {
    for (one, other) in processors.iter().flat_map(|one| processors.iter().map(move |other| (one, other))) {
        let is_same = one.identity() == other.identity();
        for media in media {
            let alike = made(*one, media) == made(*other, media);
            assert!(
                alike || !is_same,
                "of one identity, and {media:?} becomes something else: {one:?}, {other:?}"
            );
        }
    }
}

/// What becomes of media; why they are refused is a sentence.
fn made(
    processor: &dyn MediaProcessor,
    media: &Media,
) -> (Result<MediaOutline, String>, Result<Vec<MediaTensor>, String>) {
    let said = |error: crate::Error| error.to_string();
    (processor.outline(media).map_err(said), processor.tensors(media).map_err(said))
}
