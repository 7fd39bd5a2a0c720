//! Tensors, prompts and counts of positions of every image for every model, with both backends.

use alloquy_core::Media;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::report::Warning;
use alloquy_engine::media_processor::{MediaProcessor, MediaTensor, TensorData};
use alloquy_media::{AlphaHandling, ImageBackend, MediaOptions, MediaProcessors};
use serde_json::{Map, Value, json};

use crate::cases::{Cases, equal, expect, golden_prompt, model, processors, prompt, shaped};
use crate::loading::{unlike, unread};
use crate::report::Report;

/// The greatest and the mean difference of a JPEG's tensor from Hugging Face's, in levels of 255.
const JPEG: (f64, f64) = (10.0, 0.5);

/// What a golden has of an image beside what the encoder is fed: counts that the outline has.
const COUNTS: [&str; 2] = ["num_crops", "num_soft_tokens_per_image"];

/// A model, how it is asked, and the deviation that its pixels are divided by.
fn configuration(name: &str) -> (ModelInfo, MediaOptions, f64) {
    let options = MediaOptions::default().pixel_cap(None);
    let of = |model_type: &str, settings: Value| model(model_type, settings, Value::Null);
    let square = |side: usize| of("gemma3n", json!({"size": {"width": side, "height": side}}));
    let budget = |positions: usize| of("gemma4", json!({"max_soft_tokens": positions}));
    match name {
        "gemma3_896" => (of("gemma3", Value::Null), options, 0.5),
        "gemma3_896_pas" => (of("gemma3", Value::Null), options.pan_and_scan(true), 0.5),
        "gemma3n_768" => (of("gemma3n", Value::Null), options, 1.0),
        "gemma3n_512" => (square(512), options, 1.0),
        "gemma3n_256" => (square(256), options, 1.0),
        "gemma4_280" => (of("gemma4", Value::Null), options, 1.0),
        "gemma4_70" => (budget(70), options, 1.0),
        "gemma4_1120" => (budget(1120), options, 1.0),
        "gemma4_unified_280" => (of("gemma4_unified", Value::Null), options, 1.0),
        "qwen2_vl" => (of("qwen2_vl", Value::Null), options, 0.26),
        "qwen2_vl_cap1003520" => (of("qwen2_vl", Value::Null), options.pixel_cap(Some(1_003_520)), 0.26),
        "qwen3_vl" => (of("qwen3_vl", Value::Null), options, 0.5),
        "clip_336" => (of("llava", Value::Null), options, 0.26),
        "llava15_336_pad" => (of("llava", json!({"do_pad": true})), options, 0.26),
        "lfm2_vl" => (of("lfm2_vl", Value::Null), options, 0.5),
        "fastvlm_1024" => (of("fast_vlm", Value::Null), options, 1.0),
        "fastvlm_1024_pad" => (of("fast_vlm", json!({"do_pad": true})), options, 1.0),
        other => panic!("unknown configuration {other:?}"),
    }
}

pub(crate) fn check(cases: &Cases, report: &mut Report) {
    let mut jpegs = (0, 0);
    let mut apart = Apart::default();
    for (configuration, inputs) in cases.golden["image"].as_object().unwrap() {
        for (name, backends) in inputs.as_object().unwrap() {
            let row = Row { cases, configuration, name, backends };
            let is_jpeg = cases.image(name).bytes().unwrap().starts_with(b"\xff\xd8");
            jpegs.0 += usize::from(is_jpeg);
            jpegs.1 += usize::from(is_jpeg && cases.reference(name).is_some());
            row.check(report, &mut apart);
        }
    }
    report.note(format!(
        "tensors of {} JPEGs had shapes, counts and prompts compared; {} of them every number too (ALLOQUY_MEDIA_REFERENCE): \
         {:.2} levels apart at most, {:.3} on average at most",
        jpegs.0, jpegs.1, apart.most, apart.mean
    ));
    report.note(
        "images with an alpha channel are compared with it dropped, which Hugging Face does to files; the default is white"
            .to_owned(),
    );
}

/// How far tensors are apart in levels of 255: the most of all, and the largest mean.
#[derive(Default)]
struct Apart {
    most: f64,
    mean: f64,
}

struct Row<'a> {
    cases: &'a Cases,
    configuration: &'a str,
    name: &'a str,
    backends: &'a Value,
}

