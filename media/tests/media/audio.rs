//! The audio clips of the media cases: features, tables, lengths and what every input decodes to, compared with what Hugging
//! Face's processors make of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use alloquy_core::Media;
use alloquy_core::model_info::ModelInfo;
use alloquy_engine::media_processor::{MediaPlaceholder, MediaProcessor, MediaTensor, TensorData};
use alloquy_media::{AudioLimits, AudioOptions, AudioProcessor, Waveform};
use serde_json::Value;

use super::report::Report;

/// A configuration of the goldens: its name, the model that it is, and what the model's description says.
struct Model {
    name: &'static str,
    model_type: &'static str,
    settings: &'static str,
    /// The greatest and the mean difference of features from Hugging Face's, where they are of single precision.
    tolerance: (f64, f64),
}

const MODELS: &[Model] = &[
    Model {
        name: "whisper_80",
        model_type: "qwen2_audio",
        settings: r#"{"feature_size": 80}"#,
        tolerance: (1e-4, 1e-5),
    },
    Model { name: "whisper_128", model_type: "qwen2_audio", settings: "{}", tolerance: (1e-4, 1e-5) },
    Model { name: "qwen2_audio", model_type: "qwen2_audio", settings: "{}", tolerance: (1e-4, 1e-5) },
    Model { name: "qwen2_5_omni", model_type: "qwen2_5_omni", settings: "{}", tolerance: (1e-4, 1e-5) },
    Model { name: "gemma3n_audio", model_type: "gemma3n", settings: "{}", tolerance: (0.1, 3e-3) },
    Model { name: "gemma4_audio", model_type: "gemma4", settings: "{}", tolerance: (1e-3, 1e-4) },
    Model {
        name: "gemma4_unified_audio",
        model_type: "gemma4_unified",
        settings: "{}",
        tolerance: (1e-6, 1e-7),
    },
];

/// How far features may be off goldens that were computed in double precision.
const EXACT: f64 = 1e-6;
/// How far features of a resampled or lossily coded audio clip may be off on average.
const RESAMPLED: f64 = 1e-3;
/// How far a resampled audio clip may be off, in decibels below it.
const RESAMPLED_SPEECH: f64 = 80.0;

/// Why the shortest audio clips have no tensors here.
const NO_FEATURES: &str = "an audio clip that becomes no features is refused, unless it is padded";

/// Of so many samples at most Hugging Face makes frames that stand for nothing.
const NOTHING: usize = 160;

/// How many samples a model hears at once: 30 s.
const LONGEST: usize = 480_000;

/// Inputs that Hugging Face takes and that are refused here, and why.
const REFUSED: &[(&str, &str)] = &[
    ("s16k.opus", "no well-kept crate decodes Opus without C"),
    ("s48k_stereo_opus.webm", "no well-kept crate decodes Opus without C"),
    ("s16k_wavpack.wv", "no decoder of WavPack; the input is optional"),
];

impl Model {
    fn named(name: &str) -> &'static Self {
        MODELS.iter().find(|model| model.name == name).expect("a configuration of this name")
    }

    /// The processor of the configuration, which pads no audio that is short: the goldens have them as they are.
    fn processor(&self) -> AudioProcessor {
        self.processor_with(AudioOptions { shortest: Duration::ZERO, ..AudioOptions::default() })
    }

    fn processor_with(&self, options: AudioOptions) -> AudioProcessor {
        let mut info = ModelInfo::default();
        info.model_type = Some(self.model_type.to_owned());
        let config = r#"{"audio_config": {}, "thinker_config": {"audio_config": {}}}"#;
        info.files.insert("config.json".to_owned(), config.to_owned());
        info.files.insert("preprocessor_config.json".to_owned(), self.settings.to_owned());
        AudioProcessor::with_options(&info, options).unwrap().expect("the model hears")
    }
}

/// What the checks have in common: the folder, and every input decoded once.
struct Cases<'a> {
    folder: &'a Path,
    expected: Value,
    clips: BTreeMap<String, Result<Waveform, String>>,
}

