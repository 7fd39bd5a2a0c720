//! The document of OpenAPI as a judge: every answer has the form that it says.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use serde_json::{Value, json};

/// Where the committed document is. `openapi.rs` compares it with the code.
pub(crate) const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/openapi.json");

/// The committed document.
pub(crate) static DOCUMENT: LazyLock<Document> = LazyLock::new(|| {
    let text = std::fs::read_to_string(COMMITTED).unwrap();
    Document { document: serde_json::from_str(&text).unwrap(), validators: Mutex::default() }
});

/// The document of a server, and the validators of the answers that were met.
pub(crate) struct Document {
    pub(crate) document: Value,
    validators: Mutex<HashMap<String, Option<jsonschema::Validator>>>,
}

impl Document {
    /// The paths with their methods.
    pub(crate) fn operations(&self) -> Vec<(String, String)> {
        let mut operations = Vec::new();
        for (path, methods) in self.document["paths"].as_object().unwrap() {
            for method in methods.as_object().unwrap().keys() {
                operations.push((path.clone(), method.clone()));
            }
        }
        operations
    }

    /// The path of the document that an address belongs to.
    fn path_of(&self, address: &str) -> Option<String> {
        let path = address.split('?').next().unwrap_or_default();
        let paths = self.document["paths"].as_object().unwrap();
        let mut found: Vec<_> = paths.keys().filter(|template| fits(template, path)).cloned().collect();
        // The one with the fewest names in braces.
        found.sort_by_key(|template| template.matches('{').count());
        found.into_iter().next()
    }

    /// Checks an answer in JSON to a request. Addresses that the document does not have are answered with errors.
    pub(crate) fn check(&self, method: &str, address: &str, status: u16, body: &Value) {
        let method = method.to_ascii_lowercase();
        let path = self.path_of(address).filter(|path| self.document["paths"][path].get(&method).is_some());
        let place = match &path {
            Some(path) => {
                let responses = &self.document["paths"][path][&method]["responses"];
                let status = if responses.get(status.to_string()).is_some() {
                    status.to_string()
                } else {
                    "default".to_owned()
                };
                assert!(status != "default" || body.get("error").is_some(), "{method} {address}: {body}");
                format!("{method} {path} {status}")
            }
            None => {
                assert!(
                    status >= 400,
                    "{method} {address} is answered with {status} and is not in the document"
                );
                "get /health default".to_owned()
            }
        };
        // A client with Anthropic's header reads its errors on every route, and unknown routes of Ollama have Ollama's.
        let place = match (place.ends_with("default"), &body["type"], &body["error"]) {
            (true, Value::String(kind), _) if kind == "error" => "post /v1/messages default".to_owned(),
            (true, _, Value::String(_)) if address.starts_with("/api/") => {
                "post /api/chat default".to_owned()
            }
            _ => place,
        };
        let mut validators = self.validators.lock().unwrap_or_else(PoisonError::into_inner);
        let validator = validators.entry(place.clone()).or_insert_with(|| self.validator(&place));
        let Some(validator) = validator else { panic!("{place} has no schema for JSON: {body}") };
        let problems: Vec<_> =
            validator.iter_errors(body).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(problems.is_empty(), "{place}: {}\n{body:#}", problems.join("\n"));
    }

    fn validator(&self, place: &str) -> Option<jsonschema::Validator> {
        let parts: Vec<_> = place.split(' ').collect();
        let responses = &self.document["paths"][parts[1]][parts[0]]["responses"];
        let schema = responses[parts[2]]["content"]["application/json"].get("schema")?;
        let whole = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "components": self.document["components"],
            "allOf": [schema],
        });
        Some(jsonschema::validator_for(&whole).unwrap_or_else(|error| panic!("{place}: {error}")))
    }
}

/// Whether a path is one of a template, in which a name in braces at the end may hold slashes.
fn fits(template: &str, path: &str) -> bool {
    let mut names = template.split('/');
    let mut parts = path.split('/');
    loop {
        match (names.next(), parts.next()) {
            (None, None) => return true,
            (Some(name), Some(part)) if name.starts_with('{') => {
                if part.is_empty() {
                    return false;
                }
                if template == "/v1/models/{name}" {
                    return true;
                }
            }
            (Some(name), Some(part)) if name == part => {}
            _ => return false,
        }
    }
}
