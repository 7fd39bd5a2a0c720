//! Gemma 3: every image is stretched to a square; with pan and scan, crops of wide and tall ones follow.
//!
//! Constants: `Gemma3ImageProcessor` and `Gemma3Processor` of transformers 5.23, and the published `preprocessor_config.json`.

use alloquy_core::Result;
use alloquy_engine::media_processor::{MediaOutline, MediaPlaceholder, MediaTensor};

use super::plan::ImagePlan;
use super::resizing::Kernel;
use super::rules::{self, Look, Rules, text};
use super::values::{HALVES, Scaling, Table};
use super::view::{Image, ImageView, ResizeArea, Size};
use crate::description::Description;
use crate::options::{AlphaHandling, MediaOptions};

const SIDE: usize = 896;
const POSITIONS: usize = 256;

/// A square for each image, between marks.
#[derive(Debug)]
pub(super) struct Gemma3 {
    pub(super) size: Size,
    pub(super) positions: usize,
    pub(super) pan_and_scan: Option<PanAndScan>,
    pub(super) start: String,
    pub(super) soft: String,
    pub(super) end: String,
}

/// Which images are cut into crops, and into how many.
#[derive(Debug)]
pub(super) struct PanAndScan {
    shortest: usize,
    most: usize,
    ratio: f64,
}

pub(super) fn look(model: &Description<'_>, options: &MediaOptions) -> Result<Look> {
    let settings = model.images();
    let side = model.number(&["/vision_config/image_size"]).unwrap_or(SIDE);
    let pan_and_scan = PanAndScan {
        shortest: settings.number_or(&["/pan_and_scan_min_crop_size"], 256)?,
        most: settings.number_or(&["/pan_and_scan_max_num_crops"], 4)?,
        ratio: settings.real("/pan_and_scan_min_ratio_to_activate").unwrap_or(1.2),
    };
    let said = options.pan_and_scan.or_else(|| settings.switch("/do_pan_and_scan"));
    let positions = model.number(&["/mm_tokens_per_image"]);
    let rules = Gemma3 {
        size: Size::new(
            settings.number_or(&["/size/width"], side)?,
            settings.number_or(&["/size/height"], side)?,
        ),
        positions: positions.map_or_else(|| settings.number_or(&["/image_seq_length"], POSITIONS), Ok)?,
        pan_and_scan: said.unwrap_or_default().then_some(pan_and_scan),
        start: model.token(&["/boi_token_index"], "<start_of_image>"),
        soft: model.token(&["/image_token_index", "/image_token_id"], "<image_soft_token>"),
        end: model.token(&["/eoi_token_index"], "<end_of_image>"),
    };
    let kernel = rules::kernel(&settings, Kernel::Bilinear)?;
    let scaling = Scaling::of(&settings, Some(HALVES))?;
    let alpha = rules::alpha(&settings, AlphaHandling::White);
    Ok(Look { rules: Box::new(rules), kernel, scaling, alpha })
}

impl Rules for Gemma3 {
    fn plan(&self, size: Size) -> Result<ImagePlan> {
        let crops = self.pan_and_scan.as_ref().map(|crops| crops.of(size)).unwrap_or_default();
        let parts = std::iter::once(size.whole()).chain(crops);
        let views = parts.map(|part| ImageView::stretched(part, self.size)).collect();
        Ok(ImagePlan { views, uncapped: None })
    }

    fn outline(&self, plan: &ImagePlan) -> MediaOutline {
        let crops = plan.views.len().saturating_sub(1);
        let mut pieces = Vec::new();
        if crops > 0 {
            pieces.push(text("Here is the original image "));
        }
        pieces.extend(self.image());
        for crop in 0..crops {
            let first = " and here are some crops to help you see better ";
            pieces.push(text(if crop == 0 { first } else { " " }));
            pieces.extend(self.image());
        }
        rules::outline(pieces)
    }

    fn tensors(&self, images: &[Image], table: &Table) -> Result<Vec<MediaTensor>> {
        Ok(vec![rules::pixel_values(images, table)])
    }
}

impl Gemma3 {
    fn image(&self) -> [MediaPlaceholder; 3] {
        [
            text(format!("\n\n{}", self.start)),
            MediaPlaceholder::positions(&self.soft, self.positions),
            text(format!("{}\n\n", self.end)),
        ]
    }
}

impl PanAndScan {
    /// The crops of an image, from left to right or from top to bottom; none of one that is nearly square or too small.
    fn of(&self, size: Size) -> Vec<ResizeArea> {
        let long = size.longest();
        let short = size.shortest();
        let ratio = long as f64 / short as f64;
        let count = (long / self.shortest).min((ratio + 0.5).floor() as usize).max(2).min(self.most);
        let length = long.div_ceil(count);
        if ratio < self.ratio || length.min(short) < self.shortest {
            return Vec::new();
        }
        let starts = (0..count).map(|index| index * length).filter(|start| *start < long);
        starts.map(|start| crop(size, start, length.min(long - start))).collect()
    }
}

/// A part of the longer side.
fn crop(size: Size, start: usize, length: usize) -> ResizeArea {
    if size.width >= size.height {
        ResizeArea { x: start, y: 0, width: length, height: size.height }
    } else {
        ResizeArea { x: 0, y: start, width: size.width, height: length }
    }
}
