//! TIFF: images in strips and tiles, and directories that say what cannot be.

use super::bits::{lzw, zlib};
use super::jpeg::{Coding, jpeg};
use super::{Bomb, HEIGHT, MUCH, WIDTH, bomb};

/// A tag: its number, its type, how many numbers it has, and they themselves where they fit; otherwise they lie in the data.
type Entry = (u16, u16, u32, u32);

/// A directory and the data after it. The function is called with the offset of the data.
fn tiff(entries: impl Fn(u32) -> Vec<Entry>, data: &[u8]) -> Vec<u8> {
    let count = entries(0).len();
    let start = (8 + 2 + 12 * count + 4) as u32;
    let mut entries = entries(start);
    entries.sort_unstable();
    let mut file = b"II*\0\x08\0\0\0".to_vec();
    file.extend((count as u16).to_le_bytes());
    for (tag, kind, count, value) in entries {
        file.extend(tag.to_le_bytes());
        file.extend(kind.to_le_bytes());
        file.extend(count.to_le_bytes());
        file.extend(value.to_le_bytes());
    }
    file.extend([0; 4]);
    file.extend(data);
    file
}

const SHORT: u16 = 3;
const LONG: u16 = 4;
const NONE: u32 = 1;
const LZW: u32 = 5;
const JPEG: u32 = 7;
const DEFLATE: u32 = 8;
const PACK_BITS: u32 = 32_773;

/// What the tags of an image say in which it is not as usual.
#[derive(Clone, Copy)]
struct Kind {
    size: (u32, u32),
    bits: u32,
    samples: u32,
    photometric: u32,
    compression: u32,
    planar: bool,
    float: bool,
}

const RGB: Kind = Kind {
    size: (WIDTH as u32, HEIGHT as u32),
    bits: 8,
    samples: 3,
    photometric: 2,
    compression: DEFLATE,
    planar: false,
    float: false,
};

impl Kind {
    fn entries(self) -> Vec<Entry> {
        let mut entries = vec![
            (256, LONG, 1, self.size.0),
            (257, LONG, 1, self.size.1),
            (258, SHORT, 1, self.bits),
            (259, SHORT, 1, self.compression),
            (262, SHORT, 1, self.photometric),
            (277, SHORT, 1, self.samples),
        ];
        if self.planar {
            entries.push((284, SHORT, 1, 2));
        }
        if self.float {
            entries.push((339, SHORT, 1, 3));
        }
        entries
    }

    fn row(self) -> usize {
        let samples = if self.planar { 1 } else { self.samples };
        (self.size.0 as usize * (self.bits * samples) as usize).div_ceil(8)
    }

    /// The image in strips of so many rows.
    fn strips(self, rows: u32) -> Vec<u8> {
        let planes = if self.planar { self.samples } else { 1 };
        let count = self.size.1.div_ceil(rows) * planes;
        let strip = compressed(self.compression, self.row() * rows as usize);
        // All strips are the same.
        let lists = 8 * count as usize;
        let at = |start: u32| start + lists as u32;
        let entries = move |start: u32| {
            let mut entries = self.entries();
            entries.push((278, LONG, 1, rows));
            let (offsets, lengths) =
                if count == 1 { (at(start), strip_length(self, rows)) } else { (start, start + 4 * count) };
            entries.extend([(273, LONG, count, offsets), (279, LONG, count, lengths)]);
            entries
        };
        let start = (8 + 2 + 12 * entries(0).len() + 4) as u32;
        let mut data = at(start).to_le_bytes().repeat(count as usize);
        data.extend((strip.len() as u32).to_le_bytes().repeat(count as usize));
        data.extend(strip);
        tiff(entries, &data)
    }

    /// The image in one tile.
    fn tile(self, (width, height): (u32, u32), data: &[u8]) -> Vec<u8> {
        let length = data.len() as u32;
        let entries = move |start| {
            let mut entries = self.entries();
            entries.extend([
                (322, LONG, 1, width),
                (323, LONG, 1, height),
                (324, LONG, 1, start),
                (325, LONG, 1, length),
            ]);
            entries
        };
        tiff(entries, data)
    }
}

fn strip_length(kind: Kind, rows: u32) -> u32 {
    compressed(kind.compression, kind.row() * rows as usize).len() as u32
}

fn compressed(compression: u32, zeros: usize) -> Vec<u8> {
    match compression {
        DEFLATE => zlib(zeros),
        LZW => lzw(zeros, 8, true),
        PACK_BITS => [0x81, 0].repeat(zeros.div_ceil(128)),
        _ => vec![0; zeros],
    }
}

/// A small image, one of whose tags has this type and so many numbers, which lie in the data.
fn long_tag(tag: u16, kind: u16, count: usize, length: usize) -> Vec<u8> {
    let small = Kind { size: (8, 8), compression: if tag == 347 { JPEG } else { NONE }, ..RGB };
    let entries = move |start: u32| {
        let mut entries = small.entries();
        entries.extend([(278, LONG, 1, 8), (273, LONG, 1, start), (279, LONG, 1, 192)]);
        entries.retain(|entry| entry.0 != tag);
        entries.push((tag, kind, count as u32, start));
        entries
    };
    tiff(entries, &vec![8; length])
}

