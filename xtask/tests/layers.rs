//! No crate of the workspace imports what it must not, and each kind of forbidden import is found.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a test may panic

use std::sync::LazyLock;

use cargo_metadata::Metadata;
use serde_json::{Value, json};
use xtask::{breaches, metadata, root};

/// What cargo says, as JSON to doctor; it is asked once.
fn said() -> Value {
    static SAID: LazyLock<Value> = LazyLock::new(|| serde_json::to_value(metadata().unwrap()).unwrap());
    SAID.clone()
}

fn package<'a>(metadata: &'a mut Value, name: &str) -> &'a mut Value {
    let mut packages = metadata["packages"].as_array_mut().unwrap().iter_mut();
    packages.find(|package| package["name"] == name).unwrap()
}

/// What is found once `importer` imports `imported`.
fn after(importer: &str, imported: &str, kind: &str) -> Vec<String> {
    let mut metadata = said();
    let import = json!({
        "name": imported, "source": null, "req": "*", "kind": kind, "rename": null, "optional": false,
        "uses_default_features": true, "features": [], "target": null, "registry": null,
    });
    package(&mut metadata, importer)["dependencies"].as_array_mut().unwrap().push(import);
    found(metadata)
}

fn found(metadata: Value) -> Vec<String> {
    breaches(&serde_json::from_value::<Metadata>(metadata).unwrap())
}

#[track_caller]
fn assert_forbidden(importer: &str, imported: &str, kind: &str) {
    let breaches = after(importer, imported, kind);
    assert_eq!(breaches.len(), 1, "{importer} imports {imported}: {breaches:?}");
    assert!(breaches[0].contains("must not import"), "{breaches:?}");
}

#[test]
fn every_import_of_the_workspace_is_allowed() {
    let breaches = breaches(&metadata().unwrap());
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn siblings_do_not_import_each_other() {
    let siblings =
        ["alloquy-media", "alloquy-templates", "alloquy-processors", "alloquy-onnx", "alloquy-storage"];
    for importer in siblings {
        for imported in siblings.into_iter().filter(|imported| *imported != importer) {
            assert_forbidden(importer, imported, "normal");
            assert_forbidden(importer, imported, "dev");
        }
    }
    assert_forbidden("alloquy-model-files", "alloquy-onnx", "dev");
    assert_forbidden("alloquy-processors", "alloquy-model-files", "normal");
}

#[test]
fn what_is_for_tests_is_imported_by_tests_alone_and_without_a_version() {
    for importer in ["alloquy-core", "alloquy-storage", "alloquy-cli", "alloquy-templates"] {
        assert_forbidden(importer, "alloquy-testing", "normal");
        assert_eq!(after(importer, "alloquy-testing", "dev"), Vec::<String>::new(), "{importer}");
    }
    let mut metadata = said();
    let imports = package(&mut metadata, "alloquy-core")["dependencies"].as_array_mut().unwrap();
    let testing = imports.iter_mut().find(|import| import["name"] == "alloquy-testing").unwrap();
    testing["req"] = "^0.1.0".into();
    let breaches = found(metadata);
    assert_eq!(breaches, ["core: must not import alloquy-testing by a version; a path is enough"]);
}

#[test]
fn core_and_the_locator_import_no_member() {
    for imported in ["alloquy-templates", "alloquy-storage", "alloquy-onnx", "alloquy-cli"] {
        assert_forbidden("alloquy-core", imported, "normal");
    }
    assert_forbidden("alloquy-onnx-runtime", "alloquy-core", "normal");
    assert_forbidden("alloquy-onnx-runtime", "alloquy-onnx", "normal");
}

#[test]
fn the_locator_is_for_its_backend_and_for_chores() {
    for importer in ["alloquy-cli", "alloquy-storage", "alloquy-processors"] {
        assert_forbidden(importer, "alloquy-onnx-runtime", "normal");
    }
}

#[test]
fn the_command_line_wires_nothing() {
    for imported in ["alloquy-core", "alloquy-onnx", "alloquy-templates", "alloquy-processors"] {
        assert_forbidden("alloquy-cli", imported, "normal");
        assert_forbidden("alloquy-onnx", "alloquy", "dev");
    }
}

#[test]
fn chores_import_no_other_member() {
    for imported in ["alloquy-core", "alloquy-onnx", "alloquy-cli"] {
        assert_forbidden("xtask", imported, "normal");
    }
}

#[test]
fn heavy_crates_stay_where_they_belong() {
    for (importer, imported) in [
        ("alloquy-processors", "minijinja"),
        ("alloquy-cli", "minijinja-contrib"),
        ("alloquy-processors", "tokenizers"),
        ("alloquy-onnx", "tokenizers"),
        ("alloquy-model-files", "ort"),
        ("alloquy-cli", "ort"),
        ("alloquy-templates", "image"),
        ("alloquy-processors", "image"),
        ("alloquy-core", "ndarray"),
        ("alloquy-storage", "symphonia-core"),
        ("alloquy-templates", "rusqlite"),
        ("alloquy-onnx", "tokio"),
        ("alloquy-core", "rmcp"),
        ("alloquy-cli", "rmcp"),
        ("alloquy-onnx", "reqwest"),
        ("alloquy-processors", "object_store"),
    ] {
        assert_forbidden(importer, imported, "normal");
        assert_forbidden(importer, imported, "build");
    }
}

#[test]
fn heavy_crates_may_serve_tests_and_their_own_folder() {
    assert_eq!(after("alloquy-core", "tokio", "dev"), [""; 0]);
    assert_eq!(after("alloquy-storage", "tokio", "normal"), [""; 0]);
    assert_eq!(after("alloquy-media", "image", "normal"), [""; 0]);
    // A name that only begins alike.
    assert_eq!(after("alloquy-core", "ortho", "normal"), [""; 0]);
}

#[test]
fn a_runtime_far_below_core_is_found() {
    let mut metadata = said();
    let mut id_of = |name: &str| package(&mut metadata, name)["id"].clone();
    let futures = id_of("futures-core");
    let stand_in = id_of("indicatif");
    let mut nodes = metadata["resolve"]["nodes"].as_array_mut().unwrap().iter_mut();
    let node = nodes.find(|node| node["id"] == futures).unwrap();
    let import = json!({ "name": "tokio", "pkg": stand_in, "dep_kinds": [{ "kind": null, "target": null }] });
    node["deps"].as_array_mut().unwrap().push(import);
    package(&mut metadata, "indicatif")["name"] = json!("tokio");
    let breaches = found(metadata);
    for folder in ["core", "media", "model-files", "templates", "processors"] {
        let sentence =
            breaches.iter().find(|breach| breach.starts_with(&format!("{folder}: depends on tokio;")));
        assert!(sentence.is_some(), "{folder}: {breaches:?}");
    }
}

#[test]
fn a_member_in_an_unknown_folder_is_found() {
    let mut metadata = said();
    let manifest = root().join("helpers/Cargo.toml");
    package(&mut metadata, "alloquy-storage")["manifest_path"] = json!(manifest);
    let breaches = found(metadata);
    assert!(breaches.iter().any(|breach| breach.contains("no line in the table")), "{breaches:?}");
}
