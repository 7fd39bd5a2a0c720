//! Gemma 3n: every picture is stretched to a square and not normalised.
//!
//! Constants: the published `preprocessor_config.json` of Gemma 3n, and `Gemma3nProcessor` of transformers 5.23.

use alloquy_core::{MediaOutline, MediaPiece, MediaTensor, Result};

use super::picture::{Picture, Size};
use super::plan::{ImagePlan, ImageView};
use super::resizing::Kernel;
use super::rules::{self, Look, Rules, text};
use super::values::{Scaling, Table};
use crate::media::description::Description;

const SIDE: usize = 768;
const POSITIONS: usize = 256;

#[derive(Debug)]
struct Gemma3n {
    size: Size,
    positions: usize,
    start: String,
    soft: String,
    end: String,
}

pub(super) fn look(model: &Description<'_>) -> Result<Look> {
    let settings = model.images();
    let side = model.number(&["/vision_config/image_size"]).unwrap_or(SIDE);
    let positions = model.number(&["/vision_soft_tokens_per_image"]);
    let rules = Gemma3n {
        size: Size::new(
            settings.number_or(&["/size/width"], side)?,
            settings.number_or(&["/size/height"], side)?,
        ),
        positions: positions.map_or_else(|| settings.number_or(&["/image_seq_length"], POSITIONS), Ok)?,
        start: model.token(&["/boi_token_id"], "<start_of_image>"),
        soft: model.token(&["/image_token_id"], "<image_soft_token>"),
        end: model.token(&["/eoi_token_id"], "<end_of_image>"),
    };
    let kernel = rules::kernel(&settings, Kernel::Bilinear)?;
    Ok(Look { rules: Box::new(rules), kernel, scaling: Scaling::of(&settings, None)? })
}

impl Rules for Gemma3n {
    fn plan(&self, size: Size) -> Result<ImagePlan> {
        Ok(ImagePlan::of(ImageView::stretched(size.whole(), self.size)))
    }

    fn outline(&self, _: &ImagePlan) -> MediaOutline {
        rules::outline([
            text(format!("\n\n{}", self.start)),
            MediaPiece::positions(&self.soft, self.positions),
            text(format!("{}\n\n", self.end)),
        ])
    }

    fn tensors(&self, pictures: &[Picture], table: &Table) -> Result<Vec<MediaTensor>> {
        Ok(vec![rules::pixel_values(pictures, table)])
    }
}
