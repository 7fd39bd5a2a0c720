//! Computes a model's input tensors from the frames of videos, which a host decodes.

mod frames;
mod gemma4;
mod qwen;
mod rules;
mod sampling;

use alloquy_core::media::{Digest, MediaKind};
use alloquy_core::model_info::ModelInfo;
use alloquy_core::report::Warning;
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

/// Computes the input tensors of a model's vision encoder from the frames of videos.
///
/// Video files are not decoded here. A host with a decoder calls [`VideoProcessor::frames_wanted`], decodes those frames, and
/// passes them as images.
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
/// let videos = VideoProcessor::of(&model, &MediaOptions::default())?.expect("the model accepts videos");
///
/// // A container has 90 frames, 30 a second; a decoder makes images of those that are wanted.
/// let wanted = videos.frames_wanted(90, FrameRate::of(30.0))?;
/// assert_eq!(wanted, [0, 18, 36, 53, 71, 89]);
/// let image = || Media::new("image/x-portable-pixmap", b"P6 1 1 255 ABC".to_vec());
/// let frames = wanted.iter().map(|frame| image().at(Duration::from_secs_f64(*frame as f64 / 30.0)));
/// let video = Media::video(frames.collect::<Vec<_>>());
/// assert!(videos.outline(&video)?.before.starts_with("<0.3 seconds>"));
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
    /// Reads a model's video settings from its description files; `None` for a model without videos, or of an unknown type.
    ///
    /// # Errors
    /// As [`ImageProcessor::of`](crate::ImageProcessor::of), and [`ErrorKind::Invalid`] for a frame rate that is not above 0.
    pub fn of(model: &ModelInfo, options: &MediaOptions) -> Result<Option<Self>> {
        let rate = options.frames_per_second;
        if !FrameRate::of(rate).is_sane() {
            let message = format!("{rate} frames a second are no rate for videos: give a number above 0");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let description = Description::of(model)?;
        let model_type = description.model_type().unwrap_or_default();
        let rules: Box<dyn VideoRules> = match (description.accepts_images(), generation(model_type)) {
            (true, Some(generation)) => Box::new(qwen::Qwen::of(&description, options, generation)?),
            (true, None) if model_type == "gemma4" => Box::new(gemma4::Gemma4::of(&description, options)?),
            _ => return Ok(None),
        };
        Ok(Some(Self {
            loader: Loader::new(options.limits.clone(), options.alpha.unwrap_or_default()),
            limit: options.limits.frames,
            frames_per_second: rate,
            rules,
            // The name is part of stored identities: another one would invalidate what is cached for the model.
            identity: identity("films", model, options),
        }))
    }

    /// Returns the numbers of the frames that a host decodes for the model, out of a video with `total` frames.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when more frames are requested than the video has, or the rate is not above 0.
    pub fn frames_wanted(&self, total: usize, rate: FrameRate) -> Result<Vec<usize>> {
        if total == 0 || !rate.is_sane() {
            let message = format!("a video of {total} frames at {rate:?} cannot be sampled");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        self.rules.sample(total, rate)
    }

    /// Returns the frames that the model sees, and the warning about those that it does not.
    fn taken<'a>(&self, media: &'a Media) -> Result<(Frames<'a>, Option<Warning>)> {
        let all = media.frames().ok_or_else(|| container::undecoded(media))?;
        if all.is_empty() {
            return Err(Error::new(ErrorKind::Invalid, "a video has no frames"));
        }
        if all.len() > self.limit {
            let message = format!("a video has {} frames, and the limit is {}", all.len(), self.limit);
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let most = self.rules.most();
        let frames = Frames::new(all, most, self.frames_per_second);
        if all.len() <= most {
            return Ok((frames, None));
        }
        let sampled =
            Warning::FramesSampled { media: media.digest(), frames: all.len(), taken: frames.len() };
        Ok((frames, Some(sampled)))
    }

    /// Returns the size of the frames, which must all be the same.
    fn size(&self, frames: &Frames<'_>) -> Result<Size> {
        let mut sizes = frames.iter().map(|(frame, _)| self.loader.size(frame));
        let first = sizes.next().unwrap_or_else(|| Ok(Size::new(0, 0)))?;
        for (index, size) in sizes.enumerate() {
            let size = size?;
            if size != first {
                let message =
                    format!("frame {} of a video has {size} pixels, and the first has {first}", index + 1);
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
        outline.warnings.extend(sampled);
        let capped = self.rules.capped(frames.len(), size)?;
        outline.warnings.extend(capped.map(|(wanted, taken)| Warning::PixelsCapped {
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
