//! How likely texts are as replies at a node.

use alloquy_core::report::TextScore;
use alloquy_core::{Conversation, Result, TurnRequest};
use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::identity::{HEAD, opened, opened_in, place, shown};
use crate::app::App;
use crate::body::{JsonBody, PathOf};
use crate::caller::Caller;
use crate::error::{ApiError, ApiResult};
use crate::logprobs::ScoredToken;
use crate::models::OpenedModel;

/// How many texts are scored at once.
const TEXTS: usize = 64;

/// Texts that are scored.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewScores {
    /// The model; the first one unless it is given.
    #[serde(default)]
    model: Option<String>,
    /// The node that the texts would answer: its id or a part of it, its position, a bookmark, or `head`, which it is unless it is given.
    #[serde(default)]
    node: Option<String>,
    /// The texts: 1 to 64, none of them empty.
    texts: Vec<String>,
    /// A system prompt for this question alone.
    #[serde(default)]
    system_prompt: Option<String>,
}

/// How likely texts are as replies.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct ScoresObject {
    object: &'static str,
    /// The conversation.
    conversation: String,
    /// The node that they would answer; `null` is before the first message.
    node: Option<String>,
    model: String,
    /// In the order of the texts.
    scores: Vec<ScoreObject>,
}

/// How likely a text is.
#[derive(Debug, JsonSchema, Serialize)]
struct ScoreObject {
    text: String,
    /// The natural logarithm of its probability.
    total: f64,
    /// The mean over its tokens, which does not favour short texts; `null` for a text without tokens.
    mean: Option<f64>,
    tokens: Vec<ScoredToken>,
}

impl NewScores {
    fn check(&self) -> ApiResult<()> {
        if self.texts.is_empty() || self.texts.len() > TEXTS {
            let message = format!("texts has {} texts, expected 1 to {TEXTS}", self.texts.len());
            return Err(ApiError::invalid("texts", message));
        }
        if self.texts.iter().any(String::is_empty) {
            return Err(ApiError::invalid("texts", "texts has an empty text, which has no tokens to score"));
        }
        Ok(())
    }
}

impl ScoreObject {
    fn of(score: &TextScore, model: &OpenedModel) -> Self {
        let mut tokens = Vec::with_capacity(score.tokens.len());
        for token in &score.tokens {
            tokens.push(ScoredToken::of(token, model));
        }
        Self { text: score.text.clone(), total: score.total(), mean: score.mean(), tokens }
    }
}

/// Scores texts, and returns how many tokens were read: those of the prompt once, and those of each text.
async fn counted(
    conversation: &Conversation,
    draft: TurnRequest,
    texts: &[String],
    prompt: usize,
) -> Result<(Vec<TextScore>, usize)> {
    let scores = conversation.score(draft, texts).await?;
    let mut tokens = prompt;
    for score in &scores {
        tokens += score.tokens.len();
    }
    Ok((scores, tokens))
}

/// Returns the most tokens that texts have: each token has a byte at least, and a tokenizer may put one before a text.
fn most_tokens(texts: &[String]) -> usize {
    let mut most = 0;
    for text in texts {
        most += text.len() + 1;
    }
    most
}

/// `POST /v1/alloquy/conversations/{id}/score`
pub(super) async fn score(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
    JsonBody(new): JsonBody<NewScores>,
) -> ApiResult<Json<ScoresObject>> {
    new.check()?;
    // An unknown conversation loads no model.
    let conversation = opened(&app, &caller, &id).await?;
    let node = place(&conversation, new.node.as_deref().unwrap_or(HEAD), "node").await?;
    let admitted = app.admit(&caller).await?;
    let model = app.model(new.model.as_deref()).await?;
    let conversation = opened_in(&app.manager(&model, &caller), &id).await?;
    let mut draft = TurnRequest::default().at(node);
    if let Some(text) = new.system_prompt {
        draft = draft.system_prompt(text);
    }
    // Models that report no prompt are not counted before, which limits of tokens refuse.
    let prompt = conversation.prompt(draft.clone()).await?.map(|prompt| prompt.positions());
    let most = prompt.map(|prompt| prompt + most_tokens(&new.texts));
    let work = counted(&conversation, draft, &new.texts, prompt.unwrap_or_default());
    let scores = app.charge_for(most, &caller, work).await?;
    drop(admitted);
    Ok(Json(ScoresObject {
        object: "scores",
        conversation: shown(conversation.id()),
        node: node.map(|node| node.to_string()),
        model: model.name().to_owned(),
        scores: scores.iter().map(|score| ScoreObject::of(score, model.opened())).collect(),
    }))
}
