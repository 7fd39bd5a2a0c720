//! Files become pictures: limits by the header, then decoding, orientation, one byte a channel, no transparency. Knows no model.

use std::borrow::Cow;
use std::io::Cursor;

use alloquy_core::{Error, ErrorKind, Media, Result};
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};

use super::format;
use super::opaque::opaque;
use super::picture::{Picture, Size};
use super::{icon, jpeg, webp};
use crate::media::options::{Alpha, MediaLimits};

/// Decodes pictures within limits.
#[derive(Clone, Debug)]
pub(crate) struct Loader {
    limits: MediaLimits,
    alpha: Alpha,
}

/// What a decoder has room for beside the picture itself: tables, rows, previous frames.
const DECODER_ROOM: u64 = 64 << 20;

impl Loader {
    pub(crate) fn new(limits: MediaLimits, alpha: Alpha) -> Self {
        Self { limits, alpha }
    }

    /// Returns the size that a picture has when it stands as its orientation says. Reads the header alone: what is damaged
    /// behind it is found when the picture is decoded.
    pub(crate) fn size(&self, media: &Media) -> Result<Size> {
        let (bytes, format) = self.file(media)?;
        let (size, orientation) = match format {
            ImageFormat::Jpeg => jpeg::head(&bytes)?,
            _ => {
                let mut decoder = self.decoder(&bytes, format)?;
                (size(&decoder), orientation(&mut decoder))
            }
        };
        self.check(size, format)?;
        Ok(turned(size, orientation))
    }

    /// Decodes a picture.
    pub(crate) fn picture(&self, media: &Media) -> Result<Picture> {
        let (bytes, format) = self.file(media)?;
        let image = match format {
            ImageFormat::Jpeg => {
                let (size, orientation) = jpeg::head(&bytes)?;
                self.check(size, format)?;
                oriented(jpeg::decoded(&bytes, size)?, orientation)
            }
            _ => self.decoded(&bytes, format)?,
        };
        Ok(opaque(image, self.alpha))
    }

    /// The file that holds the picture, and its format. An icon may hold a whole PNG, and that is then the file.
    fn file<'a>(&self, media: &'a Media) -> Result<(Cow<'a, [u8]>, ImageFormat)> {
        let bytes = media.bytes().ok_or_else(|| {
            Error::new(ErrorKind::Invalid, format!("the bytes of picture {} are not loaded", media.digest()))
        })?;
        if bytes.len() > self.limits.bytes {
            let (found, limit) = (bytes.len(), self.limits.bytes);
            return Err(refused(format!("a picture has {found} bytes, and the limit is {limit}")));
        }
        let format = format::format(media, bytes)?;
        match format {
            ImageFormat::Ico => Ok(icon::png(bytes)
                .map_or((Cow::Borrowed(&**bytes), format), |png| (Cow::Borrowed(png), ImageFormat::Png))),
            ImageFormat::WebP => Ok((Cow::Borrowed(webp::checked(bytes)?), format)),
            _ => Ok((Cow::Borrowed(bytes), format)),
        }
    }

    fn decoder<'a>(&self, bytes: &'a [u8], format: ImageFormat) -> Result<impl ImageDecoder + 'a> {
        let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
        let mut limits = Limits::no_limits();
        limits.max_alloc = Some(self.room().saturating_add(DECODER_ROOM));
        reader.limits(limits);
        reader.into_decoder().map_err(|source| damaged(format, source))
    }

    fn decoded(&self, bytes: &[u8], format: ImageFormat) -> Result<DynamicImage> {
        let mut decoder = self.decoder(bytes, format)?;
        self.check(size(&decoder), format)?;
        let (needed, room) = (decoder.total_bytes(), self.room());
        if needed > room {
            return Err(refused(format!(
                "a {} takes {needed} bytes when it is decoded, and the limit is {room}: four for each of {} pixels",
                format::name(format),
                self.limits.pixels
            )));
        }
        let orientation = orientation(&mut decoder);
        let image = DynamicImage::from_decoder(decoder).map_err(|source| damaged(format, source))?;
        Ok(oriented(image, orientation))
    }

    /// How many bytes a decoded picture may take.
    fn room(&self) -> u64 {
        (self.limits.pixels as u64).saturating_mul(4)
    }

    fn check(&self, size: Size, format: ImageFormat) -> Result<()> {
        let name = format::name(format);
        if size.shortest() == 0 {
            return Err(refused(format!("a {name} of {size} pixels has none")));
        }
        if size.pixels() > self.limits.pixels {
            let (pixels, limit) = (size.pixels(), self.limits.pixels);
            return Err(refused(format!("a {name} of {size} has {pixels} pixels, and the limit is {limit}")));
        }
        if size.longest() > size.shortest().saturating_mul(self.limits.ratio) {
            let limit = self.limits.ratio;
            return Err(refused(format!(
                "a {name} of {size} has a side more than {limit} times longer than the other, which is the limit"
            )));
        }
        Ok(())
    }
}

fn size(decoder: &impl ImageDecoder) -> Size {
    let (width, height) = decoder.dimensions();
    Size::new(width as usize, height as usize)
}

/// What a file says of its orientation; one that says nonsense stands as it is stored.
fn orientation(decoder: &mut impl ImageDecoder) -> Orientation {
    decoder.orientation().unwrap_or(Orientation::NoTransforms)
}

fn turned(size: Size, orientation: Orientation) -> Size {
    use Orientation::{Rotate90, Rotate90FlipH, Rotate270, Rotate270FlipH};
    match orientation {
        Rotate90 | Rotate270 | Rotate90FlipH | Rotate270FlipH => Size::new(size.height, size.width),
        _ => size,
    }
}

fn oriented(mut image: DynamicImage, orientation: Orientation) -> DynamicImage {
    image.apply_orientation(orientation);
    image
}

pub(super) fn refused(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

pub(super) fn damaged(
    format: ImageFormat,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    Error::new(ErrorKind::Invalid, format!("a {} is damaged or cut short", format::name(format)))
        .with_source(source)
}
