//! The tiny models that take media, and a processor that feeds them tensors of fixed sizes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::media::{Digest, MediaKind};
use alloquy_core::prompt::PromptUnit;
use alloquy_core::{Media, Result};
use alloquy_engine::media_processor::{
    MediaGrid, MediaOutline, MediaPlaceholder, MediaProcessor, MediaTensor, TensorData,
};
use alloquy_onnx::{OnnxEngine, OnnxEngineBuilder};

/// One model in one layout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tiny {
    pub(crate) folder: &'static str,
    pub(crate) family: Family,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Family {
    Gemma3,
    Gemma3n,
    Qwen25,
    Qwen3,
}

const fn tiny(folder: &'static str, family: Family) -> Tiny {
    Tiny { folder, family }
}

pub(crate) const MODELS: [Tiny; 7] = [
    tiny("tiny/genai-gemma3-vl-fp32", Family::Gemma3),
    tiny("tiny/tjs-gemma3-vl", Family::Gemma3),
    tiny("tiny/tjs-gemma3n", Family::Gemma3n),
    tiny("tiny/genai-qwen2.5-vl-fp32", Family::Qwen25),
    tiny("tiny/tjs-qwen2.5-vl", Family::Qwen25),
    tiny("tiny/genai-qwen3-vl-fp32", Family::Qwen3),
    tiny("tiny/tjs-qwen3-vl", Family::Qwen3),
];

impl Tiny {
    pub(crate) fn builder(self, models: &Path) -> OnnxEngineBuilder {
        OnnxEngine::builder(models.join(self.folder)).threads(1).media(Arc::new(self.family))
    }

    pub(crate) fn load(self, models: &Path) -> OnnxEngine {
        self.builder(models).load().unwrap_or_else(|error| panic!("{}: {error:#}", self.folder))
    }

    /// A kind of media that it takes, the smaller one where there are two.
    pub(crate) fn media(self, seed: u8) -> Media {
        match self.family {
            Family::Gemma3n => audio(seed),
            _ => image(seed),
        }
    }
}

pub(crate) fn image(seed: u8) -> Media {
    Media::new("image/test", vec![seed])
}

pub(crate) fn audio(seed: u8) -> Media {
    padded_audio(seed, 0)
}

/// An audio clip, with a seed for the content of its padding.
pub(crate) fn padded_audio(seed: u8, padding: u8) -> Media {
    // Other bytes than those of an image: media are only distinguished by their bytes.
    Media::new("audio/test", vec![seed, padding])
}

/// How many frames of an audio clip are audio; the others are padding.
const AUDIO_FRAMES: usize = 80;

/// A video of images, with this time between them.
pub(crate) fn video(seeds: &[u8], apart: Duration) -> Media {
    let mut frames = Vec::new();
    for (index, seed) in seeds.iter().enumerate() {
        frames.push(image(*seed).at(apart * index as u32));
    }
    Media::video(frames)
}

/// Twelve tokens, media, and twelve more tokens.
pub(crate) fn around(media: Media) -> Vec<PromptUnit> {
    let mut units: Vec<PromptUnit> = (20..32).map(PromptUnit::Token).collect();
    units.push(PromptUnit::Media(media));
    units.extend((40..52).map(PromptUnit::Token));
    units
}

/// How many rows and columns of features the Qwen models get, from twice as many patches.
const ROWS: usize = 2;
const COLUMNS: usize = 3;

/// Numbers between -1 and 1, the same as in the script of the reference.
pub(crate) fn numbers(seed: u8, count: usize) -> Vec<f32> {
    let mut numbers = Vec::with_capacity(count);
    for index in 0..count {
        let number = (index * 7919 + usize::from(seed) * 104_729) % 2001;
        numbers.push(number as f32 / 1000.0 - 1.0);
    }
    numbers
}

fn tensor(name: &str, shape: &[usize], seed: u8) -> MediaTensor {
    let values = TensorData::F32(numbers(seed, shape.iter().product()));
    MediaTensor { name: name.to_owned(), shape: shape.to_vec(), values }
}

fn video_positions(time: usize, time_step: f64) -> MediaPlaceholder {
    MediaPlaceholder::Positions {
        token: "<|video_pad|>".into(),
        count: time * ROWS * COLUMNS,
        grid: Some(MediaGrid { time, height: ROWS, width: COLUMNS, time_step }),
    }
}

