//! A fuzz test of the reading of images: files of every format, mutated, never make a reader panic, and never take more memory
//! than the limits allow. They are read in a process of its own, whose address space is limited.
//!
//! `cargo xtask fuzz images` runs it over as many mutations as one asks for, or for as many minutes. An image that ends the
//! process is in the file that `ALLOQUY_FUZZ_KEEP` names, where it is set: each is written there before it is read.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs};

use alloquy_core::model_info::ModelInfo;
use alloquy_core::{ErrorKind, Media};
use alloquy_engine::media_processor::MediaProcessor;
use alloquy_media::{MediaLimits, MediaOptions, MediaProcessors};
use alloquy_testing::Draws;
use image::{DynamicImage, ImageFormat, Rgba, RgbaImage};

/// How many mutated images a plain test run reads.
const PLAIN_RUN: &str = "3000";

/// How much address space the reader has: an image within the limits below takes 8 MiB when it is decoded, a decoder may take
/// 64 MiB beside it, and the program and its threads some.
const ADDRESS_SPACE_KIB: u64 = 400 << 10;

fn options() -> MediaOptions {
    let limits = MediaLimits { bytes: 1 << 20, pixels: 2_000_000, ..MediaLimits::default() };
    MediaOptions::default().limits(limits)
}

/// Images of every format, and those among the media cases where they are.
fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut seeds: Vec<_> = generated().into();
    let shared = env::var_os("ALLOQUY_SHARED").map_or_else(|| "../shared".into(), PathBuf::from);
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let Ok(folder) = fs::read_dir(workspace.join(shared).join("cases/media/inputs/image")) else {
        return seeds;
    };
    let mut paths: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension != "json")) {
        let is_tga = path.extension().is_some_and(|extension| extension == "tga");
        let bytes = fs::read(path).unwrap();
        if bytes.len() < 100_000 {
            seeds.push((if is_tga { "image/x-tga" } else { "image/any" }.to_owned(), bytes));
        }
    }
    seeds
}

fn generated() -> [(String, Vec<u8>); 8] {
    use ImageFormat::{Bmp, Gif, Ico, Jpeg, Png, Pnm, Tga, Tiff};
    [Bmp, Gif, Ico, Jpeg, Png, Pnm, Tga, Tiff].map(|format| {
        let image =
            RgbaImage::from_fn(24, 17, |x, y| Rgba([(x * 9) as u8, (y * 13) as u8, 77, (x * y) as u8]));
        let image = DynamicImage::from(image);
        let image = if matches!(format, Jpeg | Pnm) { image.to_rgb8().into() } else { image };
        let mut bytes = std::io::Cursor::new(Vec::new());
        image.write_to(&mut bytes, format).unwrap();
        (format.to_mime_type().to_owned(), bytes.into_inner())
    })
}

/// Numbers at which formats come to grief.
const NUMBERS: [u32; 8] = [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff];

fn mutated(seeds: &[(String, Vec<u8>)], draws: &mut Draws) -> Media {
    let (media_type, mut bytes) = seeds[draws.below(seeds.len())].clone();
    for _ in 0..=draws.below(6) {
        if bytes.is_empty() {
            break;
        }
        // Headers are where lengths stand.
        let reach = if draws.below(2) == 0 { bytes.len().min(128) } else { bytes.len() };
        let at = draws.below(reach);
        match draws.below(7) {
            0 => bytes[at] ^= 1 << draws.below(8),
            1 => bytes[at] = draws.below(256) as u8,
            2 => bytes.truncate(at),
            3 => {
                let number = NUMBERS[draws.below(NUMBERS.len())];
                let number = if draws.below(2) == 0 { number.to_le_bytes() } else { number.to_be_bytes() };
                let width = [1, 2, 4][draws.below(3)];
                let end = bytes.len();
                bytes[at..(at + width).min(end)].copy_from_slice(&number[..width.min(end - at)]);
            }
            4 => {
                let end = (at + draws.below(64)).min(bytes.len());
                let copied = bytes[at..end].to_vec();
                bytes.splice(at..at, copied);
            }
            5 => drop(bytes.drain(at..(at + draws.below(64)).min(bytes.len()))),
            _ => {
                let other = &seeds[draws.below(seeds.len())].1;
                let from = draws.below(other.len().max(1)).min(other.len());
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
        }
    }
    Media::new(media_type, bytes)
}

/// Tells which image made a reader panic.
struct Told<'a>(u64, &'a Media);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let begin = self.1.bytes().map(|bytes| bytes[..bytes.len().min(64)].to_vec());
            println!("image {} of type {}, which begins {begin:?}", self.0, self.1.media_type());
        }
    }
}

/// How long a run takes.
enum Length {
    Images(u64),
    Until(Instant),
}

impl Length {
    /// A number of images, such as `3000`, or of minutes, such as `10m`.
    fn of(asked: &str) -> Self {
        let number = |text: &str| text.parse().expect("a number of images, or of minutes such as 10m");
        match asked.strip_suffix('m') {
            Some(minutes) => Self::Until(Instant::now() + Duration::from_secs(60 * number(minutes))),
            None => Self::Images(number(asked)),
        }
    }

    fn goes_on(&self, done: u64) -> bool {
        match self {
            Self::Images(total) => done < *total,
            Self::Until(end) => Instant::now() < *end,
        }
    }
}

/// Reads as many images as asked for. The other test runs this one in a process of its own.
#[test]
fn child() {
    let Ok(asked) = env::var("ALLOQUY_FUZZ_CHILD") else { return };
    let mut model = ModelInfo::default();
    model.model_type = Some("gemma3n".to_owned());
    let settings = r#"{"size": {"width": 32, "height": 32}, "image_mean": [0, 0, 0]}"#;
    model.files.insert("preprocessor_config.json".to_owned(), settings.to_owned());
    let processors = MediaProcessors::with_options(&model, &options()).unwrap().unwrap();
    let seeds = seeds();
    let mut draws = Draws::default();
    let mut read = 0;
    let length = Length::of(&asked);
    let mut number = 0;
    while length.goes_on(number) {
        let media = mutated(&seeds, &mut draws);
        if let Some(file) = env::var_os("ALLOQUY_FUZZ_KEEP") {
            fs::write(file, media.bytes().unwrap()).unwrap();
        }
        let _told = Told(number, &media);
        let outline = processors.outline(&media);
        match processors.tensors(&media) {
            Ok(tensors) => {
                outline.unwrap();
                assert_eq!(tensors[0].shape, [1, 3, 32, 32]);
                read += 1;
            }
            Err(error) => assert!(
                matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Unsupported),
                "image {number}: {error:#}"
            ),
        }
        number += 1;
    }
    println!("{number} mutated images of {} seeds, {read} of them read", seeds.len());
}

#[test]
fn mutated_images_cause_no_panic_and_no_large_allocation() {
    let asked = env::var("ALLOQUY_FUZZ_IMAGES").unwrap_or_else(|_| PLAIN_RUN.to_owned());
    let limit =
        if cfg!(target_os = "linux") { format!("ulimit -v {ADDRESS_SPACE_KIB}; ") } else { String::new() };
    let script = format!(r#"{limit}exec "$0" --exact child --nocapture --test-threads=1"#);
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(env::current_exe().unwrap());
    let output = command.env("ALLOQUY_FUZZ_CHILD", asked).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    println!("{}", printed.lines().filter(|line| line.contains("mutated")).collect::<Vec<_>>().join("\n"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{printed}\n{said}", output.status);
}
