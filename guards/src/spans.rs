//! Spans: one `tracing` span for each call of a model, with the names of OpenTelemetry.
//!
//! [`Spans`] is the middleware. The names are those of OpenTelemetry's semantic conventions for generative AI as of [`CONVENTION`],
//! when none of them was stable. They occur in this file alone. A layer such as `tracing-opentelemetry` exports the spans.
//!
//! | field | what |
//! |---|---|
//! | `otel.name`, `otel.kind` | `chat` and the model; `client` |
//! | `gen_ai.operation.name` | `chat` |
//! | `gen_ai.provider.name` | [`Spans::provider`] |
//! | `gen_ai.request.model` | the model of the request, or [`Spans::new`] |
//! | `gen_ai.conversation.id` | the conversation |
//! | `gen_ai.request.temperature`, `.top_p`, `.top_k`, `.max_tokens`, `.seed`, `.frequency_penalty`, `.presence_penalty` | the sampling |
//! | `gen_ai.response.finish_reasons` | why the reply ended, as a JSON list |
//! | `gen_ai.usage.input_tokens`, `.output_tokens`, `.cache_read.input_tokens` | its tokens, with those that were cached |
//! | `gen_ai.input.messages`, `gen_ai.output.messages` | the messages as JSON, only with [`Spans::with_content`] |
//! | `error.type`, `otel.status_code` | the kind of the error; `ERROR` |
//! | `alloquy.warnings`, `alloquy.tool_calls` | how many warnings and tool calls the reply has |

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::report::{FinishReason, Usage};
use alloquy_core::stream::{Emitter, EventStream};
use alloquy_core::{Delta, Error, Message, Reply, ReplyStream, Request, Result, SamplingOptions};
use async_trait::async_trait;
use futures::StreamExt;
use serde_json::{Value, json};
use tracing::field::Empty;
use tracing::{Instrument, Span};

/// The date of the conventions whose names are used.
///
/// ```
/// assert!(alloquy_guards::spans::CONVENTION.starts_with("2026"));
/// ```
pub const CONVENTION: &str = "2026-11-22";

/// Wraps each call of a model in a span, from the request to the end of its stream.
///
/// No text of a conversation is in a span, unless [`Spans::with_content`] adds it. An error adds its kind, and not its sentence, which
/// may quote a text. A stream that is dropped ends its span without a finish reason.
///
/// ```
/// use alloquy_core::{Manager, Preface};
/// use alloquy_guards::spans::Spans;
/// use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let manager = Manager::builder(EchoModel).middleware(Spans::new("echo").provider("local")).build()?;
/// let conversation = manager.create(Preface::default()).await?;
/// assert_eq!(conversation.send("Hello").await?.text(), "Hello");
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Spans {
    model: String,
    provider: String,
    has_content: bool,
}

impl Spans {
    /// Creates the middleware; `model` is the name for requests that name no model.
    pub fn new(model: impl Into<String>) -> Self {
        Self { model: model.into(), provider: "alloquy".to_owned(), has_content: false }
    }

    /// Sets the name of the provider. The default is `alloquy`.
    #[must_use]
    pub fn provider(mut self, name: impl Into<String>) -> Self {
        self.provider = name.into();
        self
    }

    /// Adds the messages of requests and replies to the spans: a reader of the spans reads the conversations.
    #[must_use]
    pub fn with_content(mut self) -> Self {
        self.has_content = true;
        self
    }

