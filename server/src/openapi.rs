//! `/openapi.json`: the document of all routes, made from the types of their requests and answers. It needs no key.

use std::sync::LazyLock;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::operation::{Operation, Schemas};
use crate::{
    chat_completions, conversations, embeddings, flow_runs, health, messages, metrics_page, model_list,
    ollama, page, prompts, rerank, responses, tool_list, trees, usage,
};

/// The beginning of references to types.
const COMPONENTS: &str = "#/components/schemas/";

/// The document, which is the same for every request.
static DOCUMENT: LazyLock<String> = LazyLock::new(|| format!("{:#}\n", document()));

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/openapi.json", get(openapi))
}

fn operations() -> Vec<Operation> {
    vec![Operation::get("/openapi.json", "Returns this document.").answer::<Map<String, Value>>()]
}

/// Returns the operations of all protocols.
fn all() -> Vec<Operation> {
    let protocols = [
        responses::operations(),
        conversations::operations(),
        chat_completions::operations(),
        messages::operations(),
        ollama::operations(),
        embeddings::operations(),
        rerank::operations(),
        model_list::operations(),
        trees::operations(),
        prompts::operations(),
        flow_runs::operations(),
        tool_list::operations(),
        health::operations(),
        metrics_page::operations(),
        page::operations(),
        usage::operations(),
        operations(),
    ];
    protocols.concat()
}

async fn openapi() -> Response {
    ([(CONTENT_TYPE, "application/json")], DOCUMENT.as_str()).into_response()
}

fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.definitions_path = "/components/schemas".into();
    });
    let mut schemas = Schemas {
        read: settings.clone().for_deserialize().into_generator(),
        written: settings.for_serialize().into_generator(),
    };
    let mut paths = Map::new();
    for operation in all() {
        let path = paths.entry(operation.path()).or_insert_with(|| json!({}));
        if let Value::Object(methods) = path {
            methods.insert(operation.method().to_owned(), operation.json(&mut schemas));
        }
    }
    let components = components(schemas, &mut paths);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Alloquy",
            "description": "Models and stored conversations. docs/server.md describes every route.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "security": [{"key": []}, {}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    })
}

/// Returns the schemas of all types by their names, in the order of the names.
///
/// A type of requests may have the name of another one of answers, or be another one there, because more is required of an answer. It
/// then gets a name of its own, also where `paths` refer to it.
fn components(schemas: Schemas, paths: &mut Map<String, Value>) -> Map<String, Value> {
    let read = taken(schemas.read);
    let mut components = taken(schemas.written);
    let mut renamed = Vec::new();
    // A type that refers to one with another name is another one too, so this ends when nothing is added.
    loop {
        let before = renamed.len();
        for (name, schema) in &read {
            let mut schema = schema.clone();
            rename(&mut schema, &renamed);
            let is_another = components.get(name).is_some_and(|written| *written != schema);
            if is_another && !renamed.contains(name) {
                renamed.push(name.clone());
            }
        }
        if renamed.len() == before {
            break;
        }
    }
    for operation in paths.values_mut().filter_map(Value::as_object_mut).flat_map(Map::values_mut) {
        for part in ["requestBody", "parameters"] {
            if let Some(part) = operation.get_mut(part) {
                rename(part, &renamed);
            }
        }
    }
    for (name, mut schema) in read {
        rename(&mut schema, &renamed);
        let name = if renamed.contains(&name) { of_requests(&name) } else { name };
        components.insert(name, schema);
    }
    components.sort_keys();
    components
}

/// Returns the name of a type of requests whose own name is taken.
fn of_requests(name: &str) -> String {
    format!("{name}OfRequests")
}

/// Changes the references to types that have another name.
fn rename(value: &mut Value, renamed: &[String]) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(reference) if name == "$ref" => {
                        let target = reference.strip_prefix(COMPONENTS).unwrap_or_default();
                        if renamed.iter().any(|name| name == target) {
                            *reference = format!("{COMPONENTS}{}", of_requests(target));
                        }
                    }
                    field => rename(field, renamed),
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                rename(item, renamed);
            }
        }
        _ => {}
    }
}

fn taken(mut generator: SchemaGenerator) -> Map<String, Value> {
    generator.take_definitions(true)
}
