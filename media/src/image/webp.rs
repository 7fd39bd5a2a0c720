//! WebP, looked through before it is decoded: its decoder makes room for whatever length a chunk says it has, and for a picture of
//! any size inside of a small canvas, before it finds that neither can be.

mod tables;

use alloquy_core::Result;
use image::ImageFormat;

use super::damaged::damaged;
use super::view::Size;
use crate::riff::{Chunk, Chunks};

/// What a frame of an animation has before its chunks: where it lies, its size, how long it is shown.
const FRAME: usize = 16;

/// Returns the bytes of the file that belong to the picture, where every chunk lies within.
///
/// # Errors
/// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) for a chunk that goes on behind the end, or a picture that is larger
/// than its canvas.
pub(super) fn checked(file: &[u8]) -> Result<&[u8]> {
    let end = number(file, 4, 4).map_or(file.len(), |length| (length + 8).min(file.len()));
    let picture = file.get(..end).unwrap_or(file);
    let mut canvas = None;
    for chunk in Chunks::of_file(picture) {
        check(chunk, canvas)?;
        match &chunk.name {
            b"VP8X" => canvas = extended_size(chunk.content),
            b"ANMF" => Chunks::of(chunk.content.get(FRAME..).unwrap_or_default())
                .try_for_each(|chunk| check(chunk, canvas))?,
            _ => {}
        }
    }
    Ok(picture)
}

/// Returns how many bytes the decoder takes beside a picture of so many pixels: planes of what has loss; of what has none its codes,
/// and four bytes a pixel where it is copied; five of transparency that is stored by itself; and the canvas of an animation.
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

/// Which kinds of pictures are in a file.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools)] // a file may have each kind beside each other
struct Beside {
    animated: bool,
    lossy: bool,
    lossless: bool,
    copied: bool,
    transparent: bool,
    /// How many bytes the codes take of what has no loss.
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
        // Of several frames one is decoded.
        self.tables = self.tables.max(tables.unwrap_or(0));
    }

    /// How many halves of bytes a pixel takes.
    fn halves(&self) -> u64 {
        let kinds =
            [(self.lossy, 3), (self.lossless && self.copied, 8), (self.transparent, 10), (self.animated, 16)];
        kinds.into_iter().filter(|(kind, _)| *kind).map(|(_, halves)| halves).sum()
    }
}

/// How long the header of a picture without loss is.
const LOSSLESS: usize = 5;

/// The size of a picture without loss: 14 bits each, behind a byte.
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
    match size.width <= canvas.width && size.height <= canvas.height {
        true => Ok(()),
        false => Err(broken(format!("a picture of {size} lies in a canvas of {canvas}"))),
    }
}

/// The size of a canvas, behind its flags.
fn extended_size(content: &[u8]) -> Option<Size> {
    Some(Size::new(number(content, 4, 3)? + 1, number(content, 7, 3)? + 1))
}

/// The size of a picture with loss: 14 bits each, behind what a key frame begins with.
fn lossy_size(content: &[u8]) -> Option<Size> {
    Some(Size::new(number(content, 6, 2)? & 0x3fff, number(content, 8, 2)? & 0x3fff))
}

/// A number of so many bytes, the lowest first.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let bytes = bytes.get(at..at + length)?;
    Some(bytes.iter().rev().fold(0, |number, byte| (number << 8) | usize::from(*byte)))
}

fn broken(message: String) -> alloquy_core::Error {
    damaged(ImageFormat::WebP, message)
}
