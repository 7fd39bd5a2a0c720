//! The command line and the library are one: of every folder both make the same settings, stops, sampling and prompts, or the
//! same error.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use std::fs;
use std::path::{Path, PathBuf};

use alloquy::{ContextPolicy, Message, Model, ModelDescription, Preface, Request, Result};
use program::Program;
use serde_json::{Value, json};

/// The most folders with Jinja templates: they are taken from all over the corpus.
const JINJA: usize = 50;

/// How many that have MLC's settings alone.
const MLC: usize = 30;

/// What the models say that they are: most are claimed by a family, the last by none.
const TYPES: [&str; 10] = [
    "qwen3",
    "llama",
    "gemma3_text",
    "mistral",
    "phi3",
    "deepseek_v3",
    "gpt_oss",
    "smollm3",
    "lfm2",
    "abacus",
];

/// The smallest weights there are, which every folder gets.
fn weights() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../pocket/model")
}

/// Makes a folder of the weights and of what says how to talk to them.
fn folder(program: &Program, name: &str, model_type: &str, files: &[(&str, String)]) -> PathBuf {
    let folder = program.path(name);
    fs::create_dir(&folder).unwrap();
    let weights = weights();
    let all = program.path("model.onnx");
    if !all.exists() {
        fs::copy(weights.join("model.onnx"), &all).unwrap();
    }
    fs::hard_link(&all, folder.join("model.onnx")).unwrap();
    for file in ["tokenizer.json", "tokenizer_config.json", "genai_config.json"] {
        fs::copy(weights.join(file), folder.join(file)).unwrap();
    }
    let mut config = json_of(&weights.join("config.json"));
    config["model_type"] = model_type.into();
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
    for (file, text) in files {
        fs::write(folder.join(file), text).unwrap();
    }
    folder
}

fn json_of(file: &Path) -> Value {
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

/// Templates from all over the corpus.
fn jinja(program: &Program, corpus: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let step = files.len().div_ceil(JINJA);
    let mut folders = Vec::new();
    for (index, file) in files.iter().step_by(step).enumerate() {
        let temperature =
            json!({"do_sample": true, "temperature": 0.5 + index as f64 / 100.0, "top_k": index + 1});
        let files = [
            ("chat_template.jinja", fs::read_to_string(file).unwrap()),
            ("generation_config.json", temperature.to_string()),
        ];
        folders.push(folder(program, &format!("jinja-{index}"), TYPES[index % TYPES.len()], &files));
    }
    folders
}

/// Conversation templates of MLC, with its settings.
fn mlc(program: &Program, golden: &Path) -> Vec<PathBuf> {
    let golden = json_of(golden);
    let templates = golden["templates"].as_object().unwrap();
    let mut genai = json_of(&weights().join("genai_config.json"));
    genai.as_object_mut().unwrap().remove("search");
    let mut folders = Vec::new();
    for (index, (_, template)) in templates.iter().take(MLC).enumerate() {
        let config = json!({
            "conv_template": template["template"],
            "temperature": 0.5 + index as f64 / 100.0,
            "top_p": 0.9,
            "repetition_penalty": 1.05,
            "mean_gen_len": 64 + index,
            "shift_fill_factor": 0.3,
        });
        let files = [("mlc-chat-config.json", config.to_string()), ("genai_config.json", genai.to_string())];
        folders.push(folder(program, &format!("mlc-{index}"), TYPES[index % TYPES.len()], &files));
    }
    folders
}

/// What the library makes of a folder, as the program prints it.
fn of_library(folder: &Path) -> Result<Value> {
    let model = Model::open(folder)?;
    let request = Request::new(Preface::default(), vec![Message::user("Hello <|im_end|> there")]);
    let (request, _) = pollster::block_on(model.fitted(request))?;
    let prepared = model.language_model().prepare(&request)?;
    let described = ModelDescription::read(folder)?;
    assert_eq!(described.family, model.family());
    assert_eq!(described.template, model.template());
    assert_eq!(described.context_policy, model.full_context().policy());
    Ok(json!({
        "ids": prepared.prompt.tokens().collect::<Vec<_>>(),
        "digest": prepared.template,
        "warnings": prepared.warnings,
        "family": model.family(),
        "template": model.template(),
        "sampling": model.sampling(),
        "shift": model.full_context().policy() == ContextPolicy::Shift,
    }))
}

/// What the program makes of it.
fn of_program(program: &Program, folder: &Path) -> std::result::Result<Value, String> {
    let folder = folder.display().to_string();
    let rendered = program.run(&["render", "--json", "--model", &folder, "Hello <|im_end|> there"]);
    if rendered.code != Some(0) {
        return Err(rendered.err);
    }
    let rendered: Value = serde_json::from_str(&rendered.out).unwrap();
    let shown = program.run(&["config", "show", "--json", "--model", &folder]).ok().out;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let setting = |key: &str| shown["settings"][key]["value"].clone();
    for key in ["temperature", "top_k", "top_p", "repetition_penalty"] {
        let shown = setting(&key.replace('_', "-"));
        let used = &rendered["sampling"][key];
        let shown = shown.as_f64().map(|value| value as f32);
        assert_eq!(shown, used.as_f64().map(|value| value as f32), "{folder}: {key}");
    }
    assert_eq!(setting("family"), rendered["family"], "{folder}");
    Ok(json!({
        "ids": rendered["ids"],
        "digest": rendered["template"]["digest"],
        "warnings": rendered["warnings"],
        "family": rendered["family"],
        "template": setting("template"),
        "sampling": rendered["sampling"],
        "shift": setting("context-policy") == "shift",
    }))
}

#[test]
fn of_every_folder_the_program_and_the_library_make_the_same() {
    let (Some(corpus), Some(golden)) =
        (shared::find("cases/templates/jinja"), shared::find("cases/mlc/golden.json"))
    else {
        return;
    };
    let program = Program::new();
    let mut folders = jinja(&program, &corpus);
    folders.extend(mlc(&program, &golden));
    let mut same = 0;
    for folder in &folders {
        match (of_library(folder), of_program(&program, folder)) {
            (Ok(ours), Ok(printed)) => {
                assert_eq!(ours, printed, "{}", folder.display());
                same += 1;
            }
            (Err(ours), Err(printed)) => {
                let first = ours.to_string().lines().next().unwrap_or_default().to_owned();
                assert!(printed.contains(&first), "{}: {first} is not in {printed}", folder.display());
            }
            (ours, printed) => panic!("{}: {ours:?}, but {printed:?}", folder.display()),
        }
    }
    println!("{same} of {} folders make the same, the others the same errors", folders.len());
    assert!(same >= 60, "only {same} of {} folders open", folders.len());
}
