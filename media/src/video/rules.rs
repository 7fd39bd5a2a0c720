//! The rules of a model for videos. Each model has a file.

use std::fmt::Debug;

use alloquy_core::Result;
use alloquy_engine::media_processor::{MediaOutline, MediaTensor};

use super::frames::Frames;
use super::sampling::FrameRate;
use crate::image::{Loader, Size};

/// The rules of a model for videos.
pub(super) trait VideoRules: Debug + Send + Sync {
    /// Returns the most frames that the model sees.
    fn most(&self) -> usize;

    /// Returns the numbers of the frames that the model sees, out of `total`.
    fn sample(&self, total: usize, rate: FrameRate) -> Result<Vec<usize>>;

    /// Returns the texts and positions in the prompt for frames of one size.
    fn outline(&self, frames: &Frames<'_>, size: Size) -> Result<MediaOutline>;

    /// Returns the pixels that a frame would have, and those that it has, if a cap makes it smaller.
    fn capped(&self, frames: usize, size: Size) -> Result<Option<(usize, usize)>>;

    /// Returns the inputs of the encoder.
    fn tensors(&self, frames: &Frames<'_>, size: Size, loader: &Loader) -> Result<Vec<MediaTensor>>;
}
