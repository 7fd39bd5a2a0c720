//! The document of OpenAPI: it is the committed one, every route is in it, and everything in it is a route.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use shared::TestServer;
use shared::document::{COMMITTED, DOCUMENT};

#[tokio::test]
async fn the_committed_document_is_that_of_the_code() {
    let server = TestServer::saying([]).await;
    let response = server.request("GET", "/openapi.json").send().await.unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["content-type"]),
        (200, &"application/json".parse().unwrap())
    );
    let text = response.text().await.unwrap();
    if std::env::var_os("ALLOQUY_WRITE_OPENAPI").is_some() {
        std::fs::write(COMMITTED, &text).unwrap();
    }
    let committed = std::fs::read_to_string(COMMITTED).unwrap_or_default();
    let hint = "docs/openapi.json differs from the code: run \
                `ALLOQUY_WRITE_OPENAPI=1 cargo test -p alloquy-server --test openapi`, and read the difference";
    assert!(committed == text, "{hint}");
}

/// Collects the paths of `.route("…")` in the sources of a folder.
fn routed(folder: &Path, paths: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            routed(&path, paths);
            continue;
        }
        let source = std::fs::read_to_string(&path).unwrap();
        for rest in source.split(".route(").skip(1) {
            let rest = rest.trim_start();
            let Some(path) = rest.strip_prefix('"').and_then(|rest| rest.split('"').next()) else {
                panic!("{}: the path of a route is a literal, so that this test sees it", path.display());
            };
            paths.insert(path.replace("{*", "{"));
        }
    }
}

#[tokio::test]
async fn every_route_has_an_operation() {
    let server = TestServer::saying([]).await;
    let mut paths = BTreeSet::new();
    routed(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")), &mut paths);
    assert!(paths.len() >= 20, "{paths:?}");
    let documented: BTreeSet<_> = DOCUMENT.operations().into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, documented);
    // Of each path, the methods that it does not have in the document are refused, and the others are not.
    let operations = DOCUMENT.operations();
    for path in &paths {
        for method in ["get", "post", "put", "patch", "delete"] {
            let address = path.replace("{kind}", "user").replace(['{', '}'], "");
            let request = server.request(&method.to_ascii_uppercase(), &address);
            let mut response = request.send().await.unwrap();
            let status = response.status().as_u16();
            let is_documented = operations.contains(&(path.clone(), method.to_owned()));
            assert_eq!(status != 405, is_documented, "{method} {path}: {status}");
            if is_documented && status == 404 {
                let body: Value = serde_json::from_slice(&response.chunk().await.unwrap().unwrap()).unwrap();
                assert_ne!(body["error"]["code"], "unknown_url", "{method} {path}");
            }
        }
    }
}

#[test]
fn names_are_unique_and_references_lead_somewhere() {
    let document = &DOCUMENT.document;
    assert_eq!(document["openapi"], "3.1.0");
    let mut ids = BTreeSet::new();
    for (path, method) in DOCUMENT.operations() {
        let operation = &document["paths"][&path][&method];
        assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{path}");
        assert!(operation["summary"].as_str().unwrap().ends_with('.'), "{path}");
    }
    let mut values = vec![document];
    while let Some(value) = values.pop() {
        match value {
            Value::Object(fields) => {
                if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                    let pointer = reference.strip_prefix('#').unwrap();
                    assert!(document.pointer(pointer).is_some(), "{reference}");
                }
                values.extend(fields.values());
            }
            Value::Array(items) => values.extend(items),
            _ => {}
        }
    }
}

#[test]
#[should_panic(expected = "is not of type")]
fn an_answer_of_another_form_is_found() {
    DOCUMENT.check("GET", "/health", 200, &json!({"status": 7}));
}
