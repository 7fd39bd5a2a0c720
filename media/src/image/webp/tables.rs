//! Computes how much memory the prefix codes of a lossless WebP take, before a decoder reads them.
//!
//! A decoder makes a table of 4 KiB or more from a code of a dozen bytes. There are five codes in a group, and up to 65,536 groups
//! in a file: 4 MB become 1.3 GiB. This module reads the stream as a decoder does, but it counts the tables and makes none. The
//! format and its constants are those of RFC 9649, section 3.

/// The number of symbols of each code of a group: green with lengths, red, blue, alpha, distances.
const ALPHABETS: [usize; 5] = [256 + 24, 256, 256, 256, 40];

/// The order in which the lengths of a code of lengths are stored.
const ORDER: [usize; 19] = [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// The longest code that a table has. Longer ones are in a tree.
const TABLE_BITS: usize = 10;

/// The size of a node of the tree, in bytes.
const NODE: u64 = 16;

/// The symbols of the first code: first the shades of green, then the lengths of copies, then the places of the cache.
const LITERALS: usize = 256;
const LENGTHS: usize = 24;

/// The length of the longest code, in bits.
const LONGEST: usize = 15;

/// Returns how many bytes the tables of an image take; `None` for a stream that a decoder refuses too. `stream` begins after the
/// header of the image.
pub(super) fn size(stream: &[u8], width: usize, height: usize) -> Option<u64> {
    let mut bits = Bits { bytes: stream, at: 0 };
    let mut width = width;
    let mut seen = [false; 4];
    while bits.read(1)? == 1 {
        let kind = bits.read(2)?;
        if std::mem::replace(seen.get_mut(kind)?, true) {
            return None;
        }
        match kind {
            0 | 1 => {
                let block = bits.read(3)? + 2;
                image(&mut bits, blocks(width, block), blocks(height, block))?;
            }
            3 => {
                let colours = bits.read(8)? + 1;
                image(&mut bits, colours, 1)?;
                let packed = match colours {
                    0..=2 => 3,
                    3..=4 => 2,
                    5..=16 => 1,
                    _ => 0,
                };
                width = blocks(width, packed);
            }
            _ => {}
        }
    }
    let cache = Cache::read(&mut bits)?;
    let mut groups = 1;
    if bits.read(1)? == 1 {
        let block = bits.read(3)? + 2;
        let numbers = image(&mut bits, blocks(width, block), blocks(height, block))?;
        // Red and green are the two bytes of a number.
        groups = numbers.iter().map(|pixel| (pixel >> 8) as usize & 0xffff).max().unwrap_or(0) + 1;
    }
    let mut bytes = 0;
    for _ in 0..groups {
        for (index, alphabet) in ALPHABETS.into_iter().enumerate() {
            let colours = if index == 0 { cache.colours.len() } else { 0 };
            bytes += Code::read(&mut bits, alphabet + colours)?.taken;
        }
    }
    Some(bytes)
}

/// Returns how many blocks of `2^bits` pixels a line has.
fn blocks(line: usize, bits: usize) -> usize {
    line.div_ceil(1 << bits)
}

/// Decodes an image within the stream, such as the numbers of groups. Each pixel is alpha, red, green and blue, a byte each.
fn image(bits: &mut Bits<'_>, width: usize, height: usize) -> Option<Vec<u32>> {
    let mut cache = Cache::read(bits)?;
    let mut codes = Vec::new();
    for (index, alphabet) in ALPHABETS.into_iter().enumerate() {
        let colours = if index == 0 { cache.colours.len() } else { 0 };
        codes.push(Code::read(bits, alphabet + colours)?);
    }
    let [green, red, blue, alpha, distance] = codes.as_slice() else { return None };
    let total = width.checked_mul(height)?;
    let mut pixels: Vec<u32> = Vec::new();
    while pixels.len() < total {
        let symbol = green.symbol(bits)?;
        if symbol < LITERALS {
            let red = red.symbol(bits)?;
            let blue = blue.symbol(bits)?;
            let alpha = alpha.symbol(bits)?;
            let pixel = (alpha << 24 | red << 16 | symbol << 8 | blue) as u32;
            cache.insert(pixel);
            pixels.push(pixel);
        } else if symbol < LITERALS + LENGTHS {
            let length = number(bits, symbol - LITERALS)?;
            let distance = distance.symbol(bits)?;
            let back = pixels_back(number(bits, distance)?, width);
            for _ in 0..length.min(total - pixels.len()) {
                let pixel = *pixels.get(pixels.len().checked_sub(back)?)?;
                cache.insert(pixel);
                pixels.push(pixel);
            }
        } else {
            let pixel = *cache.colours.get(symbol - LITERALS - LENGTHS)?;
            cache.insert(pixel);
            pixels.push(pixel);
        }
    }
    Some(pixels)
}

/// Reads a length or a distance. Its symbol says how many bits follow.
fn number(bits: &mut Bits<'_>, symbol: usize) -> Option<usize> {
    if symbol < 4 {
        return Some(symbol + 1);
    }
    let more = (symbol - 2) / 2;
    Some(((2 + symbol % 2) << more) + bits.read(more)? + 1)
}

/// Returns the number of pixels that a distance goes back. The first 120 distances are places nearby, in two dimensions.
fn pixels_back(distance: usize, width: usize) -> usize {
    let Some(place) = NEAR.get(distance - 1) else { return distance - NEAR.len() };
    let rows = usize::from(place >> 4);
    let columns = usize::from(place & 15);
    (rows * width + 8).saturating_sub(columns).max(1)
}

/// The places nearby: the rows above in the upper four bits, 8 minus the columns to the left in the lower four.
const NEAR: [u8; 120] = [
    0x18, 0x07, 0x17, 0x19, 0x28, 0x06, 0x27, 0x29, 0x16, 0x1a, 0x26, 0x2a, 0x38, 0x05, 0x37, 0x39, 0x15,
    0x1b, 0x36, 0x3a, 0x25, 0x2b, 0x48, 0x04, 0x47, 0x49, 0x14, 0x1c, 0x35, 0x3b, 0x46, 0x4a, 0x24, 0x2c,
    0x58, 0x45, 0x4b, 0x34, 0x3c, 0x03, 0x57, 0x59, 0x13, 0x1d, 0x56, 0x5a, 0x23, 0x2d, 0x44, 0x4c, 0x55,
    0x5b, 0x33, 0x3d, 0x68, 0x02, 0x67, 0x69, 0x12, 0x1e, 0x66, 0x6a, 0x22, 0x2e, 0x54, 0x5c, 0x43, 0x4d,
    0x65, 0x6b, 0x32, 0x3e, 0x78, 0x01, 0x77, 0x79, 0x53, 0x5d, 0x11, 0x1f, 0x64, 0x6c, 0x42, 0x4e, 0x76,
    0x7a, 0x21, 0x2f, 0x75, 0x7b, 0x31, 0x3f, 0x63, 0x6d, 0x52, 0x5e, 0x00, 0x74, 0x7c, 0x41, 0x4f, 0x10,
    0x20, 0x62, 0x6e, 0x30, 0x73, 0x7d, 0x51, 0x5f, 0x40, 0x72, 0x7e, 0x61, 0x6f, 0x50, 0x71, 0x7f, 0x60,
    0x70,
];

/// The cache of colours: recent colours by their hash.
struct Cache {
    bits: usize,
    colours: Vec<u32>,
}

impl Cache {
    fn read(bits: &mut Bits<'_>) -> Option<Self> {
        let size = if bits.read(1)? == 1 { bits.read(4)? } else { 0 };
        let colours = if size > 0 { vec![0; 1 << size] } else { Vec::new() };
        (size <= 11).then_some(Self { bits: size, colours })
    }

    fn insert(&mut self, colour: u32) {
        if self.bits > 0 {
            let place = (0x1e35_a7bd_u32.wrapping_mul(colour) >> (32 - self.bits)) as usize;
            if let Some(place) = self.colours.get_mut(place) {
                *place = colour;
            }
        }
    }
}

/// A canonical prefix code: the number of symbols of each length, and the symbols in the order of their codes.
struct Code {
    counts: [usize; LONGEST + 1],
    symbols: Vec<usize>,
    /// How many bytes a decoder needs for its tables.
    taken: u64,
}

impl Code {
    fn read(bits: &mut Bits<'_>, alphabet: usize) -> Option<Self> {
        // A simple code lists one or two symbols.
        if bits.read(1)? == 1 {
            let two = bits.read(1)? == 1;
            let wide = bits.read(1)?;
            let mut symbols = vec![bits.read(1 + 7 * wide)?];
            let mut counts = [0; LONGEST + 1];
            if two {
                symbols.push(bits.read(8)?);
                counts[1] = 2;
            }
            return Some(Self { counts, symbols, taken: 4 * NODE });
        }
        // A normal code stores the lengths of its codes, which are compressed by a code of their own.
        let count = 4 + bits.read(4)?;
        let mut lengths = [0; ORDER.len()];
        for place in ORDER.into_iter().take(count) {
            *lengths.get_mut(place)? = bits.read(3)?;
        }
        let code = Self::of(&lengths)?;
        let mut left = if bits.read(1)? == 1 {
            let width = 2 + 2 * bits.read(3)?;
            2 + bits.read(width)?
        } else {
            alphabet
        };
        let mut lengths = Vec::new();
        let mut before = 8;
        while lengths.len() < alphabet && left > 0 {
            left -= 1;
            let symbol = code.symbol(bits)?;
            // 16 repeats the last length that is not 0, 17 and 18 repeat 0.
            let (length, times) = match symbol {
                16 => (before, 3 + bits.read(2)?),
                17 => (0, 3 + bits.read(3)?),
                18 => (0, 11 + bits.read(7)?),
                length => (length, 1),
            };
            if length != 0 {
                before = length;
            }
            lengths.extend(std::iter::repeat_n(length, times));
        }
        if lengths.len() > alphabet { None } else { Self::of(&lengths) }
    }

    /// Makes the code whose symbols have these lengths.
    fn of(lengths: &[usize]) -> Option<Self> {
        let mut counts = [0; LONGEST + 1];
        let mut symbols = Vec::new();
        for length in 1..=LONGEST {
            let before = symbols.len();
            symbols.extend(
                lengths.iter().enumerate().filter(|(_, own)| **own == length).map(|(symbol, _)| symbol),
            );
            *counts.get_mut(length)? = symbols.len() - before;
        }
        let longest = counts.iter().rposition(|count| *count > 0)?;
        if symbols.len() == 1 {
            return Some(Self { counts: [0; LONGEST + 1], symbols, taken: NODE });
        }
        let in_tree: usize = counts.iter().skip(TABLE_BITS + 1).sum();
        let taken = (4 << longest.min(TABLE_BITS)) + 2 * in_tree as u64 * NODE + 4 * NODE;
        Some(Self { counts, symbols, taken })
    }

    /// Reads the next symbol. The symbol of a code that has one takes no bits.
    fn symbol(&self, bits: &mut Bits<'_>) -> Option<usize> {
        if self.symbols.len() == 1 {
            return self.symbols.first().copied();
        }
        let mut code = 0;
        let mut first = 0;
        let mut index = 0;
        for count in self.counts.iter().skip(1) {
            code = code << 1 | bits.read(1)?;
            if code < first + count {
                return self.symbols.get(index + code - first).copied();
            }
            index += count;
            first = (first + count) << 1;
        }
        None
    }
}

/// A reader of bits, the lowest of each byte first.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn read(&mut self, count: usize) -> Option<usize> {
        let mut value = 0;
        for index in 0..count {
            let byte = self.bytes.get(self.at / 8)?;
            value |= usize::from(byte >> (self.at % 8) & 1) << index;
            self.at += 1;
        }
        Some(value)
    }
}
