//! What a model does with pictures: the cut, the places in the prompt, the tensors. Each model is a file that makes one.

use std::fmt::Debug;

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::media_processor::{MediaOutline, MediaPiece, MediaTensor};

use super::plan::ImagePlan;
use super::resizing::Kernel;
use super::values::{Scaling, Table};
use super::view::{CHANNELS, Picture, Size};
use crate::description::Settings;
use crate::options::AlphaHandling;
use crate::tensors::floats;

/// What a model does with pictures.
pub(crate) trait Rules: Debug + Send + Sync {
    /// Says what is cut out of a picture of some size, and how it is stretched.
    fn plan(&self, size: Size) -> Result<ImagePlan>;

    /// Says what stands in the prompt for a picture that is cut so.
    fn outline(&self, plan: &ImagePlan) -> MediaOutline;

    /// Makes tensors of what was cut out; an error where the encoder has no room for it.
    fn tensors(&self, pictures: &[Picture], table: &Table) -> Result<Vec<MediaTensor>>;
}

/// A model's rules, and how its pictures are stretched and scaled.
#[derive(Debug)]
pub(crate) struct Look {
    pub(crate) rules: Box<dyn Rules>,
    pub(crate) kernel: Kernel,
    pub(crate) scaling: Scaling,
    pub(crate) alpha: AlphaHandling,
}

/// What the processor does with transparency: it lays the picture on white where it converts the colours at all.
pub(crate) fn alpha(settings: &Settings<'_>, usual: AlphaHandling) -> AlphaHandling {
    match settings.switch("/do_convert_rgb") {
        Some(true) => AlphaHandling::White,
        Some(false) => AlphaHandling::Drop,
        None => usual,
    }
}

/// Returns the curve that the settings name by Pillow's number.
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

/// Texts and positions in their order as an outline: what stands before the first positions and behind the last is apart.
pub(crate) fn outline(pieces: impl IntoIterator<Item = MediaPiece>) -> MediaOutline {
    let mut outline = MediaOutline::default();
    let mut text = String::new();
    for piece in pieces {
        match piece {
            MediaPiece::Text(more) => text.push_str(&more),
            positions @ MediaPiece::Positions { .. } => {
                let between = std::mem::take(&mut text);
                match outline.pieces.is_empty() {
                    true => outline.before = between,
                    false if between.is_empty() => {}
                    false => outline.pieces.push(MediaPiece::Text(between)),
                }
                outline.pieces.push(positions);
            }
        }
    }
    outline.after = text;
    outline
}

pub(crate) fn text(text: impl Into<String>) -> MediaPiece {
    MediaPiece::Text(text.into())
}

/// `pixel_values` of pictures of one size, channel by channel.
pub(crate) fn pixel_values(pictures: &[Picture], table: &Table) -> MediaTensor {
    let size = pictures.first().map_or(Size::new(0, 0), Picture::size);
    let shape = [pictures.len(), CHANNELS, size.height, size.width];
    floats("pixel_values", &shape, super::layout::planes(pictures, table))
}

pub(crate) fn impossible(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
}
