//! `alloquy complete` on a real pretrained model: what it prints is what the model's author published.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use std::io::Read as _;

use program::Program;

const LAYOUTS: [&str; 2] = ["models/stories260k", "models/stories260k-past-present"];

fn published(model: &std::path::Path) -> String {
    let golden = std::fs::read_to_string(model.join("golden.json")).unwrap();
    let golden: serde_json::Value = serde_json::from_str(&golden).unwrap();
    golden["published_text"].as_str().unwrap().to_owned()
}

#[test]
fn the_continuation_is_the_published_one_and_alone_on_standard_output() {
    for layout in LAYOUTS {
        let Some(model) = shared::find(layout) else { return };
        let published = published(&model);
        let program = Program::new().variable("ALLOQUY_MODEL", &model);
        let opening = "Once upon a time";
        for prompt in ["", opening] {
            let arguments = ["complete", "--temperature", "0", "--max-tokens", "150", prompt];
            let ran = program.run(&arguments).ok();
            let wanted = &published[prompt.len()..];
            assert!(ran.out.len() > 300, "{ran:?}");
            let (shorter, longer) = if ran.out.len() < wanted.len() {
                (ran.out.as_str(), wanted)
            } else {
                (wanted, ran.out.as_str())
            };
            assert!(longer.starts_with(shorter), "{layout}, {prompt:?}: {:?}", ran.out);
        }
    }
}

#[test]
fn flags_without_effect_are_named_and_variables_are_not() {
    let Some(model) = shared::find(LAYOUTS[0]) else { return };
    let program = Program::new().variable("ALLOQUY_MODEL", model).variable("ALLOQUY_TEMPLATE", "vicuna_v1.1");
    let complete = ["complete", "--temperature", "0", "--max-tokens", "3", "Once upon a"];
    assert!(!program.run(&complete).ok().err.contains("has no effect"));
    let reported = program.run(&[&complete[..], &["--family", "qwen3"]].concat()).ok().err;
    assert!(reported.contains("--family has no effect: the prompt is the text alone\n"), "{reported}");
}

#[test]
fn a_continuation_keeps_the_space_between_it_and_the_prompt() {
    let Some(model) = shared::find(LAYOUTS[0]) else { return };
    let program = Program::new().variable("ALLOQUY_MODEL", model);
    let ran = program.run(&["complete", "--temperature", "0", "--max-tokens", "3", "Once upon a"]).ok();
    assert!(ran.out.starts_with(" time"), "{:?}", ran.out);
}

#[test]
fn the_prompt_may_be_piped_in() {
    let Some(model) = shared::find(LAYOUTS[0]) else { return };
    let program = Program::new().variable("ALLOQUY_MODEL", model);
    let arguments = ["complete", "--temperature", "0", "--max-tokens", "20"];
    let piped = program.run_with(&arguments, "Once upon a time").ok();
    let named = program.run(&[&arguments[..], &["Once upon a time"]].concat()).ok();
    assert_eq!(piped.out, named.out);
}

#[test]
fn a_seed_repeats_a_draw() {
    let Some(model) = shared::find(LAYOUTS[0]) else { return };
    let program = Program::new().variable("ALLOQUY_MODEL", model);
    let reported = |seed: &str| {
        let sampling = ["--temperature", "1", "--top-k", "40", "--top-p", "0.95", "--seed", seed];
        program.run(&[&["complete", "--max-tokens", "40", "Once"], &sampling[..]].concat()).ok().out
    };
    assert_eq!(reported("7"), reported("7"));
    assert_ne!(reported("7"), reported("8"));
}

#[test]
fn a_stop_text_ends_the_continuation_and_is_left_out() {
    let Some(model) = shared::find(LAYOUTS[0]) else { return };
    let program = Program::new().variable("ALLOQUY_MODEL", model);
    let arguments = ["complete", "--temperature", "0", "--stop", " Lily", "--json", "Once upon a time"];
    let events = program.run(&arguments).ok().events();
    let done = events.last().unwrap();
    assert_eq!(done["text"], ", there was a little girl named");
    assert_eq!(done["finish"], "stop_string");
}

#[test]
fn a_reader_that_leaves_ends_it_quietly() {
    let Some(model) = shared::find(LAYOUTS[0]) else { return };
    let program = Program::new().variable("ALLOQUY_MODEL", model);
    let mut child = program.spawn(&["complete", "--temperature", "0", "--quiet", "Once upon a time"]);
    let mut first = [0; 4];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), String::from_utf8(ended.stderr).unwrap().as_str()), (Some(0), ""));
}