impl Family {
    /// The tensors of frames. A frame counts as the two images that the models take together.
    fn patches(width: usize, seeds: &[u8]) -> Vec<MediaTensor> {
        let grid = vec![seeds.len() as i64, 2 * ROWS as i64, 2 * COLUMNS as i64];
        let grid =
            MediaTensor { name: "image_grid_thw".into(), shape: vec![1, 3], values: TensorData::I64(grid) };
        let patches = 4 * ROWS * COLUMNS;
        let values = seeds.iter().flat_map(|seed| numbers(*seed, patches * width)).collect();
        let name = "pixel_values".to_owned();
        let shape = vec![seeds.len() * patches, width];
        vec![MediaTensor { name, shape, values: TensorData::F32(values) }, grid]
    }

    /// The outline of a video: for Qwen2.5-VL all frames together, numbered four times a second, for Qwen3-VL each frame alone.
    fn video(self, frames: &[Media]) -> MediaOutline {
        if self == Family::Qwen3 {
            let marks = MediaPlaceholder::Text("<|vision_end|><|vision_start|>".into());
            let pieces = frames.iter().flat_map(|_| [marks.clone(), video_positions(1, 1.0)]).skip(1);
            return MediaOutline { pieces: pieces.collect(), ..MediaOutline::default() };
        }
        let apart = frames[1].time().expect("a time").as_secs_f64();
        MediaOutline::of(video_positions(frames.len(), 4.0 * apart))
    }
}

impl MediaProcessor for Family {
    fn identity(&self) -> Digest {
        Digest::of(format!("{self:?}").as_bytes())
    }

    fn kinds(&self) -> &[MediaKind] {
        match self {
            Family::Gemma3n => &[MediaKind::Image, MediaKind::Audio],
            Family::Gemma3 => &[MediaKind::Image],
            Family::Qwen25 | Family::Qwen3 => &[MediaKind::Image, MediaKind::Video],
        }
    }

    fn outline(&self, media: &Media) -> Result<MediaOutline> {
        if let Some(frames) = media.frames() {
            return Ok(self.video(frames));
        }
        let piece = match self {
            Family::Gemma3 => MediaPlaceholder::positions("<image_soft_token>", 4),
            Family::Gemma3n if media.media_type() == "audio/test" => {
                MediaPlaceholder::positions("<audio_soft_token>", 7)
            }
            Family::Gemma3n => MediaPlaceholder::positions("<image_soft_token>", 256),
            Family::Qwen25 | Family::Qwen3 => MediaPlaceholder::Positions {
                token: "<|image_pad|>".into(),
                count: ROWS * COLUMNS,
                grid: Some(MediaGrid { time: 1, height: ROWS, width: COLUMNS, time_step: 1.0 }),
            },
        };
        Ok(MediaOutline::of(piece))
    }

    fn tensors(&self, media: &Media) -> Result<Vec<MediaTensor>> {
        let frames = media.frames().unwrap_or(std::slice::from_ref(media));
        let seeds: Vec<_> = frames.iter().map(|frame| frame.bytes().expect("bytes")[0]).collect();
        let seed = seeds[0];
        Ok(match self {
            Family::Gemma3 => vec![tensor("pixel_values", &[1, 3, 56, 56], seed)],
            Family::Gemma3n if media.media_type() == "audio/test" => {
                // As in processors, true is audio. The frames after it are padding.
                let mask = TensorData::Bool((0..97).map(|frame| frame < AUDIO_FRAMES).collect());
                let mask =
                    MediaTensor { name: "input_features_mask".into(), shape: vec![1, 97], values: mask };
                let mut features = numbers(seed, 97 * 128);
                features.truncate(AUDIO_FRAMES * 128);
                features.extend(numbers(media.bytes().expect("bytes")[1], (97 - AUDIO_FRAMES) * 128));
                let features = MediaTensor {
                    name: "input_features".into(),
                    shape: vec![1, 97, 128],
                    values: TensorData::F32(features),
                };
                vec![features, mask]
            }
            Family::Gemma3n => vec![tensor("pixel_values", &[1, 3, 768, 768], seed)],
            Family::Qwen25 => Self::patches(1176, &seeds),
            Family::Qwen3 => Self::patches(1536, &seeds),
        })
    }
}
