//! BMP, ICO, PNM and TGA.

use super::bits::zlib;
use super::png::png;
use super::{Bomb, HEIGHT, MUCH, PIXELS, WIDTH, bomb};

fn bmp((width, height): (usize, usize), bits: u16, compression: u32, data: &[u8]) -> Vec<u8> {
    let colours = if bits <= 8 { 1_usize << bits } else { 0 };
    let start = 54 + 4 * colours as u32;
    let mut file = b"BM".to_vec();
    for number in [start + data.len() as u32, 0, start, 40, width as u32, height as u32] {
        file.extend(number.to_le_bytes());
    }
    file.extend(1_u16.to_le_bytes());
    file.extend(bits.to_le_bytes());
    for number in [compression, 0, 0, 0, 0, 0] {
        file.extend(number.to_le_bytes());
    }
    file.extend(vec![3; 4 * colours]);
    file.extend(data);
    file
}

/// Runs of the colour 0, a row after the other.
fn runs() -> Vec<u8> {
    let mut row = [255, 0].repeat(WIDTH / 255);
    row.extend([(WIDTH % 255) as u8, 0, 0, 0]);
    let mut runs = row.repeat(HEIGHT);
    runs.extend([0, 1]);
    runs
}

fn icon(file: &[u8]) -> Vec<u8> {
    let mut icon = vec![0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 32, 0];
    icon.extend((file.len() as u32).to_le_bytes());
    icon.extend(22_u32.to_le_bytes());
    icon.extend(file);
    icon
}

fn tga(kind: u8, bits: u8, colours: u16, colour_bits: u8, data: &[u8]) -> Vec<u8> {
    let mut file = vec![0, u8::from(colours > 0), kind, 0, 0];
    file.extend(colours.to_le_bytes());
    file.push(colour_bits);
    file.extend([0; 4]);
    file.extend((WIDTH as u16).to_le_bytes());
    file.extend((HEIGHT as u16).to_le_bytes());
    file.extend([bits, 0x20]);
    file.extend(vec![5; usize::from(colours) * usize::from(colour_bits) / 8]);
    file.extend(data);
    file
}

/// A name, and what makes the file.
type Targa = (&'static str, fn() -> Vec<u8>);

pub(super) fn all() -> Vec<Bomb> {
    let mut bombs = vec![
        bomb("bmp in runs", true, || bmp((WIDTH, HEIGHT), 8, 1, &runs())),
        bomb("bmp without its pixels", false, || bmp((WIDTH, HEIGHT), 32, 0, &[])),
        bomb("bmp that jumps", false, || bmp((WIDTH, HEIGHT), 8, 1, &[0, 2, 255, 255].repeat(1_000))),
        bomb("icon with a png with a profile of 1 GiB", true, || {
            let profile = [b"p\0\0".to_vec(), zlib(1 << 30)].concat();
            icon(&png((8, 8), (8, 6, 0), &[(b"iCCP", profile)]))
        }),
        bomb("icon with a large png", true, || icon(&png((WIDTH, HEIGHT), (8, 6, 0), &[]))),
        bomb("icon with a large bmp", false, || icon(&bmp((WIDTH, 2 * HEIGHT), 32, 0, &[])[14..])),
        bomb("pnm without its pixels", false, || format!("P6 {WIDTH} {HEIGHT} 255 ").into_bytes()),
        bomb("pnm in bits", true, || {
            [format!("P4 {WIDTH} {HEIGHT} ").into_bytes(), vec![0; PIXELS / 8]].concat()
        }),
        bomb("pnm in words", true, || [b"P1 5000 5000 ".to_vec(), b"0 ".repeat(5_000 * 5_000)].concat()),
        bomb("pam with alpha, without its pixels", false, || {
            format!("P7\nWIDTH {WIDTH}\nHEIGHT {HEIGHT}\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n")
                .into_bytes()
        }),
        bomb("pam with a long comment", false, || [b"P7\n#".to_vec(), vec![b'a'; MUCH]].concat()),
        bomb("pnm with a long comment", false, || [b"P6 #".to_vec(), vec![b'a'; MUCH]].concat()),
    ];
    let targas: [Targa; 3] = [
        ("tga in runs", || tga(10, 32, 0, 0, &[255, 1, 2, 3, 4].repeat(PIXELS.div_ceil(128)))),
        ("tga in grey runs", || tga(11, 8, 0, 0, &[255, 1].repeat(PIXELS.div_ceil(128)))),
        ("tga with a palette", || tga(9, 8, 256, 24, &[255, 1].repeat(PIXELS.div_ceil(128)))),
    ];
    for (name, make) in targas {
        bombs.push(Bomb {
            name: name.to_owned(),
            media_type: "image/x-tga",
            fine: true,
            make: Box::new(make),
        });
    }
    bombs
}
