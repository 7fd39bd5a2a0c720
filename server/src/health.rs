//! `/health` and `/ready`: whether the process runs, and whether it takes requests. Neither needs a key.

use alloquy_core::{Owner, Query};
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::operation::Operation;

/// Whether the server can be used.
#[derive(Debug, JsonSchema, Serialize)]
struct ServerStatus {
    /// `ok`, `ready`, `draining` or `store_unavailable`.
    status: &'static str,
}

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/health", get(health)).route("/ready", get(ready))
}

pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/health", "Returns whether the process runs.").answer::<ServerStatus>(),
        Operation::get("/ready", "Returns whether requests are taken.")
            .answer::<ServerStatus>()
            .answer_with::<ServerStatus>(503),
    ]
}

async fn health() -> Json<ServerStatus> {
    Json(ServerStatus { status: "ok" })
}

/// Whether requests are to be sent here: not once the server ends, and not without its store.
async fn ready(State(app): State<App>) -> (StatusCode, Json<ServerStatus>) {
    if app.is_draining() {
        return (StatusCode::SERVICE_UNAVAILABLE, Json(ServerStatus { status: "draining" }));
    }
    let asked = app.store().list(&Owner::local(), &Query::default().limit(1)).await;
    match asked {
        Ok(_) => (StatusCode::OK, Json(ServerStatus { status: "ready" })),
        Err(error) => {
            tracing::warn!(error = format!("{error:#}"), "the store does not answer");
            (StatusCode::SERVICE_UNAVAILABLE, Json(ServerStatus { status: "store_unavailable" }))
        }
    }
}
