//! Gemma 4 and the unified Gemma 4. An image keeps its proportions and becomes as many patches as the budget allows; each patch
//! has its position in the image.
//!
//! Constants: `Gemma4ImageProcessor` and `Gemma4UnifiedImageProcessor` of transformers 5.23.

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::media_processor::{MediaOutline, MediaPlaceholder, MediaTensor};

use super::layout;
use super::plan::ImagePlan;
use super::resizing::Kernel;
use super::rules::{self, Look, Rules, text};
use super::values::{Scaling, Table};
use super::view::{CHANNELS, Image, ImageView, Size};
use crate::description::{Description, Settings};
use crate::options::{AlphaHandling, MediaOptions};
use crate::tensors::{floats, integers};

/// The numbers of positions that an image may take.
const BUDGETS: [usize; 5] = [70, 140, 280, 560, 1120];

#[derive(Debug)]
struct Gemma4 {
    budget: Budget,
    fed: Fed,
    start: String,
    soft: String,
    end: String,
}

/// The input of the encoder.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fed {
    /// Patches, several of which become one position.
    Patches,
    /// A larger patch for each position.
    Positions,
}

/// How large an image may be in patches.
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
            MediaPlaceholder::positions(&self.soft, self.budget.taken(plan.size())),
            text(&self.end),
        ])
    }

    fn tensors(&self, images: &[Image], table: &Table) -> Result<Vec<MediaTensor>> {
        let (side, most) = match self.fed {
            Fed::Positions => (self.budget.unit(), self.budget.positions),
            Fed::Patches => (self.budget.patch, self.budget.patches()),
        };
        let (values, places) = padded(images, side, most, table);
        Ok(vec![
            floats("pixel_values", &[images.len(), most, side * side * CHANNELS], values),
            integers("image_position_ids", &[images.len(), most, 2], places),
        ])
    }
}

/// Returns the patches of images and their positions, both padded: patches with 0, positions with -1.
pub(crate) fn padded(images: &[Image], side: usize, most: usize, table: &Table) -> (Vec<f32>, Vec<i64>) {
    let mut places = Vec::new();
    for (index, image) in images.iter().enumerate() {
        let (rows, columns) = layout::grid(image, side);
        places.extend(layout::positions(rows, columns));
        places.resize((index + 1) * most * 2, -1);
    }
    (layout::filled(images, side, most, table), places)
}

impl Budget {
    pub(crate) fn of(settings: &Settings<'_>, asked: Option<usize>, usual: usize) -> Result<Self> {
        let positions = asked.map_or_else(|| settings.number_or(&["/max_soft_tokens"], usual), Ok)?;
        if !BUDGETS.contains(&positions) {
            let message = format!("{positions} is no number of positions for an image; one of: {BUDGETS:?}");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let patch = settings.number_or(&["/patch_size"], 16)?;
        Ok(Self { patch, pool: settings.number_or(&["/pooling_kernel_size"], 3)?, positions })
    }

    /// Returns how many pixels of a line become one position.
    pub(crate) fn unit(self) -> usize {
        self.patch * self.pool
    }

    pub(crate) fn patches(self) -> usize {
        self.positions * self.pool * self.pool
    }

    /// Returns how many positions an image of this size takes.
    pub(crate) fn taken(self, size: Size) -> usize {
        (size.width / self.unit()) * (size.height / self.unit())
    }

    /// The largest size of these proportions that is within the budget and made of whole positions.
    pub(crate) fn size(self, size: Size) -> Result<Size> {
        let unit = self.unit();
        let pixels = self.patches() * self.patch * self.patch;
        let factor = (pixels as f64 / size.pixels() as f64).sqrt();
        let width = (factor * size.width as f64 / unit as f64).floor() as usize * unit;
        let height = (factor * size.height as f64 / unit as f64).floor() as usize * unit;
        let longest = self.positions * unit;
        // A side that would be shorter than a unit gets one, and the other side as many units as the proportions allow.
        let target = match (width, height) {
            (0, 0) => None,
            (_, 0) => Some(Size::new((size.width / size.height * unit).min(longest), unit)),
            (0, _) => Some(Size::new(unit, (size.height / size.width * unit).min(longest))),
            _ => Some(Size::new(width, height)),
        };
        let target = target.filter(|target| target.pixels() <= pixels);
        target.ok_or_else(|| {
            let patches = self.patches();
            rules::impossible(format!(
                "an image of {size} has no size of whole patches within {patches} of them"
            ))
        })
    }
}
