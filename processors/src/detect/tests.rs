//! At most one family claims a model, and the right one.

use std::path::{Path, PathBuf};
use std::{collections::BTreeMap, fs};

use alloquy_core::model_info::ModelInfo;
use alloquy_core::tokenizer::SpecialToken;
use serde_json::Value;

use super::{detect, families, named};
use crate::families::FAMILIES;

/// Returns a model with the `architectures` and the `model_type` of its `config.json`.
fn model(files: BTreeMap<String, String>) -> ModelInfo {
    let mut model = ModelInfo::default();
    model.files = files;
    let config = ["config.json", "mlc-chat-config.json"].iter().find_map(|file| model.json(file).unwrap());
    let config = config.unwrap_or_default();
    let genai = model.json("genai_config.json").unwrap().unwrap_or_default();
    let model_type = config.get("model_type").or_else(|| genai.pointer("/model/type"));
    model.architecture = config.pointer("/architectures/0").and_then(Value::as_str).map(str::to_owned);
    model.model_type = model_type.and_then(Value::as_str).map(str::to_owned);
    model
}

/// Reads a model from a fixture: files by name, and the texts of the control tokens under `specials`.
fn model_of_fixture(path: &Path) -> ModelInfo {
    let files: BTreeMap<String, Value> = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let specials = files.get("specials").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut texts = BTreeMap::new();
    for (name, value) in files {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        texts.insert(name, text);
    }
    let mut model = model(texts);
    for (id, text) in (0..).zip(&specials) {
        model.specials.push(SpecialToken { text: text.as_str().unwrap().to_owned(), id });
    }
    model
}

/// Each folder of fixtures has the name of the family that must claim its models.
#[test]
fn each_described_model_has_its_family() {
    let mut seen = 0;
    for folder in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/detect/models")).unwrap() {
        let folder = folder.unwrap();
        for file in fs::read_dir(folder.path()).unwrap() {
            let path = file.unwrap().path();
            let model = model_of_fixture(&path);
            let claiming = FAMILIES.iter().filter(|family| (family.detect)(&model)).count();
            assert!(claiming <= 1, "{claiming} families claim {}", path.display());
            let detected = detect(&model);
            assert_eq!(detected.fallback, claiming == 0, "{}", path.display());
            assert_eq!(detected.processor.name(), folder.file_name().to_str().unwrap(), "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 10, "only {seen} models are described");
}

#[test]
fn each_shared_model_has_its_family() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let shared =
        std::env::var_os("ALLOQUY_SHARED").map_or_else(|| workspace.join("../shared"), PathBuf::from);
    if !shared.is_dir() {
        eprintln!("Skipping: no shared models, set ALLOQUY_SHARED");
        return;
    }
    for folder in fs::read_dir(shared.join("models/tiny")).unwrap().map(|folder| folder.unwrap().path()) {
        let mut files = BTreeMap::new();
        for name in ["config.json", "genai_config.json", "tokenizer_config.json", "chat_template.jinja"] {
            if let Ok(text) = fs::read_to_string(folder.join(name)) {
                files.insert(name.to_owned(), text);
            }
        }
        let name = folder.file_name().unwrap().to_str().unwrap();
        let family = match name {
            _ if name.contains("gemma3") => "gemma3",
            _ if name.contains("qwen3") => "qwen3",
            _ if name.contains("qwen2.5") => "qwen2_5",
            _ => "generic",
        };
        if folder.is_dir() {
            assert_eq!(detect(&model(files)).processor.name(), family, "{name}");
        }
    }
}

#[test]
fn a_family_can_be_named_for_any_model() {
    for family in families() {
        assert_eq!(named(family, &ModelInfo::default()).unwrap().name(), family);
    }
    let error = named("Qwen3", &ModelInfo::default()).unwrap_err();
    let known: Vec<_> = families().collect();
    assert_eq!(error.to_string(), format!("unknown family \"Qwen3\", one of: {}", known.join(", ")));
}
