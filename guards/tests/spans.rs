//! Spans: their names, when they end, and that they contain no text of a conversation.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use alloquy_core::chat_model::Origin;
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::report::Usage;
use alloquy_core::{ChatModel, Message, Owner, Preface, Reply, Request, SamplingOptions};
use alloquy_guards::facts::{AddFacts, KeepFacts};
use alloquy_guards::spans::Spans;
use alloquy_testing::{ScriptedModel, ScriptedReply, laws};
use futures::StreamExt;
use pollster::block_on;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Keeps the fields of spans, and which spans have ended.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<Vec<One>>>);

#[derive(Clone, Debug, Default)]
struct One {
    fields: BTreeMap<String, String>,
    copies: usize,
}

impl Visit for One {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.fields.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name().to_owned(), value.to_owned());
    }
}

fn index(id: &Id) -> usize {
    usize::try_from(id.into_u64()).unwrap() - 1
}

impl Subscriber for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("alloquy_guards")
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut spans = self.0.lock().unwrap();
        let mut one = One { copies: 1, ..One::default() };
        attributes.record(&mut one);
        spans.push(one);
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        values.record(&mut self.0.lock().unwrap()[index(id)]);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}

    fn clone_span(&self, id: &Id) -> Id {
        self.0.lock().unwrap()[index(id)].copies += 1;
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let mut spans = self.0.lock().unwrap();
        spans[index(&id)].copies -= 1;
        spans[index(&id)].copies == 0
    }
}

fn request() -> Request {
    let sampling =
        SamplingOptions { temperature: Some(0.5), max_tokens: Some(9), ..SamplingOptions::default() };
    let origin = Origin::new(Owner::local(), "tea".parse().unwrap());
    Request::new(Preface::default(), vec![Message::user("the question")]).sampling(sampling).origin(origin)
}

/// Answers a request, dropped after `kept` deltas, and returns the only span.
fn span(guard: Spans, model: &dyn ChatModel, kept: Option<usize>) -> One {
    let spans = Kept::default();
    let stack: [Arc<dyn Middleware>; 1] = [Arc::new(guard)];
    tracing::subscriber::with_default(spans.clone(), || {
        block_on(async {
            let Ok(mut stream) = Next::new(&stack, model).call(request()).await else { return };
            match kept {
                None => drop(stream.finish().await),
                Some(kept) => {
                    for _ in 0..kept {
                        stream.next().await;
                    }
                }
            }
        });
    });
    let spans = spans.0.lock().unwrap();
    assert_eq!(spans.len(), 1);
    assert_eq!(spans[0].copies, 0, "the span has ended");
    spans[0].clone()
}

fn model() -> ScriptedModel {
    let mut reply = Reply::new(Message::assistant("the answer"));
    reply.usage = Usage::new(12, 5);
    reply.usage.cached = 4;
    ScriptedModel::replying([ScriptedReply::from(reply)])
}

#[test]
fn a_span_has_the_names_of_the_convention_and_no_content() {
    let one = span(Spans::new("tiny").provider("local"), &model(), None);
    let expected = [
        ("alloquy.tool_calls", "0"),
        ("alloquy.warnings", "0"),
        ("gen_ai.conversation.id", "tea"),
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "local"),
        ("gen_ai.request.max_tokens", "9"),
        ("gen_ai.request.model", "tiny"),
        ("gen_ai.request.temperature", "0.5"),
        ("gen_ai.response.finish_reasons", "[\"stop\"]"),
        ("gen_ai.usage.cache_read.input_tokens", "4"),
        ("gen_ai.usage.input_tokens", "12"),
        ("gen_ai.usage.output_tokens", "5"),
        ("otel.kind", "client"),
        ("otel.name", "chat tiny"),
    ];
    let fields: Vec<_> = one.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(fields, expected);
}

#[test]
fn content_is_added_where_the_host_wants_it() {
    let one = span(Spans::new("tiny").with_content(), &model(), None);
    assert!(one.fields["gen_ai.input.messages"].contains("the question"));
    assert!(one.fields["gen_ai.output.messages"].contains("the answer"));
}

#[test]
fn failures_and_drops_end_the_span() {
    let failing = ScriptedModel::replying([ScriptedReply::Fails("the answer".to_owned())]);
    let one = span(Spans::new("tiny"), &failing, None);
    assert_eq!(
        (one.fields["error.type"].as_str(), one.fields["otel.status_code"].as_str()),
        ("backend", "ERROR")
    );
    assert!(!format!("{one:?}").contains("the answer"));
    let one = span(Spans::new("tiny"), &failing, None);
    assert_eq!(one.fields["error.type"], "invalid", "no replies are left");
    for kept in 0..2 {
        let one = span(Spans::new("tiny"), &model(), Some(kept));
        assert!(!one.fields.contains_key("gen_ai.response.finish_reasons"));
    }
}

#[test]
fn the_laws_of_middleware() {
    let reply = Reply::new(Message::assistant("Yes, of course."));
    let guards: [Arc<dyn Middleware>; 3] = [
        Arc::new(Spans::new("tiny")),
        Arc::new(AddFacts::new().fixed("app", "tea")),
        Arc::new(KeepFacts::of(["app"])),
    ];
    for guard in &guards {
        block_on(laws::middleware::all(guard, &request(), &reply));
    }
}
