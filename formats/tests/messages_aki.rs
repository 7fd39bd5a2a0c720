//! The AKI chat context against recorded cases; the last line is `N passed, M failed`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::env;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use alloquy_core::Result;
use alloquy_core::media::MediaKind;
use alloquy_formats::messages::{self, Dialect, MediaRules, Transcript};
use serde_json::{Value, json};

const FILE: &str = "aki_cases.json";

/// Reads the cases: from the folder that `ALLOQUY_CASES` names, or from the shared one. Says when it skips.
fn cases() -> Option<Value> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let shared = env::var_os("ALLOQUY_SHARED").map_or(beside, PathBuf::from);
    let folder = env::var_os("ALLOQUY_CASES").map_or(shared.join("cases/templates"), PathBuf::from);
    let Ok(text) = fs::read_to_string(folder.join(FILE)) else {
        eprintln!("Skipping: {} is absent, set ALLOQUY_SHARED", folder.join(FILE).display());
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

fn read(dialect: Dialect, document: &Value) -> Result<Transcript> {
    messages::read(dialect, document, &MediaRules::default())
}

#[test]
fn contexts_are_read_and_written_as_recorded() {
    let Some(cases) = cases() else { return };
    let cases = cases["cases"].as_array().unwrap();
    let passes = |case: &&Value| catch_unwind(AssertUnwindSafe(|| check(case))).is_ok();
    let passed = cases.iter().filter(passes).count();
    println!("{passed} passed, {} failed", cases.len() - passed);
    assert!(passed == cases.len() && passed > 0);
}

fn check(case: &Value) {
    let id = case["id"].as_str().unwrap();
    match case.get("input").or(case.get("input_string")) {
        Some(document) => aki_context(id, case, document),
        None => {
            let ours = read(Dialect::OpenAi, &case["openai"]).unwrap();
            let written = messages::write(Dialect::Aki, &ours).unwrap();
            let ours = read(Dialect::Aki, &written);
            let theirs = read(Dialect::Aki, &case["aki"]);
            assert_eq!(ours.unwrap(), theirs.unwrap(), "{id}");
        }
    }
}

fn aki_context(id: &str, case: &Value, document: &Value) {
    let supports = |kind: &MediaKind| {
        let listed = case.get("model_supports").and_then(Value::as_array);
        listed.is_none_or(|listed| listed.contains(&json!(kind.as_str())))
    };
    let kinds: Vec<_> = MediaKind::ALL.into_iter().filter(supports).collect();
    let rules = MediaRules { kinds: &kinds, ..MediaRules::default() };
    let outcome = messages::read(Dialect::Aki, document, &rules);
    assert_eq!(outcome.is_ok(), case["valid"].as_bool().unwrap(), "{id}: {outcome:?}");
    let Ok(transcript) = outcome else { return };
    let written = messages::write(Dialect::Aki, &transcript).unwrap();
    assert_eq!(read(Dialect::Aki, &written).unwrap(), transcript, "{id}");
    if document.is_array() {
        assert_eq!(messages::read_text(Dialect::Aki, &document.to_string(), &rules).unwrap(), transcript);
    }
    for parts in ["hf_parts", "openai_parts"].into_iter().filter_map(|name| case.get(name)) {
        let message = json!([{"role": "user", "content": parts}]);
        assert_eq!(read(Dialect::OpenAi, &message).unwrap(), transcript, "{id}");
    }
    if let Some(parts) = case.get("openai_parts") {
        assert_eq!(messages::write(Dialect::OpenAi, &transcript).unwrap()["messages"][0]["content"], *parts);
    }
}
