//! Pictures stand as their files say: turned, mirrored. Knows no format.

use image::metadata::Orientation;
use image::{DynamicImage, RgbImage};

use super::view::{CHANNELS, Picture, Size};

/// The size that a picture has when it is turned.
pub(super) fn size(size: Size, orientation: Orientation) -> Size {
    if lies(orientation) { Size::new(size.height, size.width) } else { size }
}

/// Whether sides change their places.
fn lies(orientation: Orientation) -> bool {
    use Orientation::{Rotate90, Rotate90FlipH, Rotate270, Rotate270FlipH};
    matches!(orientation, Rotate90 | Rotate270 | Rotate90FlipH | Rotate270FlipH)
}

/// Turns a picture; one that lies on its side and is larger than `room` in its own memory, which takes longer.
pub(super) fn turned(picture: Picture, orientation: Orientation, room: u64) -> Picture {
    use Orientation::{NoTransforms, Rotate90, Rotate90FlipH, Rotate270};
    let size = picture.size();
    if orientation == NoTransforms {
        return picture;
    }
    if !lies(orientation) || picture.bytes().len() as u64 <= room {
        return applied(picture, orientation);
    }
    let mut bytes = picture.into_bytes();
    transpose(&mut bytes, size);
    let transposed = Picture::new(Size::new(size.height, size.width), bytes);
    match orientation {
        Rotate90 => applied(transposed, Orientation::FlipHorizontal),
        Rotate270 => applied(transposed, Orientation::FlipVertical),
        Rotate90FlipH => transposed,
        _ => applied(transposed, Orientation::Rotate180),
    }
}

fn applied(picture: Picture, orientation: Orientation) -> Picture {
    let before = picture.size();
    let Some(image) = RgbImage::from_raw(before.width as u32, before.height as u32, picture.into_bytes())
    else {
        // A picture has as many bytes as its size says.
        return Picture::new(before, Vec::new());
    };
    let mut image = DynamicImage::ImageRgb8(image);
    image.apply_orientation(orientation);
    Picture::new(size(before, orientation), image.into_bytes())
}

/// Makes rows of columns without a second picture: each pixel is moved to its place, the one that was there to its own, and so on
/// round each circle. A bit for each pixel says which were moved.
fn transpose(bytes: &mut [u8], size: Size) {
    let (pixels, _) = bytes.as_chunks_mut::<CHANNELS>();
    let mut moved = vec![0_u64; pixels.len().div_ceil(64)];
    for start in 0..pixels.len() {
        let mut at = start;
        let Some(mut carried) = pixels.get(at).copied() else { return };
        while mark(&mut moved, at) {
            at = (at % size.width) * size.height + at / size.width;
            if let Some(place) = pixels.get_mut(at) {
                std::mem::swap(&mut carried, place);
            }
        }
    }
}

/// Marks a place; whether it was not marked before.
fn mark(moved: &mut [u64], at: usize) -> bool {
    let Some(bits) = moved.get_mut(at / 64) else { return false };
    let bit = 1 << (at % 64);
    let fresh = *bits & bit == 0;
    *bits |= bit;
    fresh
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_that_is_turned_in_its_own_memory_is_the_same() {
        for (width, height) in [(1, 1), (1, 7), (7, 1), (5, 3), (4, 4), (64, 130), (13, 77)] {
            let size = Size::new(width, height);
            let bytes = (0..size.pixels() * CHANNELS).map(|byte| (byte * 31 + byte / 251) as u8).collect();
            let picture = Picture::new(size, bytes);
            for number in 1..=8 {
                let orientation = Orientation::from_exif(number).unwrap();
                let usual = turned(picture.clone(), orientation, u64::MAX);
                assert_eq!(turned(picture.clone(), orientation, 0), usual, "{size}, {orientation:?}");
            }
        }
    }
}
