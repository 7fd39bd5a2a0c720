//! How long it takes to make tensors of an image, on one thread: decoding included, median of several runs.
//!
//! ```text
//! cargo run --release -p alloquy-media --example image_speed -- [IMAGE [RUNS]]
//! ```
//!
//! Without an image it measures a small JPEG that it makes. Prints a line of JSON for each model and backend; `xtask/media/speed.py` measures Hugging Face's processors beside it.

use std::io::Cursor;
use std::time::Instant;

use alloquy_core::model_info::ModelInfo;
use alloquy_core::{Error, ErrorKind, Media, Result};
use alloquy_engine::media_processor::MediaProcessor;
use alloquy_media::{ImageBackend, MediaOptions, MediaProcessors};
use image::{ImageFormat, Rgb, RgbImage};

const MODELS: [&str; 8] =
    ["gemma3", "gemma3n", "gemma4", "qwen2_5_vl", "qwen3_vl", "llava", "lfm2_vl", "fast_vlm"];

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let image = arguments.next().map_or_else(small, |path| read(&path))?;
    let runs = arguments.next().map_or(Ok(9), |runs| count(&runs))?;
    for name in MODELS {
        for backend in [ImageBackend::Torchvision, ImageBackend::Pillow] {
            let milliseconds = median(&processors(name, backend)?, &image, runs)?;
            println!(r#"{{"model": "{name}", "backend": "{backend:?}", "milliseconds": {milliseconds:.2}}}"#);
        }
    }
    Ok(())
}

/// A gradient of 320 x 240.
fn small() -> Result<Media> {
    let image = RgbImage::from_fn(320, 240, |x, y| Rgb([x, y, x + y].map(|level| level.min(255) as u8)));
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, ImageFormat::Jpeg).map_err(|source| {
        Error::new(ErrorKind::Backend, "a JPEG of 320 x 240 could not be made").with_source(source)
    })?;
    Ok(Media::new("image/jpeg", bytes.into_inner()))
}

fn read(path: &str) -> Result<Media> {
    let bytes = std::fs::read(path).map_err(|source| {
        Error::new(ErrorKind::Invalid, format!("{path:?} cannot be read")).with_source(source)
    })?;
    Ok(Media::new("image/any", bytes))
}

fn count(runs: &str) -> Result<usize> {
    let count = runs.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| Error::new(ErrorKind::Invalid, format!("{runs:?} is no number of runs, such as 9")))
}

/// The processors of a model without a cap on pixels, which is ours and not the models'.
fn processors(model_type: &str, backend: ImageBackend) -> Result<MediaProcessors> {
    let mut model = ModelInfo::default();
    model.model_type = Some(model_type.to_owned());
    model.files.insert("config.json".to_owned(), r#"{"vision_config": {}}"#.to_owned());
    let options = MediaOptions::default().pixel_cap(None).backend(backend);
    let processors = MediaProcessors::with_options(&model, &options)?;
    processors.ok_or_else(|| Error::new(ErrorKind::Unsupported, format!("{model_type:?} takes no images")))
}

fn median(processors: &MediaProcessors, image: &Media, runs: usize) -> Result<f64> {
    processors.tensors(image)?;
    let mut times = Vec::new();
    for _ in 0..runs {
        let start = Instant::now();
        let tensors = processors.tensors(image)?;
        times.push(start.elapsed().as_secs_f64() * 1_000.0);
        drop(tensors);
    }
    times.sort_by(f64::total_cmp);
    Ok(times.get(times.len() / 2).copied().unwrap_or_default())
}
