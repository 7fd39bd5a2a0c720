//! Decodes image files: checks limits by the header, decodes, turns, and makes one byte of each channel without transparency.

use std::io::Cursor;

use alloquy_core::{Error, ErrorKind, Media, Result};
use image::metadata::Orientation;
use image::{ColorType, ImageDecoder, ImageFormat, ImageReader, Limits};

use super::damaged::{DECODER_ROOM, damaged, refused};
use super::format;
use super::pixels::{Layout, Pixels};
use super::png::Png;
use super::tiff::Tiff;
use super::view::{Image, Size};
use super::{icon, jpeg, turning, webp};
use crate::options::{AlphaHandling, MediaLimits};

/// Decodes images within limits.
#[derive(Clone, Debug)]
pub(crate) struct Loader {
    limits: MediaLimits,
    alpha: AlphaHandling,
}

impl Loader {
    pub(crate) fn new(limits: MediaLimits, alpha: AlphaHandling) -> Self {
        Self { limits, alpha }
    }

    /// Returns the size of an image that is turned as its orientation says. Only the header is read: damage after it is found when
    /// the image is decoded.
    pub(crate) fn size(&self, media: &Media) -> Result<Size> {
        let (bytes, format) = self.file(media)?;
        let mut source = Source::open(bytes, format)?;
        self.check(&source, format)?;
        Ok(turning::size(source.size(), source.orientation()))
    }

    /// Decodes an image.
    pub(crate) fn image(&self, media: &Media) -> Result<Image> {
        let (bytes, format) = self.file(media)?;
        let mut source = Source::open(bytes, format)?;
        self.check(&source, format)?;
        let orientation = source.orientation();
        let image = source.read()?.opaque(self.alpha);
        let room = self.room().saturating_add(DECODER_ROOM).saturating_sub(image.bytes().len() as u64);
        Ok(turning::turned(image, orientation, room))
    }

    /// Returns the file of the image, and its format. For an icon that contains a whole PNG, the file is that PNG.
    fn file<'a>(&self, media: &'a Media) -> Result<(&'a [u8], ImageFormat)> {
        let bytes = media.bytes().ok_or_else(|| {
            Error::new(ErrorKind::Invalid, format!("the bytes of image {} are not loaded", media.digest()))
        })?;
        if bytes.len() > self.limits.bytes {
            let found = bytes.len();
            let limit = self.limits.bytes;
            return Err(refused(format!("an image has {found} bytes, and the limit is {limit}")));
        }
        let format = format::format(media, bytes)?;
        match format {
            ImageFormat::Ico => Ok(icon::png(bytes).map_or((bytes, format), |png| (png, ImageFormat::Png))),
            ImageFormat::WebP => Ok((webp::checked(bytes)?, format)),
            _ => Ok((bytes, format)),
        }
    }

    /// Returns how many bytes a decoded image may take.
    fn room(&self) -> u64 {
        (self.limits.pixels as u64).saturating_mul(4)
    }

    fn check(&self, source: &Source<'_>, format: ImageFormat) -> Result<()> {
        let name = format::name(format);
        let size = source.size();
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
        let needed = source.needed();
        let room = self.room();
        if needed > room {
            return Err(refused(format!(
                "a {name} takes {needed} bytes when it is decoded, and the limit is {room}: four for each of {} pixels",
                self.limits.pixels
            )));
        }
        let needed = needed.saturating_add(source.beside());
        let room = room.saturating_add(DECODER_ROOM);
        if needed > room {
            return Err(refused(format!(
                "a {name} takes {needed} bytes while it is decoded, and the limit is {room}: four for each of {} pixels, \
                 and 64 MiB",
                self.limits.pixels
            )));
        }
        Ok(())
    }
}

