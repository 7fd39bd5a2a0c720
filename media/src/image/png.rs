//! Decodes PNG. Colour profiles and texts, which are compressed, are not read.

use std::io::Cursor;

use alloquy_core::Result;
use image::ImageFormat;
use image::metadata::Orientation;
use png::{DecodeOptions, Decoder, Limits, Reader, Transformations};

use super::damaged::damaged;
use super::pixels::Layout;
use super::view::Size;

/// How many bytes of metadata the decoder may keep, which is EXIF without compression. It is half of a decoder's memory, since a
/// buffer that grows is copied.
const METADATA: usize = 32 << 20;

/// A PNG whose header is read.
pub(super) struct Png<'a>(Reader<Cursor<&'a [u8]>>);

impl<'a> Png<'a> {
    /// Reads the header and the metadata before the image.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) for a malformed header, or more than 32 MiB of EXIF.
    pub(super) fn open(file: &'a [u8]) -> Result<Self> {
        let mut options = DecodeOptions::default();
        options.set_ignore_text_chunk(true);
        options.set_ignore_iccp_chunk(true);
        let mut decoder = Decoder::new_with_options(Cursor::new(file), options);
        decoder.set_limits(Limits { bytes: METADATA });
        // The high byte of 16 bits is taken, as in every other format.
        decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
        decoder.read_info().map(Self).map_err(|source| damaged(ImageFormat::Png, source))
    }

    pub(super) fn size(&self) -> Size {
        let (width, height) = self.0.info().size();
        Size::new(width as usize, height as usize)
    }

    pub(super) fn layout(&self) -> Layout {
        match self.0.output_color_type().0 {
            png::ColorType::Grayscale => Layout::Grey,
            png::ColorType::GrayscaleAlpha => Layout::GreyAlpha,
            png::ColorType::Rgb | png::ColorType::Indexed => Layout::Colour,
            png::ColorType::Rgba => Layout::ColourAlpha,
        }
    }

    pub(super) fn orientation(&self) -> Orientation {
        let exif = self.0.info().exif_metadata.as_deref();
        exif.and_then(Orientation::from_exif_chunk).unwrap_or(Orientation::NoTransforms)
    }

    /// Decodes the default image, which readers without animation show.
    pub(super) fn read(mut self, bytes: &mut [u8]) -> Result<()> {
        self.0.next_frame(bytes).map(drop).map_err(|source| damaged(ImageFormat::Png, source))
    }
}
