//! LFM2-VL: small pictures as they are, large ones as tiles and a thumbnail.
//!
//! Constants: `Lfm2VlImageProcessor` and `Lfm2VlProcessor` of transformers 5.23.

use alloquy_core::{MediaOutline, MediaPiece, MediaTensor, Result, TensorData};

use super::layout;
use super::picture::{Area, CHANNELS, Picture, Size};
use super::plan::{ImagePlan, ImageView};
use super::resizing::Kernel;
use super::rules::{self, Look, Rules, text};
use super::values::{HALVES, Scaling, Table};
use crate::media::description::Description;
use crate::media::tensors::{floats, integers, tensor};

#[derive(Debug)]
struct Lfm2 {
    patch: usize,
    /// How many patches of a line become one position.
    merge: usize,
    /// How many positions a picture takes that is not cut into tiles.
    positions: (usize, usize),
    tiling: Option<Tiling>,
    /// The most patches that a picture or a tile has.
    most: usize,
    image: String,
}

#[derive(Debug)]
struct Tiling {
    side: usize,
    tiles: (usize, usize),
    /// How many times the pixels of an untiled picture one may have.
    tolerance: f64,
    thumbnail: bool,
}

pub(super) fn look(model: &Description<'_>) -> Result<Look> {
    let settings = model.images();
    let tiling = Tiling {
        side: settings.number_or(&["/tile_size"], 512)?,
        tiles: (settings.number_or(&["/min_tiles"], 2)?, settings.number_or(&["/max_tiles"], 10)?),
        tolerance: settings.real("/max_pixels_tolerance").unwrap_or(2.0),
        thumbnail: settings.switch("/use_thumbnail").unwrap_or(true),
    };
    let splits = settings.switch("/do_image_splitting").unwrap_or(true) && tiling.tiles != (1, 1);
    let patch = settings.number_or(&["/encoder_patch_size"], 16)?;
    let merge = settings.number_or(&["/downsample_factor"], 2)?;
    let positions =
        (settings.number_or(&["/min_image_tokens"], 64)?, settings.number_or(&["/max_image_tokens"], 256)?);
    let tile = if splits { (tiling.side / patch).pow(2) } else { 0 };
    let rules = Lfm2 {
        patch,
        merge,
        positions,
        most: tile.max(positions.1 * merge * merge),
        tiling: splits.then_some(tiling),
        image: model.token(&["/image_token_id", "/image_token_index"], "<image>"),
    };
    let kernel = rules::kernel(&settings, Kernel::Bilinear)?;
    Ok(Look { rules: Box::new(rules), kernel, scaling: Scaling::of(&settings, Some(HALVES))? })
}

impl Rules for Lfm2 {
    fn plan(&self, size: Size) -> Result<ImagePlan> {
        let whole = ImageView::stretched(size.whole(), self.untiled(size));
        let Some(tiling) = self.tiling.as_ref().filter(|tiling| self.is_large(size, tiling)) else {
            return Ok(ImagePlan::of(whole));
        };
        let tiled = tiling.view(size);
        let views = if tiling.thumbnail { vec![tiled, whole] } else { vec![tiled] };
        Ok(ImagePlan { views, uncapped: None })
    }

    fn outline(&self, plan: &ImagePlan) -> MediaOutline {
        let mut pieces = vec![text("<|image_start|>")];
        for view in &plan.views {
            match (&self.tiling, view.windows.as_slice()) {
                (Some(tiling), tiles) if tiles.len() > 1 => pieces.extend(self.tiles(tiling, tiles)),
                _ => {
                    if plan.views.len() > 1 {
                        pieces.push(text("<|img_thumbnail|>"));
                    }
                    pieces.push(self.image(view.size));
                }
            }
        }
        pieces.push(text("<|image_end|>"));
        rules::outline(pieces)
    }

    fn tensors(&self, pictures: &[Picture], table: &Table) -> Result<Vec<MediaTensor>> {
        let length = self.patch * self.patch * CHANNELS;
        let (mut values, mut mask, mut shapes) = (Vec::new(), Vec::new(), Vec::new());
        for (index, picture) in pictures.iter().enumerate() {
            let (rows, columns) = (picture.size().height / self.patch, picture.size().width / self.patch);
            if rows * columns > self.most {
                let message = format!(
                    "a picture of these proportions has {} patches, and the model takes {}",
                    rows * columns,
                    self.most
                );
                return Err(rules::impossible(message));
            }
            values.extend(layout::patches(picture, self.patch, table));
            values.resize((index + 1) * self.most * length, 0.0);
            mask.resize(index * self.most + rows * columns, 1);
            mask.resize((index + 1) * self.most, 0);
            shapes.extend([rows as i64, columns as i64]);
        }
        let (count, mask) = (pictures.len(), TensorData::I32(mask));
        Ok(vec![
            floats("pixel_values", &[count, self.most, length], values),
            tensor("pixel_attention_mask", &[count, self.most], mask),
            integers("spatial_shapes", &[count, 2], shapes),
        ])
    }
}

