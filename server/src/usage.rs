//! `/v1/alloquy/usage`: how much the caller's key may use, and what of it is used.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiResult;
use crate::operation::Operation;

/// How much the caller may use, and what of it is used.
#[derive(Debug, JsonSchema, Serialize)]
struct UsageObject {
    object: &'static str,
    /// The owner of the caller's conversations.
    owner: String,
    limits: UsageLimits,
    used: UsedAmounts,
}

/// How much the caller may use. `null` is not limited.
#[derive(Debug, JsonSchema, Serialize)]
struct UsageLimits {
    /// Calls of models a minute.
    calls_per_minute: Option<u32>,
    /// Tokens a day (UTC), of prompts and replies together.
    tokens_per_day: Option<u64>,
    /// Requests that are answered at once.
    running: usize,
    /// Further requests that wait for one of these places.
    waiting: usize,
}

/// What is used by all keys of the owner.
#[derive(Debug, JsonSchema, Serialize)]
struct UsedAmounts {
    /// Tokens of this day that were used or are reserved by running calls; `null` where they are not limited, and so not counted.
    tokens: Option<u64>,
    /// The seconds until they begin at 0.
    tokens_reset: Option<u64>,
    /// The seconds until the next call is possible: 0 where it is now, `null` where calls are not limited.
    next_call: Option<f64>,
    /// Requests that are answered.
    running: usize,
    /// Requests that wait.
    waiting: usize,
}

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/v1/alloquy/usage", get(usage))
}

pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/v1/alloquy/usage", "Returns the limits of the caller's key, and what is used.")
            .answer::<UsageObject>(),
    ]
}

async fn usage(State(app): State<App>, caller: Caller) -> ApiResult<Json<UsageObject>> {
    let limits = app.limits();
    let running = caller.limits.running.unwrap_or(limits.running);
    let places = app.places_of(&caller, running);
    let spent = app.spent_tokens(&caller).await?;
    let wait = app.wait_for_call(&caller).await?;
    Ok(Json(UsageObject {
        object: "usage",
        owner: caller.owner.to_string(),
        limits: UsageLimits {
            calls_per_minute: caller.limits.calls_per_minute,
            tokens_per_day: caller.limits.tokens_per_day,
            running,
            waiting: limits.waiting,
        },
        used: UsedAmounts {
            tokens: spent.map(|spent| spent.before),
            tokens_reset: spent.and_then(|spent| spent.resets).map(|time| time.as_secs()),
            next_call: wait.map(|wait| wait.as_secs_f64()),
            running: places.0,
            waiting: places.1,
        },
    }))
}
