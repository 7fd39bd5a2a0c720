//! `/metrics`: what Prometheus reads.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;

use crate::app::App;
use crate::error::{ApiError, ApiResult};
use crate::metrics::{Present, PresentModel};
use crate::operation::Operation;

/// The media type of OpenMetrics.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/metrics", get(metrics))
}

pub(crate) fn operations() -> Vec<Operation> {
    vec![Operation::get("/metrics", "Returns what Prometheus reads.").text(OPEN_METRICS)]
}

async fn metrics(State(app): State<App>) -> ApiResult {
    let text = app.metrics().text(&present(&app)).map_err(|_| {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "the metrics cannot be written as text")
    })?;
    Ok(([(CONTENT_TYPE, OPEN_METRICS)], text).into_response())
}

fn present(app: &App) -> Present {
    let (running, waiting) = app.requests();
    let mut models = Vec::new();
    for status in app.models().list() {
        models.push(PresentModel {
            name: status.model.name().to_owned(),
            is_loaded: status.is_loaded,
            memory: status.model.memory(),
        });
    }
    Present { running, waiting, models }
}
