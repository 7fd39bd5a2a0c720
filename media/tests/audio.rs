//! Audio clips through the public interface: supported and refused files, the messages, and shapes that agree with each other.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::time::Duration;

use alloquy_core::media::MediaKind;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::report::Warning;
use alloquy_core::tokenizer::SpecialToken;
use alloquy_core::{ErrorKind, Media};
use alloquy_engine::media_processor::{MediaPlaceholder, MediaProcessor, MediaTensor, TensorData};
use alloquy_media::{AudioLimits, AudioOptions, AudioOverflow, AudioProcessor, MediaProcessors, Waveform};
use proptest::prelude::*;

/// The bytes of a WAV file.
fn wav(format: u16, channels: u16, rate: u32, bits: u16, data: &[u8]) -> Vec<u8> {
    let block = channels * bits.div_ceil(8);
    // What is no PCM says how much more it says: nothing.
    let more: &[u8] = if matches!(format, 6 | 7) { &[0, 0] } else { &[] };
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((36 + more.len() as u32 + data.len() as u32).to_le_bytes());
    bytes.extend(b"WAVEfmt ");
    bytes.extend((16 + more.len() as u32).to_le_bytes());
    bytes.extend(format.to_le_bytes());
    bytes.extend(channels.to_le_bytes());
    bytes.extend(rate.to_le_bytes());
    bytes.extend((rate.wrapping_mul(u32::from(block))).to_le_bytes());
    bytes.extend(block.to_le_bytes());
    bytes.extend(bits.to_le_bytes());
    bytes.extend(more);
    bytes.extend(b"data");
    bytes.extend((data.len() as u32).to_le_bytes());
    bytes.extend(data);
    bytes
}

fn silence(rate: u32, samples: usize) -> Vec<u8> {
    wav(1, 1, rate, 16, &vec![0; 2 * samples])
}

fn decode(bytes: &[u8]) -> alloquy_core::Result<Waveform> {
    Waveform::decode(bytes, &AudioLimits::default())
}

fn samples(bytes: &[u8]) -> Vec<f32> {
    decode(bytes).unwrap().samples().to_vec()
}

/// A model of a type, with what its `preprocessor_config.json` says.
fn model(model_type: &str, settings: &str) -> ModelInfo {
    let mut model = ModelInfo::default();
    model.model_type = Some(model_type.to_owned());
    let config = r#"{"audio_config": {}, "thinker_config": {"audio_config": {}}}"#;
    model.files.insert("config.json".to_owned(), config.to_owned());
    model.files.insert("preprocessor_config.json".to_owned(), settings.to_owned());
    model
}

fn processor(model_type: &str) -> AudioProcessor {
    AudioProcessor::of(&model(model_type, "{}")).unwrap().unwrap()
}

const MODELS: [&str; 5] = ["qwen2_audio", "qwen2_5_omni", "gemma3n", "gemma4", "gemma4_unified"];

#[test]
fn samples_of_every_width_are_read() {
    let near = |found: Vec<f32>, expected: &[f32]| {
        assert_eq!(found.len(), expected.len());
        found
            .iter()
            .zip(expected)
            .for_each(|(found, expected)| assert!((found - expected).abs() < 1e-6, "{found}"));
    };
    near(samples(&wav(1, 1, 8000, 8, &[128, 192, 0])), &[0.0, 0.5, -1.0]);
    near(samples(&wav(1, 1, 8000, 16, &[0, 0x40, 0, 0x80])), &[0.5, -1.0]);
    near(samples(&wav(1, 1, 8000, 24, &[0, 0, 0x40, 0, 0, 0x80])), &[0.5, -1.0]);
    near(samples(&wav(1, 1, 8000, 32, &[0, 0, 0, 0x40, 0, 0, 0, 0x80])), &[0.5, -1.0]);
    near(
        samples(&wav(3, 1, 8000, 32, &[0.25_f32.to_le_bytes(), (-2.0_f32).to_le_bytes()].concat())),
        &[0.25, -2.0],
    );
    near(samples(&wav(3, 1, 8000, 64, &0.125_f64.to_le_bytes())), &[0.125]);
    // Silence of both laws of telephony.
    assert!(samples(&wav(6, 1, 8000, 8, &[0xd5; 4])).iter().all(|sample| sample.abs() < 1e-3));
    assert!(samples(&wav(7, 1, 8000, 8, &[0xff; 4])).iter().all(|sample| sample.abs() < 1e-3));
}

