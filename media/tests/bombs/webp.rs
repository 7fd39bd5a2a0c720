//! WebP: with loss and without, transparent, animated, and what lies beside it.

use super::{Bits, Bomb, HEIGHT, MUCH, WIDTH, bomb};

fn chunk(file: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) {
    file.extend(name);
    file.extend((content.len() as u32).to_le_bytes());
    file.extend(content);
    if content.len() % 2 == 1 {
        file.push(0);
    }
}

fn webp(chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut content = b"WEBP".to_vec();
    for (name, bytes) in chunks {
        chunk(&mut content, name, bytes);
    }
    let mut file = Vec::new();
    chunk(&mut file, b"RIFF", &content);
    file
}

fn canvas((width, height): (usize, usize), flags: u8) -> Vec<u8> {
    let mut content = vec![flags, 0, 0, 0];
    content.extend(&(width as u32 - 1).to_le_bytes()[..3]);
    content.extend(&(height as u32 - 1).to_le_bytes()[..3]);
    content
}

/// An image without loss, of one colour: all its codes have one symbol, and its pixels no bits.
fn lossless((width, height): (usize, usize), alpha: bool) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.low(0x2f, 8);
    bits.low(width as u64 - 1, 14);
    bits.low(height as u64 - 1, 14);
    bits.low(u64::from(alpha), 1);
    bits.low(0, 3);
    plain(&mut bits);
    bits.low_end()
}

/// No transforms, no cache, one group of codes of one symbol.
fn plain(bits: &mut Bits) {
    bits.low(0, 3);
    for _ in 0..5 {
        bits.low(0b0001, 4);
    }
}

/// An image with loss whose every bit is zero.
fn lossy((width, height): (usize, usize)) -> Vec<u8> {
    let first = width * height / 256 * 2 + 4_000;
    let second = width * height / 256 * 30 + 4_000;
    let tag = (first as u32) << 5 | 0x10;
    let mut content = tag.to_le_bytes()[..3].to_vec();
    content.extend([0x9d, 0x01, 0x2a]);
    content.extend((width as u16).to_le_bytes());
    content.extend((height as u16).to_le_bytes());
    content.extend(vec![0; first + second]);
    content
}

/// Transparency without loss.
fn transparency() -> Vec<u8> {
    let mut bits = Bits::default();
    bits.low(1, 8);
    plain(&mut bits);
    bits.low_end()
}

fn frame((width, height): (usize, usize), chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut content = vec![0; 6];
    content.extend(&(width as u32 - 1).to_le_bytes()[..3]);
    content.extend(&(height as u32 - 1).to_le_bytes()[..3]);
    content.extend([0; 4]);
    for (name, bytes) in chunks {
        chunk(&mut content, name, bytes);
    }
    content
}

fn beside(flags: u8, name: &'static [u8; 4]) -> Vec<u8> {
    let image = lossless((8, 8), false);
    webp(&[(b"VP8X", canvas((8, 8), flags)), (name, vec![1; MUCH]), (b"VP8L", image)])
}

/// An image with as many groups of codes as there can be, each of which needs tables.
fn groups() -> Vec<u8> {
    let width = 1_024_u64;
    let height = 1_024_u64;
    let mut bits = Bits::default();
    bits.low(0x2f, 8);
    bits.low(width - 1, 14);
    bits.low(height - 1, 14);
    bits.low(0, 4);
    bits.low(0, 2); // no transforms, no cache
    bits.low(1, 1); // groups
    bits.low(0, 3); // of blocks of 4 x 4
    bits.low(0, 1); // no cache
    // The number of a block's group is its red and green, 8 bits each, of 256 symbols.
    for _ in 0..2 {
        all_of_256(&mut bits);
    }
    for _ in 0..3 {
        bits.low(0b0001, 4);
    }
    let blocks = (width / 4) * (height / 4);
    for block in 0..blocks {
        let green = block & 255;
        let red = block >> 8;
        bits.low(reversed(green), 8);
        bits.low(reversed(red), 8);
    }
    for _ in 0..blocks * 5 {
        long_code(&mut bits);
    }
    let mut file = bits.low_end();
    file.resize(file.len() + 400_000, 0);
    file
}

fn reversed(byte: u64) -> u64 {
    u64::from((byte as u8).reverse_bits())
}

