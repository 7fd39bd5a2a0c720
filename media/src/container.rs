//! Films as files: recognised, and refused with the way in which a host hands their frames. Knows no codec.

use alloquy_core::{Error, ErrorKind, Media};

/// The error for a film that nobody has decoded.
pub(crate) fn undecoded(media: &Media) -> Error {
    let message = format!(
        "a film of type {:?} is not decoded here; decode the frames that `VideoProcessor::frames_wanted` names, and hand \
         them over as pictures by `Media::film`, each with its time by `Media::at`",
        media.media_type()
    );
    Error::new(ErrorKind::Unsupported, message)
}