impl<'a> Cases<'a> {
    fn of(folder: &'a Path) -> Self {
        let inputs = folder.join("inputs/audio");
        let expected = json(&inputs.join("inputs.json"));
        let names = expected.as_object().unwrap().keys();
        let audio = |name: &String| {
            let bytes = fs::read(inputs.join(name)).unwrap();
            (
                name.clone(),
                Waveform::decode(&bytes, &AudioLimits::default()).map_err(|error| format!("{error:#}")),
            )
        };
        let clips = names.map(audio).collect();
        Self { folder, expected, clips }
    }

    fn audio(&self, name: &str) -> Option<&Waveform> {
        self.clips.get(name)?.as_ref().ok()
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.folder.join("inputs/audio").join(name)).unwrap()
    }

    /// Whether the samples are the very ones that Hugging Face had.
    fn is_exact(&self, name: &str) -> bool {
        let lossless = name.ends_with("pcm16.wav")
            || name.starts_with("short_")
            || name.starts_with("tone")
            || name.starts_with("silence")
            || name.starts_with("dc_");
        lossless && self.audio(name).is_none_or(|audio| audio.rate() == 16_000)
    }
}

/// Why audio clips in blocks are shorter here than what Hugging Face hears.
const COUNTED: &str = "an audio clip ends where its `fact` chunk says, and Hugging Face hears what fills up its last block too; \
     without the chunk the tensors are the same";
/// Why audio clips in blocks are longer than what was written.
const FILLED_UP: &str =
    "nothing in the file tells the audio from what fills up its last block: its `fact` chunk counts both";

/// What came of a case.
struct Outcome {
    case: String,
    result: Result<(), String>,
    /// Why it is done otherwise than Hugging Face does it, on purpose.
    difference: Option<&'static str>,
}

impl Outcome {
    fn of(case: String, result: Result<(), String>) -> Self {
        Self { case, result, difference: None }
    }

    fn different(case: String, reason: &'static str) -> Self {
        Self { case, result: Ok(()), difference: Some(reason) }
    }
}

/// Every check of audio.
pub(crate) fn check(folder: &Path, report: &mut Report) {
    let cases = Cases::of(folder);
    let checks = [decoding(&cases), lengths(folder), tables(folder), goldens(&cases), compact(&cases)];
    for Outcome { case, result, difference } in checks.into_iter().flatten() {
        match (result, difference) {
            (Ok(()), Some(reason)) => report.differs(&case, reason),
            (result, _) => report.case(&case, result),
        }
    }
}

/// Every input gives what is expected of it.
fn decoding(cases: &Cases<'_>) -> Vec<Outcome> {
    let inputs = cases.expected.as_object().unwrap().iter();
    inputs
        .map(|(name, expected)| {
            let case = format!("audio/decode/{name}");
            let refused = REFUSED.iter().find(|(refused, _)| refused == name);
            match (expected["expect"].as_str().unwrap(), &cases.clips[name]) {
                ("ok", Ok(audio)) => match as_declared(audio, expected) {
                    Err(_) if counted(&cases.bytes(name)) == Some(audio.samples().len()) => {
                        Outcome::different(case, FILLED_UP)
                    }
                    result => Outcome::of(case, result),
                },
                ("ok", Err(error)) if refused.is_some() && error.contains("which is not supported") => {
                    Outcome::different(case, refused.unwrap().1)
                }
                ("ok", Err(error)) => Outcome::of(case, Err(error.clone())),
                ("error", Ok(_)) => Outcome::of(case, Err("it was taken".to_owned())),
                ("error", Err(_)) | ("ok-or-error", _) => Outcome::of(case, Ok(())),
                (other, _) => Outcome::of(case, Err(format!("unknown expectation {other:?}"))),
            }
        })
        .collect()
}

fn as_declared(audio: &Waveform, expected: &Value) -> Result<(), String> {
    let rate = u64::from(audio.rate());
    let samples = audio.samples().len() as u64;
    let same = |name: &str, found: u64| match expected[name].as_u64() {
        Some(expected) if expected != found => Err(format!("{name} is {found}, not {expected}")),
        _ => Ok(()),
    };
    same("sr", rate).and_then(|()| same("frames", samples))
}

