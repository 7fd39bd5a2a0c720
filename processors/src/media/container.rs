//! Films as files: recognised, and refused with the way in which a host hands their frames. Knows no codec.

use alloquy_core::formats::MediaKind;
use alloquy_core::{Error, ErrorKind, Media};

use super::images::is_picture;

/// Says which kind media are of, by their frames, their type, or, where that says nothing, how they begin.
pub(crate) fn kind(media: &Media) -> Option<MediaKind> {
    if media.frames().is_some() {
        return Some(MediaKind::Video);
    }
    let said = media.media_type().split('/').next().unwrap_or_default().to_ascii_lowercase();
    let named = MediaKind::ALL.into_iter().find(|kind| kind.as_str() == said);
    named.or_else(|| media.bytes().is_some_and(|bytes| is_picture(bytes)).then_some(MediaKind::Image))
}

/// The error for a film that nobody has decoded.
pub(crate) fn undecoded(media: &Media) -> Error {
    let message = format!(
        "a film of type {:?} is not decoded here; decode the frames that `FilmProcessor::frames_wanted` names, and hand \
         them over as pictures by `Media::film`, each with its time by `Media::at`",
        media.media_type()
    );
    Error::new(ErrorKind::Unsupported, message)
}
