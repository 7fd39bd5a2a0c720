//! Makes the errors for image files that are damaged or too large.

use alloquy_core::{Error, ErrorKind};
use image::ImageFormat;

use super::format;

/// How many bytes a decoder may take besides the image itself, for tables, rows, metadata and planes.
pub(super) const DECODER_ROOM: u64 = 64 << 20;

pub(super) fn refused(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

pub(super) fn damaged(
    format: ImageFormat,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    Error::new(ErrorKind::Invalid, format!("a {} is damaged or truncated", format::name(format)))
        .with_source(source)
}