impl Lfm2 {
    fn unit(&self) -> usize {
        self.patch * self.merge
    }

    /// How many pixels as many positions have.
    fn pixels(&self, positions: usize) -> usize {
        positions * self.unit() * self.unit()
    }

    fn is_large(&self, size: Size, tiling: &Tiling) -> bool {
        let rounded = |side| rounded(side, self.unit()).max(self.patch);
        let area = rounded(size.width).saturating_mul(rounded(size.height));
        area as f64 > self.pixels(self.positions.1) as f64 * tiling.tolerance
    }

    /// The size of a picture, or of a thumbnail, that is not cut into tiles.
    fn untiled(&self, size: Size) -> Size {
        let unit = self.unit();
        let (least, most) = (self.pixels(self.positions.0), self.pixels(self.positions.1));
        let sides = |by: &dyn Fn(f64) -> f64| {
            Size::new(by(size.width as f64) as usize * unit, by(size.height as f64) as usize * unit)
        };
        let (step, area) = (unit as f64, size.pixels() as f64);
        let near = Size::new(rounded(size.width, unit).max(unit), rounded(size.height, unit).max(unit));
        if near.pixels() > most {
            let factor = (area / most as f64).sqrt();
            return sides(&|side| (side / factor / step).floor().max(1.0));
        }
        if near.pixels() < least {
            let factor = (least as f64 / area).sqrt();
            return sides(&|side| (side * factor / step).ceil());
        }
        near
    }

    fn image(&self, size: Size) -> MediaPiece {
        let positions = |side: usize| (side / self.patch).div_ceil(self.merge);
        MediaPiece::positions(&self.image, positions(size.width) * positions(size.height))
    }

    fn tiles(&self, tiling: &Tiling, tiles: &[Area]) -> Vec<MediaPiece> {
        let place = |start: usize| start / tiling.side + 1;
        let tile = |area: &Area| {
            let name = format!("<|img_row_{}_col_{}|>", place(area.y), place(area.x));
            [text(name), self.image(area.size())]
        };
        tiles.iter().flat_map(tile).collect()
    }
}

/// The nearest whole number of units, ties to even.
fn rounded(side: usize, unit: usize) -> usize {
    (side as f64 / unit as f64).round_ties_even() as usize * unit
}

impl Tiling {
    fn view(&self, size: Size) -> ImageView {
        let (columns, rows) = self.grid(size);
        let cell = |row, column| Area {
            x: column * self.side,
            y: row * self.side,
            width: self.side,
            height: self.side,
        };
        let tiles = (0..rows).flat_map(|row| (0..columns).map(move |column| cell(row, column))).collect();
        let grid = Size::new(columns * self.side, rows * self.side);
        ImageView::stretched(size.whole(), grid).windows(tiles)
    }

    /// The columns and rows whose proportions are nearest; of equal ones those that a large enough picture can fill.
    fn grid(&self, size: Size) -> (usize, usize) {
        let wanted = size.width as f64 / size.height as f64;
        let area = size.pixels() as f64;
        let (mut best, mut nearest) = ((1, 1), f64::INFINITY);
        for (columns, rows) in self.grids() {
            let distance = (wanted - columns as f64 / rows as f64).abs();
            let fills = area > 0.5 * (self.side * self.side * columns * rows) as f64;
            if distance < nearest || (distance == nearest && fills) {
                (best, nearest) = ((columns, rows), distance);
            }
        }
        best
    }

    /// Every grid that is allowed, those of fewer tiles first.
    fn grids(&self) -> Vec<(usize, usize)> {
        let (least, most) = self.tiles;
        let all = (1..=most).flat_map(|columns| (1..=most).map(move |rows| (columns, rows)));
        let mut grids: Vec<_> =
            all.filter(|(columns, rows)| (least..=most).contains(&(columns * rows))).collect();
        grids.sort_by_key(|(columns, rows)| columns * rows);
        grids
    }
}