#[test]
fn channels_become_their_mean() {
    let frames: Vec<u8> = [[0, 0x40, 0, 0], [0, 0x40, 0, 0x40]].concat();
    assert_eq!(samples(&wav(1, 2, 8000, 16, &frames)), [0.25, 0.5]);
}

#[test]
fn what_is_no_audio_is_refused_by_name() {
    let refused = |bytes: &[u8]| {
        let error = decode(bytes).unwrap_err();
        (error.kind(), error.to_string())
    };
    let mut cut = silence(16_000, 1000);
    cut.truncate(45);
    let not_a_number = wav(3, 1, 8000, 32, &f32::NAN.to_le_bytes());
    let mut unfinished = silence(16_000, 1000);
    unfinished[40..44].fill(0);
    let opus = [b"OggS\0\x02".as_slice(), &[0; 22], b"OpusHead", &[0; 60]].concat();
    let cases: [(&[u8], ErrorKind, &str); 13] = [
        (b"", ErrorKind::Invalid, "the audio has no bytes"),
        (
            b"not an audio clip at all, but text",
            ErrorKind::Unsupported,
            "the audio is text, which is not supported",
        ),
        (&[0x89, b'P', b'N', b'G', 13, 10, 26, 10], ErrorKind::Unsupported, "the audio is PNG, an image"),
        (b"wvpk\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", ErrorKind::Unsupported, "the audio is WavPack"),
        (&opus, ErrorKind::Unsupported, "the audio is Opus"),
        (&silence(16_000, 10)[..30], ErrorKind::Invalid, "the audio"),
        (&silence(0, 10), ErrorKind::Invalid, "the audio"),
        (&silence(4_000_000_000, 10), ErrorKind::Invalid, "the audio has a sample rate of 4000000000 Hz"),
        (&wav(1, 0, 8000, 16, &[0; 4]), ErrorKind::Invalid, "the audio"),
        (&wav(1, 1, 8000, 3, &[0; 4]), ErrorKind::Invalid, "the audio"),
        (&cut, ErrorKind::Invalid, "the audio is damaged"),
        (&unfinished, ErrorKind::Invalid, "the audio's header has no samples, and 2044 bytes are there"),
        (&not_a_number, ErrorKind::Invalid, "sample 0 of the audio is no finite number"),
    ];
    for (bytes, kind, start) in cases {
        let (found, message) = refused(bytes);
        // A header that makes no sense may be called damaged or not supported.
        assert!(found == kind || start == "the audio", "{found:?}: {message}");
        assert!(message.starts_with(start), "{message}");
    }
}

#[test]
fn limits_are_kept_before_anything_is_decoded() {
    let audio = silence(16_000, 16_000);
    let refused = |limits: AudioLimits| Waveform::decode(&audio, &limits).unwrap_err().to_string();
    let limits = AudioLimits::default();
    let bytes = refused(AudioLimits { bytes: 1000, ..limits });
    assert_eq!(bytes, "the audio has 32044 bytes, more than the 1000 that are taken");
    let longer = refused(AudioLimits { duration: Duration::from_millis(999), ..limits });
    assert!(
        longer.contains("16000 samples or more (1.0 s at 16000 Hz), and 15984 are taken: 0.999 s"),
        "{longer}"
    );
    let more = refused(AudioLimits { samples: 15_999, ..limits });
    assert!(more.contains("and 15999 are taken"), "{more}");
    let channels = refused(AudioLimits { channels: 0, ..limits });
    assert!(channels.starts_with("the audio has 1 channels"), "{channels}");
    assert!(
        Waveform::decode(
            &audio,
            &AudioLimits { duration: Duration::from_secs(1), samples: 16_000, ..limits }
        )
        .is_ok()
    );
}

