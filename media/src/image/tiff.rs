//! TIFF, decoded into memory that the image keeps: nothing is there twice but what a file with a plane for each channel needs. Knows
//! how much the decoder takes for what a file says of itself, and refuses what says too much.

mod directory;

use std::io::Cursor;

use alloquy_core::{Error, ErrorKind, Result};
use image::ImageFormat;
use image::metadata::Orientation;
use tiff::ColorType;
use tiff::decoder::{Decoder, Limits};
use tiff::tags::{CompressionMethod, PlanarConfiguration, SampleFormat, Tag};

use super::damaged::{DECODER_ROOM, damaged, refused};
use super::jpeg::Frame;
use super::pixels::Layout;
use super::view::Size;

/// A TIFF whose first directory was read.
pub(super) struct Tiff<'a> {
    decoder: Decoder<Cursor<&'a [u8]>>,
    size: Size,
    layout: Layout,
    /// One bit a pixel, which the decoder leaves packed.
    packed: bool,
    planar: bool,
    beside: u64,
}

impl<'a> Tiff<'a> {
    /// Reads the first directory.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a directory that is none, and for strips or tiles that are larger than can be; and
    /// [`ErrorKind::Unsupported`] for kinds of pixels that are not read.
    pub(super) fn open(file: &'a [u8]) -> Result<Self> {
        directory::check(file)?;
        let mut decoder = Decoder::new(Cursor::new(file)).map_err(bad)?.with_limits(Limits::unlimited());
        let (width, height) = decoder.dimensions().map_err(bad)?;
        let colour = decoder.colortype().map_err(bad)?;
        let formats =
            decoder.find_tag_unsigned_vec::<u16>(Tag::SampleFormat).map_err(bad)?.unwrap_or_default();
        let planar = number(&mut decoder, Tag::PlanarConfiguration)? == PlanarConfiguration::Planar.to_u16();
        let samples = if planar { 1 } else { number(&mut decoder, Tag::SamplesPerPixel)? };
        let compression = number(&mut decoder, Tag::Compression)?;
        let size = Size::new(width as usize, height as usize);
        let layout = layout(colour, &formats)?;
        if planar && matches!(layout, Layout::Inks | Layout::Inks16) {
            return Err(unread("a plane for each ink"));
        }
        let mut tiff =
            Self { decoder, size, layout, packed: colour == ColorType::Gray(1), planar, beside: 0 };
        tiff.beside = tiff.taken(file, u64::from(samples) * u64::from(colour.bit_depth()), compression)?;
        Ok(tiff)
    }

