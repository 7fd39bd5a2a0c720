//! PNG: images, and what lies beside them.

use super::bits::zlib;
use super::{Bomb, HEIGHT, MUCH, WIDTH, bomb};

const GIB: usize = 1 << 30;

pub(super) fn chunk(file: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) {
    file.extend((content.len() as u32).to_be_bytes());
    let start = file.len();
    file.extend(name);
    file.extend(content);
    let mut sum = !0_u32;
    for byte in &file[start..] {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
        }
    }
    file.extend((!sum).to_be_bytes());
}

/// An image of zeros, with chunks before its own.
pub(super) fn png(
    size: (usize, usize),
    (depth, kind, interlaced): (u8, u8, u8),
    before: &[(&[u8; 4], Vec<u8>)],
) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let (width, height) = size;
    let mut head = [(width as u32).to_be_bytes(), (height as u32).to_be_bytes()].concat();
    head.extend([depth, kind, 0, 0, interlaced]);
    chunk(&mut file, b"IHDR", &head);
    for (name, content) in before {
        chunk(&mut file, name, content);
    }
    if kind == 3 {
        chunk(&mut file, b"PLTE", &[7; 768]);
        chunk(&mut file, b"tRNS", &[9; 256]);
    }
    let channels = [1, 0, 3, 1, 2, 0, 4][usize::from(kind)];
    let row = |width: usize| (width * channels * usize::from(depth)).div_ceil(8) + 1;
    let mut zeros = row(width) * height;
    if interlaced == 1 {
        let passes = [
            (0, 8, 0, 8),
            (4, 8, 0, 8),
            (0, 4, 4, 8),
            (2, 4, 0, 4),
            (0, 2, 2, 4),
            (1, 2, 0, 2),
            (0, 1, 1, 2),
        ];
        zeros = passes
            .iter()
            .map(|&(x, dx, y, dy)| row((width - x).div_ceil(dx)) * (height - y).div_ceil(dy))
            .sum();
    }
    chunk(&mut file, b"IDAT", &zlib(zeros));
    chunk(&mut file, b"IEND", b"");
    file
}

fn beside(name: &'static [u8; 4], head: &'static [u8], content: impl Fn() -> Vec<u8>) -> Vec<u8> {
    png((8, 8), (8, 2, 0), &[(name, [head.to_vec(), content()].concat())])
}

pub(super) fn all() -> Vec<Bomb> {
    let mut bombs = Vec::new();
    let kinds = [(8, 2), (8, 6), (8, 0), (8, 4), (8, 3), (1, 0), (1, 3), (16, 0), (16, 2), (16, 4), (16, 6)];
    for (depth, kind) in kinds {
        let large = move || png((WIDTH, HEIGHT), (depth, kind, 0), &[]);
        bombs.push(bomb(&format!("png of kind {kind} in {depth} bits"), true, large));
    }
    bombs.extend([
        bomb("png interlaced", true, || png((WIDTH, HEIGHT), (8, 6, 1), &[])),
        bomb("png wide", true, || png((400_000, 100), (16, 6, 0), &[])),
        bomb("png tall", true, || png((100, 400_000), (8, 2, 1), &[])),
        bomb("png turned on its side", true, || {
            let exif = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0".to_vec();
            png((WIDTH, HEIGHT), (8, 6, 0), &[(b"eXIf", exif)])
        }),
        bomb("png too large", false, || png((60_000, 60_000), (1, 0, 0), &[])),
        bomb("png with a profile of 1 GiB", true, || beside(b"iCCP", b"p\0\0", || zlib(GIB))),
        bomb("png with ten profiles", true, || {
            let profile = [b"p\0\0".to_vec(), zlib(GIB / 4)].concat();
            png((8, 8), (8, 2, 0), &vec![(b"iCCP", profile); 10])
        }),
        bomb("png with a profile that is not compressed", true, || {
            beside(b"iCCP", b"p\0\0", || vec![1; MUCH])
        }),
        bomb("png with a zTXt of 1 GiB", true, || beside(b"zTXt", b"t\0\0", || zlib(GIB))),
        bomb("png with an iTXt of 1 GiB", true, || beside(b"iTXt", b"t\0\x01\0en\0t\0", || zlib(GIB))),
        bomb("png with a long tEXt", true, || beside(b"tEXt", b"t\0", || vec![b'a'; MUCH])),
        bomb("png with many tEXt", true, || {
            png((8, 8), (8, 2, 0), &vec![(b"tEXt", b"t\0a".to_vec()); 500_000])
        }),
        bomb("png with 8 MiB of EXIF", true, || beside(b"eXIf", b"MM\0*", || vec![1; 8 << 20])),
        bomb("png with 60 MiB of EXIF", false, || beside(b"eXIf", b"MM\0*", || vec![1; MUCH])),
        bomb("png with a long sPLT", true, || beside(b"sPLT", b"p\0\x08", || vec![1; MUCH])),
        bomb("png with a chunk of nobody's", true, || beside(b"teSt", b"", || vec![1; MUCH])),
        bomb("png with more data than pixels", true, || {
            let mut file = png((8, 8), (8, 2, 0), &[]);
            let data = file.windows(4).position(|name| name == b"IDAT").unwrap() - 4;
            file.truncate(data);
            chunk(&mut file, b"IDAT", &zlib(GIB));
            chunk(&mut file, b"IEND", b"");
            file
        }),
        bomb("png animated", true, || {
            let mut file = png((4_000, 4_000), (8, 6, 0), &[(b"acTL", vec![0, 0, 0, 9, 0, 0, 0, 0])]);
            file.truncate(file.len() - 12);
            for number in 0..9_u32 {
                let size =
                    [4_000_u32.to_be_bytes(), 4_000_u32.to_be_bytes(), [0; 4], [0; 4], [0; 4]].concat();
                chunk(&mut file, b"fcTL", &[&(2 * number).to_be_bytes()[..], &size, &[0, 0]].concat());
                chunk(
                    &mut file,
                    b"fdAT",
                    &[&(2 * number + 1).to_be_bytes()[..], &zlib(4 * 4_001 * 4_000)].concat(),
                );
            }
            chunk(&mut file, b"IEND", b"");
            file
        }),
    ]);
    bombs
}
