//! Computes the tensors that multimodal models receive from images, audio and video.
//!
//! The results match those of the models' processors in Hugging Face's transformers. Image and audio files are decoded in pure Rust.
//!
//! # From a file to tensors
//!
//! [`MediaProcessors`] reads a model's description files and builds the processors that the model needs: an [`ImageProcessor`], a
//! [`VideoProcessor`], an [`AudioProcessor`]. A processor answers two questions about a medium:
//!
//! - its *outline*: which texts and how many positions the medium takes in the prompt;
//! - its *tensors*: the inputs of the model's encoder.
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
//! let processors = MediaProcessors::of(&model)?.expect("the model accepts images");
//! let image = Media::new("image/x-portable-pixmap", b"P6 2 1 255 ABCDEF".to_vec());
//! assert_eq!(processors.outline(&image)?.features(), 256);
//!
//! let tensors = processors.tensors(&image)?;
//! assert_eq!(tensors[0].name, "pixel_values");
//! assert_eq!(tensors[0].shape, [1, 3, 896, 896]);
//! # }
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! Every processor implements [`MediaProcessor`](alloquy_engine::media_processor::MediaProcessor), so an engine uses one without
//! knowing the model. Processors with the same
//! [`identity`](alloquy_engine::media_processor::MediaProcessor::identity) compute the same tensors, which makes results safe to
//! cache.
//!
//! # Models
//!
//! | medium | models |
//! |---|---|
//! | images | Gemma 3, Gemma 3n, Gemma 4, Qwen2-VL, Qwen2.5-VL, Qwen2.5-Omni, Qwen3-VL, Qwen3.5, LLaVA 1.5, FastVLM, LFM2-VL |
//! | videos | Gemma 4, Qwen2-VL, Qwen2.5-VL, Qwen2.5-Omni, Qwen3-VL, Qwen3.5 |
//! | audio | Gemma 3n, Gemma 4, Qwen2-Audio, Qwen2.5-Omni |
//!
//! # Options and limits
//!
//! [`MediaOptions`] sets what a model's files leave open: the pixel cap, the resizing [`ImageBackend`], the handling of
//! transparency, the frame rate. It also has the limits for untrusted files, [`MediaLimits`] and [`AudioLimits`]. The size that a
//! header declares is checked before the file is decoded, so a small file cannot take much memory.
//!
//! [`ImageProcessor::plan`] shows without an image which size the model would see. [`AudioProcessor::shape`] shows how many
//! positions an audio clip takes.
//!
//! # What this crate does not do
//!
//! - It does not decode video files. A host decodes the frames that [`VideoProcessor::frames_wanted`] names, and passes them with
//!   [`Media::video`](alloquy_core::Media::video).
//! - It does not read files or download anything: it works on the bytes of a [`Media`](alloquy_core::Media).
//! - It does not run the model's encoder: a backend does.
//! - It does not repair damaged files. They are an error, with one exception: a WAV file that ends too early is decoded up to its
//!   end, and [`Waveform::cut`] reports what it lacks.
//!
//! # Features
//!
//! | feature (both are on by default) | what it adds |
//! |---|---|
//! | `image` | [`ImageProcessor`], [`VideoProcessor`] and their options |
//! | `audio` | [`AudioProcessor`], [`Waveform`] and their options |
//!
//! # Where to read on
//!
//! The module `image` decodes and resizes images, and has a file for each model. The module `video` samples frames and resizes them
//! with `image`. The module `audio` decodes and resamples waveforms, and has a file for each feature extractor. The settings of a
//! host are in `options`, and those of a model's files in `description`. The module `processors` chooses a processor for each
//! medium.
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
