//! Qwen2-VL, Qwen2.5-VL, Qwen2.5-Omni and Qwen3-VL. An image keeps its proportions within bounds of pixels, and patches are ordered
//! in squares of four.
//!
//! Constants: `Qwen2VLImageProcessor` of transformers 5.23, and the published `preprocessor_config.json` of each model.

use alloquy_core::Result;
use alloquy_engine::media_processor::{MediaGrid, MediaOutline, MediaPlaceholder, MediaTensor};

use super::fitting;
use super::layout::Merged;
use super::plan::ImagePlan;
use super::resizing::Kernel;
use super::rules::{self, Look, Rules, impossible};
use super::values::{CLIP, HALVES, Scaling, Table};
use super::view::{CHANNELS, Image, ImageView, Size};
use crate::description::{Description, Settings};
use crate::options::{AlphaHandling, MediaOptions};
use crate::tensors::{floats, integers};

/// How many times longer one side may be than the other.
const RATIO: usize = 200;

/// The generation of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generation {
    Two,
    TwoAndAHalf,
    Omni,
    Three,
}

impl Generation {
    pub(crate) fn patch(self) -> usize {
        match self {
            Self::Two | Self::TwoAndAHalf | Self::Omni => 14,
            Self::Three => 16,
        }
    }

    fn pixels(self) -> (usize, usize) {
        match self {
            Self::Two | Self::TwoAndAHalf | Self::Omni => (3_136, 12_845_056),
            Self::Three => (65_536, 16_777_216),
        }
    }

    pub(crate) fn scaling(self) -> ([f64; CHANNELS], [f64; CHANNELS]) {
        match self {
            Self::Two | Self::TwoAndAHalf | Self::Omni => CLIP,
            Self::Three => HALVES,
        }
    }

    /// Returns the texts of the tokens for images and videos.
    pub(crate) fn marks(self) -> Marks {
        match self {
            Self::Omni => Marks {
                start: "<|vision_bos|>",
                image: "<|IMAGE|>",
                video: "<|VIDEO|>",
                end: "<|vision_eos|>",
            },
            Self::Two | Self::TwoAndAHalf | Self::Three => Marks {
                start: "<|vision_start|>",
                image: "<|image_pad|>",
                video: "<|video_pad|>",
                end: "<|vision_end|>",
            },
        }
    }
}

/// The texts around images and videos in a prompt, and for each of their positions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    pub(crate) start: &'static str,
    pub(crate) image: &'static str,
    pub(crate) video: &'static str,
    pub(crate) end: &'static str,
}

/// How an image becomes patches, and how many pixels it may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patching {
    pub(crate) merged: Merged,
    pub(crate) least: usize,
    pub(crate) most: usize,
}

impl Patching {
    /// What the settings say, otherwise the configuration of the encoder, otherwise the usual.
    pub(crate) fn of(
        model: &Description<'_>,
        settings: &Settings<'_>,
        patch: usize,
        (least, most): (usize, usize),
    ) -> Result<Self> {
        let patch = model.number(&["/vision_config/patch_size", "/vision/patch_size"]).unwrap_or(patch);
        let merge = model.number(&["/vision_config/spatial_merge_size", "/vision/spatial_merge_size"]);
        let frames = model.number(&["/vision_config/temporal_patch_size"]);
        let merged = Merged {
            side: settings.number_or(&["/patch_size"], patch)?,
            merge: settings.number_or(&["/merge_size"], merge.unwrap_or(2))?,
            frames: settings.number_or(&["/temporal_patch_size"], frames.unwrap_or(2))?,
        };
        Ok(Self {
            merged,
            least: settings.number_or(&["/min_pixels", "/size/shortest_edge", "/size/min_pixels"], least)?,
            most: settings.number_or(&["/max_pixels", "/size/longest_edge", "/size/max_pixels"], most)?,
        })
    }

    /// Returns how many pixels of a line become one position.
    pub(crate) fn unit(&self) -> usize {
        self.merged.side * self.merged.merge
    }

    /// The size of whole positions that is nearest, within the bounds.
    pub(crate) fn size(&self, size: Size) -> Result<Size> {
        fitted(size, self.unit(), (self.least, self.most))
    }

