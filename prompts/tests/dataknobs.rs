//! What dataknobs does with prompts: tables of its real answers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, missing_docs)]

#[path = "../../templates/tests/shared/mod.rs"]
mod shared;

use std::path::PathBuf;

use alloquy_core::prompt_library::{PromptKind, PromptLibrary, PromptName, Values, VersionNumber};
use alloquy_prompts::{
    Arm, ConfigLibrary, Experiment, FolderLibrary, PromptHistory, PromptRecord, Split, ValidationLevel,
    VersionRecord, VersionStatus,
};
use serde_json::{Map, Value};

fn case(path: &str) -> Option<Value> {
    shared::json(&format!("cases/dataknobs/{path}"))
}

fn folder(path: &str) -> Option<PathBuf> {
    shared::find(&format!("cases/dataknobs/{path}"))
}

fn values(params: &Value) -> Values {
    params.as_object().cloned().unwrap_or_default().into()
}

/// Rows in which dataknobs ignores a key, and what its key means here.
fn ours(prompt: &str) -> Option<&'static str> {
    Some(match prompt {
        "ext" => "A B",
        "sec" => "text",
        "fmt" => "Hi 1",
        // Jinja alone has no optional sections.
        "jmode" => "((k 1))",
        _ => return None,
    })
}

#[test]
fn the_builder_renders_what_dataknobs_renders() {
    let Some(case) = case("prompts/p02_builder.json") else { return };
    let library = ConfigLibrary::from_json(&case["library"]).unwrap();
    for row in case["cases"].as_array().unwrap() {
        let name = row["prompt"].as_str().unwrap();
        let filled =
            library.prompt(&PromptName::user(name)).and_then(|prompt| prompt.fill(&values(&row["params"])));
        if let Some(error) = row["error"].as_str() {
            let ours = filled.unwrap_err().to_string();
            let word = if error.contains("Circular") { "circ" } else { name };
            assert!(ours.contains(word), "{name}: {ours}, dataknobs says {error}");
            continue;
        }
        let filled = filled.unwrap();
        let expected = ours(name).or(row["result"].as_str()).unwrap();
        assert_eq!(filled.text(), expected, "{row}");
        if ours(name).is_none() {
            // `ignore` asks for no list of what is missing; what the text would print is listed all the same.
            let missing: Vec<_> =
                row["params_missing"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
            assert_eq!(filled.facts.missing, missing, "{row}");
        }
    }
}

#[test]
fn a_folder_of_dataknobs_is_read_as_it_is() {
    let Some(case) = case("prompts/p04_filesystem_library.json") else { return };
    let Some(folder) = folder("prompts/fs_library") else { return };
    let library = FolderLibrary::open(folder).unwrap();
    for kind in ["system", "user", "messages"] {
        let expected = case[kind].as_object().unwrap();
        let kind: PromptKind = kind.parse().unwrap();
        let names: Vec<_> = library.names().into_iter().filter(|name| name.kind == kind).collect();
        let expected_names: Vec<_> =
            expected.keys().map(|name| PromptName::new(kind, name.clone())).collect();
        assert_eq!(names, expected_names);
        for (name, expected) in expected {
            let record = library.record(&PromptName::new(kind, name.clone())).unwrap();
            assert_eq!(*record, PromptRecord::from_json(expected).unwrap(), "{name}");
        }
    }
    let docs = library.retrieval("docs").unwrap();
    assert_eq!(serde_json::to_value(docs).unwrap(), case["rag_docs"]);
    let retrievals = library.retrievals(&PromptName::user("ask")).unwrap();
    assert_eq!(serde_json::to_value(retrievals).unwrap(), case["rag_for_ask"]);

    // dataknobs skips the broken file with a line in its log.
    let problems = library.problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!((problems[0].place.as_str(), problems[0].line.is_some()), ("user/broken.yaml", true));
    let error = library.prompt(&PromptName::user("broken")).unwrap_err();
    assert!(error.to_string().contains("user/broken.yaml"), "{error}");

    let assistant = library.prompt(&PromptName::system("assistant")).unwrap();
    assert_eq!(
        assistant.fill(&Values::new().set("lang", "Czech")).unwrap().text(),
        "You are Helper.\nSpeak Czech.\n"
    );
    let record = library.record(&PromptName::system("assistant")).unwrap();
    assert_eq!(record.validation.as_ref().unwrap().level, Some(ValidationLevel::Error));
}

#[test]
fn users_keep_their_arms_after_a_migration() {
    let Some(case) = case("misc/x02_ab_assignment.json") else { return };
    let mut arms = Vec::new();
    for (version, share) in case["traffic_split"].as_object().unwrap() {
        let weight = (share.as_f64().unwrap() * 10.0).round() as u32;
        arms.push(Arm::new(version.clone(), version.parse().unwrap(), weight));
    }
    let experiment = Experiment::new("any", PromptName::user("p"), arms).unwrap().split(Split::Dataknobs);
    for (user, version) in case["assignments"].as_object().unwrap() {
        assert_eq!(experiment.arm(user).name, version.as_str().unwrap(), "{user}");
    }
}

#[test]
fn versions_are_numbered_as_dataknobs_numbers_them() {
    let Some(case) = case("misc/x03_versions.json") else { return };
    let mut history = PromptHistory::default();
    for step in case["steps"].as_array().unwrap() {
        let empty = Map::new();
        let create = step["create"].as_object().unwrap_or(&empty);
        let number = create.get("version").map(|version| version.as_str().unwrap().parse::<VersionNumber>());
        let mut record = VersionRecord::default();
        if create.get("status").is_some() {
            record.status = VersionStatus::Draft;
        }
        let created = match number.transpose() {
            Ok(number) => history.create(number, PromptRecord::of_text("x"), record),
            Err(error) => Err(error),
        };
        match step["version"].as_str() {
            Some(version) => assert_eq!(created.unwrap().to_string(), version),
            None => drop(created.unwrap_err()),
        }
    }
    assert_eq!(history.current().unwrap().to_string(), case["latest"].as_str().unwrap());
    let mut order: Vec<_> = history.versions().map(|(number, _)| number.to_string()).collect();
    order.reverse();
    assert_eq!(serde_json::to_value(order).unwrap(), case["order"]);
}
