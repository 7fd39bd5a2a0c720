//! Computes a model's input tensors from images.

mod damaged;
pub(crate) mod fitting;
mod format;
mod gemma3;
mod gemma3n;
mod gemma4;
mod icon;
mod jpeg;
mod layout;
mod lfm2;
mod llava;
mod loading;
mod pixels;
mod plan;
mod png;
mod qwen;
mod resizing;
mod rules;
mod tiff;
mod turning;
mod values;
mod view;
mod webp;

use std::borrow::Cow;

use alloquy_core::media::{Digest, MediaKind};
use alloquy_core::model_info::ModelInfo;
use alloquy_core::report::Warning;
use alloquy_core::{Media, Result};
use alloquy_engine::media_processor::{MediaOutline, MediaProcessor, MediaTensor};

pub use plan::ImagePlan;
pub use view::{ImageView, ResizeArea, Size};

pub(crate) use format::is_image;
pub(crate) use gemma4::{Budget, padded};
pub(crate) use loading::Loader;
pub(crate) use qwen::{Generation, Patching, check_ratio, fitted};
pub(crate) use resizing::{Kernel, Resizer};
pub(crate) use rules::{impossible, kernel, outline, text};
pub(crate) use values::{Scaling, Table, UNIT};
pub(crate) use view::{CHANNELS, Image};

use self::rules::{Look, Rules};
use crate::description::Description;
use crate::identity::identity;
use crate::options::MediaOptions;

/// Computes the input tensors of a model's vision encoder from images.
///
/// ```
/// use alloquy_core::model_info::ModelInfo;
/// use alloquy_media::{ImageProcessor, MediaOptions, Size};
///
/// let mut model = ModelInfo::default();
/// model.model_type = Some("qwen2_5_vl".to_owned());
/// model.files.insert("config.json".to_owned(), r#"{"vision_config": {"patch_size": 14}}"#.to_owned());
/// let processor = ImageProcessor::of(&model, &MediaOptions::default())?.expect("the model accepts images");
/// let plan = processor.plan(Size::new(640, 480))?;
/// assert_eq!(plan.views[0].size, Size::new(644, 476));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug)]
pub struct ImageProcessor {
    loader: Loader,
    resizer: Resizer,
    table: Table,
    rules: Box<dyn Rules>,
    identity: Digest,
}

impl ImageProcessor {
    /// Reads a model's image settings from its description files; `None` for a model without images, or of an unknown type.
    ///
    /// # Errors
    /// [`ErrorKind::Model`](alloquy_core::ErrorKind::Model) for files with unusable settings,
    /// [`ErrorKind::Unsupported`](alloquy_core::ErrorKind::Unsupported) for a resizing other than bilinear and bicubic.
    pub fn of(model: &ModelInfo, options: &MediaOptions) -> Result<Option<Self>> {
        let description = Description::of(model)?;
        let look = if description.accepts_images() { look(&description, options)? } else { None };
        Ok(look.map(|look| Self {
            loader: Loader::new(options.limits.clone(), options.alpha.unwrap_or(look.alpha)),
            resizer: Resizer { backend: options.backend, kernel: look.kernel },
            table: look.scaling.table(options.backend),
            rules: look.rules,
            // The name is part of stored identities: another one would invalidate what is cached for the model.
            identity: identity("pictures", model, options),
        }))
    }

    /// Returns which parts of an image of this size the model sees, and to which size they are resized. No limits apply.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) for proportions that the model does not accept.
    pub fn plan(&self, size: Size) -> Result<ImagePlan> {
        if size.shortest() == 0 {
            return Err(impossible(format!("an image of {size} pixels has none")));
        }
        self.rules.plan(size)
    }

    /// Returns the resized parts of an image. The last view takes the image itself, so that its memory is freed early.
    fn cut(&self, image: Image) -> Result<Vec<Image>> {
        let plan = self.plan(image.size())?;
        let mut cut = Vec::new();
        let Some((last, views)) = plan.views.split_last() else { return Ok(cut) };
        for view in views {
            cut.extend(self.resizer.windows(Cow::Borrowed(&image), view)?);
        }
        cut.extend(self.resizer.windows(Cow::Owned(image), last)?);
        Ok(cut)
    }

    /// Returns the outline of an image, or of a frame, with this plan.
    fn outlined(&self, media: &Media, plan: &ImagePlan) -> MediaOutline {
        let mut outline = self.rules.outline(plan);
        outline.warnings.extend(plan.uncapped.map(|wanted| Warning::PixelsCapped {
            media: media.digest(),
            wanted,
            taken: plan.size().pixels(),
        }));
        outline
    }
}

impl MediaProcessor for ImageProcessor {
    fn identity(&self) -> Digest {
        self.identity
    }

    fn kinds(&self) -> &[MediaKind] {
        &[MediaKind::Image]
    }

    fn outline(&self, media: &Media) -> Result<MediaOutline> {
        let plan = self.plan(self.loader.size(media)?)?;
        Ok(self.outlined(media, &plan))
    }

    fn tensors(&self, media: &Media) -> Result<Vec<MediaTensor>> {
        let image = self.loader.image(media)?;
        let cut = self.cut(image)?;
        self.rules.tensors(&cut, &self.table)
    }
}

/// Returns how a model sees images, by its type.
fn look(model: &Description<'_>, options: &MediaOptions) -> Result<Option<Look>> {
    let look = match model.model_type().unwrap_or_default() {
        "gemma3" => gemma3::look(model, options)?,
        "gemma3n" => gemma3n::look(model)?,
        "gemma4" => gemma4::look(model, options, gemma4::Fed::Patches)?,
        "gemma4_unified" => gemma4::look(model, options, gemma4::Fed::Positions)?,
        "llava" | "llava_llama" => llava::llava(model)?,
        "fast_vlm" | "llava_qwen2" => llava::fastvlm(model)?,
        "lfm2_vl" => lfm2::look(model)?,
        other => match generation(other) {
            Some(generation) => qwen::look(model, options, generation)?,
            None => return Ok(None),
        },
    };
    Ok(Some(look))
}

/// Returns the generation of Qwen-VL of a model type, by the names of Hugging Face and ONNX Runtime GenAI.
pub(crate) fn generation(model_type: &str) -> Option<Generation> {
    match model_type {
        "qwen2_vl" => Some(Generation::Two),
        "qwen2_5_vl" => Some(Generation::TwoAndAHalf),
        "qwen2_5_omni" | "qwen2_5_omni_thinker" => Some(Generation::Omni),
        "qwen3_vl" | "qwen3_vl_moe" | "qwen3vl" | "qwen3_5" | "qwen3_5_moe" => Some(Generation::Three),
        _ => None,
    }
}
