//! Gemma 4 and its unified kind: the proportions stay, and as many patches as the budget allows go in with their places.
//!
//! Constants: `Gemma4ImageProcessor` and `Gemma4UnifiedImageProcessor` of transformers 5.23.

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::media_processor::{MediaOutline, MediaPiece, MediaTensor};

use super::layout;
use super::plan::ImagePlan;
use super::resizing::Kernel;
use super::rules::{self, Look, Rules, text};
use super::values::{Scaling, Table};
use super::view::{CHANNELS, ImageView, Picture, Size};
use crate::description::{Description, Settings};
use crate::options::{AlphaHandling, MediaOptions};
use crate::tensors::{floats, integers};

/// How many positions a picture may be given.
const BUDGETS: [usize; 5] = [70, 140, 280, 560, 1120];

#[derive(Debug)]
struct Gemma4 {
    budget: Budget,
    fed: Fed,
    start: String,
    soft: String,
    end: String,
}

/// What the encoder is fed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fed {
    /// Patches, several of which become one position.
    Patches,
    /// A larger patch for each position.
    Positions,
}

/// How large a picture may be in patches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) patch: usize,
    pub(crate) pool: usize,
    pub(crate) positions: usize,
}

pub(super) fn look(model: &Description<'_>, options: &MediaOptions, fed: Fed) -> Result<Look> {
    let settings = model.images();
    let rules = Gemma4 {
        budget: Budget::of(&settings, options.visual_tokens, 280)?,
        fed,
        start: model.token(&["/boi_token_id"], "<|image>"),
        soft: model.token(&["/image_token_id"], "<|image|>"),
        end: model.token(&["/eoi_token_id"], "<image|>"),
    };
    let kernel = rules::kernel(&settings, Kernel::Bicubic)?;
    let scaling = Scaling::of(&settings, None)?;
    let alpha = rules::alpha(&settings, AlphaHandling::White);
    Ok(Look { rules: Box::new(rules), kernel, scaling, alpha })
}

impl Rules for Gemma4 {
    fn plan(&self, size: Size) -> Result<ImagePlan> {
        Ok(ImagePlan::of(ImageView::stretched(size.whole(), self.budget.size(size)?)))
    }

    fn outline(&self, plan: &ImagePlan) -> MediaOutline {
        rules::outline([
            text(&self.start),
            MediaPiece::positions(&self.soft, self.budget.taken(plan.size())),
            text(&self.end),
        ])
    }

    fn tensors(&self, pictures: &[Picture], table: &Table) -> Result<Vec<MediaTensor>> {
        let (side, most) = match self.fed {
            Fed::Positions => (self.budget.unit(), self.budget.positions),
            Fed::Patches => (self.budget.patch, self.budget.patches()),
        };
        let (values, places) = padded(pictures, side, most, table);
        Ok(vec![
            floats("pixel_values", &[pictures.len(), most, side * side * CHANNELS], values),
            integers("image_position_ids", &[pictures.len(), most, 2], places),
        ])
    }
}

/// The patches of pictures and their places, each filled up: patches with 0, places with -1.
pub(crate) fn padded(pictures: &[Picture], side: usize, most: usize, table: &Table) -> (Vec<f32>, Vec<i64>) {
    let mut places = Vec::new();
    for (index, picture) in pictures.iter().enumerate() {
        let (rows, columns) = layout::grid(picture, side);
        places.extend(layout::positions(rows, columns));
        places.resize((index + 1) * most * 2, -1);
    }
    (layout::filled(pictures, side, most, table), places)
}

impl Budget {
    pub(crate) fn of(settings: &Settings<'_>, asked: Option<usize>, usual: usize) -> Result<Self> {
        let positions = asked.map_or_else(|| settings.number_or(&["/max_soft_tokens"], usual), Ok)?;
        if !BUDGETS.contains(&positions) {
            let message = format!("{positions} is no number of positions for a picture; one of: {BUDGETS:?}");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let patch = settings.number_or(&["/patch_size"], 16)?;
        Ok(Self { patch, pool: settings.number_or(&["/pooling_kernel_size"], 3)?, positions })
    }

    /// How many pixels of a line become one position.
    pub(crate) fn unit(self) -> usize {
        self.patch * self.pool
    }

    pub(crate) fn patches(self) -> usize {
        self.positions * self.pool * self.pool
    }

    /// How many positions a picture of this size takes.
    pub(crate) fn taken(self, size: Size) -> usize {
        (size.width / self.unit()) * (size.height / self.unit())
    }

    /// The largest size of these proportions that is within the budget and made of whole positions.
    pub(crate) fn size(self, size: Size) -> Result<Size> {
        let unit = self.unit();
        let pixels = self.patches() * self.patch * self.patch;
        let factor = (pixels as f64 / size.pixels() as f64).sqrt();
        let fitted = |side: usize| (factor * side as f64 / unit as f64).floor() as usize * unit;
        let longest = self.positions * unit;
        let stretched = |long: usize, short: usize| (long / short * unit).min(longest);
        let target = match (fitted(size.width), fitted(size.height)) {
            (0, 0) => None,
            (_, 0) => Some(Size::new(stretched(size.width, size.height), unit)),
            (0, _) => Some(Size::new(unit, stretched(size.height, size.width))),
            (width, height) => Some(Size::new(width, height)),
        };
        let target = target.filter(|target| target.pixels() <= pixels);
        target.ok_or_else(|| {
            rules::impossible(format!(
                "a picture of {size} has no size of whole patches within {} of them",
                self.patches()
            ))
        })
    }
}
