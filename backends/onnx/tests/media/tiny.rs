//! The tiny models that take media, and a processor that feeds them tensors of fixed sizes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::media::{Digest, MediaKind};
use alloquy_core::prompt::Unit;
use alloquy_core::{Media, Result};
use alloquy_engine::media_processor::{
    MediaGrid, MediaOutline, MediaPiece, MediaProcessor, MediaTensor, TensorData,
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
            Family::Gemma3n => sound(seed),
            _ => picture(seed),
        }
    }
}

pub(crate) fn picture(seed: u8) -> Media {
    Media::new("image/test", vec![seed])
}

pub(crate) fn sound(seed: u8) -> Media {
    padded_sound(seed, 0)
}

/// A sound, and what stands in its padding.
pub(crate) fn padded_sound(seed: u8, padding: u8) -> Media {
    // Other bytes than a picture: media are told apart by those alone.
    Media::new("audio/test", vec![seed, padding])
}

/// How many frames of a sound are no padding.
const HEARD: usize = 80;

/// A film of pictures that lie so far apart.
pub(crate) fn film(seeds: &[u8], apart: Duration) -> Media {
    let frame = |(index, seed): (usize, &u8)| picture(*seed).at(apart * index as u32);
    Media::film(seeds.iter().enumerate().map(frame).collect::<Vec<_>>())
}

/// Twelve tokens, media, and twelve more tokens.
pub(crate) fn around(media: Media) -> Vec<Unit> {
    let tokens = |range: std::ops::Range<u32>| range.map(Unit::Token);
    tokens(20..32).chain([Unit::Media(media)]).chain(tokens(40..52)).collect()
}

/// How many rows and columns of features the Qwen models are shown; twice as many patches.
const ROWS: usize = 2;
const COLUMNS: usize = 3;

/// Numbers between -1 and 1 that the script of the reference makes too.
pub(crate) fn numbers(seed: u8, count: usize) -> Vec<f32> {
    let number = |index: usize| ((index * 7919 + usize::from(seed) * 104_729) % 2001) as f32;
    (0..count).map(|index| number(index) / 1000.0 - 1.0).collect()
}

fn tensor(name: &str, shape: &[usize], seed: u8) -> MediaTensor {
    let values = TensorData::F32(numbers(seed, shape.iter().product()));
    MediaTensor { name: name.to_owned(), shape: shape.to_vec(), values }
}

impl Family {
    /// A frame stands for the two pictures that the models take together.
    fn patches(width: usize, seeds: &[u8]) -> Vec<MediaTensor> {
        let grid = vec![seeds.len() as i64, 2 * ROWS as i64, 2 * COLUMNS as i64];
        let grid =
            MediaTensor { name: "image_grid_thw".into(), shape: vec![1, 3], values: TensorData::I64(grid) };
        let patches = 4 * ROWS * COLUMNS;
        let values = seeds.iter().flat_map(|seed| numbers(*seed, patches * width)).collect();
        let (name, shape) = ("pixel_values".to_owned(), vec![seeds.len() * patches, width]);
        vec![MediaTensor { name, shape, values: TensorData::F32(values) }, grid]
    }

    /// What stands for a film: of Qwen2.5-VL all its frames, numbered four times a second, of Qwen3-VL each by itself.
    fn film(self, frames: &[Media]) -> MediaOutline {
        let positions = |time: usize, time_step| MediaPiece::Positions {
            token: "<|video_pad|>".into(),
            count: time * ROWS * COLUMNS,
            grid: Some(MediaGrid { time, height: ROWS, width: COLUMNS, time_step }),
        };
        if self == Family::Qwen3 {
            let marks = MediaPiece::Text("<|vision_end|><|vision_start|>".into());
            let pieces = frames.iter().flat_map(|_| [marks.clone(), positions(1, 1.0)]).skip(1);
            return MediaOutline { pieces: pieces.collect(), ..MediaOutline::default() };
        }
        let apart = frames[1].time().expect("a time").as_secs_f64();
        MediaOutline::of(positions(frames.len(), 4.0 * apart))
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
            return Ok(self.film(frames));
        }
        let piece = match self {
            Family::Gemma3 => MediaPiece::positions("<image_soft_token>", 4),
            Family::Gemma3n if media.media_type() == "audio/test" => {
                MediaPiece::positions("<audio_soft_token>", 7)
            }
            Family::Gemma3n => MediaPiece::positions("<image_soft_token>", 256),
            Family::Qwen25 | Family::Qwen3 => MediaPiece::Positions {
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
                // As the processor has it: true is sound. The frames behind are padding.
                let mask = TensorData::Bool((0..97).map(|frame| frame < HEARD).collect());
                let mask =
                    MediaTensor { name: "input_features_mask".into(), shape: vec![1, 97], values: mask };
                let mut features = numbers(seed, 97 * 128);
                features.truncate(HEARD * 128);
                features.extend(numbers(media.bytes().expect("bytes")[1], (97 - HEARD) * 128));
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
