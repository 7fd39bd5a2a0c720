//! Mistakes of users, and the answers to them: one sentence, what to do next, and nothing lost.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use std::fs;
use std::path::{Path, PathBuf};

use program::Program;

const STORIES: &str = "models/stories260k";
const QWEN: &str = "models/tiny/genai-qwen3-fp32";

/// Runs the program and writes down what it says; every run has to fail with one error.
fn reported(program: &Program, arguments: &[&str]) -> String {
    told_with(1, program, arguments)
}

/// The same of arguments that make no sense, or are not there.
fn told_of_arguments(program: &Program, arguments: &[&str]) -> String {
    told_with(2, program, arguments)
}

fn told_with(code: i32, program: &Program, arguments: &[&str]) -> String {
    let ran = program.run(arguments);
    assert_eq!(ran.code, Some(code), "{ran:?}");
    assert_eq!(ran.errors().len(), 1, "{ran:?}");
    assert_eq!(ran.out, "");
    let said: Vec<_> = ran.err.lines().filter(|line| !line.starts_with("loading ")).collect();
    program.redacted(&said.join("\n"))
}

/// Copies a model's folder into the program's, so that it can be damaged.
fn copied(program: &Program, model: &Path) -> PathBuf {
    let copy = program.path("model");
    fs::create_dir(&copy).unwrap();
    for entry in fs::read_dir(model).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
        fs::write(copy.join(entry.file_name()), fs::read(entry.path()).unwrap()).unwrap();
    }
    copy
}

fn model_is_told(damage: impl FnOnce(&Path), from: &str) -> Option<String> {
    let model = shared::find(from)?;
    let program = Program::new();
    let copy = copied(&program, &model);
    damage(&copy);
    Some(reported(&program, &["ask", "--model", copy.to_str().unwrap(), "Hello"]))
}

#[test]
fn folders_that_are_no_models() {
    let program = Program::new();
    let missing = reported(&program, &["ask", "--model", "nowhere", "Hello"]);
    fs::create_dir(program.path("empty")).unwrap();
    let empty = reported(&program, &["ask", "--model", "empty", "Hello"]);
    insta::assert_snapshot!([missing, empty].join("\n\n"));
}

#[test]
fn a_truncated_graph() {
    let truncate = |model: &Path| {
        let graph = fs::read(model.join("model.onnx")).unwrap();
        fs::write(model.join("model.onnx"), &graph[..graph.len() / 2]).unwrap();
    };
    if let Some(reported) = model_is_told(truncate, QWEN) {
        insta::assert_snapshot!(reported);
    }
}

#[test]
fn weights_outside_of_the_folder() {
    let lead_out = |model: &Path| {
        let graph = fs::read(model.join("model.onnx")).unwrap();
        let inside = b"model.onnx.data";
        let outside = b"../../etc/passw";
        let places: Vec<_> =
            (0..graph.len() - inside.len()).filter(|&place| graph[place..].starts_with(inside)).collect();
        assert!(!places.is_empty());
        let mut graph = graph;
        for place in places {
            graph[place..place + outside.len()].copy_from_slice(outside);
        }
        fs::write(model.join("model.onnx"), graph).unwrap();
    };
    if let Some(reported) = model_is_told(lead_out, QWEN) {
        insta::assert_snapshot!(reported);
    }
}

#[test]
fn a_model_without_an_end() {
    let forget = |model: &Path| {
        for name in ["config.json", "genai_config.json", "generation_config.json", "tokenizer_config.json"] {
            let text = fs::read_to_string(model.join(name)).unwrap();
            let mut json = serde_json::from_str(&text).unwrap();
            remove_ends(&mut json);
            fs::write(model.join(name), json.to_string()).unwrap();
        }
    };
    if let Some(reported) = model_is_told(forget, STORIES) {
        insta::assert_snapshot!(reported);
    }
}

fn remove_ends(json: &mut serde_json::Value) {
    if let Some(fields) = json.as_object_mut() {
        fields.retain(|name, _| !name.starts_with("eos_token"));
        fields.values_mut().for_each(remove_ends);
    }
}

#[test]
fn a_library_that_is_not_onnx_runtime() {
    let Some(model) = shared::find(STORIES) else { return };
    let program = Program::new().variable("ALLOQUY_MODEL", model);
    let text = program.write("text.so", "no library");
    let missing = program.path("missing.so");
    let told_of = |path: &Path| {
        let ran = program.command(&["ask", "Hello"]).env("ORT_DYLIB_PATH", path).output().unwrap();
        assert_eq!(ran.status.code(), Some(1));
        let err = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(err.matches("error:").count(), 1, "{err}");
        program.redacted(&err)
    };
    insta::assert_snapshot!([told_of(&text), told_of(&missing)].join("\n"));
}

#[test]
fn a_question_longer_than_the_context_leaves_the_conversation_as_it_was() {
    let Some(model) = shared::find(QWEN) else { return };
    let program = Program::new().variable("ALLOQUY_MODEL", model);
    program.run(&["ask", "--conversation", "tea", "--max-tokens", "4", "Hello"]).ok();
    let before = program.run(&["tree", "--json"]).ok().events().remove(0);
    let long = "word ".repeat(2000);
    insta::assert_snapshot!(reported(&program, &["ask", "--conversation", "tea", &long]));
    let after = program.run(&["tree", "--json"]).ok().events().remove(0);
    assert_eq!(after["conversation"]["head"], before["conversation"]["head"]);
    let nodes = |shown: &serde_json::Value| shown["nodes"].as_array().unwrap().clone();
    for _ in 0..3 {
        program.run(&["ask", "--conversation", "tea", &long]);
    }
    let after = program.run(&["tree", "--json"]).ok().events().remove(0);
    assert_eq!(nodes(&after), nodes(&before), "a question that is refused leaves no branch");
}

