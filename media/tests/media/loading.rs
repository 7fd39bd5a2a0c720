//! What each file decodes to, and which are refused.

use alloquy_core::media::Digest;
use alloquy_core::{ErrorKind, Media};
use alloquy_engine::media_processor::{MediaProcessor, TensorData};
use alloquy_media::{AlphaHandling, MediaOptions};
use serde_json::{Value, json};

use crate::cases::{Cases, expect, model, processors};
use crate::report::Report;

/// The greatest and the mean difference of a JPEG from what libjpeg-turbo decodes, in levels of 255.
const JPEG: (u8, f64) = (9, 0.41);

pub(crate) fn check(cases: &Cases, report: &mut Report) {
    let inputs = cases.json("inputs/image/inputs.json");
    let mut compared = (0, 0);
    for (name, golden) in cases.golden["decode"].as_object().unwrap() {
        let media = cases.image(name);
        if inputs[name]["expect"] == "error" {
            report.case(&format!("load {name}"), refused(&media));
            continue;
        }
        if let Some(reason) = unread(name) {
            let error = rgb(&media, [1, 1], AlphaHandling::White).unwrap_err();
            report.case(&format!("load {name}"), expect("error", &error.1, &ErrorKind::Unsupported));
            report.differs(&format!("load {name}"), reason);
            continue;
        }
        if let Some(reason) = unlike(name) {
            report.differs(&format!("load {name}"), reason);
            continue;
        }
        let is_jpeg = media.bytes().unwrap().starts_with(b"\xff\xd8");
        compared.0 += usize::from(is_jpeg);
        compared.1 += usize::from(is_jpeg && cases.reference(name).is_some());
        let outcome = if is_jpeg { close(cases, name, &media, golden) } else { exact(&media, golden) };
        report.case(&format!("load {name}"), outcome);
    }
    report.note(format!(
        "{} JPEGs decoded; {} compared with Pillow's decoding pixel by pixel (ALLOQUY_MEDIA_REFERENCE), the others with samples of it",
        compared.0, compared.1
    ));
}

/// Why a file is not read that Hugging Face reads.
pub(crate) fn unread(name: &str) -> Option<&'static str> {
    name.ends_with(".avif").then_some("AVIF needs a decoder in C, and is refused with what is supported")
}

/// Why a file's pixels are not those that Hugging Face sees.
pub(crate) fn unlike(name: &str) -> Option<&'static str> {
    name.starts_with("gray16")
        .then_some("Pillow turns grey of 16 bits white above 255; here its high byte is taken")
}

fn refused(media: &Media) -> Result<(), String> {
    for model in ["gemma3", "qwen2_5_vl"] {
        let processors = processors(&model_of(model), &MediaOptions::default());
        match processors.tensors(media) {
            Err(error) if matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Unsupported) => {}
            Err(error) => return Err(format!("{model} refuses it as {:?}: {error}", error.kind())),
            Ok(_) => return Err(format!("{model} takes it")),
        }
    }
    Ok(())
}

fn model_of(model_type: &str) -> alloquy_core::model_info::ModelInfo {
    model(model_type, Value::Null, Value::Null)
}

fn exact(media: &Media, golden: &Value) -> Result<(), String> {
    let white = golden.get("white_rgb_sha256").unwrap_or(&golden["rgb_sha256"]);
    let size = [golden["w"].as_u64().unwrap(), golden["h"].as_u64().unwrap()];
    let digest = |alpha| rgb(media, size, alpha).map(|rgb| Digest::of(&rgb).to_string());
    expect(
        "digest on white",
        &digest(AlphaHandling::White).map_err(|error| error.0)?.as_str(),
        &white.as_str().unwrap(),
    )?;
    let drops = matches!(golden["mode"].as_str().unwrap(), "RGBA" | "LA");
    if drops {
        let dropped = digest(AlphaHandling::Drop).map_err(|error| error.0)?;
        expect("digest without alpha", &dropped.as_str(), &golden["rgb_sha256"].as_str().unwrap())
    } else {
        Ok(())
    }
}

fn close(cases: &Cases, name: &str, media: &Media, golden: &Value) -> Result<(), String> {
    let size = [golden["w"].as_u64().unwrap(), golden["h"].as_u64().unwrap()];
    let found = rgb(media, size, AlphaHandling::White).map_err(|error| error.0)?;
    if let Some(reference) = cases.reference(name) {
        let wanted = rgb(&reference, size, AlphaHandling::White).map_err(|error| error.0)?;
        let digest = Digest::of(&wanted).to_string();
        expect("digest of the reference", &digest.as_str(), &golden["rgb_sha256"].as_str().unwrap())?;
        return within(&found, &wanted);
    }
    let samples: Value = serde_json::from_str(include_str!("jpeg_samples.json")).unwrap();
    let Some(samples) = samples.get(golden["rgb_sha256"].as_str().unwrap()) else {
        return Ok(());
    };
    let stride = samples["stride"].as_u64().unwrap() as usize;
    let hex = samples["levels"].as_str().unwrap();
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let wanted: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
    let found: Vec<u8> = found.iter().step_by(stride).copied().collect();
    within(&found, &wanted)
}

fn within(found: &[u8], wanted: &[u8]) -> Result<(), String> {
    expect("length", &found.len(), &wanted.len())?;
    let apart = || found.iter().zip(wanted).map(|(found, wanted)| found.abs_diff(*wanted));
    let most = apart().max().unwrap();
    let sum = apart().map(f64::from).sum::<f64>();
    let mean = sum / found.len() as f64;
    if most <= JPEG.0 && mean <= JPEG.1 {
        Ok(())
    } else {
        Err(format!("{most} levels apart at most and {mean:.3} on average, not {JPEG:?}"))
    }
}

/// The pixels of an image, row by row, by a processor that neither resizes nor normalises.
pub(crate) fn rgb(
    media: &Media,
    [width, height]: [u64; 2],
    alpha: AlphaHandling,
) -> Result<Vec<u8>, (String, ErrorKind)> {
    let settings = json!({"size": {"width": width, "height": height}});
    let processors =
        processors(&model("gemma3n", settings, Value::Null), &MediaOptions::default().alpha(alpha));
    let tensors = processors.tensors(media).map_err(|error| (format!("{error:#}"), error.kind()))?;
    let TensorData::F32(values) = &tensors[0].values else { panic!("{:?}", tensors[0]) };
    let plane = (width * height) as usize;
    let byte = |place: usize| (values[place % 3 * plane + place / 3] * 255.0).round() as u8;
    Ok((0..values.len()).map(byte).collect())
}
