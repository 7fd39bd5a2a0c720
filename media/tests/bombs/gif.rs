//! GIF: frames within their screen and beyond it, and extensions.

use super::bits::lzw;
use super::{Bomb, MUCH, bomb};

fn blocks(file: &mut Vec<u8>, content: &[u8]) {
    for block in content.chunks(255) {
        file.push(block.len() as u8);
        file.extend(block);
    }
    file.push(0);
}

fn gif(screen: (u16, u16), frame: (u16, u16), before: impl Fn(&mut Vec<u8>), frames: usize) -> Vec<u8> {
    let mut file = b"GIF89a".to_vec();
    file.extend(screen.0.to_le_bytes());
    file.extend(screen.1.to_le_bytes());
    file.extend([0xf7, 0, 0]);
    file.extend([9; 768]);
    before(&mut file);
    for _ in 0..frames {
        file.extend([0x2c, 0, 0, 0, 0]);
        file.extend(frame.0.to_le_bytes());
        file.extend(frame.1.to_le_bytes());
        file.extend([0, 8]);
        blocks(&mut file, &lzw(usize::from(frame.0) * usize::from(frame.1), 8, false));
    }
    file.push(0x3b);
    file
}

fn nothing(_: &mut Vec<u8>) {}

fn application(name: &'static [u8; 11]) -> impl Fn(&mut Vec<u8>) {
    move |file| {
        file.extend([0x21, 0xff, 11]);
        file.extend(name);
        blocks(file, &vec![1; MUCH]);
    }
}

pub(super) fn all() -> Vec<Bomb> {
    vec![
        bomb("gif", true, || gif((4_000, 3_000), (4_000, 3_000), nothing, 1)),
        bomb("gif of many frames", true, || gif((4_000, 3_000), (4_000, 3_000), nothing, 20)),
        bomb("gif whose frame is smaller", true, || gif((4_000, 3_000), (3_999, 3_000), nothing, 1)),
        bomb("gif whose screen is large", true, || gif((8_000, 5_000), (10, 10), nothing, 1)),
        bomb("gif whose frame is far larger", false, || gif((10, 10), (65_000, 65_000), nothing, 0)),
        bomb("gif whose frame is larger", true, || gif((10, 10), (3_000, 3_000), nothing, 1)),
        bomb("gif with a long comment", true, || {
            gif(
                (10, 10),
                (10, 10),
                |file| {
                    file.extend([0x21, 0xfe]);
                    blocks(file, &vec![b'a'; MUCH]);
                },
                1,
            )
        }),
        bomb("gif with a long profile", false, || gif((10, 10), (10, 10), application(b"ICCRGBG1012"), 1)),
        bomb("gif with long XMP", false, || gif((10, 10), (10, 10), application(b"XMP DataXMP"), 1)),
        bomb("gif with a long extension of nobody's", true, || {
            gif((10, 10), (10, 10), application(b"NOBODYS1.00"), 1)
        }),
    ]
}