/// Lengths of codes: 8 for each of the first 256 symbols, none for others.
fn all_of_256(bits: &mut Bits) {
    bits.low(0, 1); // not simple
    // The order of lengths is 17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8: length 8 has a code of one bit, and 0 the other.
    bits.low(8, 4);
    for index in 0..12 {
        bits.low(u64::from(index == 2 || index == 11), 3);
    }
    bits.low(1, 1); // so many symbols:
    bits.low(3, 3); // in 8 bits
    bits.low(254, 8);
    for _ in 0..256 {
        bits.low(1, 1);
    }
}

/// A code of eleven symbols, whose longest are of 10 bits, so that its table has 1,024 entries.
fn long_code(bits: &mut Bits) {
    bits.low(0, 1);
    // 17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10: 1 to 10 are codes of four or three bits, and fill all there are.
    bits.low(10, 4);
    let lengths = [0, 0, 0, 3, 3, 3, 3, 3, 0, 3, 4, 4, 4, 4];
    for length in lengths {
        bits.low(length, 3);
    }
    bits.low(1, 1);
    bits.low(1, 3); // in 4 bits
    bits.low(9, 4);
    // In the order of their codes: 1 to 6 have 000 to 101, 7 to 10 have 1100 to 1111.
    for symbol in 0..6_u64 {
        bits.low(u64::from((symbol as u8).reverse_bits() >> 5), 3);
    }
    for symbol in [12_u8, 13, 14, 15, 15] {
        bits.low(u64::from(symbol.reverse_bits() >> 4), 4);
    }
}

pub(super) fn all() -> Vec<Bomb> {
    const LARGE: (usize, usize) = (WIDTH, HEIGHT);
    const HALF: (usize, usize) = (WIDTH / 2, HEIGHT);
    const SMALL: (usize, usize) = (WIDTH / 2, HEIGHT / 2);
    vec![
        bomb("webp with alpha, without loss", true, || webp(&[(b"VP8L", lossless(LARGE, true))])),
        bomb("webp without loss", false, || webp(&[(b"VP8L", lossless(LARGE, false))])),
        bomb("webp without loss, half as large", true, || webp(&[(b"VP8L", lossless(HALF, false))])),
        bomb("webp with loss", true, || webp(&[(b"VP8 ", lossy(LARGE))])),
        bomb("webp with loss and alpha", false, || {
            webp(&[(b"VP8X", canvas(LARGE, 16)), (b"ALPH", transparency()), (b"VP8 ", lossy(LARGE))])
        }),
        bomb("webp with loss and alpha, half as large", true, || {
            webp(&[(b"VP8X", canvas(HALF, 16)), (b"ALPH", transparency()), (b"VP8 ", lossy(HALF))])
        }),
        bomb("webp animated", false, || {
            let frame = frame(LARGE, &[(b"VP8L", lossless(LARGE, true))]);
            webp(&[(b"VP8X", canvas(LARGE, 18)), (b"ANIM", vec![0; 6]), (b"ANMF", frame)])
        }),
        bomb("webp animated, a quarter as large", true, || {
            let frame = frame(SMALL, &[(b"ALPH", transparency()), (b"VP8 ", lossy(SMALL))]);
            webp(&[(b"VP8X", canvas(SMALL, 18)), (b"ANIM", vec![0; 6]), (b"ANMF", frame)])
        }),
        bomb("webp with a long profile", true, || beside(32, b"ICCP")),
        bomb("webp with long EXIF", true, || beside(8, b"EXIF")),
        bomb("webp with long XMP", true, || beside(4, b"XMP ")),
        bomb("webp with very many chunks", true, || {
            let mut chunks = vec![(b"VP8X", canvas((8, 8), 0)), (b"VP8L", lossless((8, 8), false))];
            chunks.extend(vec![(b"NONE", Vec::new()); 5_000_000]);
            webp(&chunks)
        }),
        bomb("webp with 65,536 groups of codes for its alpha", false, || {
            let alpha = [vec![1], groups()[5..].to_vec()].concat();
            webp(&[(b"VP8X", canvas((1_024, 1_024), 16)), (b"ALPH", alpha), (b"VP8 ", lossy((1_024, 1_024)))])
        }),
        bomb("webp with 65,536 groups of codes", false, || webp(&[(b"VP8L", groups())])),
    ]
}
