//! Any kind of pixel becomes red, green and blue of one byte each, in the memory that it was decoded into. Knows no format.

use std::cell::Cell;

use super::view::{CHANNELS, Image, Size};
use crate::options::AlphaHandling;

/// How the channels of a pixel lie. Those of 16 bits and of floating point are in the order of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    Grey,
    GreyAlpha,
    Colour,
    ColourAlpha,
    /// Cyan, magenta, yellow, black.
    Inks,
    Grey16,
    GreyAlpha16,
    Colour16,
    ColourAlpha16,
    Inks16,
    ColourFloat,
    ColourAlphaFloat,
}

impl Layout {
    /// Returns how many bytes a pixel takes.
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Grey => 1,
            Self::GreyAlpha | Self::Grey16 => 2,
            Self::Colour => 3,
            Self::ColourAlpha | Self::Inks | Self::GreyAlpha16 => 4,
            Self::Colour16 => 6,
            Self::ColourAlpha16 | Self::Inks16 => 8,
            Self::ColourFloat => 12,
            Self::ColourAlphaFloat => 16,
        }
    }
}

/// A decoded image, and room for three bytes of each pixel.
pub(super) struct Pixels {
    size: Size,
    layout: Layout,
    bytes: Vec<u8>,
}

impl Pixels {
    /// Room for an image of this size.
    pub(super) fn new(size: Size, layout: Layout) -> Self {
        Self { size, layout, bytes: vec![0; size.pixels() * layout.bytes().max(CHANNELS)] }
    }

    /// An image of three bytes a pixel.
    pub(super) fn colour(size: Size, bytes: Vec<u8>) -> Self {
        Self { size, layout: Layout::Colour, bytes }
    }

    /// What a decoder fills.
    pub(super) fn bytes(&mut self) -> &mut [u8] {
        let length = self.size.pixels() * self.layout.bytes();
        self.bytes.get_mut(..length).unwrap_or_default()
    }

    /// Makes an image of it. Channels of 16 bits keep their high byte, as Pillow has it, and transparency is treated as `alpha`
    /// says.
    pub(super) fn opaque(mut self, alpha: AlphaHandling) -> Image {
        let bytes = self.bytes.as_mut_slice();
        let count = self.size.pixels();
        match self.layout {
            Layout::Grey => each(bytes, count, |[grey]| [grey; 3]),
            Layout::GreyAlpha => each(bytes, count, |[grey, cover]| laid(alpha, [grey, grey, grey, cover])),
            Layout::Colour => {}
            Layout::ColourAlpha => each(bytes, count, |pixel| laid(alpha, pixel)),
            Layout::Inks => each(bytes, count, printed),
            Layout::Grey16 => each(bytes, count, |pixel: [u8; 2]| [high(pixel); 3]),
            Layout::GreyAlpha16 => each(bytes, count, |pixel: [u8; 4]| {
                let [grey, cover] = halves(pixel).map(high);
                laid(alpha, [grey, grey, grey, cover])
            }),
            Layout::Colour16 => each(bytes, count, |pixel: [u8; 6]| halves(pixel).map(high)),
            Layout::ColourAlpha16 => {
                each(bytes, count, |pixel: [u8; 8]| laid(alpha, halves(pixel).map(high)));
            }
            Layout::Inks16 => each(bytes, count, |pixel: [u8; 8]| printed16(halves(pixel))),
            Layout::ColourFloat => each(bytes, count, |pixel: [u8; 12]| quarters(pixel).map(level)),
            Layout::ColourAlphaFloat => {
                each(bytes, count, |pixel: [u8; 16]| laid(alpha, quarters(pixel).map(level)));
            }
        }
        Image::new(self.size, self.bytes)
    }
}

/// Replaces each pixel by a colour in place. Where pixels are larger than colours this begins at the front, otherwise at the back,
/// so that every pixel is read before it is overwritten.
fn each<const N: usize>(bytes: &mut [u8], count: usize, colour: impl Fn([u8; N]) -> [u8; CHANNELS]) {
    let cells = Cell::from_mut(bytes).as_slice_of_cells();
    let pixels = cells.as_chunks::<N>().0.iter().take(count);
    let places = cells.as_chunks::<CHANNELS>().0.iter().take(count);
    let pairs = pixels.zip(places);
    if N < CHANNELS {
        for (pixel, place) in pairs.rev() {
            put(place, colour(pixel.each_ref().map(Cell::get)));
        }
    } else {
        for (pixel, place) in pairs {
            put(place, colour(pixel.each_ref().map(Cell::get)));
        }
    }
}

fn put(place: &[Cell<u8>; CHANNELS], colour: [u8; CHANNELS]) {
    for (place, channel) in place.iter().zip(colour) {
        place.set(channel);
    }
}

/// Pairs of bytes.
fn halves<const N: usize, const M: usize>(pixel: [u8; N]) -> [[u8; 2]; M] {
    let mut pairs = pixel.as_chunks::<2>().0.iter().copied();
    [(); M].map(|()| pairs.next().unwrap_or_default())
}

/// Groups of four bytes.
fn quarters<const N: usize, const M: usize>(pixel: [u8; N]) -> [[u8; 4]; M] {
    let mut groups = pixel.as_chunks::<4>().0.iter().copied();
    [(); M].map(|()| groups.next().unwrap_or_default())
}

fn high(channel: [u8; 2]) -> u8 {
    (u16::from_ne_bytes(channel) >> 8) as u8
}

/// A number between 0 and 1 as a level of 255; what is no number is white.
fn level(channel: [u8; 4]) -> u8 {
    let number = f32::from_ne_bytes(channel);
    let number = if number < 1.0 { number.max(0.0) } else { 1.0 };
    (number * 255.0).round() as u8
}

/// What inks leave of white, without regard to a profile.
fn printed([cyan, magenta, yellow, black]: [u8; 4]) -> [u8; CHANNELS] {
    let left = 1.0 - f32::from(black) / 255.0;
    [cyan, magenta, yellow].map(|ink| ((255.0 - f32::from(ink)) * left) as u8)
}

fn printed16(inks: [[u8; 2]; 4]) -> [u8; CHANNELS] {
    let [cyan, magenta, yellow, black] = inks.map(u16::from_ne_bytes);
    let left = 1.0 - f32::from(black) / 65_535.0;
    [cyan, magenta, yellow].map(|ink| (((65_535.0 - f32::from(ink)) * left) as u16 >> 8) as u8)
}

fn laid(alpha: AlphaHandling, [red, green, blue, cover]: [u8; 4]) -> [u8; CHANNELS] {
    match alpha {
        AlphaHandling::White => on_white([red, green, blue, cover]),
        AlphaHandling::Drop => [red, green, blue],
    }
}

/// Lays a pixel on white, with the rounding of Pillow's `alpha_composite`: seven bits beyond the byte.
fn on_white([red, green, blue, alpha]: [u8; 4]) -> [u8; CHANNELS] {
    const PRECISION: u32 = 7;
    let cover = u32::from(alpha) << PRECISION;
    [red, green, blue].map(|channel| {
        let sum = u32::from(channel) * cover + 255 * ((255 << PRECISION) - cover) + (0x80 << PRECISION);
        (((sum >> 8) + sum) >> 8 >> PRECISION) as u8
    })
}