    fn span(&self, request: &Request) -> Span {
        let model = request.model.as_deref().unwrap_or(&self.model);
        let span = tracing::info_span!(
            "chat",
            "otel.name" = format!("chat {model}"),
            "otel.kind" = "client",
            "gen_ai.operation.name" = "chat",
            "gen_ai.provider.name" = self.provider.as_str(),
            "gen_ai.request.model" = model,
            "gen_ai.conversation.id" = Empty,
            "gen_ai.request.temperature" = Empty,
            "gen_ai.request.top_p" = Empty,
            "gen_ai.request.top_k" = Empty,
            "gen_ai.request.max_tokens" = Empty,
            "gen_ai.request.seed" = Empty,
            "gen_ai.request.frequency_penalty" = Empty,
            "gen_ai.request.presence_penalty" = Empty,
            "gen_ai.response.finish_reasons" = Empty,
            "gen_ai.usage.input_tokens" = Empty,
            "gen_ai.usage.output_tokens" = Empty,
            "gen_ai.usage.cache_read.input_tokens" = Empty,
            "gen_ai.input.messages" = Empty,
            "gen_ai.output.messages" = Empty,
            "error.type" = Empty,
            "otel.status_code" = Empty,
            "alloquy.warnings" = Empty,
            "alloquy.tool_calls" = Empty,
        );
        if let Some(origin) = &request.origin {
            span.record("gen_ai.conversation.id", origin.conversation.as_str());
        }
        record_sampling(&span, &request.sampling);
        if self.has_content {
            let messages: Vec<&Message> = request.preface.messages.iter().chain(&request.path).collect();
            span.record("gen_ai.input.messages", json!(messages).to_string());
        }
        span
    }

    fn record_reply(&self, span: &Span, reply: &Reply) {
        let reasons = json!([finish_reason(reply.finish)]).to_string();
        span.record("gen_ai.response.finish_reasons", reasons);
        // A usage of zeros is unknown.
        if reply.usage != Usage::default() {
            span.record("gen_ai.usage.input_tokens", count(reply.usage.prompt));
            span.record("gen_ai.usage.output_tokens", count(reply.usage.generated));
            span.record("gen_ai.usage.cache_read.input_tokens", count(reply.usage.cached));
        }
        span.record("alloquy.warnings", count(reply.warnings.len()));
        span.record("alloquy.tool_calls", count(reply.message.tool_calls().count()));
        if reply.error.is_some() {
            span.record("error.type", "model");
            span.record("otel.status_code", "ERROR");
        }
        if self.has_content {
            span.record("gen_ai.output.messages", json!([reply.message]).to_string());
        }
    }

    async fn run(self, span: Span, mut stream: ReplyStream, mut emit: Emitter<Delta>) -> Result<Reply> {
        while let Some(delta) = stream.next().await {
            emit.send(delta).await;
        }
        let outcome = stream.finish().await;
        match &outcome {
            Ok(reply) => self.record_reply(&span, reply),
            Err(error) => record_error(&span, error),
        }
        outcome
    }
}

fn record_sampling(span: &Span, sampling: &SamplingOptions) {
    let numbers = [
        ("gen_ai.request.temperature", sampling.temperature),
        ("gen_ai.request.top_p", sampling.top_p),
        ("gen_ai.request.frequency_penalty", sampling.frequency_penalty),
        ("gen_ai.request.presence_penalty", sampling.presence_penalty),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            span.record(name, f64::from(number));
        }
    }
    let counts =
        [("gen_ai.request.top_k", sampling.top_k), ("gen_ai.request.max_tokens", sampling.max_tokens)];
    for (name, number) in counts {
        if let Some(number) = number {
            span.record(name, count(number));
        }
    }
    if let Some(seed) = sampling.seed {
        span.record("gen_ai.request.seed", seed);
    }
}

fn record_error(span: &Span, error: &Error) {
    span.record("error.type", error.kind().as_str());
    span.record("otel.status_code", "ERROR");
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Returns the name in JSON, such as `stop`.
fn finish_reason(finish: FinishReason) -> Value {
    serde_json::to_value(finish).unwrap_or_default()
}

#[async_trait]
impl Middleware for Spans {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let span = self.span(&request);
        let stream = match next.call(request).instrument(span.clone()).await {
            Ok(stream) => stream,
            Err(error) => {
                record_error(&span, &error);
                return Err(error);
            }
        };
        let guard = self.clone();
        Ok(EventStream::new(move |emit| guard.run(span.clone(), stream, emit).instrument(span)))
    }
}