/// A file whose header was read.
enum Source<'a> {
    Jpeg { file: &'a [u8], size: Size, orientation: Orientation },
    Png(Box<Png<'a>>),
    Tiff(Box<Tiff<'a>>),
    Other { decoder: Box<dyn ImageDecoder + 'a>, layout: Layout, format: ImageFormat, beside: u64 },
}

impl<'a> Source<'a> {
    fn open(file: &'a [u8], format: ImageFormat) -> Result<Self> {
        match format {
            ImageFormat::Jpeg => {
                let (size, orientation) = jpeg::head(file)?;
                Ok(Self::Jpeg { file, size, orientation })
            }
            ImageFormat::Png => Ok(Self::Png(Box::new(Png::open(file)?))),
            ImageFormat::Tiff => Ok(Self::Tiff(Box::new(Tiff::open(file)?))),
            _ => Self::other(file, format),
        }
    }

    fn other(file: &'a [u8], format: ImageFormat) -> Result<Self> {
        let mut reader = ImageReader::with_format(Cursor::new(file), format);
        // The image itself is not among what the readers of these formats count.
        let mut limits = Limits::no_limits();
        limits.max_alloc = Some(DECODER_ROOM);
        reader.limits(limits);
        let decoder = reader.into_decoder().map_err(|source| damaged(format, source))?;
        let layout = layout(decoder.color_type(), format)?;
        let (width, height) = decoder.dimensions();
        let size = Size::new(width as usize, height as usize);
        let beside = match format {
            ImageFormat::WebP => webp::beside(file, size, layout == Layout::ColourAlpha),
            ImageFormat::Tga if is_packed_tga(file) => 2 * size.pixels() as u64,
            _ => 0,
        };
        Ok(Self::Other { decoder: Box::new(decoder), layout, format, beside })
    }

    fn size(&self) -> Size {
        match self {
            Self::Jpeg { size, .. } => *size,
            Self::Png(png) => png.size(),
            Self::Tiff(tiff) => tiff.size(),
            Self::Other { decoder, .. } => {
                let (width, height) = decoder.dimensions();
                Size::new(width as usize, height as usize)
            }
        }
    }

    fn layout(&self) -> Layout {
        match self {
            Self::Jpeg { .. } => Layout::Colour,
            Self::Png(png) => png.layout(),
            Self::Tiff(tiff) => tiff.layout(),
            Self::Other { layout, .. } => *layout,
        }
    }

    /// Returns how many bytes the decoded image takes.
    fn needed(&self) -> u64 {
        (self.size().pixels() as u64).saturating_mul(self.layout().bytes() as u64)
    }

    /// Returns how many bytes the decoder takes besides the image, as far as the header says.
    fn beside(&self) -> u64 {
        match self {
            Self::Jpeg { file, .. } => jpeg::beside(file),
            Self::Png(_) => 0,
            Self::Tiff(tiff) => tiff.beside(),
            Self::Other { beside, .. } => *beside,
        }
    }

    /// Returns the orientation that the file declares; an invalid one is ignored.
    fn orientation(&mut self) -> Orientation {
        match self {
            Self::Jpeg { orientation, .. } => *orientation,
            Self::Png(png) => png.orientation(),
            Self::Tiff(tiff) => tiff.orientation(),
            Self::Other { decoder, .. } => decoder.orientation().unwrap_or(Orientation::NoTransforms),
        }
    }

    fn read(self) -> Result<Pixels> {
        if let Self::Jpeg { file, size, .. } = self {
            return jpeg::decoded(file, size);
        }
        let mut pixels = Pixels::new(self.size(), self.layout());
        match self {
            Self::Jpeg { .. } => {}
            Self::Png(png) => png.read(pixels.bytes())?,
            Self::Tiff(tiff) => tiff.read(pixels.bytes())?,
            Self::Other { decoder, format, .. } => {
                decoder.read_image_boxed(pixels.bytes()).map_err(|source| damaged(format, source))?;
            }
        }
        Ok(pixels)
    }
}

/// Returns whether a TGA has indices into a palette, of one or two bytes, or colours of two bytes: they are copied before they
/// become colours.
fn is_packed_tga(file: &[u8]) -> bool {
    file.get(1) == Some(&1) || matches!(file.get(16), Some(15 | 16))
}

fn layout(colour: ColorType, format: ImageFormat) -> Result<Layout> {
    Ok(match colour {
        ColorType::L8 => Layout::Grey,
        ColorType::La8 => Layout::GreyAlpha,
        ColorType::Rgb8 => Layout::Colour,
        ColorType::Rgba8 => Layout::ColourAlpha,
        ColorType::L16 => Layout::Grey16,
        ColorType::La16 => Layout::GreyAlpha16,
        ColorType::Rgb16 => Layout::Colour16,
        ColorType::Rgba16 => Layout::ColourAlpha16,
        ColorType::Rgb32F => Layout::ColourFloat,
        ColorType::Rgba32F => Layout::ColourAlphaFloat,
        other => {
            let message =
                format!("a {} has pixels of kind {other:?}, which are not read", format::name(format));
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    })
}
