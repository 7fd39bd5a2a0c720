//! LFM2-VL: small pictures as they are, large ones as tiles and a thumbnail.
//!
//! Constants: `Lfm2VlImageProcessor` and `Lfm2VlProcessor` of transformers 5.23.

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::media_processor::{MediaOutline, MediaPiece, MediaTensor, TensorData};

use super::plan::ImagePlan;
use super::resizing::Kernel;
use super::rules::{self, Look, Rules, text};
use super::values::{HALVES, Scaling, Table};
use super::view::{CHANNELS, ImageView, Picture, ResizeArea, Size};
use super::{fitting, layout};
use crate::description::{Description, Settings};
use crate::options::AlphaHandling;
use crate::tensors::{floats, integers, tensor};

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
    let tiling = Tiling::of(&settings)?;
    let patch = settings.number_or(&["/encoder_patch_size"], 16)?;
    let merge = settings.number_or(&["/downsample_factor"], 2)?;
    let positions =
        (settings.number_or(&["/min_image_tokens"], 64)?, settings.number_or(&["/max_image_tokens"], 256)?);
    let tile = tiling.as_ref().map_or(0, |tiling| (tiling.side / patch).pow(2));
    let rules = Lfm2 {
        patch,
        merge,
        positions,
        most: tile.max(positions.1 * merge * merge),
        tiling,
        image: model.token(&["/image_token_id", "/image_token_index"], "<image>"),
    };
    let kernel = rules::kernel(&settings, Kernel::Bilinear)?;
    let scaling = Scaling::of(&settings, Some(HALVES))?;
    // The one processor that does not convert colours, so that it shows those that are hidden.
    let alpha = rules::alpha(&settings, AlphaHandling::Drop);
    Ok(Look { rules: Box::new(rules), kernel, scaling, alpha })
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
        let grids: Vec<_> = pictures.iter().map(|picture| layout::grid(picture, self.patch)).collect();
        grids.iter().try_for_each(|(rows, columns)| self.check(rows * columns))?;
        let (count, most) = (pictures.len(), self.most);
        let of = |patches: usize| (0..most).map(move |place| i32::from(place < patches));
        let mask = grids.iter().flat_map(|(rows, columns)| of(rows * columns)).collect();
        let shapes = grids.iter().flat_map(|(rows, columns)| [*rows as i64, *columns as i64]).collect();
        let values = layout::filled(pictures, self.patch, most, table);
        Ok(vec![
            floats("pixel_values", &[count, most, self.patch * self.patch * CHANNELS], values),
            tensor("pixel_attention_mask", &[count, most], TensorData::I32(mask)),
            integers("spatial_shapes", &[count, 2], shapes),
        ])
    }
}

impl Lfm2 {
    fn unit(&self) -> usize {
        self.patch * self.merge
    }

    fn check(&self, patches: usize) -> Result<()> {
        if patches <= self.most {
            return Ok(());
        }
        let most = self.most;
        let message =
            format!("a picture of these proportions has {patches} patches, and the model takes {most}");
        Err(rules::impossible(message))
    }

    /// How many pixels as many positions have.
    fn pixels(&self, positions: usize) -> usize {
        positions * self.unit() * self.unit()
    }

    fn is_large(&self, size: Size, tiling: &Tiling) -> bool {
        let area = fitting::rounded(size, self.unit()).at_least(self.patch).pixels();
        area as f64 > self.pixels(self.positions.1) as f64 * tiling.tolerance
    }

    /// The size of a picture, or of a thumbnail, that is not cut into tiles.
    fn untiled(&self, size: Size) -> Size {
        let (unit, (least, most)) = (self.unit(), self.positions);
        let near = fitting::rounded(size, unit).at_least(unit);
        fitting::bounded(near, size, unit, (self.pixels(least), self.pixels(most)))
    }

    fn image(&self, size: Size) -> MediaPiece {
        let positions = |side: usize| (side / self.patch).div_ceil(self.merge);
        MediaPiece::positions(&self.image, positions(size.width) * positions(size.height))
    }

    fn tiles(&self, tiling: &Tiling, tiles: &[ResizeArea]) -> Vec<MediaPiece> {
        let place = |start: usize| start / tiling.side + 1;
        let tile = |area: &ResizeArea| {
            let name = format!("<|img_row_{}_col_{}|>", place(area.y), place(area.x));
            [text(name), self.image(area.size())]
        };
        tiles.iter().flat_map(tile).collect()
    }
}

/// More tiles than any model is fed: every grid of them is looked at.
const MOST_TILES: usize = 1_024;

impl Tiling {
    /// What the settings say; `None` where pictures are not cut.
    fn of(settings: &Settings<'_>) -> Result<Option<Self>> {
        let tiles = (settings.number_or(&["/min_tiles"], 2)?, settings.number_or(&["/max_tiles"], 10)?);
        if tiles.0 > tiles.1 || tiles.1 > MOST_TILES {
            let (least, most) = tiles;
            let message = format!(
                "the model's processor cuts pictures into {least} to {most} tiles; the second is neither below the first \
                 nor above {MOST_TILES}"
            );
            return Err(Error::new(ErrorKind::Model, message));
        }
        let splits = settings.switch("/do_image_splitting").unwrap_or(true) && tiles != (1, 1);
        let tiling = Self {
            side: settings.number_or(&["/tile_size"], 512)?,
            tiles,
            tolerance: settings.real("/max_pixels_tolerance").unwrap_or(2.0),
            thumbnail: settings.switch("/use_thumbnail").unwrap_or(true),
        };
        Ok(splits.then_some(tiling))
    }

    fn view(&self, size: Size) -> ImageView {
        let (columns, rows) = self.grid(size);
        let cell = |row, column| ResizeArea {
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
        let all = (1..=most).flat_map(|columns| (1..=most / columns).map(move |rows| (columns, rows)));
        let mut grids: Vec<_> = all.filter(|(columns, rows)| columns * rows >= least).collect();
        grids.sort_by_key(|(columns, rows)| columns * rows);
        grids
    }
}
