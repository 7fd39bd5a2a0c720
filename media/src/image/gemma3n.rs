//! Gemma 3n: as Gemma 3 without crops, with a square of another size that is not normalised.
//!
//! Constants: the published `preprocessor_config.json` of Gemma 3n, and `Gemma3nProcessor` of transformers 5.23.

use alloquy_core::Result;

use super::gemma3::Gemma3;
use super::resizing::Kernel;
use super::rules::{self, Look};
use super::values::Scaling;
use super::view::Size;
use crate::description::Description;
use crate::options::AlphaHandling;

const SIDE: usize = 768;
const POSITIONS: usize = 256;

pub(super) fn look(model: &Description<'_>) -> Result<Look> {
    let settings = model.images();
    let side = model.number(&["/vision_config/image_size"]).unwrap_or(SIDE);
    let positions = model.number(&["/vision_soft_tokens_per_image"]);
    let rules = Gemma3 {
        pan_and_scan: None,
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
    let scaling = Scaling::of(&settings, None)?;
    let alpha = rules::alpha(&settings, AlphaHandling::White);
    Ok(Look { rules: Box::new(rules), kernel, scaling, alpha })
}
