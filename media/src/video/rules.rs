//! Says what a model does with videos. Each model is a file that makes one.

use std::fmt::Debug;

use alloquy_core::Result;
use alloquy_engine::media_processor::{MediaOutline, MediaTensor};

use super::frames::Frames;
use super::sampling::FrameRate;
use crate::image::{Loader, Size};

/// What a model does with films.
pub(super) trait VideoRules: Debug + Send + Sync {
    /// The most frames that are taken.
    fn most(&self) -> usize;

    /// The numbers of the frames to take out of `total`.
    fn sample(&self, total: usize, rate: FrameRate) -> Result<Vec<usize>>;

    /// What stands in the prompt for frames of one size.
    fn outline(&self, frames: &Frames<'_>, size: Size) -> Result<MediaOutline>;

    /// The pixels that a frame would have, and those it has, where a cap makes it smaller.
    fn capped(&self, frames: usize, size: Size) -> Result<Option<(usize, usize)>>;

    /// What the encoder is fed.
    fn tensors(&self, frames: &Frames<'_>, size: Size, loader: &Loader) -> Result<Vec<MediaTensor>>;
}
