//! A fuzz test of audio: files cut and mutated never make the decoder panic, and never take more memory than is allowed,
//! which a process of its own has no more of.
//!
//! `cargo xtask fuzz audio` runs it over as many mutations as one asks for. It begins with the fixtures, and with
//! the media cases below `ALLOQUY_SHARED` where they are there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs};

use alloquy_core::ErrorKind;
use alloquy_media::{AudioLimits, Waveform};
use alloquy_testing::Draws;

/// How many mutated audio clips a plain test run decodes.
const PLAIN_RUN: u64 = 400;
/// How much memory the process has, threads' stacks and the program itself included, in KiB.
const MEMORY: u64 = 384 << 10;
/// Says that this is the process with little memory.
const CHILD: &str = "ALLOQUY_FUZZ_CHILD";

/// What an audio clip may take here: 4 MiB of samples.
fn limits() -> AudioLimits {
    AudioLimits { bytes: 1 << 20, duration: Duration::from_secs(30), samples: 1 << 20, channels: 8 }
}

/// Files to begin with.
fn seeds() -> Vec<Vec<u8>> {
    let shared = env::var_os("ALLOQUY_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"), PathBuf::from);
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/audio");
    let folders = [fixtures, shared.join("cases/media/inputs/audio")];
    let entries = folders.into_iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let inputs = paths.iter().filter(|path| path.extension().is_none_or(|extension| extension != "json"));
    let mut seeds: Vec<Vec<u8>> = inputs.map(|path| fs::read(path).unwrap()).collect();
    seeds.push(wav());
    seeds
}

/// A WAV file of a hundred samples.
fn wav() -> Vec<u8> {
    let mut bytes =
        b"RIFF\xec\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\xc8\0\0\0"
            .to_vec();
    bytes.extend((0..200).map(|at| at as u8));
    bytes
}

/// Numbers that formats take for lengths, counts and rates.
const NUMBERS: [u32; 8] = [0, 1, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

fn mutated(seeds: &[Vec<u8>], draws: &mut Draws) -> Vec<u8> {
    let mut bytes = seeds[draws.below(seeds.len())].clone();
    // Most decisions depend on the first bytes.
    let near = |draws: &mut Draws, length: usize| {
        let far = [64, 512, length][draws.below(3)];
        draws.below(far.min(length).max(1))
    };
    for _ in 0..=draws.below(6) {
        let left = near(draws, bytes.len());
        let right = near(draws, bytes.len());
        let (left, right) = (left.min(right).min(bytes.len()), left.max(right).min(bytes.len()));
        match draws.below(6) {
            0 => drop(bytes.drain(left..right)),
            1 => {
                let copied = bytes[left..right].to_vec();
                bytes.splice(left..left, copied);
            }
            2 => {
                let other = &seeds[draws.below(seeds.len())];
                let cut = near(draws, other.len()).min(other.len());
                bytes.splice(right.., other[cut..].iter().copied());
            }
            3 => {
                let number = NUMBERS[draws.below(NUMBERS.len())];
                let number = if draws.below(2) == 0 { number.to_le_bytes() } else { number.to_be_bytes() };
                bytes.iter_mut().skip(left).zip(number).for_each(|(byte, new)| *byte = new);
            }
            4 => bytes.truncate(right),
            _ => {
                let flipped = draws.below(256) as u8;
                bytes.iter_mut().skip(left).take(1).for_each(|byte| *byte ^= flipped);
            }
        }
        bytes.truncate(1 << 20);
    }
    bytes
}

fn decode_mutations(count: u64) {
    let seeds = seeds();
    let mut draws = Draws::default();
    let began = Instant::now();
    let mut taken = 0_u64;
    let mut slowest = Duration::ZERO;
    for index in 0..count {
        let bytes = mutated(&seeds, &mut draws);
        let began = Instant::now();
        // A panic keeps the file for inspection.
        let result = std::panic::catch_unwind(|| Waveform::decode(&bytes, &limits()));
        let Ok(result) = result else {
            let path = env::temp_dir().join("alloquy-panicking-sound");
            fs::write(&path, &bytes).unwrap();
            panic!("mutation {index} made the decoder panic; it is {}", path.display());
        };
        slowest = slowest.max(began.elapsed());
        match result {
            Ok(audio) => {
                assert!(audio.samples().len() <= limits().samples);
                assert!(audio.samples().iter().all(|sample| sample.is_finite()));
                taken += 1;
            }
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Unsupported), "{error:#}");
            }
        }
    }
    println!(
        "{count} mutated audio clips of {} in {:.0?}: {taken} taken, the slowest in {slowest:.0?}",
        seeds.len(),
        began.elapsed()
    );
}

#[test]
fn mutated_audio_takes_no_more_memory_than_it_may() {
    let count = env::var("ALLOQUY_FUZZ_AUDIO").map_or(PLAIN_RUN, |count| count.parse().unwrap());
    if env::var_os(CHILD).is_some() || !cfg!(target_os = "linux") {
        return decode_mutations(count);
    }
    let line = format!("ulimit -v {MEMORY} && exec \"$0\" --nocapture --test-threads 1");
    let output = Command::new("sh")
        .arg("-c")
        .arg(line)
        .arg(env::current_exe().unwrap())
        .env(CHILD, "1")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{printed}");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(printed.contains(&format!("{count} mutated audio clips")), "{printed}");
}