impl Row<'_> {
    fn check(&self, report: &mut Report, apart: &mut Apart) {
        for (backend, golden) in self.backends.as_object().unwrap() {
            let name = format!("{} {} {backend}", self.configuration, self.name);
            if let Some(reason) = unread(self.name) {
                report.differs(&name, reason);
                continue;
            }
            let backend = match backend.as_str() {
                "pil" => ImageBackend::Pillow,
                _ => ImageBackend::Torchvision,
            };
            report.case(&name, self.outcome(backend, golden, apart));
            if let Some(reason) = unlike(self.name) {
                report.differs(&name, reason);
            }
        }
    }

    /// Hugging Face drops the alpha channel of files before it would lay them on white, but not their transparent colours: what
    /// becomes of those is the processor's.
    fn alpha(&self) -> Option<AlphaHandling> {
        let decoded = &self.cases.golden["decode"][self.name];
        let white = decoded.get("white_rgb_sha256");
        white.is_some_and(|white| *white != decoded["hf_effective_rgb_sha256"]).then_some(AlphaHandling::Drop)
    }

    fn outcome(&self, backend: ImageBackend, golden: &Value, apart: &mut Apart) -> Result<(), String> {
        let (model, mut options, deviation) = configuration(self.configuration);
        options.alpha = self.alpha();
        let processors = processors(&model, &options.backend(backend));
        let media = self.cases.image(self.name);
        if golden.get("err").is_some() {
            return match (processors.outline(&media), processors.tensors(&media)) {
                (Err(_), Err(_)) => Ok(()),
                _ => Err(format!("it is taken, not refused with {}", golden["err"])),
            };
        }
        outlined(&processors, &media, golden)?;
        let tensors = processors.tensors(&media).map_err(|error| format!("{error:#}"))?;
        let goldens = golden["t"].as_object().unwrap();
        let names = goldens.keys().filter(|name| !COUNTS.contains(&name.as_str())).count();
        expect("count of tensors", &tensors.len(), &names)?;
        let is_jpeg = media.bytes().unwrap().starts_with(b"\xff\xd8");
        if !is_jpeg && unlike(self.name).is_none() {
            return tensors.iter().try_for_each(|tensor| equal(tensor, &goldens[&tensor.name]));
        }
        tensors.iter().try_for_each(|tensor| alike(tensor, goldens))?;
        match self.cases.reference(self.name).filter(|_| is_jpeg) {
            Some(reference) => {
                let wanted = processors.tensors(&reference).map_err(|error| format!("{error:#}"))?;
                wanted.iter().try_for_each(|tensor| equal(tensor, &goldens[&tensor.name]))?;
                apart.close(&tensors[0], &wanted[0], deviation)
            }
            None => Ok(()),
        }
    }
}

/// Sizes, the count of positions and the prompt.
fn outlined(processors: &MediaProcessors, media: &Media, golden: &Value) -> Result<(), String> {
    let outline = processors.outline(media).map_err(|error| format!("{error:#}"))?;
    expect("count of positions", &json!(outline.features()), &golden["soft"])?;
    expect("prompt", &template(&prompt(&outline)), &golden_prompt(&golden["pieces"]))?;
    let capped = |warning: &Warning| matches!(warning, Warning::PixelsCapped { .. });
    if outline.warnings.iter().all(capped) { Ok(()) } else { Err(format!("{:?}", outline.warnings)) }
}

/// What Qwen's template prints around an image is in the goldens.
fn template(prompt: &str) -> String {
    if prompt.starts_with("<|image_pad|>") {
        format!("<|vision_start|>{prompt}<|vision_end|>")
    } else {
        prompt.to_owned()
    }
}

/// All but the pixels of a tensor.
fn alike(tensor: &MediaTensor, goldens: &Map<String, Value>) -> Result<(), String> {
    let golden = goldens.get(&tensor.name).ok_or_else(|| format!("{} is not wanted", tensor.name))?;
    match tensor.values {
        TensorData::F32(_) => shaped(tensor, golden),
        _ => equal(tensor, golden),
    }
}

impl Apart {
    fn close(&mut self, found: &MediaTensor, wanted: &MediaTensor, deviation: f64) -> Result<(), String> {
        let (TensorData::F32(found), TensorData::F32(wanted)) = (&found.values, &wanted.values) else {
            return Err("no numbers".to_owned());
        };
        let apart = || found.iter().zip(wanted).map(|(found, wanted)| f64::from((found - wanted).abs()));
        let levels = |number: f64| number * 255.0 * deviation;
        let most = levels(apart().fold(0.0, f64::max));
        let mean = levels(apart().sum::<f64>() / found.len() as f64);
        *self = Self { most: self.most.max(most), mean: self.mean.max(mean) };
        if most <= JPEG.0 && mean <= JPEG.1 {
            Ok(())
        } else {
            Err(format!("{most:.2} levels apart at most and {mean:.3} on average, not {JPEG:?}"))
        }
    }
}