#[test]
fn stores_that_cannot_be_used() {
    let program = Program::new();
    program.write("file", "in the way");
    let beside = |scheme: &str| {
        let url = format!("{scheme}:{}", program.path("file").join("store").display());
        reported(&program, &["tree", "--store", &url])
    };
    let unknown = reported(&program, &["tree", "--store", "chats"]);
    insta::assert_snapshot!([beside("sqlite"), beside("file"), unknown].join("\n\n"));
}

/// Whoever only looks leaves nothing behind.
#[test]
fn looking_makes_no_store() {
    for scheme in ["sqlite", "file"] {
        let program = Program::new();
        let store = format!("{scheme}:{}", program.path("kept").display());
        for arguments in [
            &["tree"][..],
            &["conversations"],
            &["search", "tea"],
            &["export", "tea"],
            &["branches"],
            &["cost"],
            &["diff", "0", "1"],
            &["render", "--conversation", "tea"],
        ] {
            let reported = reported(&program, &[arguments, &["--store", &store]].concat());
            assert!(reported.contains("does not exist"), "{arguments:?}: {reported}");
        }
        assert_eq!(fs::read_dir(program.folder()).unwrap().count(), 0, "{scheme}");
    }
}

#[test]
fn a_damaged_store_is_told_and_left_as_it_is() {
    let program = Program::new();
    let damaged = "This is no database. ".repeat(500);
    program.write("store.db", &damaged);
    insta::assert_snapshot!(reported(&program, &["tree"]));
    assert_eq!(fs::read_to_string(program.path("store.db")).unwrap(), damaged);
}

#[test]
fn names_and_numbers_that_are_not_valid() {
    let Some(model) = shared::find(STORIES) else { return };
    let program = Program::new().variable("ALLOQUY_MODEL", model);
    let errors = [
        reported(&program, &["ask", "--family", "qwen9", "Hello"]),
        reported(&program, &["ask", "--template", "nowhere.jinja", "Hello"]),
        reported(&program, &["ask", "--provider", "abacus", "Hello"]),
        told_of_arguments(&program, &["ask", "--top-p", "2", "Hello"]),
        told_of_arguments(&program, &["ask"]),
        reported(&program, &["tree", "--conversation", "nowhere"]),
        reported(&program, &["ask", "-c", "Hello"]),
        reported(&program, &["models", "nowhere"]),
        told_of_arguments(&program, &["render"]),
        told_of_arguments(&program, &["render", "--from", "gemini", "Hello"]),
        told_of_arguments(&program, &["complete"]),
        told_of_arguments(&program, &["convert", "--from", "openai", "--to", "gemini"]),
    ];
    insta::assert_snapshot!(errors.join("\n\n"));
}

/// What other programs call it is known.
#[test]
fn unknown_commands_are_named_as_they_are_here() {
    let program = Program::new();
    for (name, advice) in [
        ("run", "`alloquy chat`"),
        ("server", "`alloquy serve`"),
        ("ls", "`alloquy models`"),
        ("logs", "`alloquy conversations`"),
        ("download", "`alloquy pull OWNER/NAME`"),
        // As before: what is similar by its letters.
        ("convers", "conversations"),
    ] {
        let ran = program.run(&[name]);
        assert!(
            ran.code == Some(2) && ran.err.contains("tip: ") && ran.err.contains(advice),
            "{name}: {ran:?}"
        );
    }
    assert!(!program.run(&["xyzzy"]).err.contains("tip: "));
}

/// A pipe that nobody writes to is not waited for, and a device is not read to its end.
#[cfg(unix)]
#[test]
fn files_that_are_no_regular_ones() {
    let program = Program::new();
    let pipe = program.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    program.write("long", "");
    fs::File::options().write(true).open(program.path("long")).unwrap().set_len(1 << 30).unwrap();
    for (file, said) in [
        ("pipe", "is a pipe, a socket or a device, not a file"),
        ("/dev/zero", "is a pipe, a socket or a device, not a file"),
        (".", "is a folder, not a file"),
        ("long", "has 1073741824 bytes, and the limit is 16777216"),
    ] {
        for arguments in [
            ["ask", "--template", file, "Hello"],
            ["ask", "--json-schema", file, "Hello"],
            ["ask", "--lark", file, "Hello"],
            ["render", "--config", file, "Hello"],
        ] {
            let reported = reported(&program, &arguments);
            assert!(reported.contains(said), "{arguments:?}: {reported}");
        }
    }
}

#[test]
fn a_configuration_that_is_not_valid() {
    let program = Program::new();
    program.write("typo.toml", "temprature = 1\n");
    program.write("broken.toml", "model = \n");
    let errors = ["typo.toml", "broken.toml", "nowhere.toml"]
        .map(|file| reported(&program, &["--config", file, "conversations"]));
    insta::assert_snapshot!(errors.join("\n\n"));
}
