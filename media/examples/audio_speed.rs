//! Measures how long an audio clip takes to become features, on one thread: the one of the file that is named, or else 30 seconds that
//! are made here.
//!
//! `cargo run --release --package alloquy-media --example audio_speed [FILE]`; beside it,
//! `xtask/media/speed_audio.py` measures Hugging Face's extractors with the same audio clip. It fails where features are not as many
//! as the audio's outline says, where one is no number, and where they take longer than the audio itself.

use std::time::{Duration, Instant};

use alloquy_core::model_info::ModelInfo;
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::media_processor::{MediaTensor, TensorData};
use alloquy_media::{AudioLimits, AudioProcessor, Waveform};

/// How often each measurement is taken.
const ROUNDS: usize = 11;
/// What is measured, and a model type that has it.
const MODELS: [(&str, &str); 3] =
    [("Whisper, 128 bands", "qwen2_audio"), ("Gemma 3n", "gemma3n"), ("Gemma 4", "gemma4")];

fn main() -> Result<()> {
    let named = std::env::args_os().nth(1).map(|path| std::fs::read(path).map_err(unreadable)).transpose()?;
    let audio = match named {
        Some(bytes) => Waveform::decode(&bytes, &AudioLimits::default())?,
        None => Waveform::new(16_000, noise(16_000))?,
    };
    for (name, model_type) in MODELS {
        let processor = processor(model_type)?;
        check(&processor, &audio)?;
        report(name, &audio, || processor.features(&audio).map(drop))?;
    }
    let studio = Waveform::new(44_100, noise(44_100))?;
    report("44.1 to 16 kHz", &studio, || {
        studio.at_rate(16_000);
        Ok(())
    })
}

fn processor(model_type: &str) -> Result<AudioProcessor> {
    let mut model = ModelInfo::default();
    model.model_type = Some(model_type.to_owned());
    model.files.insert("config.json".to_owned(), r#"{"audio_config": {}}"#.to_owned());
    AudioProcessor::of(&model)?.ok_or_else(|| wrong(format!("{model_type} takes no audio clips")))
}

/// Thirty seconds of noise under a slow wave.
fn noise(rate: u32) -> Vec<f32> {
    let sample = |at: u32| {
        let noise = (at.wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0 - 0.5;
        noise * (at as f32 / rate as f32).sin() * 0.5
    };
    (0..30 * rate).map(sample).collect()
}

/// Whether the features are what the audio's shape says, and numbers.
fn check(processor: &AudioProcessor, audio: &Waveform) -> Result<()> {
    let frames = processor.shape(audio)?.frames;
    let features = processor.features(audio)?;
    let Some(MediaTensor { shape, values: TensorData::F32(values), .. }) = features.first() else {
        return Err(wrong("the first tensor has no features".to_owned()));
    };
    // Each of several segments has its frames.
    let segments = shape.first().copied().unwrap_or_default().max(1);
    if !shape.iter().any(|axis| axis * segments == frames) {
        return Err(wrong(format!("the features have the shape {shape:?}, without {frames} frames")));
    }
    match values.iter().position(|value| !value.is_finite()) {
        Some(at) => Err(wrong(format!("feature {at} is no number"))),
        None => Ok(()),
    }
}

fn report(name: &str, audio: &Waveform, measured: impl Fn() -> Result<()>) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        measured()?;
        times.push(began.elapsed());
    }
    times.sort();
    let (Some(&least), Some(&median)) = (times.first(), times.get(ROUNDS / 2)) else { return Ok(()) };
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    println!("{name:<20} median {:7.2} ms, least {:7.2} ms", milliseconds(median), milliseconds(least));
    let length = audio.samples().len() as f64 / f64::from(audio.rate());
    if least.as_secs_f64() < length {
        Ok(())
    } else {
        Err(wrong(format!("{name} takes {least:.1?} for {length:.1} s of audio")))
    }
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

fn unreadable(error: std::io::Error) -> Error {
    Error::new(ErrorKind::NotFound, "the audio cannot be read").with_source(error)
}
