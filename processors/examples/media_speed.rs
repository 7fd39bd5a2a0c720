//! How long it takes to make tensors of a picture, on one thread: decoding included, median of several runs.
//!
//! ```text
//! cargo run --release -p alloquy-processors --features image --example media_speed -- PICTURE [RUNS]
//! ```
//!
//! Prints a line of JSON for each model and backend; `xtask/media/speed.py` measures Hugging Face's processors beside it.

use std::time::Instant;

use alloquy_core::{Error, ErrorKind, Media, MediaProcessor, ModelInfo, Result};
use alloquy_processors::{ImageBackend, MediaOptions, MediaProcessors};

const MODELS: [&str; 8] =
    ["gemma3", "gemma3n", "gemma4", "qwen2_5_vl", "qwen3_vl", "llava", "lfm2_vl", "fast_vlm"];

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    // Without a picture there is nothing to measure: the examples are all run once to see that they do.
    let Some(path) = arguments.next() else {
        println!("usage: media_speed PICTURE [RUNS]");
        return Ok(());
    };
    let runs = arguments.next().and_then(|runs| runs.parse().ok()).unwrap_or(9);
    let invalid =
        |source| Error::new(ErrorKind::Invalid, format!("{path:?} cannot be read")).with_source(source);
    let picture = Media::new("image/any", std::fs::read(&path).map_err(invalid)?);
    for name in MODELS {
        for backend in [ImageBackend::Torchvision, ImageBackend::Pillow] {
            let options = MediaOptions::default().pixel_cap(None).backend(backend);
            let mut model = ModelInfo::default();
            model.model_type = Some(name.to_owned());
            model.files.insert("config.json".to_owned(), r#"{"vision_config": {}}"#.to_owned());
            let Some(processors) = MediaProcessors::with_options(&model, &options)? else { continue };
            let milliseconds = median(&processors, &picture, runs)?;
            println!(r#"{{"model": "{name}", "backend": "{backend:?}", "milliseconds": {milliseconds:.2}}}"#);
        }
    }
    Ok(())
}

fn median(processors: &MediaProcessors, picture: &Media, runs: usize) -> Result<f64> {
    processors.tensors(picture)?;
    let mut times = Vec::new();
    for _ in 0..runs.max(1) {
        let start = Instant::now();
        let tensors = processors.tensors(picture)?;
        times.push(start.elapsed().as_secs_f64() * 1_000.0);
        drop(tensors);
    }
    times.sort_by(f64::total_cmp);
    Ok(times.get(times.len() / 2).copied().unwrap_or_default())
}