#[test]
fn media_without_bytes_and_videos_are_refused() {
    let processor = processor("gemma4");
    let stored = serde_json::to_string(&Media::new("audio/wav", silence(16_000, 10))).unwrap();
    let media: Media = serde_json::from_str(&stored).unwrap();
    assert_eq!(processor.tensors(&media).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(processor.outline(&Media::video(vec![media])).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn short_audio_is_padded_and_the_reply_reports_it() {
    for name in MODELS {
        for length in [0, 1, 320, 1599] {
            let media = Media::new("audio/wav", silence(16_000, length));
            let outline = processor(name).outline(&media).unwrap();
            let milliseconds = length as u64 / 16;
            let padded = Warning::AudioPadded { media: media.digest(), milliseconds, padded: 100 };
            assert_eq!(outline.warnings, [padded], "{name}");
            assert!(outline.features() > 0, "{name}");
        }
        let media = Media::new("audio/wav", silence(16_000, 1600));
        assert_eq!(processor(name).outline(&media).unwrap().warnings, [], "{name}");
    }
}

#[test]
fn long_audio_is_split_into_segments_or_refused() {
    let media = Media::new("audio/wav", silence(16_000, 16_000 * 70));
    let outline = processor("gemma3n").outline(&media).unwrap();
    let reported = Warning::AudioChunked { media: media.digest(), chunks: 3 };
    assert_eq!(outline.warnings, [reported]);
    let between = MediaPlaceholder::Text("<end_of_audio>\n\n\n\n<start_of_audio>".to_owned());
    let positions = || MediaPlaceholder::positions("<audio_soft_token>", 188);
    assert_eq!(outline.pieces, [positions(), between.clone(), positions(), between, positions()]);
    let tensors = processor("gemma3n").tensors(&media).unwrap();
    assert_eq!((tensors[0].shape[0], tensors[1].shape[0]), (3, 3));

    let options = AudioOptions { overlong: AudioOverflow::Refuse, ..AudioOptions::default() };
    let strict = AudioProcessor::with_options(&model("gemma3n", "{}"), options).unwrap().unwrap();
    let error = strict.outline(&media).unwrap_err();
    assert_eq!(error.to_string(), "the audio is 70.00 s long, and the model takes 30.00 s");
    // Qwen2.5-Omni takes five minutes.
    assert_eq!(processor("qwen2_5_omni").outline(&media).unwrap().warnings, []);
}

#[test]
fn the_model_type_decides_about_audio() {
    let of = |model: &ModelInfo| AudioProcessor::of(model);
    assert!(of(&ModelInfo::default()).unwrap().is_none());
    let mut deaf = model("gemma4", r#"{"feature_extractor_type": "Gemma4AudioFeatureExtractor"}"#);
    deaf.files.insert("config.json".to_owned(), r#"{"audio_config": null}"#.to_owned());
    assert!(of(&deaf).unwrap().is_none());
    let mut packaged = ModelInfo::default();
    packaged.model_type = Some("gemma4".to_owned());
    packaged.files.insert("genai_config.json".to_owned(), r#"{"model": {"speech": {}}}"#.to_owned());
    assert_eq!(of(&packaged).unwrap().unwrap().kinds(), [MediaKind::Audio]);

    let error = |settings: &str| of(&model("gemma3n", settings)).unwrap_err();
    let unknown = error(r#"{"feature_extractor_type": "ClapFeatureExtractor"}"#);
    assert_eq!(unknown.kind(), ErrorKind::Unsupported);
    assert_eq!(error(r#"{"dither": 0.1}"#).kind(), ErrorKind::Unsupported);
    let wrong = error(r#"{"feature_size": "many"}"#);
    assert_eq!(wrong.kind(), ErrorKind::Model);
    assert_eq!(
        wrong.to_string(),
        "/feature_size of the model's processor is \"many\", not a whole number from 1 to 4096"
    );
}

#[test]
fn a_model_that_hears_needs_no_images() {
    let processors = MediaProcessors::of(&model("gemma4", "{}")).unwrap().unwrap();
    assert_eq!(processors.kinds(), [MediaKind::Audio]);
    let media = Media::new("audio/wav", silence(16_000, 16_000));
    assert_eq!(processors.outline(&media).unwrap().features(), 25);
    let image = processors.outline(&Media::new("image/png", vec![0])).unwrap_err();
    assert_eq!(image.kind(), ErrorKind::Unsupported);
}

#[test]
fn the_models_own_settings_and_tokens_count() {
    let mut own = model("gemma3n", r#"{"feature_size": 64}"#);
    let config = r#"{"audio_config": {}, "audio_soft_tokens_per_image": 12, "audio_token_id": 17, "boa_token_id": 18, "eoa_token_id": 19}"#;
    own.files.insert("config.json".to_owned(), config.to_owned());
    let special = |id, text: &str| SpecialToken { text: text.to_owned(), id };
    own.specials = vec![special(17, "<hum>"), special(18, "<sound>"), special(19, "</sound>")];
    let processor = AudioProcessor::of(&own).unwrap().unwrap();
    let media = Media::new("audio/wav", silence(16_000, 16_000));
    let outline = processor.outline(&media).unwrap();
    assert_eq!((outline.before.as_str(), outline.after.as_str()), ("\n\n<sound>", "</sound>\n\n"));
    assert_eq!(outline.pieces, [MediaPlaceholder::positions("<hum>", 12)]);
    assert_eq!(processor.tensors(&media).unwrap()[0].shape, [1, 97, 64]);
}

#[test]
fn a_tone_stays_a_tone_at_another_rate() {
    let tone = |rate: u32, hertz: f64| {
        let angle = move |at: usize| 2.0 * std::f64::consts::PI * hertz * at as f64 / f64::from(rate);
        move |at: usize| (0.5 * angle(at).sin()) as f32
    };
    for from in [8_000, 11_025, 22_050, 44_100, 48_000, 96_000, 44_101, 767_999] {
        let audio = Waveform::new(from, (0..from as usize / 2).map(tone(from, 1000.0)).collect()).unwrap();
        let found = audio.at_rate(16_000);
        assert_eq!(found.len(), audio.length_at(16_000));
        let expected: Vec<f32> = (0..found.len()).map(tone(16_000, 1000.0)).collect();
        let middle = found.len() / 4..found.len() * 3 / 4;
        let worst = middle.map(|at| (found[at] - expected[at]).abs()).fold(0.0, f32::max);
        assert!(worst < 2e-6, "{from} Hz: off by {worst:e}");
    }
    // What lies above the lower Nyquist frequency is gone.
    let audio = Waveform::new(48_000, (0..24_000).map(tone(48_000, 9000.0)).collect()).unwrap();
    let found = audio.at_rate(16_000);
    let middle = &found[2000..6000];
    assert!(middle.iter().all(|sample| sample.abs() < 1e-6));
}

fn count(tensor: &MediaTensor) -> usize {
    match &tensor.values {
        TensorData::F32(values) => values.len(),
        TensorData::I32(values) => values.len(),
        TensorData::Bool(values) => values.len(),
        other => panic!("{other:?}"),
    }
}

fn marked(tensor: &MediaTensor) -> usize {
    match &tensor.values {
        TensorData::I32(values) => values.iter().filter(|&&value| value == 1).count(),
        TensorData::Bool(values) => values.iter().filter(|&&value| value).count(),
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn resampled_audio_has_the_predicted_length(rate in 1_000_u32..=768_000, to in 1_000_u32..=48_000, length in 0_usize..300) {
        let audio = Waveform::new(rate, vec![0.5; length]).unwrap();
        let found = audio.at_rate(to);
        prop_assert_eq!(found.len(), (length as u64 * u64::from(to)).div_ceil(u64::from(rate)) as usize);
        prop_assert!(found.iter().all(|sample| sample.abs() < 1.0));
    }

    #[test]
    fn features_are_as_many_as_the_outline_says(name in 0_usize..5, length in 0_usize..20_000, seed in any::<u32>()) {
        let noise = |at: usize| (seed.wrapping_add(at as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0 - 0.5;
        let data: Vec<u8> = (0..length).flat_map(|at| noise(at).to_le_bytes()).collect();
        let media = Media::new("audio/wav", wav(3, 1, 16_000, 32, &data));
        // Three seconds of Qwen2.5-Omni's five minutes are enough.
        let settings = if MODELS[name] == "qwen2_5_omni" { r#"{"chunk_length": 3}"# } else { "{}" };
        let processor = AudioProcessor::of(&model(MODELS[name], settings)).unwrap().unwrap();
        let (outline, tensors) = (processor.outline(&media).unwrap(), processor.tensors(&media).unwrap());
        let shape = processor.shape(&Waveform::new(16_000, (0..length).map(noise).collect()).unwrap()).unwrap();
        prop_assert_eq!(outline.features(), shape.tokens);
        prop_assert_eq!(marked(&tensors[1]), shape.valid);
        for tensor in &tensors {
            prop_assert_eq!(tensor.shape.iter().product::<usize>(), count(tensor));
            prop_assert!(tensor.shape.contains(&shape.frames));
            if let TensorData::F32(values) = &tensor.values {
                prop_assert!(values.iter().all(|value| value.is_finite()));
            }
        }
    }

    #[test]
    fn segments_cover_long_audio(seconds in 30_usize..200, rest in 0_usize..16_000) {
        let length = 16_000 * seconds + rest;
        let audio = Waveform::new(16_000, vec![0.0; length]).unwrap();
        let shape = processor("gemma4_unified").shape(&audio).unwrap();
        prop_assert_eq!(shape.tokens, length.div_ceil(640));
    }
}
