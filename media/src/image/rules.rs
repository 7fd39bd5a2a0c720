//! The rules of a model for images: which parts it sees, their outline in the prompt, and their tensors. Each model has a file.

use std::fmt::Debug;

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::media_processor::{MediaOutline, MediaPlaceholder, MediaTensor};

use super::plan::ImagePlan;
use super::resizing::Kernel;
use super::values::{Scaling, Table};
use super::view::{CHANNELS, Image, Size};
use crate::description::Settings;
use crate::options::AlphaHandling;
use crate::tensors::floats;

/// The rules of a model for images.
pub(crate) trait Rules: Debug + Send + Sync {
    /// Returns which parts of an image of this size the model sees, and to which size they are resized.
    fn plan(&self, size: Size) -> Result<ImagePlan>;

    /// Returns the texts and positions in the prompt for an image with this plan.
    fn outline(&self, plan: &ImagePlan) -> MediaOutline;

    /// Returns the tensors of the parts; an error where there are more than the encoder accepts.
    fn tensors(&self, images: &[Image], table: &Table) -> Result<Vec<MediaTensor>>;
}

/// A model's rules, and how its images are resized and scaled.
#[derive(Debug)]
pub(crate) struct Look {
    pub(crate) rules: Box<dyn Rules>,
    pub(crate) kernel: Kernel,
    pub(crate) scaling: Scaling,
    pub(crate) alpha: AlphaHandling,
}

/// Returns what the processor does with transparency: it puts the image on white if it converts colours at all.
pub(crate) fn alpha(settings: &Settings<'_>, usual: AlphaHandling) -> AlphaHandling {
    match settings.switch("/do_convert_rgb") {
        Some(true) => AlphaHandling::White,
        Some(false) => AlphaHandling::Drop,
        None => usual,
    }
}

/// Returns the kernel that the settings name by Pillow's number.
pub(crate) fn kernel(settings: &Settings<'_>, usual: Kernel) -> Result<Kernel> {
    match settings.number("/resample")? {
        None => Ok(usual),
        Some(2) => Ok(Kernel::Bilinear),
        Some(3) => Ok(Kernel::Bicubic),
        Some(other) => {
            let message = format!(
                "/resample of the model's processor is {other}; supported: 2 (bilinear), 3 (bicubic)"
            );
            Err(Error::new(ErrorKind::Unsupported, message))
        }
    }
}

/// Makes an outline of texts and positions. The texts before the first positions and after the last are fields of their own.
pub(crate) fn outline(pieces: impl IntoIterator<Item = MediaPlaceholder>) -> MediaOutline {
    let mut outline = MediaOutline::default();
    let mut text = String::new();
    for piece in pieces {
        match piece {
            MediaPlaceholder::Text(more) => text.push_str(&more),
            positions @ MediaPlaceholder::Positions { .. } => {
                let between = std::mem::take(&mut text);
                if outline.pieces.is_empty() {
                    outline.before = between;
                } else if !between.is_empty() {
                    outline.pieces.push(MediaPlaceholder::Text(between));
                }
                outline.pieces.push(positions);
            }
        }
    }
    outline.after = text;
    outline
}

pub(crate) fn text(text: impl Into<String>) -> MediaPlaceholder {
    MediaPlaceholder::Text(text.into())
}

/// `pixel_values` of images of one size, channel by channel.
pub(crate) fn pixel_values(images: &[Image], table: &Table) -> MediaTensor {
    let size = images.first().map_or(Size::new(0, 0), Image::size);
    let shape = [images.len(), CHANNELS, size.height, size.width];
    floats("pixel_values", &shape, super::layout::planes(images, table))
}

pub(crate) fn impossible(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
}
