//! `/health` and `/ready`: whether the process runs, and whether it takes requests. Neither needs a key.

use alloquy_core::{Owner, Query};
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::app::App;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/health", get(health)).route("/ready", get(ready))
}

async fn health() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// Whether requests are to be sent here: not once the server ends, and not without its store.
async fn ready(State(app): State<App>) -> (StatusCode, Json<Value>) {
    if app.is_draining() {
        return (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"status": "draining"})));
    }
    let asked = app.store().list(&Owner::local(), &Query::default().limit(1)).await;
    match asked {
        Ok(_) => (StatusCode::OK, Json(json!({"status": "ready"}))),
        Err(error) => {
            tracing::warn!(error = format!("{error:#}"), "the store does not answer");
            (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"status": "store_unavailable"})))
        }
    }
}
