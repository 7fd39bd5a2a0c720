//! The tokens of a conversation's replies, and their cost.

use alloquy_cost::Cost;
use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::identity::{opened, place, shown};
use crate::app::App;
use crate::body::{PathOf, QueryOf};
use crate::caller::Caller;
use crate::error::ApiResult;

/// Which replies are counted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CostParameters {
    /// Only those on the path to this node; all of the tree unless it is given.
    #[serde(default)]
    node: Option<String>,
}

/// What replies cost. Sums are decimal numbers as texts.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct CostObject {
    object: &'static str,
    /// The conversation.
    id: String,
    currency: String,
    /// The sum; `null` where a price or a count is unknown.
    total: Option<String>,
    /// The sum of the replies whose cost is known.
    known: String,
    /// How many replies there are.
    replies: usize,
    /// How many of them have no count of tokens.
    uncounted: usize,
    /// Models without a price.
    unpriced: Vec<String>,
    tokens: TokenSums,
}

/// The tokens of all counted replies, each token once.
#[derive(Debug, JsonSchema, Serialize)]
struct TokenSums {
    /// Of prompts, as far as they were computed.
    input: usize,
    /// Of prompts, as far as they were cached.
    cached: usize,
    /// Of replies.
    output: usize,
    /// Of thinking.
    reasoning: usize,
}

pub(super) async fn cost(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
    QueryOf(parameters): QueryOf<CostParameters>,
) -> ApiResult<Json<CostObject>> {
    let conversation = opened(&app, &caller, &id).await?;
    let prices = app.prices();
    let spent = match &parameters.node {
        Some(name) => {
            let node = place(&conversation, name, "node").await?;
            Cost::of(&conversation.path(node).await?, prices)
        }
        None => Cost::of(conversation.tree().await?.nodes(), prices),
    };
    Ok(Json(CostObject {
        object: "cost",
        id: shown(conversation.id()),
        total: spent.total().map(|total| total.to_string()),
        known: spent.known.to_string(),
        currency: spent.currency,
        replies: spent.replies,
        uncounted: spent.uncounted,
        unpriced: spent.unpriced.into_iter().collect(),
        tokens: TokenSums {
            input: spent.tokens.input,
            cached: spent.tokens.cached,
            output: spent.tokens.output,
            reasoning: spent.tokens.reasoning,
        },
    }))
}