#[allow(clippy::too_many_lines)] // a list
pub(super) fn all() -> Vec<Bomb> {
    let half = Kind { size: (WIDTH as u32, HEIGHT as u32 / 2), ..RGB };
    let small = Kind { size: (8, 8), ..RGB };
    let mut bombs = vec![
        bomb("tiff in one strip", true, || RGB.strips(HEIGHT as u32)),
        bomb("tiff in strips", true, || RGB.strips(100)),
        bomb("tiff in strips of a row", true, || RGB.strips(1)),
        bomb("tiff with LZW", true, || Kind { compression: LZW, ..RGB }.strips(HEIGHT as u32)),
        bomb("tiff with PackBits", true, || Kind { compression: PACK_BITS, ..RGB }.strips(HEIGHT as u32)),
        bomb("tiff with alpha", true, || Kind { samples: 4, ..RGB }.strips(50)),
        bomb("tiff in inks", true, || Kind { samples: 4, photometric: 5, ..RGB }.strips(HEIGHT as u32)),
        bomb("tiff in grey", true, || Kind { samples: 1, photometric: 1, ..RGB }.strips(HEIGHT as u32)),
        bomb("tiff in bits", true, || {
            Kind { bits: 1, samples: 1, photometric: 0, ..RGB }.strips(HEIGHT as u32)
        }),
        bomb("tiff in 16 bits", true, move || Kind { bits: 16, ..half }.strips(HEIGHT as u32 / 2)),
        bomb("tiff in inks of 16 bits", true, move || {
            Kind { bits: 16, samples: 4, photometric: 5, ..half }.strips(HEIGHT as u32 / 2)
        }),
        bomb("tiff in floating point", true, || {
            Kind { bits: 32, float: true, size: (WIDTH as u32, HEIGHT as u32 / 4), ..RGB }
                .strips(HEIGHT as u32 / 4)
        }),
        bomb("tiff in planes", false, || Kind { planar: true, ..RGB }.strips(HEIGHT as u32)),
        bomb("tiff in fewer planes", true, move || Kind { planar: true, ..half }.strips(100)),
        bomb("tiff in a tile", true, || RGB.tile((8_192, 5_008), &zlib(8_192 * 5_008 * 3))),
        bomb("tiff in a tile that is far too large", true, move || {
            small.tile((60_000, 60_000), &zlib(1 << 30))
        }),
        bomb("tiff in a tile that is far too wide", false, move || small.tile((1 << 31, 16), &zlib(1 << 30))),
        bomb("tiff of very many samples", false, move || {
            let kind = Kind { samples: 65_535, bits: 16, ..small };
            let entries = move |start: u32| {
                let mut entries = kind.entries();
                entries.extend([
                    (338, SHORT, 65_532, start),
                    (278, LONG, 1, 8),
                    (273, LONG, 1, start),
                    (279, LONG, 1, 9),
                ]);
                entries
            };
            tiff(entries, &vec![0; 1 << 20])
        }),
        bomb("tiff that holds a larger JPEG", false, move || {
            let kind = Kind { compression: JPEG, ..small };
            kind.tile((16, 16), &jpeg((16_000, 16_000), Coding::Baseline, 3, &[]))
        }),
        bomb("tiff that holds a progressive JPEG", false, || {
            let kind = Kind { compression: JPEG, ..RGB };
            kind.tile((WIDTH as u32, HEIGHT as u32), &jpeg((WIDTH, HEIGHT), Coding::Progressive, 3, &[]))
        }),
        bomb("tiff in one strip that is longer than its rows", true, move || {
            let data = zlib(1 << 30);
            let length = data.len() as u32;
            let entries = move |start: u32| {
                let mut entries = small.entries();
                entries.extend([(278, LONG, 1, u32::MAX), (273, LONG, 1, start), (279, LONG, 1, length)]);
                entries
            };
            tiff(entries, &data)
        }),
        bomb("tiff of too many pixels", false, || {
            Kind { size: (u32::MAX, u32::MAX), ..RGB }.tile((16, 16), &[0; 99])
        }),
    ];
    let tags = [
        (273, LONG, 4),
        (279, LONG, 4),
        (258, SHORT, 2),
        (338, SHORT, 2),
        (339, SHORT, 2),
        (530, SHORT, 2),
        (347, 7, 1),
        (274, 1, 1),
        (262, 12, 8),
    ];
    for (tag, kind, width) in tags {
        let long = move || long_tag(tag, kind, MUCH / width, MUCH);
        bombs.push(bomb(&format!("tiff whose tag {tag} is long"), false, long));
    }
    for (tag, kind) in [(34_675, 7), (700, 1), (270, 2), (33_723, 7)] {
        let long = move || long_tag(tag, kind, MUCH, MUCH);
        bombs.push(bomb(&format!("tiff with much in tag {tag}"), true, long));
    }
    bombs.push(bomb("tiff whose directory is all there is", false, || {
        let mut file = b"II+\0\x08\0\0\0\x10\0\0\0\0\0\0\0".to_vec();
        file.extend((MUCH as u64 / 20).to_le_bytes());
        for number in 0..MUCH / 20 {
            file.extend((number as u16).to_le_bytes());
            file.extend([3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
        }
        file
    }));
    bombs
}
