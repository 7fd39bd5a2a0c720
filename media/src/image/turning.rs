//! Turns and mirrors images as the orientation in their files says.

use image::metadata::Orientation;
use image::{DynamicImage, RgbImage};

use super::view::{CHANNELS, Image, Size};

/// Returns the size of the turned image.
pub(super) fn size(size: Size, orientation: Orientation) -> Size {
    if lies(orientation) { Size::new(size.height, size.width) } else { size }
}

/// Returns whether width and height are exchanged.
fn lies(orientation: Orientation) -> bool {
    use Orientation::{Rotate90, Rotate90FlipH, Rotate270, Rotate270FlipH};
    matches!(orientation, Rotate90 | Rotate270 | Rotate90FlipH | Rotate270FlipH)
}

/// Turns an image. One that lies on its side and is larger than `room` is turned in place, which is slower.
pub(super) fn turned(image: Image, orientation: Orientation, room: u64) -> Image {
    use Orientation::{NoTransforms, Rotate90, Rotate90FlipH, Rotate270};
    let size = image.size();
    if orientation == NoTransforms {
        return image;
    }
    if !lies(orientation) || image.bytes().len() as u64 <= room {
        return applied(image, orientation);
    }
    let mut bytes = image.into_bytes();
    transpose(&mut bytes, size);
    let transposed = Image::new(Size::new(size.height, size.width), bytes);
    match orientation {
        Rotate90 => applied(transposed, Orientation::FlipHorizontal),
        Rotate270 => applied(transposed, Orientation::FlipVertical),
        Rotate90FlipH => transposed,
        _ => applied(transposed, Orientation::Rotate180),
    }
}

fn applied(image: Image, orientation: Orientation) -> Image {
    let before = image.size();
    let Some(image) = RgbImage::from_raw(before.width as u32, before.height as u32, image.into_bytes())
    else {
        // An image has as many bytes as its size says.
        return Image::new(before, Vec::new());
    };
    let mut image = DynamicImage::ImageRgb8(image);
    image.apply_orientation(orientation);
    Image::new(size(before, orientation), image.into_bytes())
}

/// Exchanges rows and columns in place. Each pixel is moved to its place, and the pixel from there to its own, until the circle
/// is closed. A bit for each pixel marks those that are moved.
///
/// In an image of 3 x 2 pixels `abc def` becomes `ad be cf`. First `b` moves from place 1 to 2 and `c` from 2 to 4. Then
/// `e` moves from 4 to 3, and `d` closes the circle from 3 to 1.
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

/// Marks a place; says whether it was not marked before.
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
    fn an_image_that_is_turned_in_its_own_memory_is_the_same() {
        for (width, height) in [(1, 1), (1, 7), (7, 1), (5, 3), (4, 4), (64, 130), (13, 77)] {
            let size = Size::new(width, height);
            let bytes = (0..size.pixels() * CHANNELS).map(|byte| (byte * 31 + byte / 251) as u8).collect();
            let image = Image::new(size, bytes);
            for number in 1..=8 {
                let orientation = Orientation::from_exif(number).unwrap();
                let usual = turned(image.clone(), orientation, u64::MAX);
                assert_eq!(turned(image.clone(), orientation, 0), usual, "{size}, {orientation:?}");
            }
        }
    }
}
