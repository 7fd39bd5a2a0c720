//! `/v1/embeddings`: the vectors of texts, as OpenAI's API has them.

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::body::JsonBody;
use crate::caller::Caller;
use crate::embedders::{TextUse, must_have};
use crate::error::{ApiError, ApiResult};
use crate::operation::Operation;
use crate::text_or::TextOr;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/v1/embeddings", post(create))
}

pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/v1/embeddings", "Computes vectors of texts.")
            .body::<EmbeddingRequest>()
            .answer::<EmbeddingList>(),
    ]
}

/// The fields of a request.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EmbeddingRequest {
    input: TextOr<InputItem>,
    model: String,
    #[serde(default)]
    dimensions: Option<usize>,
    #[serde(default)]
    encoding_format: Option<Encoding>,
    /// What the texts are for, as servers of open models have it: some models read questions and passages in two ways.
    #[serde(default)]
    input_type: Option<TextUse>,
    /// Names the end user, for the provider's own checks, which this server has none of.
    #[serde(default, rename = "user")]
    _user: Option<String>,
}

/// A text, or tokens, which are refused: they are those of one of OpenAI's models.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text")]
enum InputItem {
    Text(String),
    Token(#[allow(dead_code, reason = "it is refused")] u32),
    Tokens(#[allow(dead_code, reason = "they are refused")] Vec<u32>),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Encoding {
    #[default]
    Float,
    /// The numbers as 32 bits each, the low byte first, in base64.
    Base64,
}

/// The vectors.
#[derive(Debug, Serialize, JsonSchema)]
struct EmbeddingList {
    object: &'static str,
    data: Vec<EmbeddingObject>,
    model: String,
    usage: EmbeddingUsage,
    alloquy: EmbeddingReport,
}

/// The vector of a text.
#[derive(Debug, Serialize, JsonSchema)]
struct EmbeddingObject {
    object: &'static str,
    index: usize,
    embedding: Encoded,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum Encoded {
    Float(Vec<f32>),
    Base64(String),
}

#[derive(Debug, Serialize, JsonSchema)]
struct EmbeddingUsage {
    prompt_tokens: usize,
    total_tokens: usize,
}

/// What Alloquy reports of vectors.
#[derive(Debug, Serialize, JsonSchema)]
struct EmbeddingReport {
    /// The indices of texts that are longer than the model reads: their ends have no effect.
    cut: Vec<usize>,
}

impl EmbeddingRequest {
    fn texts(input: TextOr<InputItem>) -> ApiResult<Vec<String>> {
        let items = match input {
            TextOr::Text(text) => return Ok(vec![text]),
            TextOr::List(items) => items,
        };
        let mut texts = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            match item {
                InputItem::Text(text) => texts.push(text),
                InputItem::Token(_) | InputItem::Tokens(_) => {
                    let place = format!("input[{index}]");
                    let message =
                        format!("{place} is not a text: tokens are those of one model, so send the text");
                    return Err(ApiError::unsupported(place, message));
                }
            }
        }
        Ok(texts)
    }
}

impl Encoding {
    fn encode(self, vector: Vec<f32>) -> Encoded {
        match self {
            Self::Float => Encoded::Float(vector),
            Self::Base64 => {
                let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
                Encoded::Base64(STANDARD.encode(bytes))
            }
        }
    }
}

async fn create(
    State(app): State<App>,
    caller: Caller,
    JsonBody(request): JsonBody<EmbeddingRequest>,
) -> ApiResult<Json<EmbeddingList>> {
    let texts = EmbeddingRequest::texts(request.input)?;
    let _place = app.admit(&caller).await?;
    let embedder = app.embedders().get(&request.model)?;
    must_have(embedder.dimensions(), request.dimensions)?;
    let vectors = app.vectors(embedder, &texts, request.input_type.unwrap_or_default(), &caller).await?;
    let encoding = request.encoding_format.unwrap_or_default();
    let mut data = Vec::with_capacity(vectors.vectors.len());
    for (index, vector) in vectors.vectors.into_iter().enumerate() {
        data.push(EmbeddingObject { object: "embedding", index, embedding: encoding.encode(vector) });
    }
    Ok(Json(EmbeddingList {
        object: "list",
        data,
        model: embedder.name().to_owned(),
        usage: EmbeddingUsage { prompt_tokens: vectors.tokens, total_tokens: vectors.tokens },
        alloquy: EmbeddingReport { cut: vectors.cut },
    }))
}
