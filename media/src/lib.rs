//! Makes of images, audio and video the tensors that multimodal models take, as the models' processors in Hugging Face's
//! transformers do.
//!
//! [`MediaProcessors`] reads a model's description files and chooses what fits the model: an [`ImageProcessor`], a
//! [`VideoProcessor`], an [`AudioProcessor`]. Each one reports which texts and how many positions a medium takes in a prompt
//! (its outline), and makes the tensors that the model's encoder receives. All of them implement
//! [`alloquy_engine::media_processor::MediaProcessor`], so that a model is given one of them without knowing which. Files are decoded within
//! [`MediaLimits`] and [`AudioLimits`], and in pure Rust. Containers of video are not decoded: a host decodes the frames that
//! [`VideoProcessor::frames_wanted`] names.
//!
//! ```
//! # #[cfg(feature = "image")] {
//! use alloquy_core::Media;
//! use alloquy_core::model_info::ModelInfo;
//! use alloquy_engine::media_processor::MediaProcessor;
//! use alloquy_media::MediaProcessors;
//!
//! // A backend reads these from the model's folder.
//! let mut model = ModelInfo::default();
//! model.model_type = Some("gemma3".to_owned());
//! model.files.insert("config.json".to_owned(), r#"{"vision_config": {"image_size": 896}}"#.to_owned());
//!
//! let processors = MediaProcessors::of(&model)?.expect("the model takes images");
//! let image = Media::new("image/x-portable-pixmap", b"P6 2 1 255 ABCDEF".to_vec());
//! assert_eq!(processors.outline(&image)?.features(), 256);
//! let tensors = processors.tensors(&image)?;
//! assert_eq!((tensors[0].name.as_str(), tensors[0].shape.as_slice()), ("pixel_values", &[1, 3, 896, 896][..]));
//! # }
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! | feature (both are on by default) | what it adds |
//! |---|---|
//! | `image` | [`ImageProcessor`], [`VideoProcessor`] and their options |
//! | `audio` | [`AudioProcessor`], [`Waveform`] and their options |
//!
//! The modules, by what they need: `image` decodes, resizes and cuts images for each model, `video` samples frames and hands
//! them to `image`, `audio` decodes, resamples and transforms waveforms; `options` and `description` are what a host and a
//! model's files set, and `processors` chooses.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "audio")]
mod audio;
#[cfg(feature = "image")]
mod container;
#[cfg(any(feature = "audio", feature = "image"))]
mod description;
#[cfg(any(feature = "audio", feature = "image"))]
mod identity;
#[cfg(feature = "image")]
mod image;
#[cfg(any(feature = "audio", feature = "image"))]
mod options;
#[cfg(any(feature = "audio", feature = "image"))]
mod processors;
#[cfg(any(feature = "audio", feature = "image"))]
mod riff;
#[cfg(feature = "image")]
mod spread;
#[cfg(any(feature = "audio", feature = "image"))]
mod tensors;
#[cfg(feature = "image")]
mod video;

#[cfg(feature = "audio")]
pub use self::audio::{
    AudioLimits, AudioOptions, AudioOverflow, AudioProcessor, Waveform, WaveformCut, WaveformShape,
};
#[cfg(feature = "image")]
pub use self::image::{ImagePlan, ImageProcessor, ImageView, ResizeArea, Size};
#[cfg(any(feature = "audio", feature = "image"))]
pub use self::options::MediaOptions;
#[cfg(feature = "image")]
pub use self::options::{AlphaHandling, ImageBackend, MediaLimits};
#[cfg(any(feature = "audio", feature = "image"))]
pub use self::processors::MediaProcessors;
#[cfg(feature = "image")]
pub use self::video::{FrameCount, FrameRate, VideoProcessor};
