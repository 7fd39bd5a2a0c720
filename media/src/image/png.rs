//! PNG, without what is beside the image: colour profiles and texts are compressed, and nobody here reads them.

use std::io::Cursor;

use alloquy_core::Result;
use image::ImageFormat;
use image::metadata::Orientation;
use png::{DecodeOptions, Decoder, Limits, Reader, Transformations};

use super::damaged::damaged;
use super::pixels::Layout;
use super::view::Size;

/// How many bytes its decoder may keep of metadata: EXIF, which is not compressed. Half of the room of a decoder, since a buffer
/// that grows is there twice for a moment.
const METADATA: usize = 32 << 20;

/// A PNG whose header was read.
pub(super) struct Png<'a>(Reader<Cursor<&'a [u8]>>);

impl<'a> Png<'a> {
    /// Reads what stands before the image.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) for a header that is none, or more than 32 MiB of EXIF.
    pub(super) fn open(file: &'a [u8]) -> Result<Self> {
        let mut options = DecodeOptions::default();
        options.set_ignore_text_chunk(true);
        options.set_ignore_iccp_chunk(true);
        let mut decoder = Decoder::new_with_options(Cursor::new(file), options);
        decoder.set_limits(Limits { bytes: METADATA });
        // Of 16 bits the high byte is taken, here and of every other format.
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

    /// Decodes the image that readers without animation show.
    pub(super) fn read(mut self, bytes: &mut [u8]) -> Result<()> {
        self.0.next_frame(bytes).map(drop).map_err(|source| damaged(ImageFormat::Png, source))
    }
}
