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
use alloquy_engine::media_processor::{MediaOutline, MediaPlaceholder, MediaProcessor, MediaTensor};

/// Runs every law on several processors and media. The processors may differ in their options and may refuse any of the media.
///
/// # Panics
/// When a law is broken, with a sentence that says which.
pub fn all(processors: &[&dyn MediaProcessor], media: &[Media]) {
    for processor in processors {
        assert!(!processor.kinds().is_empty(), "{processor:?} accepts no kind of media");
        for media in media {
            outlines_begin_and_end_with_positions(*processor, media);
        }
    }
    identities_tell_processors_apart(processors, media);
}

/// The placeholders of media begin and end with positions, and there is at least one position.
///
/// # Panics
/// When the law is broken.
pub fn outlines_begin_and_end_with_positions(processor: &dyn MediaProcessor, media: &Media) {
    let Ok(outline) = processor.outline(media) else { return };
    for end in [outline.pieces.first(), outline.pieces.last()] {
        let is_position = matches!(end, Some(MediaPlaceholder::Positions { .. }));
        assert!(is_position, "{media:?} does not begin and end with positions: {outline:?}");
    }
    assert!(outline.features() > 0, "{media:?} has no position");
}

/// Two processors with different results for any of the media have different identities, and a processor always has the same
/// identity. List a processor twice, or two with the same options, to check that their results are the same.
///
/// # Panics
/// When the law is broken.
pub fn identities_tell_processors_apart(processors: &[&dyn MediaProcessor], media: &[Media]) {
    let mut known: Vec<(&dyn MediaProcessor, Vec<Results>)> = Vec::new();
    for processor in processors {
        let made: Vec<_> = media.iter().map(|media| results(*processor, media)).collect();
        assert_eq!(processor.identity(), processor.identity(), "{processor:?} has several identities");
        for (other, before) in known.iter().filter(|(other, _)| other.identity() == processor.identity()) {
            assert!(*before == made, "two of one identity give other results: {processor:?}, {other:?}");
        }
        known.push((*processor, made));
    }
}

/// The placeholders of media, and the input of their encoder; an error as its message.
type Results = (Result<MediaOutline, String>, Result<Vec<MediaTensor>, String>);

fn results(processor: &dyn MediaProcessor, media: &Media) -> Results {
    let outline = processor.outline(media).map_err(|error| error.to_string());
    let tensors = processor.tensors(media).map_err(|error| error.to_string());
    (outline, tensors)
}
