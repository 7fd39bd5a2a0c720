//! Any kind of pixel becomes red, green and blue of one byte each. Knows no format.

use image::DynamicImage;

use super::picture::{Picture, Size};
use crate::media::options::Alpha;

/// Makes a picture of an image. Channels of 16 bits keep their high byte, as Pillow has it, and transparency is treated as
/// `alpha` says.
pub(super) fn opaque(image: DynamicImage, alpha: Alpha) -> Picture {
    let size = Size::new(image.width() as usize, image.height() as usize);
    let high = |channel: u16| (channel >> 8) as u8;
    let bytes = match image {
        DynamicImage::ImageRgb8(image) => image.into_raw(),
        DynamicImage::ImageLuma8(image) => grey(image.as_raw().iter().copied()),
        DynamicImage::ImageLuma16(image) => grey(image.as_raw().iter().copied().map(high)),
        DynamicImage::ImageRgb16(image) => image.as_raw().iter().copied().map(high).collect(),
        DynamicImage::ImageRgba16(image) => on(alpha, image.pixels().map(|pixel| pixel.0.map(high))),
        DynamicImage::ImageLumaA16(image) => on(
            alpha,
            image.pixels().map(|pixel| {
                let [grey, alpha] = pixel.0.map(high);
                [grey, grey, grey, alpha]
            }),
        ),
        DynamicImage::ImageRgba8(image) => on(alpha, image.pixels().map(|pixel| pixel.0)),
        DynamicImage::ImageLumaA8(image) => on(
            alpha,
            image.pixels().map(|pixel| {
                let [grey, alpha] = pixel.0;
                [grey, grey, grey, alpha]
            }),
        ),
        other if other.color().has_alpha() => on(alpha, other.to_rgba8().pixels().map(|pixel| pixel.0)),
        other => other.to_rgb8().into_raw(),
    };
    Picture::new(size, bytes)
}

fn grey(values: impl Iterator<Item = u8>) -> Vec<u8> {
    values.flat_map(|value| [value; 3]).collect()
}

fn on(alpha: Alpha, pixels: impl Iterator<Item = [u8; 4]>) -> Vec<u8> {
    match alpha {
        Alpha::White => pixels.flat_map(on_white).collect(),
        Alpha::Drop => pixels.flat_map(|[red, green, blue, _]| [red, green, blue]).collect(),
    }
}

/// Lays a pixel on white, with the rounding of Pillow's `alpha_composite`: seven bits beyond the byte.
fn on_white([red, green, blue, alpha]: [u8; 4]) -> [u8; 3] {
    const PRECISION: u32 = 7;
    let cover = u32::from(alpha) << PRECISION;
    let blend = |channel: u8| {
        let sum = u32::from(channel) * cover + 255 * ((255 << PRECISION) - cover) + (0x80 << PRECISION);
        (((sum >> 8) + sum) >> 8 >> PRECISION) as u8
    };
    [red, green, blue].map(blend)
}
