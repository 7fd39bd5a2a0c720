//! Decodes JPEG strictly: a damaged or truncated file is refused, where other readers fill the missing part with grey.

mod frame;

use alloquy_core::Result;
use image::ImageFormat;
use image::metadata::Orientation;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

pub(super) use frame::Frame;

use super::damaged::damaged;
use super::pixels::Pixels;
use super::view::Size;

/// The longest side that the format allows.
const LONGEST_SIDE: usize = 65_535;

fn decoder(bytes: &[u8]) -> JpegDecoder<ZCursor<&[u8]>> {
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(LONGEST_SIDE)
        .set_max_height(LONGEST_SIDE)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    JpegDecoder::new_with_options(ZCursor::new(bytes), options)
}

/// Reads the size and the orientation; nothing is decoded.
pub(super) fn head(bytes: &[u8]) -> Result<(Size, Orientation)> {
    let mut decoder = decoder(bytes);
    decoder.decode_headers().map_err(|source| damaged(ImageFormat::Jpeg, source))?;
    let (width, height) = decoder.dimensions().unwrap_or_default();
    let orientation = decoder.exif().and_then(|exif| Orientation::from_exif_chunk(exif));
    Ok((Size::new(width, height), orientation.unwrap_or(Orientation::NoTransforms)))
}

/// Returns how many bytes the decoder takes besides the image. It keeps metadata, which are smaller than the file, and the
/// coefficients of all pixels of an image with several scans.
pub(super) fn beside(bytes: &[u8]) -> u64 {
    let coefficients = Frame::of(bytes).map_or(0, |frame| frame.coefficients());
    coefficients.saturating_add(bytes.len() as u64)
}

/// Decodes an image, whose header declares `size`.
pub(super) fn decoded(bytes: &[u8], size: Size) -> Result<Pixels> {
    let pixels = decoder(bytes).decode().map_err(|source| damaged(ImageFormat::Jpeg, source))?;
    if pixels.len() != size.pixels().saturating_mul(3) {
        return Err(damaged(ImageFormat::Jpeg, "it has fewer pixels than its header says"));
    }
    Ok(Pixels::colour(size, pixels))
}