    /// The same under a cap, which holds for small images too: growing to the least rounds up, and may step over it.
    fn size_under(&self, size: Size, cap: Option<usize>) -> Result<Size> {
        let capped = self.capped(cap);
        let near = capped.size(size)?;
        let too_large =
            size.pixels() < near.pixels() && near.pixels() > capped.most && capped.most < self.most;
        Ok(if too_large { fitting::within(size, self.unit(), capped.most) } else { near })
    }

    /// How the positions of an image of this size lie.
    pub(crate) fn grid(&self, size: Size, time: usize, time_step: f64) -> MediaGrid {
        let unit = self.unit();
        MediaGrid { time, height: size.height / unit, width: size.width / unit, time_step }
    }

    /// The tensors of groups of frames.
    pub(crate) fn tensors(
        &self,
        names: [&str; 2],
        size: Size,
        times: usize,
        values: Vec<f32>,
    ) -> Vec<MediaTensor> {
        let Merged { side, frames, .. } = self.merged;
        let rows = size.height / side;
        let columns = size.width / side;
        let [pixels, grid] = names;
        vec![
            floats(pixels, &[times * rows * columns, CHANNELS * frames * side * side], values),
            integers(grid, &[1, 3], vec![times as i64, rows as i64, columns as i64]),
        ]
    }
}

/// The nearest size of whole units whose area is within bounds, of proportions that the model takes.
pub(crate) fn fitted(size: Size, unit: usize, bounds: (usize, usize)) -> Result<Size> {
    check_ratio(size)?;
    Ok(fitting::bounded(fitting::rounded(size, unit), size, unit, bounds))
}

pub(crate) fn check_ratio(size: Size) -> Result<()> {
    if size.longest() <= size.shortest().saturating_mul(RATIO) {
        return Ok(());
    }
    Err(impossible(format!(
        "an image of {size} has a side more than {RATIO} times longer than the other, which is what the model takes"
    )))
}

#[derive(Debug)]
struct Qwen {
    patching: Patching,
    cap: Option<usize>,
    pad: String,
}

pub(super) fn look(model: &Description<'_>, options: &MediaOptions, generation: Generation) -> Result<Look> {
    let settings = model.images();
    let rules = Qwen {
        patching: Patching::of(model, &settings, generation.patch(), generation.pixels())?,
        cap: options.pixel_cap,
        pad: model.token(&["/image_token_id"], generation.marks().image),
    };
    let kernel = rules::kernel(&settings, Kernel::Bicubic)?;
    let scaling = Scaling::of(&settings, Some(generation.scaling()))?;
    let alpha = rules::alpha(&settings, AlphaHandling::White);
    Ok(Look { rules: Box::new(rules), kernel, scaling, alpha })
}

impl Rules for Qwen {
    fn plan(&self, size: Size) -> Result<ImagePlan> {
        let wanted = self.patching.size(size)?;
        let taken = self.patching.size_under(size, self.cap)?;
        let mut plan = ImagePlan::of(ImageView::stretched(size.whole(), taken));
        plan.uncapped = (wanted != taken).then_some(wanted.pixels());
        Ok(plan)
    }

    /// The marks around an image are the template's.
    fn outline(&self, plan: &ImagePlan) -> MediaOutline {
        let grid = self.patching.grid(plan.size(), 1, 1.0);
        let count = grid.height * grid.width;
        let token = self.pad.clone();
        MediaOutline::of(MediaPlaceholder::Positions { token, count, grid: Some(grid) })
    }

    fn tensors(&self, images: &[Image], table: &Table) -> Result<Vec<MediaTensor>> {
        let size = images.first().map_or(Size::new(0, 0), Image::size);
        let merged = self.patching.merged;
        // Zeros cost nothing here: the system hands them out, and a page is there when it is written to.
        let mut values = vec![0.0; merged.length(size)];
        merged.fill(images, table, &mut values);
        Ok(self.patching.tensors(["pixel_values", "image_grid_thw"], size, 1, values))
    }
}

impl Patching {
    /// The same with fewer pixels, where the cap is below what is allowed.
    pub(crate) fn capped(mut self, cap: Option<usize>) -> Self {
        let unit = self.unit() * self.unit();
        let cap = cap.unwrap_or(usize::MAX).max(unit);
        self.most = self.most.min(cap);
        self.least = self.least.min(cap);
        self
    }
}
