//! Videos of given frames, and which frames are wanted of a video.

use std::time::Duration;

use alloquy_core::Media;
use alloquy_engine::media_processor::MediaProcessor;
use alloquy_media::{FrameRate, MediaOptions, MediaProcessors};
use serde_json::{Value, json};

use crate::cases::{Cases, equal, expect, golden_prompt, model, processors, prompt};
use crate::report::Report;

/// What a golden has beside what the encoder is fed.
const COUNTS: [&str; 2] = ["num_frames_per_video", "num_soft_tokens_per_video"];

fn configured(name: &str) -> MediaProcessors {
    let class = json!({"shortest_edge": 128 * 28 * 28, "longest_edge": 768 * 28 * 28});
    let (model_type, videos) = match name {
        "qwen2_5_vl_video_hub" => ("qwen2_5_vl", Value::Null),
        "qwen2_5_vl_video_default" => ("qwen2_5_vl", json!({"size": class})),
        "qwen2_5_vl_video_capped" => ("qwen2_5_vl", json!({"size": class, "cap_pixels_per_frame": true})),
        "qwen3_vl_video" => ("qwen3_vl", Value::Null),
        "qwen3_vl_video_capped" => ("qwen3_vl", json!({"cap_pixels_per_frame": true})),
        "gemma4_video" => ("gemma4", Value::Null),
        other => panic!("unknown configuration {other:?}"),
    };
    processors(&model(model_type, Value::Null, videos), &MediaOptions::default().pixel_cap(None))
}

pub(crate) fn check(cases: &Cases, report: &mut Report) {
    let inputs = cases.json("inputs/video/inputs.json");
    for (name, videos) in cases.golden["video"].as_object().unwrap() {
        let processors = configured(name);
        for (video, golden) in videos.as_object().unwrap() {
            let media = media(cases, video, &inputs[video]);
            report.case(&format!("{name} {video}"), outcome(&processors, &media, golden));
        }
    }
    for row in cases.json("golden/video.json")["frame_sampling"].as_array().unwrap() {
        let mut asked = row.clone();
        asked.as_object_mut().unwrap().retain(|key, _| !matches!(key.as_str(), "n" | "indices" | "error"));
        report.case(&format!("sampling {asked}"), sampled(row));
    }
}

/// The frames of a video, each with its time.
fn media(cases: &Cases, video: &str, input: &Value) -> Media {
    let rate = input["fps"].as_f64().unwrap();
    let places = input["frames_indices"].as_array().unwrap().iter().map(|place| place.as_f64().unwrap());
    let frame =
        |(index, place): (usize, f64)| cases.frame(video, index).at(Duration::from_secs_f64(place / rate));
    Media::video(places.enumerate().map(frame).collect::<Vec<_>>())
}

fn outcome(processors: &MediaProcessors, media: &Media, golden: &Value) -> Result<(), String> {
    if golden.get("err").is_some() {
        return match (processors.outline(media), processors.tensors(media)) {
            (Err(_), Err(_)) => Ok(()),
            _ => Err(format!("it is taken, not refused with {}", golden["err"])),
        };
    }
    let outline = processors.outline(media).map_err(|error| format!("{error:#}"))?;
    expect("count of positions", &json!(outline.features()), &golden["soft"])?;
    let mut prompt = prompt(&outline);
    if prompt.starts_with("<|video_pad|>") {
        // What the template prints around a video.
        prompt = format!("<|vision_start|>{prompt}<|vision_end|>");
    }
    expect("prompt", &prompt, &golden_prompt(&golden["pieces"]))?;
    let tensors = processors.tensors(media).map_err(|error| format!("{error:#}"))?;
    let goldens = golden["t"].as_object().unwrap();
    let names = goldens.keys().filter(|name| !COUNTS.contains(&name.as_str())).count();
    expect("count of tensors", &tensors.len(), &names)?;
    tensors.iter().try_for_each(|tensor| equal(tensor, &goldens[&tensor.name]))
}

fn sampled(row: &Value) -> Result<(), String> {
    let processors = configured(row["proc"].as_str().unwrap());
    let rate = FrameRate::of(row["fps"].as_f64().unwrap());
    let rate = match (row["want_fps"].as_f64(), row["want_num_frames"].as_u64()) {
        (Some(wanted), None) => rate.wanted(wanted),
        (None, Some(count)) => rate.count(count as usize),
        other => panic!("{other:?}"),
    };
    let total = row["total"].as_u64().unwrap() as usize;
    let found = processors.videos().unwrap().frames_wanted(total, rate);
    if row.get("error").is_some() {
        return found
            .map_or(Ok(()), |found| Err(format!("{found:?} are taken, not refused with {}", row["error"])));
    }
    let found = found.map_err(|error| error.to_string())?;
    expect("count", &json!(found.len()), &row["n"])?;
    // Of many the goldens name the first and the last half as many.
    let named = row["indices"].as_array().unwrap().len();
    let first = &found[..named / 2];
    let last = &found[found.len() - named.div_ceil(2)..];
    expect("frames", &json!([first, last].concat()), &row["indices"])
}