/// Frames and positions of audio of many lengths.
fn lengths(folder: &Path) -> Vec<Outcome> {
    let rows = json(&folder.join("golden/geometry.json"));
    let processors: BTreeMap<_, _> = MODELS.iter().map(|model| (model.name, model.processor())).collect();
    let rows = rows["audio"].as_array().unwrap().iter();
    rows.map(|row| {
        let samples = row["samples"].as_u64().unwrap() as usize;
        if samples > LONGEST {
            return Outcome::different(
                format!("audio/lengths/{samples}"),
                "what is longer than 30 s becomes several stretches, where Hugging Face drops it",
            );
        }
        Outcome::of(format!("audio/lengths/{samples}"), length(row, samples, &processors))
    })
    .collect()
}

fn length(row: &Value, samples: usize, processors: &BTreeMap<&str, AudioProcessor>) -> Result<(), String> {
    let audio = Waveform::new(16_000, vec![0.0; samples]).unwrap();
    // An audio clip without features is refused here, where Hugging Face continues without them.
    let shape = |name: &str| processors[name].shape(&audio).ok();
    let gemma3n = shape("gemma3n_audio");
    let gemma4 = shape("gemma4_audio");
    let qwen = shape("qwen2_audio");
    let omni = shape("qwen2_5_omni");
    let frames = |shape: Option<alloquy_media::WaveformShape>| shape.map(|shape| shape.frames);
    let tokens = |shape: Option<alloquy_media::WaveformShape>| shape.map(|shape| shape.tokens);
    let found = [
        ("gemma3n_frames", frames(gemma3n)),
        ("gemma3n_tokens", tokens(gemma3n).or(Some(188))),
        ("gemma4_frames", frames(gemma4).filter(|_| tokens(gemma4).is_some())),
        ("gemma4_valid", gemma4.map(|shape| shape.valid)),
        ("gemma4_tokens", tokens(gemma4)),
        ("gemma4_unified_tokens", tokens(shape("gemma4_unified_audio"))),
        ("whisper_mask_frames", qwen.map(|shape| shape.valid)),
        ("qwen2_audio_tokens", tokens(qwen)),
        ("qwen2_5_omni_tokens", tokens(omni)),
    ];
    let refused = |name: &str| match name {
        "gemma4_frames" => row["gemma4_tokens"] == 0,
        "whisper_mask_frames" => row["qwen2_audio_tokens"] == 0,
        _ => row[name] == 0,
    };
    let wrong = found.into_iter().filter(|(name, found)| match found {
        Some(found) => row[*name].as_u64() != Some(*found as u64),
        None => !refused(name),
    });
    let wrong: Vec<_> =
        wrong.map(|(name, found)| format!("{name} is {found:?}, not {}", row[name])).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}

/// Windows and filters.
fn tables(folder: &Path) -> Vec<Outcome> {
    let tables = [
        ("whisper_80", "mel_filters", "mel_whisper80", 1e-8),
        ("whisper_128", "mel_filters", "mel_whisper128", 1e-8),
        // PyTorch's window, which it computes in single precision.
        ("whisper_128", "window", "hann400", 1e-6),
        ("gemma3n_audio", "mel_filters", "mel_gemma3n", 1e-7),
        ("gemma3n_audio", "window", "window_gemma3n", 0.0),
        ("gemma4_audio", "mel_filters", "mel_gemma4", 1e-7),
        ("gemma4_audio", "window", "window_gemma4", 0.0),
    ];
    let check = |(model, table, file, tolerance): (&str, &str, &str, f64)| {
        let expected = Array::read(&folder.join(format!("golden/npy/tables/{file}.npy")));
        let found = Model::named(model).processor().tables();
        let found = found.iter().find(|found| found.name == table).unwrap();
        Outcome::of(format!("audio/tables/{file}"), near(found, &expected, (tolerance, tolerance)))
    };
    tables.into_iter().map(check).collect()
}

