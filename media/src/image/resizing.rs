//! Resizes images exactly as torchvision or Pillow does.

mod integer;
mod kernel;
mod taps;

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use alloquy_core::{Error, ErrorKind, Result};
use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x3;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions};

pub(crate) use kernel::Kernel;

use self::integer::{Arithmetic, Source};
use super::view::{CHANNELS, Image, ImageView, Size};
use crate::options::ImageBackend;
use crate::spread;

/// How many bytes the square around an image and the result of the first pass may take. A larger image is resized in bands.
const BETWEEN: usize = 64 << 20;

/// How many rows are resized at a time.
const BAND: usize = 64;

/// An image that is more than so many times larger than its windows is resized only where the windows are.
const WASTE: usize = 4;

/// Resizes parts of images.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resizer {
    pub(crate) backend: ImageBackend,
    pub(crate) kernel: Kernel,
}

impl Resizer {
    /// Returns the windows of a view of an image. The image is dropped as soon as it is not needed, since a photograph is large.
    pub(crate) fn windows(&self, image: Cow<'_, Image>, view: &ImageView) -> Result<Vec<Image>> {
        let part = part(image, view);
        match self.backend {
            ImageBackend::Torchvision if is_cheap_as_a_whole(view) => {
                let source = match view.square {
                    Some(colour) => Cow::Owned(part.squared(colour)),
                    None => part,
                };
                Ok(cut(self.stretched(source, view.size)?, view))
            }
            ImageBackend::Torchvision => Ok(self.exactly(&part, view, Arithmetic::Torchvision)),
            ImageBackend::Pillow => Ok(self.exactly(&part, view, Arithmetic::Pillow)),
        }
    }

    /// Resizes the width and then the height in calls of their own: in one call the library resizes the height first.
    fn stretched(&self, source: Cow<'_, Image>, size: Size) -> Result<Image> {
        let wide = Size::new(size.width, source.size().height);
        if source.size() == size {
            return Ok(source.into_owned());
        }
        if source.size() == wide {
            return self.columns(&source, size);
        }
        let stretched = self.rows(&source, wide.width)?;
        drop(source);
        if wide == size { Ok(stretched) } else { self.columns(&stretched, size) }
    }

    /// Resizes the rows, which do not depend on each other, in bands on several threads.
    fn rows(&self, source: &Image, width: usize) -> Result<Image> {
        let from = source.size();
        let mut bytes = vec![0; width * from.height * CHANNELS];
        let failure = Mutex::new(None);
        let band = BAND * width * CHANNELS;
        let rest = from.height % BAND;
        let last = bytes.len() - rest * width * CHANNELS;
        let (bands, end) = bytes.split_at_mut(last);
        spread::rows(bands, band, |index, bytes| {
            if let Err(error) = self.pass(source.band(index * BAND, BAND), from.width, width, bytes) {
                *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        });
        if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        if rest > 0 {
            self.pass(source.band(from.height - rest, rest), from.width, width, end)?;
        }
        Ok(Image::new(Size::new(width, from.height), bytes))
    }

    /// Stretches columns.
    fn columns(&self, source: &Image, to: Size) -> Result<Image> {
        let mut bytes = vec![0; to.pixels() * CHANNELS];
        self.pass(source.bytes(), source.size().width, to.width, &mut bytes)?;
        Ok(Image::new(to, bytes))
    }

    /// By the one type of pixel that there is: the library's other way builds its code for all of them. Heights follow from widths.
    fn pass(&self, source: &[u8], width: usize, new_width: usize, bytes: &mut [u8]) -> Result<()> {
        let height = source.len() / (width * CHANNELS).max(1);
        let new_height = bytes.len() / (new_width * CHANNELS).max(1);
        let view = TypedImageRef::<U8x3>::from_buffer(width as u32, height as u32, source).map_err(failed)?;
        let mut stretched =
            TypedImage::<U8x3>::from_buffer(new_width as u32, new_height as u32, bytes).map_err(failed)?;
        let filter = match self.kernel {
            Kernel::Bilinear => FilterType::Bilinear,
            Kernel::Bicubic => FilterType::CatmullRom,
        };
        let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(filter)).use_alpha(false);
        fast_image_resize::Resizer::new().resize_typed(&view, &mut stretched, &options).map_err(failed)
    }

    /// Computes what is cut out and nothing else.
    fn exactly(&self, part: &Image, view: &ImageView, arithmetic: Arithmetic) -> Vec<Image> {
        let source = Source::new(part, view.square);
        view.windows
            .iter()
            .map(|window| integer::resized(&source, view.size, *window, self.kernel, arithmetic))
            .collect()
    }
}

fn failed(source: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Backend, "an image could not be resized").with_source(source)
}

fn part<'a>(image: Cow<'a, Image>, view: &ImageView) -> Cow<'a, Image> {
    if view.part == image.size().whole() { image } else { Cow::Owned(image.cut(view.part)) }
}

fn cut(stretched: Image, view: &ImageView) -> Vec<Image> {
    match view.windows.as_slice() {
        [window] if *window == view.size.whole() => vec![stretched],
        windows => windows.iter().map(|window| stretched.cut(*window)).collect(),
    }
}

/// Returns whether stretching everything costs about what is cut out of it, in memory too.
fn is_cheap_as_a_whole(view: &ImageView) -> bool {
    let wanted: usize = view.windows.iter().map(|window| window.size().pixels()).sum();
    let source = view.source();
    let square = view.square.map_or(0, |_| source.pixels());
    let between =
        view.size.width.saturating_mul(source.height).saturating_add(square).saturating_mul(CHANNELS);
    view.size.pixels() <= wanted.saturating_mul(WASTE)
        && source.pixels() <= view.part.size().pixels().saturating_mul(WASTE)
        && between <= BETWEEN
}
