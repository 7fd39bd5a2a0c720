//! Checks a WebP before it is decoded. The decoder allocates any length that a chunk declares, and an image of any size within a
//! small canvas, before it finds that the file is invalid.

mod tables;

use alloquy_core::Result;
use image::ImageFormat;

use super::damaged::damaged;
use super::view::Size;
use crate::riff::{Chunk, Chunks};

/// How many bytes a frame of an animation has before its chunks: its position, its size, its duration.
const FRAME: usize = 16;

/// Returns the bytes of the file that belong to the image, if every chunk is within them.
///
/// # Errors
/// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) for a chunk that ends after the file, or an image that is larger
/// than its canvas.
pub(super) fn checked(file: &[u8]) -> Result<&[u8]> {
    let end = number(file, 4, 4).map_or(file.len(), |length| (length + 8).min(file.len()));
    let image = file.get(..end).unwrap_or(file);
    let mut canvas = None;
    for chunk in Chunks::of_file(image) {
        check(chunk, canvas)?;
        match &chunk.name {
            b"VP8X" => canvas = extended_size(chunk.content),
            b"ANMF" => {
                for chunk in Chunks::of(chunk.content.get(FRAME..).unwrap_or_default()) {
                    check(chunk, canvas)?;
                }
            }
            _ => {}
        }
    }
    Ok(image)
}

/// Returns how many bytes the decoder takes besides an image of this size.
///
/// A lossy image takes its planes. A lossless one takes its codes, and four bytes a pixel if it is copied. Transparency that is
/// stored by itself takes five bytes a pixel, and an animation takes its canvas.
pub(super) fn beside(file: &[u8], size: Size, transparent: bool) -> u64 {
    let mut beside = Beside { copied: !transparent, ..Beside::default() };
    for chunk in Chunks::of_file(file) {
        if &chunk.name == b"ANMF" {
            beside.animated = true;
            beside.copied = true;
            for chunk in Chunks::of(chunk.content.get(FRAME..).unwrap_or_default()) {
                beside.count(chunk, size);
            }
        } else {
            beside.count(chunk, size);
        }
    }
    (size.pixels() as u64).saturating_mul(beside.halves()) / 2 + beside.tables
}

/// Which kinds of images are in a file.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools)] // a file may have several kinds
struct Beside {
    animated: bool,
    lossy: bool,
    lossless: bool,
    copied: bool,
    transparent: bool,
    /// How many bytes the codes of a lossless image take.
    tables: u64,
}

impl Beside {
    fn count(&mut self, chunk: Chunk<'_>, size: Size) {
        let mut tables = None;
        match &chunk.name {
            b"VP8 " => self.lossy = true,
            b"VP8L" => {
                self.lossless = true;
                let own = lossless_size(chunk.content).unwrap_or(size);
                tables =
                    tables::size(chunk.content.get(LOSSLESS..).unwrap_or_default(), own.width, own.height);
            }
            b"ALPH" => {
                self.transparent = true;
                tables = tables::size(chunk.content.get(1..).unwrap_or_default(), size.width, size.height);
            }
            _ => {}
        }
        // Only one of several frames is decoded.
        self.tables = self.tables.max(tables.unwrap_or(0));
    }

    /// Returns how many half bytes a pixel takes.
    fn halves(&self) -> u64 {
        let kinds =
            [(self.lossy, 3), (self.lossless && self.copied, 8), (self.transparent, 10), (self.animated, 16)];
        kinds.into_iter().filter(|(kind, _)| *kind).map(|(_, halves)| halves).sum()
    }
}

/// The length of the header of a lossless image.
const LOSSLESS: usize = 5;

/// Returns the size of a lossless image: 14 bits each, after a byte.
fn lossless_size(content: &[u8]) -> Option<Size> {
    let bits = number(content, 1, 4)?;
    Some(Size::new((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
}

fn check(Chunk { name, length, content, .. }: Chunk<'_>, canvas: Option<Size>) -> Result<()> {
    if content.len() < length {
        let left = content.len();
        return Err(broken(format!("a chunk says that it has {length} bytes, and {left} are left")));
    }
    let (Some(canvas), Some(size), b"VP8 ") = (canvas, lossy_size(content), &name) else { return Ok(()) };
    if size.width <= canvas.width && size.height <= canvas.height {
        Ok(())
    } else {
        Err(broken(format!("an image of {size} lies in a canvas of {canvas}")))
    }
}

/// Returns the size of a canvas, which follows its flags.
fn extended_size(content: &[u8]) -> Option<Size> {
    Some(Size::new(number(content, 4, 3)? + 1, number(content, 7, 3)? + 1))
}

/// Returns the size of a lossy image: 14 bits each, after the header of a key frame.
fn lossy_size(content: &[u8]) -> Option<Size> {
    Some(Size::new(number(content, 6, 2)? & 0x3fff, number(content, 8, 2)? & 0x3fff))
}

/// Returns a number of so many bytes, the lowest first.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let bytes = bytes.get(at..at + length)?;
    Some(bytes.iter().rev().fold(0, |number, byte| (number << 8) | usize::from(*byte)))
}

fn broken(message: String) -> alloquy_core::Error {
    damaged(ImageFormat::WebP, message)
}