/// Features, value by value.
fn goldens(cases: &Cases<'_>) -> Vec<Outcome> {
    let models = MODELS.iter().filter(|model| cases.folder.join("golden/npy").join(model.name).is_dir());
    models
        .flat_map(|model| {
            let processor = model.processor();
            let files = files(&cases.folder.join("golden/npy").join(model.name));
            files.into_iter().map(move |file| golden(cases, model, &processor, &file)).collect::<Vec<_>>()
        })
        .collect()
}

/// A golden of one tensor: `INPUT.KIND.TENSOR.npy`, or a sample of its values.
fn golden(cases: &Cases<'_>, model: &Model, processor: &AudioProcessor, file: &Path) -> Outcome {
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let case = format!("audio/features/{}/{name}", model.name);
    let parts: Vec<&str> =
        name.trim_end_matches(".npy").trim_end_matches(".sample").rsplitn(3, '.').collect();
    let [tensor, kind, input] = parts[..] else { return Outcome::of(case, Err("unknown name".to_owned())) };
    let Some(audio) = audio_of(cases, input) else {
        return Outcome::of(case, Err(format!("{input} did not decode")));
    };
    let expected = Array::read(file);
    // NaN cannot be compared, and no accepted audio clip has it.
    let features = match processor.features(&audio) {
        Ok(features) => features,
        Err(_) if model.model_type == "qwen2_audio" => padded(model, &audio),
        Err(_) if audio.samples().len() <= NOTHING => return Outcome::different(case, NO_FEATURES),
        Err(error) => return Outcome::of(case, Err(format!("{error:#}"))),
    };
    let found = features.iter().find(|found| found.name == tensor).unwrap();
    let found =
        if name.ends_with(".sample.npy") { sampled(found, expected.values.len()) } else { found.clone() };
    let tolerance = match (kind, cases.is_exact(input)) {
        ("f64", true) => (EXACT, EXACT),
        ("np", true) if model.model_type == "qwen2_audio" => (EXACT, EXACT),
        (_, true) => model.tolerance,
        (_, false) => (f64::INFINITY, if model.name == "gemma3n_audio" { 3e-3 } else { RESAMPLED }),
    };
    let outcome = near(&found, &expected, tolerance);
    let outcome = match (model.name, cases.is_exact(input)) {
        ("gemma4_unified_audio", false) if tensor == "input_features" => {
            outcome.and_then(|()| clean(&found, &expected))
        }
        _ => outcome,
    };
    Outcome::of(case, outcome)
}

/// What of an audio clip is too short for positions: it is padded as the product does it, which for a fixed length of features is
/// the same.
fn padded(model: &Model, audio: &Waveform) -> Vec<MediaTensor> {
    model.processor_with(AudioOptions::default()).features(audio).unwrap()
}

/// The audio of an input, or one that the goldens made themselves.
fn audio_of(cases: &Cases<'_>, input: &str) -> Option<Waveform> {
    // One model is fed the samples as they are.
    let raw = |input: &str| {
        let file = format!("golden/npy/gemma4_unified_audio/{input}.np.input_features.npy");
        Array::read(&cases.folder.join(file)).values.into_iter().map(|value| value as f32).collect()
    };
    match input {
        _ if cases.clips.contains_key(input) => cases.audio(input).cloned(),
        "silence_2s.wav" => Waveform::new(16_000, vec![0.0; 32_000]).ok(),
        "tone1k_3s.wav" => Waveform::new(16_000, raw(input)).ok(),
        _ => None,
    }
}

/// Whether a resampled audio clip is like the golden's.
fn clean(found: &MediaTensor, expected: &Array) -> Result<(), String> {
    let found = values(found);
    let power = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>();
    let signal = power(&mut expected.values.iter().copied());
    let noise = power(&mut expected.values.iter().zip(&found).map(|(expected, found)| expected - found));
    let ratio = 10.0 * (signal / noise.max(f64::MIN_POSITIVE)).log10();
    if ratio >= RESAMPLED_SPEECH {
        Ok(())
    } else {
        Err(format!("{ratio:.1} dB between the resampled audio clip and its error, below {RESAMPLED_SPEECH}"))
    }
}

