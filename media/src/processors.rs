//! The processor for all media of a model: it passes each medium to the processor of its kind.

use alloquy_core::media::{Digest, MediaKind};
use alloquy_core::model_info::ModelInfo;
use alloquy_core::{Error, ErrorKind, Media, Result};
use alloquy_engine::media_processor::{MediaOutline, MediaProcessor, MediaTensor};

#[cfg(feature = "audio")]
use crate::audio::AudioProcessor;
#[cfg(feature = "image")]
use crate::image::{ImageProcessor, is_image};
use crate::options::MediaOptions;
#[cfg(feature = "image")]
use crate::video::VideoProcessor;

/// Computes a model's input tensors from images, videos and audio clips.
///
/// ```
/// use alloquy_core::{ErrorKind, Media};
/// use alloquy_core::model_info::ModelInfo;
/// use alloquy_engine::media_processor::MediaProcessor;
/// use alloquy_media::MediaProcessors;
///
/// let mut model = ModelInfo::default();
/// assert!(MediaProcessors::of(&model)?.is_none());
///
/// # #[cfg(feature = "image")] {
/// model.model_type = Some("gemma3".to_owned());
/// model.files.insert("config.json".to_owned(), r#"{"vision_config": {"image_size": 896}}"#.to_owned());
/// let processors = MediaProcessors::of(&model)?.expect("the model accepts images");
/// let image = Media::new("image/x-portable-pixmap", b"P6 2 1 255 ABCDEF".to_vec());
/// let outline = processors.outline(&image)?;
/// assert_eq!((outline.before.as_str(), outline.features()), ("\n\n<start_of_image>", 256));
///
/// let error = processors.outline(&Media::new("image/png", b"no image".to_vec())).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Unsupported);
/// # }
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug)]
pub struct MediaProcessors {
    name: String,
    kinds: Vec<MediaKind>,
    #[cfg(feature = "image")]
    images: Option<ImageProcessor>,
    #[cfg(feature = "image")]
    videos: Option<VideoProcessor>,
    #[cfg(feature = "audio")]
    audio: Option<AudioProcessor>,
}

impl MediaProcessors {
    /// Reads from a model's description files which media it accepts; `None` for a model that accepts only text.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] for files with unusable settings, [`ErrorKind::Unsupported`] for settings that no processor
    /// implements.
    pub fn of(model: &ModelInfo) -> Result<Option<Self>> {
        Self::with_options(model, &MediaOptions::default())
    }

    /// As [`MediaProcessors::of`], with options of the host.
    ///
    /// # Errors
    /// As [`MediaProcessors::of`], and [`ErrorKind::Invalid`] for an option whose value the model does not support.
    pub fn with_options(model: &ModelInfo, options: &MediaOptions) -> Result<Option<Self>> {
        let mut processors = Self {
            name: model.name.clone(),
            kinds: Vec::new(),
            #[cfg(feature = "image")]
            images: ImageProcessor::of(model, options)?,
            #[cfg(feature = "image")]
            videos: VideoProcessor::of(model, options)?,
            #[cfg(feature = "audio")]
            audio: AudioProcessor::with_options(model, options.audio)?,
        };
        for kind in MediaKind::ALL {
            if processors.processor(kind).is_some() {
                processors.kinds.push(kind);
            }
        }
        Ok((!processors.kinds.is_empty()).then_some(processors))
    }

    /// Returns the processor for images.
    #[cfg(feature = "image")]
    pub fn images(&self) -> Option<&ImageProcessor> {
        self.images.as_ref()
    }

    /// Returns the processor for videos.
    #[cfg(feature = "image")]
    pub fn videos(&self) -> Option<&VideoProcessor> {
        self.videos.as_ref()
    }

    fn processor(&self, kind: MediaKind) -> Option<&dyn MediaProcessor> {
        match kind {
            #[cfg(feature = "image")]
            MediaKind::Image => self.images.as_ref().map(|images| images as _),
            #[cfg(feature = "image")]
            MediaKind::Video => self.videos.as_ref().map(|videos| videos as _),
            #[cfg(not(feature = "image"))]
            MediaKind::Image | MediaKind::Video => None,
            #[cfg(feature = "audio")]
            MediaKind::Audio => self.audio.as_ref().map(|audio| audio as _),
            #[cfg(not(feature = "audio"))]
            MediaKind::Audio => None,
        }
    }

    fn of_kind(&self, media: &Media) -> Result<&dyn MediaProcessor> {
        // An image with an unknown media type, such as `application/octet-stream`, is recognized by its first bytes.
        #[cfg(feature = "image")]
        let sniffed = media.bytes().is_some_and(|bytes| is_image(bytes)).then_some(MediaKind::Image);
        #[cfg(not(feature = "image"))]
        let sniffed = None;
        MediaKind::of(media).or(sniffed).and_then(|kind| self.processor(kind)).ok_or_else(|| {
            let kinds: Vec<_> = self.kinds.iter().map(|kind| kind.as_str()).collect();
            let message = format!(
                "model {:?} takes no media of type {:?}; it takes: {}",
                self.name,
                media.media_type(),
                kinds.join(", ")
            );
            Error::new(ErrorKind::Unsupported, message)
        })
    }
}

impl MediaProcessor for MediaProcessors {
    fn identity(&self) -> Digest {
        let processors = MediaKind::ALL.into_iter().filter_map(|kind| self.processor(kind));
        let identities: Vec<_> = processors.map(|processor| *processor.identity().as_bytes()).collect();
        Digest::of(identities.as_flattened())
    }

    fn kinds(&self) -> &[MediaKind] {
        &self.kinds
    }

    fn outline(&self, media: &Media) -> Result<MediaOutline> {
        self.of_kind(media)?.outline(media)
    }

    fn tensors(&self, media: &Media) -> Result<Vec<MediaTensor>> {
        self.of_kind(media)?.tensors(media)
    }
}
