//! Films as tensors, of frames that a host hands over. Knows no container and no codec.

mod frames;
mod gemma4;
mod qwen;
mod rules;
mod sampling;

use alloquy_core::media::{Digest, MediaKind};
use alloquy_core::model_info::ModelInfo;
use alloquy_core::report::Degradation;
use alloquy_core::{Error, ErrorKind, Media, Result};
use alloquy_engine::media_processor::{MediaOutline, MediaProcessor, MediaTensor};

pub use sampling::{FrameCount, FrameRate};

use self::frames::Frames;
use self::rules::VideoRules;
use crate::container;
use crate::description::Description;
use crate::identity::identity;
use crate::image::{Loader, Size, generation};
use crate::options::MediaOptions;

/// Makes of films what the vision encoder of one model is fed. Containers are not decoded here: whoever has a decoder asks which
/// frames are wanted, and hands those over.
///
/// ```
/// use std::time::Duration;
///
/// use alloquy_core::Media;
/// use alloquy_core::model_info::ModelInfo;
/// use alloquy_engine::media_processor::MediaProcessor;
/// use alloquy_media::{VideoProcessor, FrameRate, MediaOptions};
///
/// let mut model = ModelInfo::default();
/// model.model_type = Some("qwen3_vl".to_owned());
/// model.files.insert("config.json".to_owned(), r#"{"vision_config": {}}"#.to_owned());
/// let films = VideoProcessor::of(&model, &MediaOptions::default())?.expect("it sees films");
///
/// // A container has 90 frames, 30 a second; a decoder makes pictures of those that are wanted.
/// let wanted = films.frames_wanted(90, FrameRate::of(30.0))?;
/// assert_eq!(wanted, [0, 18, 36, 53, 71, 89]);
/// let picture = || Media::new("image/x-portable-pixmap", b"P6 1 1 255 ABC".to_vec());
/// let frames = wanted.iter().map(|frame| picture().at(Duration::from_secs_f64(*frame as f64 / 30.0)));
/// let film = Media::film(frames.collect::<Vec<_>>());
/// assert!(films.outline(&film)?.before.starts_with("<0.3 seconds>"));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug)]
pub struct VideoProcessor {
    loader: Loader,
    limit: usize,
    frames_per_second: f64,
    rules: Box<dyn VideoRules>,
    identity: Digest,
}

impl VideoProcessor {
    /// Reads how a model sees films from its description files; `None` for one that sees none, or not in a way that is known.
    ///
    /// # Errors
    /// As [`ImageProcessor::of`](crate::ImageProcessor::of), and [`ErrorKind::Invalid`] for a rate of frames that is none.
    pub fn of(model: &ModelInfo, options: &MediaOptions) -> Result<Option<Self>> {
        let rate = options.frames_per_second;
        if !FrameRate::of(rate).is_sane() {
            let message = format!("a film of {rate} frames a second is none, give a number above 0");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let description = Description::of(model)?;
        let model_type = description.model_type().unwrap_or_default();
        let rules: Box<dyn VideoRules> = match (description.sees(), generation(model_type)) {
            (true, Some(generation)) => Box::new(qwen::Qwen::of(&description, options, generation)?),
            (true, None) if model_type == "gemma4" => Box::new(gemma4::Gemma4::of(&description, options)?),
            _ => return Ok(None),
        };
        Ok(Some(Self {
            loader: Loader::new(options.limits.clone(), options.alpha.unwrap_or_default()),
            limit: options.limits.frames,
            frames_per_second: rate,
            rules,
            identity: identity("films", model, options),
        }))
    }

    /// Returns which frames of a film of `total` the model would see, for whoever decodes it.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when more are asked for than there are, or the rate is none.
    pub fn frames_wanted(&self, total: usize, rate: FrameRate) -> Result<Vec<usize>> {
        if total == 0 || !rate.is_sane() {
            let message = format!("a film of {total} frames at {rate:?} cannot be sampled");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        self.rules.sample(total, rate)
    }

    /// The frames that are taken, and what is to be told of those that are not.
    fn taken<'a>(&self, media: &'a Media) -> Result<(Frames<'a>, Option<Degradation>)> {
        let all = media.frames().ok_or_else(|| container::undecoded(media))?;
        let invalid = |message: String| Err(Error::new(ErrorKind::Invalid, message));
        if all.is_empty() {
            return invalid("a film has no frames".to_owned());
        }
        if all.len() > self.limit {
            return invalid(format!("a film has {} frames, and the limit is {}", all.len(), self.limit));
        }
        let most = self.rules.most();
        let frames = Frames::new(all, most, self.frames_per_second);
        let sampled =
            Degradation::FramesSampled { media: media.digest(), frames: all.len(), taken: frames.len() };
        Ok((frames, (all.len() > most).then_some(sampled)))
    }

    /// The size that all frames have.
    fn size(&self, frames: &Frames<'_>) -> Result<Size> {
        let mut sizes = frames.iter().map(|(frame, _)| self.loader.size(frame));
        let first = sizes.next().unwrap_or_else(|| Ok(Size::new(0, 0)))?;
        for (index, size) in sizes.enumerate() {
            let size = size?;
            if size != first {
                let message =
                    format!("frame {} of a film has {size} pixels, and the first has {first}", index + 1);
                return Err(Error::new(ErrorKind::Invalid, message));
            }
        }
        Ok(first)
    }
}

impl MediaProcessor for VideoProcessor {
    fn identity(&self) -> Digest {
        self.identity
    }

    fn kinds(&self) -> &[MediaKind] {
        &[MediaKind::Video]
    }

    fn outline(&self, media: &Media) -> Result<MediaOutline> {
        let (frames, sampled) = self.taken(media)?;
        let size = self.size(&frames)?;
        let mut outline = self.rules.outline(&frames, size)?;
        outline.degradations.extend(sampled);
        let capped = self.rules.capped(frames.len(), size)?;
        outline.degradations.extend(capped.map(|(wanted, taken)| Degradation::PixelsCapped {
            media: media.digest(),
            wanted,
            taken,
        }));
        Ok(outline)
    }

    fn tensors(&self, media: &Media) -> Result<Vec<MediaTensor>> {
        let (frames, _) = self.taken(media)?;
        let size = self.size(&frames)?;
        self.rules.tensors(&frames, size, &self.loader)
    }
}
