//! Measures how long 30 seconds of sound take to become features, on one thread.
//!
//! `cargo run --release --package alloquy-processors --features audio --example sound_speed`; beside it,
//! `xtask/media/speed_audio.py` measures Hugging Face's extractors with the same sound.

use std::time::{Duration, Instant};

use alloquy_core::{ModelInfo, Result};
use alloquy_processors::{AudioProcessor, Sound};

/// How often each measurement is taken.
const ROUNDS: usize = 11;

fn main() -> Result<()> {
    let (plain, studio) = (Sound::new(16_000, noise(16_000))?, Sound::new(44_100, noise(44_100))?);
    for (name, model_type) in
        [("Whisper, 128 bands", "qwen2_audio"), ("Gemma 3n", "gemma3n"), ("Gemma 4", "gemma4")]
    {
        let mut model = ModelInfo::default();
        model.model_type = Some(model_type.to_owned());
        model.files.insert("config.json".to_owned(), r#"{"audio_config": {}}"#.to_owned());
        if let Some(processor) = AudioProcessor::of(&model)? {
            report(name, || processor.features(&plain).map(drop))?;
        }
    }
    report("44.1 to 16 kHz", || {
        studio.at_rate(16_000);
        Ok(())
    })
}

/// Thirty seconds of noise under a slow wave.
fn noise(rate: u32) -> Vec<f32> {
    let sample = |at: u32| {
        let noise = (at.wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0 - 0.5;
        noise * (at as f32 / rate as f32).sin() * 0.5
    };
    (0..30 * rate).map(sample).collect()
}

fn report(name: &str, measured: impl Fn() -> Result<()>) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        measured()?;
        times.push(began.elapsed());
    }
    times.sort();
    let milliseconds = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1000.0);
    println!(
        "{name:<20} median {:7.2} ms, least {:7.2} ms",
        milliseconds(times.get(ROUNDS / 2)),
        milliseconds(times.first())
    );
    Ok(())
}
