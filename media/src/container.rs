//! The error for video files, which a host decodes.

use alloquy_core::{Error, ErrorKind, Media};

/// Returns the error for a video file, which says how a host passes its frames.
pub(crate) fn undecoded(media: &Media) -> Error {
    let message = format!(
        "a video of type {:?} is not decoded here; decode the frames that `VideoProcessor::frames_wanted` names, and hand \
         them over as images by `Media::video`, each with its time by `Media::at`",
        media.media_type()
    );
    Error::new(ErrorKind::Unsupported, message)
}
