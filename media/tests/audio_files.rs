//! Audio files: formats with blocks give the samples that libsndfile decodes, and damage is reported.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::fs;
use std::path::Path;

use alloquy_core::model_info::ModelInfo;
use alloquy_core::report::Warning;
use alloquy_core::{ErrorKind, Media, Result};
use alloquy_engine::media_processor::MediaProcessor;
use alloquy_media::{AudioLimits, AudioProcessor, Waveform};

fn bytes(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/audio").join(name)).unwrap()
}

fn decode(bytes: &[u8]) -> Result<Waveform> {
    Waveform::decode(bytes, &AudioLimits::default())
}

/// Where a chunk of a WAV file begins, its name and length not counted.
fn chunk(wav: &[u8], name: &[u8; 4]) -> usize {
    wav.windows(4).position(|window| window == name).unwrap() + 8
}

#[test]
fn blocks_are_decoded_as_libsndfile_does() {
    // How many samples the audio has: what fills up the last block is counted where the file does not say better.
    let files = [
        ("ima_1", "wav", 1515),
        ("ima_2", "wav", 1010),
        ("microsoft_1", "wav", 1300),
        ("microsoft_2", "wav", 700),
        ("apple_1", "caf", 1344),
        ("apple_2", "caf", 704),
    ];
    for (name, extension, length) in files {
        let found = decode(&bytes(&format!("{name}.{extension}"))).unwrap();
        let expected = decode(&bytes(&format!("{name}.decoded.wav"))).unwrap();
        assert_eq!(found.samples().len(), length, "{name}");
        assert!(found.samples() == &expected.samples()[..length], "{name}");
    }
}

#[test]
fn a_count_that_does_not_end_in_the_last_block_is_none() {
    let whole = bytes("microsoft_1.wav");
    let place = chunk(&whole, b"fact");
    let counted = |count: u32| {
        let mut bytes = whole.clone();
        bytes[place..place + 4].copy_from_slice(&count.to_le_bytes());
        decode(&bytes).unwrap().samples().len()
    };
    assert_eq!([0, 1000, 1001, 1500, 1501, u32::MAX].map(counted), [1500, 1500, 1001, 1500, 1500, 1500]);
}

#[test]
fn a_block_that_is_cut_short_or_damaged_is_refused() {
    let refused = |bytes: &[u8]| {
        let error = decode(bytes).unwrap_err();
        (error.kind(), format!("{error:#}"))
    };
    // The header says so, too, so that nothing is missing by it.
    let mut short = bytes("ima_1.wav");
    let data = chunk(&short, b"data");
    short.truncate(data + 600);
    short[data - 4..data].copy_from_slice(&600_u32.to_le_bytes());
    let message = "the audio is damaged: its last block has 88 bytes after 1010 samples";
    assert_eq!(refused(&short), (ErrorKind::Invalid, message.to_owned()));

    let mut unknown = bytes("microsoft_1.wav");
    let data = chunk(&unknown, b"data");
    unknown[data] = 7;
    assert_eq!(refused(&unknown).0, ErrorKind::Invalid);

    // Apple's blocks have 64 samples. A header with another number once made a decoder write after its buffer.
    let mut other = bytes("apple_1.caf");
    other[8 + 12 + 8 + 4 + 4 + 4..][..4].copy_from_slice(&10_u32.to_be_bytes());
    assert_eq!(refused(&other).0, ErrorKind::Invalid);
}

#[test]
fn an_mp3_that_counts_its_frames_is_not_cut_between_two_of_them() {
    let whole = bytes("counted.mp3");
    assert_eq!(decode(&whole).unwrap().samples().len(), 8000);
    // Where its thirteenth frame begins.
    let cut = &whole[..1224];
    let error = decode(cut).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(error.to_string(), "the audio is damaged: its header has 8000 samples, and 5807 are there");
    // Without a count there is nothing to miss.
    let mut uncounted = cut.to_vec();
    uncounted[13..17].fill(0);
    assert!(decode(&uncounted).unwrap().samples().len() > 5807);
}

