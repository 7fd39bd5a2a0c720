//! Sizes, crops and counts of positions for many sizes of images: whole numbers, all equal.

use std::fmt::Write as _;

use alloquy_core::Media;
use alloquy_engine::media_processor::{MediaPlaceholder, MediaProcessor};
use alloquy_media::{ImagePlan, ImageProcessor, MediaLimits, MediaOptions, MediaProcessors, Size};
use serde_json::{Value, json};

use crate::cases::{Cases, expect, model, processors};
use crate::report::Report;

pub(crate) fn check(cases: &Cases, report: &mut Report) {
    let models = Models::new();
    for row in cases.json("golden/geometry.json")["images"].as_array().unwrap() {
        let size = Size::new(number(&row["w"]), number(&row["h"]));
        let mut outcome = Ok(());
        for (key, wanted) in
            row.as_object().unwrap().iter().filter(|(key, _)| !matches!(key.as_str(), "h" | "w"))
        {
            outcome = outcome.and_then(|()| models.check(key, size, wanted));
        }
        report.case(&format!("geometry {size}"), outcome);
    }
}

fn number(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

struct Models {
    qwen2: MediaProcessors,
    qwen2_capped: MediaProcessors,
    qwen3: MediaProcessors,
    gemma3: MediaProcessors,
    gemma4: Vec<(usize, MediaProcessors)>,
    lfm2: MediaProcessors,
    clip: MediaProcessors,
}

impl Models {
    fn new() -> Self {
        let limits = MediaLimits { pixels: 1 << 40, ..MediaLimits::default() };
        let options = MediaOptions::default().pixel_cap(None).limits(limits);
        let of =
            |name: &str, options: &MediaOptions| processors(&model(name, Value::Null, Value::Null), options);
        let gemma4 = |positions| (positions, of("gemma4", &options.clone().visual_tokens(positions)));
        Self {
            qwen2: of("qwen2_vl", &options),
            qwen2_capped: of("qwen2_vl", &options.clone().pixel_cap(Some(28 * 28 * 1280))),
            qwen3: of("qwen3_vl", &options),
            gemma3: of("gemma3", &options.clone().pan_and_scan(true)),
            gemma4: [70, 140, 280, 560, 1120].map(gemma4).into(),
            lfm2: of("lfm2_vl", &options),
            clip: of("llava", &options),
        }
    }

    fn check(&self, key: &str, size: Size, wanted: &Value) -> Result<(), String> {
        let found = match key {
            "qwen2_vl" => resized(&self.qwen2, size),
            "qwen2_vl_cap" => resized(&self.qwen2_capped, size),
            "qwen3_vl" => resized(&self.qwen3, size),
            "qwen3_vl_video_8f" => video(&self.qwen3, size),
            "gemma3_pas_yxhw" => crops(&plan(&self.gemma3, size)?),
            "lfm2_vl" => tiles(&self.lfm2, size),
            "clip336_resize" => resized(&self.clip, size),
            key => self
                .gemma4(number(&json!(key.strip_prefix("gemma4_").unwrap().parse::<usize>().unwrap())), size),
        };
        // Both say which proportions are too much; the words are each their own.
        let found = match (&found, wanted.as_str()) {
            (Value::String(_), Some(error)) if error.starts_with("error: ") => wanted.clone(),
            _ => found,
        };
        expect(key, &found, wanted)
    }

    fn gemma4(&self, positions: usize, size: Size) -> Value {
        let (_, processors) = self.gemma4.iter().find(|(budget, _)| *budget == positions).unwrap();
        let [height, width] = match resized(processors, size) {
            Value::Array(sides) => [sides[0].clone(), sides[1].clone()],
            error => return error,
        };
        json!([height, width, processors.outline(&header(size)).unwrap().features()])
    }
}

fn images(processors: &MediaProcessors) -> &ImageProcessor {
    processors.images().unwrap()
}

fn plan(processors: &MediaProcessors, size: Size) -> Result<ImagePlan, String> {
    images(processors).plan(size).map_err(|error| error.to_string())
}

fn resized(processors: &MediaProcessors, size: Size) -> Value {
    match plan(processors, size) {
        Ok(plan) => json!([plan.views[0].size.height, plan.views[0].size.width]),
        Err(error) => json!(error),
    }
}

fn crops(plan: &ImagePlan) -> Value {
    let crops = plan.views.iter().skip(1).map(|view| view.part);
    crops.map(|part| json!([part.y, part.x, part.height, part.width])).collect()
}

/// The size of each of eight frames.
fn video(processors: &MediaProcessors, size: Size) -> Value {
    let video = Media::video(vec![header(size); 8]);
    let outline = match processors.outline(&video) {
        Ok(outline) => outline,
        Err(error) => return json!(error.to_string()),
    };
    match &outline.pieces[0] {
        MediaPlaceholder::Positions { grid: Some(grid), .. } => json!([grid.height * 32, grid.width * 32]),
        other => panic!("{other:?}"),
    }
}

fn tiles(processors: &MediaProcessors, size: Size) -> Value {
    let plan = plan(processors, size).unwrap();
    let whole = plan.views.last().unwrap().size;
    let mut tiles = json!({"large": plan.views.len() > 1, "resized": [whole.height, whole.width]});
    if plan.views.len() > 1 {
        tiles["cols"] = json!(plan.views[0].size.width / 512);
        tiles["rows"] = json!(plan.views[0].size.height / 512);
    }
    tiles["tokens"] = json!(processors.outline(&header(size)).unwrap().features());
    tiles
}

/// An image of which there is nothing but the header.
fn header(size: Size) -> Media {
    let mut text = String::new();
    write!(text, "P6 {} {} 255 ", size.width, size.height).unwrap();
    Media::new("image/x-portable-pixmap", text.into_bytes())
}
