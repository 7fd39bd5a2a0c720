//! JPEG: one tone, a bit or two for each block, and what lies beside it.

use super::{Bomb, HEIGHT, MUCH, WIDTH, bomb};

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Coding {
    Baseline,
    /// A scan for each component.
    Apart,
    Progressive,
}

fn segment(file: &mut Vec<u8>, marker: u8, content: &[u8]) {
    file.extend([0xff, marker]);
    file.extend((content.len() as u16 + 2).to_be_bytes());
    file.extend(content);
}

pub(super) fn jpeg(
    (width, height): (usize, usize),
    coding: Coding,
    components: u8,
    before: &[(u8, Vec<u8>)],
) -> Vec<u8> {
    let mut file = vec![0xff, 0xd8];
    for (marker, content) in before {
        segment(&mut file, *marker, content);
    }
    segment(&mut file, 0xdb, &[&[0][..], &[1; 64]].concat());
    let frame = if coding == Coding::Progressive { 0xc2 } else { 0xc0 };
    let mut head = vec![8];
    head.extend((height as u16).to_be_bytes());
    head.extend((width as u16).to_be_bytes());
    head.push(components);
    head.extend((1..=components).flat_map(|id| [id, 0x11, 0]));
    segment(&mut file, frame, &head);
    // One code of one bit, for a block without anything: both tables.
    for table in [0x00, 0x10] {
        let mut codes = vec![table, 1];
        codes.extend([0; 16]);
        segment(&mut file, 0xc4, &codes);
    }
    let scans: Vec<Vec<u8>> = match coding {
        Coding::Apart => (1..=components).map(|id| vec![id]).collect(),
        _ => vec![(1..=components).collect()],
    };
    let blocks = width.div_ceil(8) * height.div_ceil(8);
    for scan in scans {
        let mut head = vec![scan.len() as u8];
        head.extend(scan.iter().flat_map(|id| [*id, 0]));
        head.extend([0, if coding == Coding::Progressive { 0 } else { 63 }, 0]);
        segment(&mut file, 0xda, &head);
        let bits = if coding == Coding::Progressive { 1 } else { 2 };
        file.extend(vec![0; (blocks * scan.len() * bits).div_ceil(8)]);
    }
    file.extend([0xff, 0xd9]);
    file
}

/// Metadata in as many segments as fill a file.
fn much(head: &'static [u8], marker: u8) -> Vec<u8> {
    let count = MUCH / 65_000;
    let segment = |number: usize| {
        let mut content = head.to_vec();
        if head.starts_with(b"ICC") {
            content.extend([number as u8, count.min(255) as u8]);
        }
        content.resize(65_000, 1);
        (marker, content)
    };
    let before: Vec<_> = (1..=count).map(segment).collect();
    jpeg((16, 16), Coding::Baseline, 3, &before)
}

pub(super) fn all() -> Vec<Bomb> {
    vec![
        bomb("jpeg", true, || jpeg((WIDTH, HEIGHT), Coding::Baseline, 3, &[])),
        bomb("jpeg in grey", true, || jpeg((WIDTH, HEIGHT), Coding::Baseline, 1, &[])),
        bomb("jpeg in inks", true, || jpeg((WIDTH, HEIGHT), Coding::Baseline, 4, &[])),
        bomb("jpeg, progressive", false, || jpeg((WIDTH, HEIGHT), Coding::Progressive, 3, &[])),
        bomb("jpeg, progressive, in inks", false, || jpeg((WIDTH, HEIGHT), Coding::Progressive, 4, &[])),
        bomb("jpeg, progressive, half as large", true, || {
            jpeg((WIDTH / 2, HEIGHT), Coding::Progressive, 3, &[])
        }),
        bomb("jpeg, a component at a time", false, || jpeg((WIDTH, HEIGHT), Coding::Apart, 3, &[])),
        bomb("jpeg, a component at a time, half as large", true, || {
            jpeg((WIDTH / 2, HEIGHT), Coding::Apart, 3, &[])
        }),
        bomb("jpeg too large", false, || jpeg((65_500, 65_500), Coding::Progressive, 3, &[])),
        bomb("jpeg with much of a profile", true, || much(b"ICC_PROFILE\0", 0xe2)),
        bomb("jpeg with much EXIF", true, || much(b"Exif\0\0II*\0", 0xe1)),
        bomb("jpeg with much XMP", true, || much(b"http://ns.adobe.com/xmp/extension/\0", 0xe1)),
        bomb("jpeg with much IPTC", true, || much(b"Photoshop 3.0\0", 0xed)),
        bomb("jpeg with long comments", true, || much(b"", 0xfe)),
        bomb("jpeg turned on its side", true, || {
            let exif = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0\0\0\0\0".to_vec();
            jpeg((WIDTH, HEIGHT), Coding::Baseline, 3, &[(0xe1, exif)])
        }),
    ]
}
