//! LLaVA 1.5 and FastVLM. Either the shorter side is resized and the middle cut out, or the image is padded to a square with the
//! mean colour.
//!
//! Constants: `CLIPImageProcessor` and `LlavaImageProcessor` of transformers 5.23, and the published files of both models.

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::media_processor::{MediaOutline, MediaPlaceholder, MediaTensor};

use super::plan::ImagePlan;
use super::resizing::Kernel;
use super::rules::{self, Look, Rules};
use super::values::{CLIP, Scaling, Table, UNIT};
use super::view::{CHANNELS, Image, ImageView, ResizeArea, Size};
use crate::description::{Description, Settings};
use crate::options::AlphaHandling;

/// The settings in which the models differ.
struct Usual {
    side: usize,
    patch: usize,
    scaling: ([f64; CHANNELS], [f64; CHANNELS]),
}

#[derive(Debug)]
struct Llava {
    resize: Resize,
    crop: Option<Size>,
    square: Option<[u8; CHANNELS]>,
    positions: usize,
    image: String,
}

/// The size that an image is resized to.
#[derive(Clone, Copy, Debug)]
enum Resize {
    /// A length of the shorter side; the proportions stay.
    Shortest(usize),
    To(Size),
}

/// LLaVA 1.5, as Hugging Face or the model's authors published it.
pub(super) fn llava(model: &Description<'_>) -> Result<Look> {
    look(model, &Usual { side: 336, patch: 14, scaling: CLIP })
}

/// FastVLM.
pub(super) fn fastvlm(model: &Description<'_>) -> Result<Look> {
    look(model, &Usual { side: 1024, patch: 64, scaling: UNIT })
}

fn look(model: &Description<'_>, usual: &Usual) -> Result<Look> {
    let settings = model.images();
    let side = model.number(&["/vision_config/image_size"]).unwrap_or(usual.side);
    let scaling = Scaling::of(&settings, Some(usual.scaling))?;
    let padded = settings.switch("/do_pad").unwrap_or(model.text("image_aspect_ratio") == Some("pad"));
    let crop = crop(&settings, side)?;
    let resize = resize(&settings, side)?;
    let patch = model.number(&["/vision_config/patch_size"]).unwrap_or(usual.patch);
    let fed = crop.unwrap_or_else(|| resize.of(Size::square(side)));
    let cls = usize::from(model.text("vision_feature_select_strategy") == Some("full"));
    let rules = Llava {
        resize,
        crop,
        square: padded.then(|| mean_colour(&scaling)),
        positions: (fed.width / patch) * (fed.height / patch) + cls,
        image: model.token(&["/image_token_index", "/image_token_id"], "<image>"),
    };
    let kernel = rules::kernel(&settings, Kernel::Bicubic)?;
    let alpha = rules::alpha(&settings, AlphaHandling::White);
    Ok(Look { rules: Box::new(rules), kernel, scaling, alpha })
}

fn crop(settings: &Settings<'_>, side: usize) -> Result<Option<Size>> {
    if settings.switch("/do_center_crop") == Some(false) {
        return Ok(None);
    }
    let width = crop_side(settings, "/crop_size/width", side)?;
    let height = crop_side(settings, "/crop_size/height", side)?;
    Ok(Some(Size::new(width, height)))
}

/// Returns a side of the crop. `crop_size` is a number or has a number for each side.
fn crop_side(settings: &Settings<'_>, place: &str, usual: usize) -> Result<usize> {
    match settings.number(place) {
        Ok(Some(number)) => Ok(number),
        _ => settings.number_or(&["/crop_size"], usual),
    }
}

fn resize(settings: &Settings<'_>, side: usize) -> Result<Resize> {
    if let (Some(width), Some(height)) = (settings.number("/size/width")?, settings.number("/size/height")?) {
        return Ok(Resize::To(Size::new(width, height)));
    }
    match settings.number("/size/shortest_edge")? {
        Some(shortest) => Ok(Resize::Shortest(shortest)),
        None => Ok(Resize::Shortest(settings.number("/size").ok().flatten().unwrap_or(side))),
    }
}

/// The mean as a colour, rounded down to whole levels.
fn mean_colour(scaling: &Scaling) -> [u8; CHANNELS] {
    scaling.normal.map_or([0; CHANNELS], |(mean, _)| mean.map(|channel| (channel * 255.0) as u8))
}

impl Resize {
    /// Returns the resized size. The longer side is rounded down to whole pixels.
    fn of(self, size: Size) -> Size {
        let side = match self {
            Self::To(size) => return size,
            Self::Shortest(side) => side,
        };
        let long = side.saturating_mul(size.longest()) / size.shortest().max(1);
        if size.width <= size.height { Size::new(side, long) } else { Size::new(long, side) }
    }
}

impl Rules for Llava {
    fn plan(&self, size: Size) -> Result<ImagePlan> {
        let source = if self.square.is_some() { Size::square(size.longest()) } else { size };
        let stretched = self.resize.of(source);
        let window = self.crop.map_or(Ok(stretched.whole()), |crop| middle(stretched, crop))?;
        let view = ImageView::stretched(size.whole(), stretched).square(self.square).windows(vec![window]);
        Ok(ImagePlan::of(view))
    }

    fn outline(&self, _: &ImagePlan) -> MediaOutline {
        MediaOutline::of(MediaPlaceholder::positions(&self.image, self.positions))
    }

    fn tensors(&self, images: &[Image], table: &Table) -> Result<Vec<MediaTensor>> {
        Ok(vec![rules::pixel_values(images, table)])
    }
}

fn middle(size: Size, crop: Size) -> Result<ResizeArea> {
    let (Some(width), Some(height)) =
        (size.width.checked_sub(crop.width), size.height.checked_sub(crop.height))
    else {
        let message = format!("the model's processor cuts {crop} out of images that it makes {size}");
        return Err(Error::new(ErrorKind::Model, message));
    };
    Ok(ResizeArea { x: width / 2, y: height / 2, width: crop.width, height: crop.height })
}
