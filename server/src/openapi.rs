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
    ollama, prompts, rerank, responses, trees,
};

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
        health::operations(),
        metrics_page::operations(),
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
            "schemas": components(schemas),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    })
}

/// Returns the schemas of all types by their names, in the order of the names.
fn components(schemas: Schemas) -> Map<String, Value> {
    let mut components = taken(schemas.read);
    components.extend(taken(schemas.written));
    components.sort_keys();
    components
}

fn taken(mut generator: SchemaGenerator) -> Map<String, Value> {
    generator.take_definitions(true)
}
