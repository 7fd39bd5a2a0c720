//! Videos for Gemma 4: 32 frames at most, each a small image with the minute and the second in front of it.
//!
//! Constants: `Gemma4VideoProcessor` and `Gemma4Processor` of transformers 5.23.

use std::borrow::Cow;

use alloquy_core::Result;
use alloquy_engine::media_processor::{MediaOutline, MediaPlaceholder, MediaTensor};

use super::frames::Frames;
use super::rules::VideoRules;
use super::sampling::{Bounds, FrameRate};
use crate::description::Description;
use crate::image::{
    Budget, CHANNELS, ImageView, Kernel, Loader, Resizer, Scaling, Size, Table, UNIT, kernel, outline,
    padded, text,
};
use crate::options::MediaOptions;
use crate::tensors::{floats, integers};

/// How many positions a frame may be given, whatever an image may.
const POSITIONS: usize = 70;

#[derive(Debug)]
pub(super) struct Gemma4 {
    budget: Budget,
    bounds: Bounds,
    resizer: Resizer,
    table: Table,
    start: String,
    soft: String,
    end: String,
}

impl Gemma4 {
    pub(super) fn of(model: &Description<'_>, options: &MediaOptions) -> Result<Self> {
        let settings = model.videos();
        let most = settings.number_or(&["/num_frames"], 32)?;
        Ok(Self {
            budget: Budget::of(&settings, None, POSITIONS)?,
            bounds: Bounds { least: 1, most, group: 1, usual: 1.0 },
            resizer: Resizer { backend: options.backend, kernel: kernel(&settings, Kernel::Bicubic)? },
            table: Scaling::of(&settings, Some(UNIT))?.table(options.backend),
            start: model.token(&["/boi_token_id"], "<|image>"),
            soft: model.token(&["/video_token_id"], "<|video|>"),
            end: model.token(&["/eoi_token_id"], "<image|>"),
        })
    }
}

impl VideoRules for Gemma4 {
    fn most(&self) -> usize {
        self.bounds.most
    }

    fn sample(&self, total: usize, rate: FrameRate) -> Result<Vec<usize>> {
        self.bounds.fixed(total, rate)
    }

    fn outline(&self, frames: &Frames<'_>, size: Size) -> Result<MediaOutline> {
        let count = self.budget.taken(self.budget.size(size)?);
        Ok(outline(frames.iter().enumerate().flat_map(|(index, (_, time))| {
            let space = if index == 0 { "" } else { " " };
            let seconds = time as u64;
            let shown = format!("{space}{:02}:{:02} {}", seconds / 60, seconds % 60, self.start);
            [text(shown), MediaPlaceholder::positions(&self.soft, count), text(&self.end)]
        })))
    }

    fn capped(&self, _: usize, _: Size) -> Result<Option<(usize, usize)>> {
        Ok(None)
    }

    fn tensors(&self, frames: &Frames<'_>, size: Size, loader: &Loader) -> Result<Vec<MediaTensor>> {
        let view = ImageView::stretched(size.whole(), self.budget.size(size)?);
        let mut images = Vec::new();
        for (frame, _) in frames.iter() {
            images.extend(self.resizer.windows(Cow::Owned(loader.image(frame)?), &view)?);
        }
        let side = self.budget.patch;
        let most = self.budget.patches();
        let (values, places) = padded(&images, side, most, &self.table);
        Ok(vec![
            floats("pixel_values_videos", &[images.len(), most, side * side * CHANNELS], values),
            integers("video_position_ids", &[images.len(), most, 2], places),
        ])
    }
}