/// Shapes, means and positions of every input by every configuration.
fn compact(cases: &Cases<'_>) -> Vec<Outcome> {
    let compact = json(&cases.folder.join("golden/compact.json"));
    let mut outcomes = Vec::new();
    for model in MODELS {
        let processor = model.processor();
        for (input, expected) in compact["audio"][model.name].as_object().unwrap() {
            let case = format!("audio/inputs/{}/{input}", model.name);
            outcomes.push(summary(cases, model, &processor, (input, expected), case));
        }
    }
    outcomes
}

fn summary(
    cases: &Cases<'_>,
    model: &Model,
    processor: &AudioProcessor,
    (input, expected): (&str, &Value),
    case: String,
) -> Outcome {
    let refused = REFUSED.iter().find(|(refused, _)| *refused == input);
    let damaged = cases.expected[input]["expect"] == "ok-or-error";
    let mut bytes = cases.bytes(input);
    let counted = place_of_count(&bytes).inspect(|&place| bytes[place..place + 4].copy_from_slice(b"junk"));
    let media = Media::new("audio/any", bytes);
    match (processor.tensors(&media), cases.audio(input)) {
        (Err(_), None) if damaged => Outcome::different(case, "a damaged audio clip is refused"),
        (Err(_), None) if refused.is_some() => Outcome::different(case, refused.unwrap().1),
        (Err(_), Some(_))
            if expected["soft"].as_u64() == Some(0) || expected["t"]["input_features"][0][1] == 0 =>
        {
            Outcome::different(case, NO_FEATURES)
        }
        (Err(_), Some(_)) if expected["soft"].is_null() => Outcome::different(case, NO_FEATURES),
        (Err(error), _) => Outcome::of(case, Err(format!("{error:#}"))),
        (Ok(tensors), _) => {
            let outline = processor.outline(&media).unwrap();
            let result = summarised(model, expected, &tensors).and_then(|()| pieces(expected, &outline));
            let is_longer = counted.is_some_and(|_| cases.audio(input) != decoded(&media).as_ref());
            Outcome { case, result, difference: is_longer.then_some(COUNTED) }
        }
    }
}

/// Where a WAV file of ADPCM has the chunk that counts its samples.
fn place_of_count(bytes: &[u8]) -> Option<usize> {
    let is_adpcm = bytes.get(20..22).is_some_and(|format| matches!(format, [2 | 0x11, 0]));
    let place = bytes.windows(4).take(128).position(|window| window == b"fact");
    place.filter(|_| is_adpcm && bytes.starts_with(b"RIFF"))
}

fn decoded(media: &Media) -> Option<Waveform> {
    Waveform::decode(media.bytes()?, &AudioLimits::default()).ok()
}

fn counted(bytes: &[u8]) -> Option<usize> {
    let place = place_of_count(bytes)? + 8;
    Some(u32::from_le_bytes(bytes[place..place + 4].try_into().unwrap()) as usize)
}

/// Shape, mean, deviation, least and greatest of each tensor; lossy and resampled audio clips have them nearly.
fn summarised(model: &Model, expected: &Value, tensors: &[MediaTensor]) -> Result<(), String> {
    for (name, expected) in
        expected["t"].as_object().unwrap().iter().filter(|(name, _)| *name != "valid_features")
    {
        let found = tensors.iter().find(|found| found.name == *name).ok_or(format!("no {name}"))?;
        let shape: Vec<usize> = serde_json::from_value(expected[0].clone()).unwrap();
        if found.shape != shape {
            return Err(format!("{name} has the shape {:?}, not {shape:?}", found.shape));
        }
        let values = values(found);
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let golden = expected[2].as_f64().unwrap_or(mean);
        let tolerance = model.tolerance.1.max(RESAMPLED);
        if (mean - golden).abs() > tolerance {
            return Err(format!("{name} has the mean {mean}, not {golden}"));
        }
    }
    Ok(())
}