#[test]
fn an_audio_is_kept_until_its_features_are_asked_for() {
    let mut model = ModelInfo::default();
    model.model_type = Some("gemma4".to_owned());
    model.files.insert("config.json".to_owned(), r#"{"audio_config": {}}"#.to_owned());
    let processor = AudioProcessor::of(&model).unwrap().unwrap();
    let media = |name: &str| Media::new("audio/wav", bytes(name));
    let one = media("ima_1.wav");
    let other = media("ima_2.wav");
    let outlines = [&one, &other, &one].map(|media| processor.outline(media).unwrap().features());
    assert_eq!(outlines, [5, 3, 5]);
    let first = processor.tensors(&one).unwrap();
    // Kept or decoded again, by another processor or by its copy: the features are the same.
    assert_eq!(processor.clone().tensors(&one).unwrap(), first);
    assert_eq!(AudioProcessor::of(&model).unwrap().unwrap().tensors(&one).unwrap(), first);
    // The other one's features were not asked for yet.
    assert!(format!("{processor:?}").contains("DecodedAudio(1 audio clips)"));
}

#[test]
fn numbers_that_make_no_sense_are_refused() {
    let mut packets = bytes("apple_1.caf");
    packets[36..40].copy_from_slice(&0xdf00_0022_u32.to_be_bytes());
    let mut channels = bytes("ima_1.decoded.wav");
    let format = chunk(&channels, b"fmt ");
    channels[format + 2..format + 4].copy_from_slice(&0xff01_u16.to_le_bytes());
    for file in [packets, channels] {
        assert_eq!(decode(&file).unwrap_err().kind(), ErrorKind::Invalid);
    }
}

/// `xtask/media/wav_headers.py` writes the cases, with what libsndfile 1.2.2 reads.
#[test]
fn a_wav_file_of_unknown_length_is_read_as_libsndfile_reads_it() {
    // Every header that was never completed is treated the same, whatever its lengths are, and BW64 is treated as RF64.
    let ours = [
        ("never finished, zeros", 50),
        ("never finished, the file's length is the header's", 50),
        ("never finished, the file's length unknown", 50),
        ("BW64", 50),
    ];
    let cases: serde_json::Value = serde_json::from_slice(&bytes("headers.json")).unwrap();
    let cases = cases.as_array().unwrap();
    let mut like_libsndfile = 0;
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let theirs = case["frames"].as_i64().unwrap();
        let digits = case["file"].as_str().unwrap();
        let file: Vec<u8> = (0..digits.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
            .collect();
        let found = decode(&file).map_or(-1, |audio| audio.samples().len() as i64);
        let expected = ours.iter().find(|(ours, _)| *ours == name).map_or(theirs, |(_, frames)| *frames);
        assert_eq!(found, expected, "{name}: {:?}", decode(&file).err());
        like_libsndfile += usize::from(found == theirs);
    }
    println!("{like_libsndfile} of {} headers of WAV files read as libsndfile reads them", cases.len());
    assert_eq!(like_libsndfile + ours.len(), cases.len());
}

/// What is written to a pipe is the same audio clip, however long it is, and so is one whose header was never completed.
#[test]
fn a_piped_audio_has_the_samples_of_the_same_file() {
    let whole = bytes("ima_1.decoded.wav");
    let data = chunk(&whole, b"data");
    let mut piped = whole.clone();
    piped[4..8].fill(0xff);
    piped[data - 4..data].fill(0xff);
    assert_eq!(decode(&piped).unwrap(), decode(&whole).unwrap());
    piped[data - 4..data].fill(0);
    assert_eq!(decode(&piped).unwrap(), decode(&whole).unwrap());
    for outer in [0_u32, 8, 36] {
        piped[4..8].copy_from_slice(&outer.to_le_bytes());
        assert_eq!(decode(&piped).unwrap(), decode(&whole).unwrap(), "{outer}");
    }
    // Where the file is said to be as long as it is, no samples are no samples.
    piped[4..8].copy_from_slice(&whole[4..8]);
    let error = decode(&piped).unwrap_err();
    assert!(error.to_string().starts_with("the audio's header has no samples, and "), "{error}");
}

/// A file that ends too early is decoded up to its end, and a warning reports what it lacks.
#[test]
fn a_truncated_wav_file_is_decoded_with_a_warning() {
    let whole = bytes("ima_1.decoded.wav");
    let data = chunk(&whole, b"data");
    let samples = decode(&whole).unwrap();
    assert_eq!(samples.cut(), None);
    let mut model = ModelInfo::default();
    model.model_type = Some("gemma4".to_owned());
    model.files.insert("config.json".to_owned(), r#"{"audio_config": {}}"#.to_owned());
    let processor = AudioProcessor::of(&model).unwrap().unwrap();
    let length = whole.len() - data;
    for lacks in [1, 2, 3, 1000, 1001] {
        let file = &whole[..whole.len() - lacks];
        let audio = decode(file).unwrap();
        let partial = (length - lacks) % 2;
        assert_eq!(audio.samples(), &samples.samples()[..(length - lacks) / 2], "{lacks}");
        let cut = audio.cut().unwrap();
        assert_eq!((cut.missing, cut.partial), (lacks as u64, partial as u64));
        let media = Media::new("audio/wav", file.to_vec());
        let outline = processor.outline(&media).unwrap();
        let reported =
            Warning::AudioCut { media: media.digest(), missing: lacks as u64, partial: partial as u64 };
        assert_eq!(outline.warnings[0], reported);
    }
    // One that says how long it is, and ends within a frame.
    let mut odd = whole[..data + 1001].to_vec();
    odd[data - 4..data].copy_from_slice(&1001_u32.to_le_bytes());
    let audio = decode(&odd).unwrap();
    let cut = audio.cut().unwrap();
    assert_eq!((audio.samples().len(), cut.missing, cut.partial), (500, 0, 1));
    // Of none of its samples there is nothing to hear.
    let error = decode(&whole[..data + 1]).unwrap_err();
    assert!(
        error.to_string().ends_with(&format!("its header has {length} bytes of samples, and 1 are there"))
    );
}