    pub(super) fn size(&self) -> Size {
        self.size
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns how many bytes decoding takes beside the image.
    pub(super) fn beside(&self) -> u64 {
        self.beside
    }

    pub(super) fn orientation(&mut self) -> Orientation {
        let said = self.decoder.find_tag_unsigned::<u16>(Tag::Orientation).ok().flatten();
        said.and_then(|said| Orientation::from_exif(said.min(255) as u8)).unwrap_or(Orientation::NoTransforms)
    }

    /// Decodes the image.
    pub(super) fn read(mut self, bytes: &mut [u8]) -> Result<()> {
        if self.packed {
            let mut bits = vec![0; self.size.width.div_ceil(8) * self.size.height];
            self.decoder.read_image_bytes(&mut bits).map_err(bad)?;
            unpack(&bits, self.size.width, bytes);
            return Ok(());
        }
        if !self.planar {
            return self.decoder.read_image_bytes(bytes).map_err(bad);
        }
        let mut planes = vec![0; bytes.len()];
        self.decoder.read_image_bytes(&mut planes).map_err(bad)?;
        interleave(&planes, self.layout, self.size, bytes);
        Ok(())
    }

    /// Returns how many bytes the decoder takes besides the image, by the declared strips or tiles. It keeps a row of them, packed
    /// pixels or planes, and the content of a strip that is a compressed file of its own.
    fn taken(&mut self, file: &[u8], bits: u64, compression: u16) -> Result<u64> {
        let (width, height) = self.decoder.chunk_dimensions();
        let width = u64::from(width);
        let height = u64::from(height).min(self.size.height as u64);
        let row = width.saturating_mul(bits).div_ceil(8);
        let count = (self.size.width as u64).div_ceil(width.max(1))
            * (self.size.height as u64).div_ceil(height.max(1));
        let all = row.saturating_mul(height).saturating_mul(count);
        let image = (self.size.pixels() as u64).saturating_mul(16);
        // Tiles reach over the edges of an image, and may have samples that are not read.
        if row > DECODER_ROOM / 4 || all > image.max(DECODER_ROOM).saturating_mul(4) {
            return Err(refused(format!(
                "a TIFF of {} has strips or tiles of {width} x {height}, which take {all} bytes when they are decoded",
                self.size
            )));
        }
        let bits_or_planes = if self.packed {
            (self.size.pixels() / 8 + self.size.height) as u64
        } else if self.planar {
            (self.size.pixels() * self.layout.bytes()) as u64
        } else {
            0
        };
        let inside = match CompressionMethod::from_u16_exhaustive(compression) {
            CompressionMethod::ModernJPEG => self.largest_jpeg(file, width.saturating_mul(height))?,
            _ => 0,
        };
        Ok(row + bits_or_planes + inside)
    }

    /// What the largest JPEG takes of those that are the strips or tiles.
    fn largest_jpeg(&mut self, file: &[u8], most: u64) -> Result<u64> {
        let tiles = self.decoder.find_tag(Tag::TileOffsets).map_err(bad)?.is_some();
        let tags = if tiles {
            [Tag::TileOffsets, Tag::TileByteCounts]
        } else {
            [Tag::StripOffsets, Tag::StripByteCounts]
        };
        let [offsets, lengths] = tags.map(|tag| self.decoder.get_tag_u64_vec(tag).map_err(bad));
        let mut largest = 0;
        for (offset, length) in offsets?.into_iter().zip(lengths?) {
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            let end = start.saturating_add(usize::try_from(length).unwrap_or(usize::MAX)).min(file.len());
            let Some(jpeg) = file.get(start..end) else { continue };
            // What has no frame is refused by its decoder.
            let Some(frame) = Frame::of(jpeg) else { continue };
            let pixels = frame.size.pixels() as u64;
            if pixels > most {
                return Err(refused(format!(
                    "a TIFF of {} has a strip or tile that is a JPEG of {}",
                    self.size, frame.size
                )));
            }
            let taken = jpeg.len() as u64 * 2 + pixels * frame.components() as u64 + frame.coefficients();
            largest = largest.max(taken);
        }
        Ok(largest)
    }
}

/// The number of a tag, which is one where the file does not say it.
fn number(decoder: &mut Decoder<Cursor<&[u8]>>, tag: Tag) -> Result<u16> {
    Ok(decoder.find_tag_unsigned(tag).map_err(bad)?.unwrap_or(1))
}

/// How the pixels of an image lie when they are decoded, where they are of a kind that is read.
fn layout(colour: ColorType, formats: &[u16]) -> Result<Layout> {
    let wanted = if colour.bit_depth() == 32 { SampleFormat::IEEEFP } else { SampleFormat::Uint };
    if formats.iter().any(|format| *format != wanted.to_u16())
        || (formats.is_empty() && colour.bit_depth() == 32)
    {
        return Err(unread(&format!("{colour:?} in samples of format {formats:?}")));
    }
    Ok(match colour {
        ColorType::Gray(1 | 8) => Layout::Grey,
        ColorType::Gray(16) => Layout::Grey16,
        ColorType::GrayA(8) => Layout::GreyAlpha,
        ColorType::GrayA(16) => Layout::GreyAlpha16,
        ColorType::RGB(8) => Layout::Colour,
        ColorType::RGB(16) => Layout::Colour16,
        ColorType::RGB(32) => Layout::ColourFloat,
        ColorType::RGBA(8) => Layout::ColourAlpha,
        ColorType::RGBA(16) => Layout::ColourAlpha16,
        ColorType::RGBA(32) => Layout::ColourAlphaFloat,
        ColorType::CMYK(8) => Layout::Inks,
        ColorType::CMYK(16) => Layout::Inks16,
        other => return Err(unread(&format!("{other:?}"))),
    })
}

/// Makes a byte of each bit, white for one.
fn unpack(bits: &[u8], width: usize, bytes: &mut [u8]) {
    for (packed, row) in bits.chunks_exact(width.div_ceil(8)).zip(bytes.chunks_exact_mut(width)) {
        for (index, byte) in row.iter_mut().enumerate() {
            let eight = packed.get(index / 8).copied().unwrap_or_default();
            *byte = if eight & (0x80 >> (index % 8)) == 0 { 0 } else { 255 };
        }
    }
}

/// Puts the channels of each pixel, which lie in a plane each, beside each other.
fn interleave(planes: &[u8], layout: Layout, size: Size, bytes: &mut [u8]) {
    let sample = match layout {
        Layout::Grey16 | Layout::GreyAlpha16 | Layout::Colour16 | Layout::ColourAlpha16 | Layout::Inks16 => 2,
        Layout::ColourFloat | Layout::ColourAlphaFloat => 4,
        _ => 1,
    };
    for (channel, plane) in planes.chunks_exact((size.pixels() * sample).max(1)).enumerate() {
        let pixels = bytes.chunks_exact_mut(layout.bytes());
        for (pixel, value) in pixels.zip(plane.chunks_exact(sample)) {
            if let Some(place) = pixel.get_mut(channel * sample..(channel + 1) * sample) {
                place.copy_from_slice(value);
            }
        }
    }
}

fn bad(source: tiff::TiffError) -> Error {
    damaged(ImageFormat::Tiff, source)
}

fn unread(found: &str) -> Error {
    Error::new(
        ErrorKind::Invalid,
        format!("a TIFF of {found} is not read; RGB, grey and CMYK of 8 and 16 bits are"),
    )
}
