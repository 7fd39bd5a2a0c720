//! `/v1/rerank`: the order of texts by how well they answer a question, as servers of rerankers have it.

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::body::JsonBody;
use crate::caller::Caller;
use crate::charged::ChargedCall;
use crate::error::{ApiError, ApiResult};
use crate::operation::Operation;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/v1/rerank", post(create))
}

pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/v1/rerank", "Sorts documents by how well they fit a query.")
            .body::<RerankRequest>()
            .answer::<RerankReply>(),
    ]
}

/// The fields of a request.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RerankRequest {
    model: String,
    query: String,
    documents: Vec<Document>,
    /// How many results there are at most; all unless set.
    #[serde(default)]
    top_n: Option<usize>,
    /// Whether results contain their texts.
    #[serde(default)]
    return_documents: Option<bool>,
}

/// A text, or an object with one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text, or an object with the field text")]
enum Document {
    Text(String),
    Object(DocumentObject),
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DocumentObject {
    text: String,
}

/// The texts in their new order.
#[derive(Debug, Serialize, JsonSchema)]
struct RerankReply {
    model: String,
    results: Vec<RerankResult>,
}

/// A text.
#[derive(Debug, Serialize, JsonSchema)]
struct RerankResult {
    /// Its place in the request.
    index: usize,
    /// The higher, the better it answers. The range is that of the model.
    relevance_score: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<DocumentObject>,
}

impl Document {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Object(object) => object.text,
        }
    }
}

async fn create(
    State(app): State<App>,
    caller: Caller,
    JsonBody(request): JsonBody<RerankRequest>,
) -> ApiResult<Json<RerankReply>> {
    if request.documents.is_empty() {
        return Err(ApiError::invalid("documents", "documents has no text, expected at least 1"));
    }
    if request.top_n == Some(0) {
        return Err(ApiError::invalid("top_n", "top_n is 0, expected at least 1"));
    }
    let _place = app.admit(&caller).await?;
    let reranker = app.rerankers().get(&request.model)?;
    let texts: Vec<String> = request.documents.into_iter().map(Document::into_text).collect();
    let call = ChargedCall(reranker.token_count(&request.query, &texts));
    app.charge(call, &caller).await?;
    let ranked = reranker.ranked(&request.query, &texts).await?;
    let most = request.top_n.unwrap_or(ranked.len());
    let with_texts = request.return_documents.unwrap_or_default();
    let mut results = Vec::with_capacity(most.min(ranked.len()));
    for (index, relevance_score) in ranked.into_iter().take(most) {
        let text = texts.get(index).filter(|_| with_texts);
        let document = text.map(|text| DocumentObject { text: text.clone() });
        results.push(RerankResult { index, relevance_score, document });
    }
    Ok(Json(RerankReply { model: reranker.name().to_owned(), results }))
}
