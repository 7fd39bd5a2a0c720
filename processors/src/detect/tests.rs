//! At most one family claims a model, and the right one.

use std::path::{Path, PathBuf};
use std::{collections::BTreeMap, fs};

use alloquy_core::model_info::ModelInfo;
use alloquy_core::tokenizer::SpecialToken;
use serde_json::Value;

use super::{detect, families, named};
use crate::families::FAMILIES;

/// A model as a fixture describes it: `architectures` and `model_type` from its `config.json`. What a fixture has under
/// `specials` are the control tokens.
fn model(files: BTreeMap<String, String>) -> ModelInfo {
    let mut model = ModelInfo::default();
    model.files = files;
    let config = ["config.json", "mlc-chat-config.json"].iter().find_map(|file| model.json(file).unwrap());
    let config = config.unwrap_or_default();
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    model.architecture = text(config.pointer("/architectures/0"));
    let genai = model.json("genai_config.json").unwrap().unwrap_or_default();
    model.model_type = text(config.get("model_type")).or_else(|| text(genai.pointer("/model/type")));
    model
}

/// Fixture folders are named for the family that is to claim the models in them.
#[test]
fn each_described_model_has_the_family_that_it_should() {
    let mut seen = 0;
    for folder in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/detect/models")).unwrap() {
        let folder = folder.unwrap();
        for file in fs::read_dir(folder.path()).unwrap() {
            let path = file.unwrap().path();
            let files: BTreeMap<String, Value> =
                serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let specials = files.get("specials").and_then(Value::as_array).cloned().unwrap_or_default();
            let mut model = model(files.into_iter().map(|(name, value)| (name, text(value))).collect());
            let special =
                |(id, text): (u32, Value)| SpecialToken { text: text.as_str().unwrap().to_owned(), id };
            model.specials = (0..).zip(specials).map(special).collect();
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
fn each_shared_model_has_the_family_that_it_should() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let shared =
        std::env::var_os("ALLOQUY_SHARED").map_or_else(|| workspace.join("../shared"), PathBuf::from);
    if !shared.is_dir() {
        eprintln!("Skipping: no shared models, set ALLOQUY_SHARED");
        return;
    }
    for folder in fs::read_dir(shared.join("models/tiny")).unwrap().map(|folder| folder.unwrap().path()) {
        let files = ["config.json", "genai_config.json", "tokenizer_config.json", "chat_template.jinja"];
        let read = |name: &&str| Some(((*name).to_owned(), fs::read_to_string(folder.join(name)).ok()?));
        let files: BTreeMap<_, _> = files.iter().filter_map(read).collect();
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
fn a_family_can_be_named_whatever_the_model_is() {
    for family in families() {
        assert_eq!(named(family, &ModelInfo::default()).unwrap().name(), family);
    }
    let error = named("Qwen3", &ModelInfo::default()).unwrap_err();
    let known: Vec<_> = families().collect();
    assert_eq!(error.to_string(), format!("unknown family \"Qwen3\", one of: {}", known.join(", ")));
}