/// The texts in the prompt, token by token.
fn pieces(expected: &Value, outline: &alloquy_engine::media_processor::MediaOutline) -> Result<(), String> {
    let Some(expected) = expected["pieces"].as_array() else { return Ok(()) };
    let expected: String = expected
        .iter()
        .map(|piece| piece[0].as_str().unwrap().repeat(piece[1].as_u64().unwrap() as usize))
        .collect();
    let piece = |piece: &MediaPlaceholder| match piece {
        MediaPlaceholder::Text(text) => text.clone(),
        MediaPlaceholder::Positions { token, count, .. } => token.repeat(*count),
    };
    let pieces: String = outline.pieces.iter().map(piece).collect();
    // Templates of Qwen print the texts around the positions.
    let (before, after) =
        if outline.before.is_empty() { ("<|audio_bos|>", "<|audio_eos|>") } else { ("", "") };
    let found = format!("{before}{}{pieces}{}{after}", outline.before, outline.after);
    if found == expected {
        Ok(())
    } else {
        Err(format!("{} bytes stand in the prompt, not {}", found.len(), expected.len()))
    }
}

/// Every so-many-th value, as many as the golden kept.
fn sampled(tensor: &MediaTensor, count: usize) -> MediaTensor {
    let values = values(tensor);
    let step = (1..).find(|step| values.len().div_ceil(*step) == count).expect("a step between the values");
    let values: Vec<f32> = values.into_iter().step_by(step).map(|value| value as f32).collect();
    MediaTensor { name: tensor.name.clone(), shape: vec![count], values: TensorData::F32(values) }
}

/// Whether a tensor is within a tolerance of the golden: at most, and on average.
fn near(found: &MediaTensor, expected: &Array, (most, mean): (f64, f64)) -> Result<(), String> {
    if found.shape != expected.shape {
        return Err(format!("the shape is {:?}, not {:?}", found.shape, expected.shape));
    }
    let found = values(found);
    let differences = || found.iter().zip(&expected.values).map(|(found, expected)| (found - expected).abs());
    let worst = differences().fold(0.0, f64::max);
    let sum = differences().sum::<f64>();
    let average = sum / found.len().max(1) as f64;
    if worst <= most && average <= mean {
        Ok(())
    } else {
        Err(format!(
            "off by {worst:.2e} at most and {average:.2e} on average, beyond {most:.0e} and {mean:.0e}"
        ))
    }
}

fn values(tensor: &MediaTensor) -> Vec<f64> {
    match &tensor.values {
        TensorData::F32(values) => values.iter().copied().map(f64::from).collect(),
        TensorData::I64(values) => values.iter().map(|&value| value as f64).collect(),
        TensorData::I32(values) => values.iter().copied().map(f64::from).collect(),
        TensorData::Bool(values) => values.iter().map(|&value| f64::from(u8::from(value))).collect(),
        other => panic!("unknown values {other:?}"),
    }
}

/// An array of NumPy's.
struct Array {
    shape: Vec<usize>,
    values: Vec<f64>,
}

impl Array {
    fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap();
        let end = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        let header = String::from_utf8_lossy(&bytes[10..end]).into_owned();
        let between = |start: &str, stop: char| {
            header.split_once(start).unwrap().1.split(stop).next().unwrap().to_owned()
        };
        assert!(header.contains("'fortran_order': False"), "{header}");
        let shape = between("'shape': (", ')');
        let shape =
            shape.split(',').map(str::trim).filter(|part| !part.is_empty()).map(|part| part.parse().unwrap());
        let data = &bytes[end..];
        let values = match between("'descr': '", '\'').as_str() {
            "<f4" => data
                .chunks_exact(4)
                .map(|value| f64::from(f32::from_le_bytes(value.try_into().unwrap())))
                .collect(),
            "<f8" => {
                data.chunks_exact(8).map(|value| f64::from_le_bytes(value.try_into().unwrap())).collect()
            }
            "<i4" => data
                .chunks_exact(4)
                .map(|value| f64::from(i32::from_le_bytes(value.try_into().unwrap())))
                .collect(),
            "|b1" => data.iter().map(|&value| f64::from(value)).collect(),
            other => panic!("unknown type {other}"),
        };
        Self { shape: shape.collect(), values }
    }
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}
