//! Small files that are large images, or say that they are, or hold much beside one: a family for each format.

mod bits;
mod gif;
mod jpeg;
mod others;
mod png;
mod tiff;
mod webp;

use bits::Bits;

/// How many pixels the large ones have: the limit that they are read under.
pub(crate) const PIXELS: usize = WIDTH * HEIGHT;
pub(crate) const WIDTH: usize = 8_000;
pub(crate) const HEIGHT: usize = 5_000;

/// How long metadata is that fills a file up to its limit of 64 MiB.
const MUCH: usize = 60 << 20;

/// A file.
pub(crate) struct Bomb {
    pub(crate) name: String,
    pub(crate) media_type: &'static str,
    /// Whether it is an image like any other, and must be read.
    pub(crate) fine: bool,
    pub(crate) make: Box<dyn Fn() -> Vec<u8>>,
}

fn bomb(name: &str, fine: bool, make: impl Fn() -> Vec<u8> + 'static) -> Bomb {
    Bomb { name: name.to_owned(), media_type: "image/any", fine, make: Box::new(make) }
}

pub(crate) fn all() -> Vec<Bomb> {
    [png::all(), tiff::all(), jpeg::all(), gif::all(), webp::all(), others::all()]
        .into_iter()
        .flatten()
        .collect()
}
