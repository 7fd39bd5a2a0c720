//! LFM2-VL. A small image is seen as a whole, a large one as tiles and a thumbnail.
//!
//! Constants: `Lfm2VlImageProcessor` and `Lfm2VlProcessor` of transformers 5.23.

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::media_processor::{MediaOutline, MediaPlaceholder, MediaTensor, TensorData};

use super::plan::ImagePlan;
use super::resizing::Kernel;
use super::rules::{self, Look, Rules, text};
use super::values::{HALVES, Scaling, Table};
use super::view::{CHANNELS, Image, ImageView, ResizeArea, Size};
use super::{fitting, layout};
use crate::description::{Description, Settings};
use crate::options::AlphaHandling;
use crate::tensors::{floats, integers, tensor};

#[derive(Debug)]
struct Lfm2 {
    patch: usize,
    /// How many patches of a line become one position.
    merge: usize,
    /// The least and the most positions of an image that is not cut into tiles.
    positions: (usize, usize),
    tiling: Option<Tiling>,
    /// The most patches that an image or a tile has.
    most: usize,
    image: String,
}

#[derive(Debug)]
struct Tiling {
    side: usize,
    tiles: (usize, usize),
    /// The factor by which an untiled image may exceed the limit of pixels.
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
    // This is the only processor that does not convert colours: it shows the colours of transparent pixels.
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

    fn tensors(&self, images: &[Image], table: &Table) -> Result<Vec<MediaTensor>> {
        let grids: Vec<_> = images.iter().map(|image| layout::grid(image, self.patch)).collect();
        let count = images.len();
        let most = self.most;
        let mut mask = Vec::with_capacity(count * most);
        let mut shapes = Vec::with_capacity(count * 2);
        for (rows, columns) in grids {
            let patches = rows * columns;
            self.check(patches)?;
            mask.extend((0..most).map(|place| i32::from(place < patches)));
            shapes.extend([rows as i64, columns as i64]);
        }
        let values = layout::filled(images, self.patch, most, table);
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
            format!("an image of these proportions has {patches} patches, and the model takes {most}");
        Err(rules::impossible(message))
    }

    /// Returns how many pixels so many positions have.
    fn pixels(&self, positions: usize) -> usize {
        positions * self.unit() * self.unit()
    }

    fn is_large(&self, size: Size, tiling: &Tiling) -> bool {
        let area = fitting::rounded(size, self.unit()).at_least(self.patch).pixels();
        area as f64 > self.pixels(self.positions.1) as f64 * tiling.tolerance
    }

    /// The size of an image, or of a thumbnail, that is not cut into tiles.
    fn untiled(&self, size: Size) -> Size {
        let unit = self.unit();
        let (least, most) = self.positions;
        let near = fitting::rounded(size, unit).at_least(unit);
        fitting::bounded(near, size, unit, (self.pixels(least), self.pixels(most)))
    }

    fn image(&self, size: Size) -> MediaPlaceholder {
        let columns = (size.width / self.patch).div_ceil(self.merge);
        let rows = (size.height / self.patch).div_ceil(self.merge);
        MediaPlaceholder::positions(&self.image, columns * rows)
    }

    fn tiles(&self, tiling: &Tiling, tiles: &[ResizeArea]) -> Vec<MediaPlaceholder> {
        let mut pieces = Vec::with_capacity(tiles.len() * 2);
        for area in tiles {
            let row = area.y / tiling.side + 1;
            let column = area.x / tiling.side + 1;
            pieces.push(text(format!("<|img_row_{row}_col_{column}|>")));
            pieces.push(self.image(area.size()));
        }
        pieces
    }
}

/// The most tiles that settings may allow, since every grid of them is compared.
const MOST_TILES: usize = 1_024;

impl Tiling {
    /// Reads the settings; `None` where images are not cut into tiles.
    fn of(settings: &Settings<'_>) -> Result<Option<Self>> {
        let tiles = (settings.number_or(&["/min_tiles"], 2)?, settings.number_or(&["/max_tiles"], 10)?);
        if tiles.0 > tiles.1 || tiles.1 > MOST_TILES {
            let (least, most) = tiles;
            let message = format!(
                "the model's processor cuts images into {least} to {most} tiles; the second is neither below the first \
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
        let side = self.side;
        let mut tiles = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            for column in 0..columns {
                tiles.push(ResizeArea { x: column * side, y: row * side, width: side, height: side });
            }
        }
        let grid = Size::new(columns * self.side, rows * self.side);
        ImageView::stretched(size.whole(), grid).windows(tiles)
    }

    /// Returns the columns and rows with the nearest proportions. Of equally near ones a larger grid wins if the image has enough
    /// pixels to fill half of it.
    fn grid(&self, size: Size) -> (usize, usize) {
        let wanted = size.width as f64 / size.height as f64;
        let area = size.pixels() as f64;
        let mut best = (1, 1);
        let mut nearest = f64::INFINITY;
        for (columns, rows) in self.grids() {
            let distance = (wanted - columns as f64 / rows as f64).abs();
            let fills = area > 0.5 * (self.side * self.side * columns * rows) as f64;
            if distance < nearest || (distance == nearest && fills) {
                (best, nearest) = ((columns, rows), distance);
            }
        }
        best
    }

    /// Returns every allowed grid, those with fewer tiles first.
    fn grids(&self) -> Vec<(usize, usize)> {
        let (least, most) = self.tiles;
        let all = (1..=most).flat_map(|columns| (1..=most / columns).map(move |rows| (columns, rows)));
        let mut grids: Vec<_> = all.filter(|(columns, rows)| columns * rows >= least).collect();
        grids.sort_by_key(|(columns, rows)| columns * rows);
        grids
    }
}
