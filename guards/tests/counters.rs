//! Counters: each call counts once, however it ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use alloquy_core::message::ToolCall;
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::report::{CacheReport, Usage, Warning};
use alloquy_core::{
    ChatModel, Content, Error, ErrorKind, Message, Preface, Reply, ReplyStream, Request, Result, Role,
};
use alloquy_guards::clock::Clock;
use alloquy_guards::counters::Counters;
use alloquy_testing::{ScriptedModel, laws};
use async_trait::async_trait;
use futures::StreamExt;
use pollster::block_on;
use serde_json::json;

/// A clock that advances by a second each time it is read.
#[derive(Debug, Default)]
struct Ticking(AtomicU64);

impl Clock for Ticking {
    fn date(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs(self.0.fetch_add(1, Ordering::SeqCst))
    }
}

/// Refuses each call.
#[derive(Debug)]
struct Refusing;

#[async_trait]
impl ChatModel for Refusing {
    fn name(&self) -> &str {
        "refusing"
    }

    async fn reply(&self, _: Request) -> Result<ReplyStream> {
        Err(Error::new(ErrorKind::ContextOverflow, "too long"))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

fn request() -> Request {
    Request::new(Preface::default(), vec![Message::user("Hi")])
}

fn reply() -> Reply {
    let call = ToolCall::new("call_1", "clock", json!({}));
    let parts = vec![Content::Text("It is late.".into()), Content::ToolCall(call)];
    let mut reply = Reply::new(Message::new(Role::Assistant, parts));
    reply.usage = Usage::new(10, 3);
    reply.usage.cached = 7;
    reply.warnings = vec![Warning::OptionIgnored { name: "top_k".into() }, Warning::BrokenText];
    reply
}

/// A model that gives one reply.
#[derive(Debug)]
struct Giving(Reply);

#[async_trait]
impl ChatModel for Giving {
    fn name(&self) -> &str {
        "giving"
    }

    async fn reply(&self, _: Request) -> Result<ReplyStream> {
        let reply = self.0.clone();
        Ok(ReplyStream::new(move |mut emit| async move {
            emit.send(alloquy_core::Delta::Text(reply.text())).await;
            Ok(reply)
        }))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

fn called(counters: &Counters, model: &dyn ChatModel) -> Result<ReplyStream> {
    let stack: [Arc<dyn Middleware>; 1] = [Arc::new(counters.clone())];
    block_on(Next::new(&stack, model).call(request()))
}

#[test]
fn each_call_counts_once_however_it_ends() {
    let counters = Counters::new("m").clock(Arc::new(Ticking::default()));
    let model = Giving(reply());
    block_on(called(&counters, &model).unwrap().finish()).unwrap();
    let counts = counters.read()["m"].clone();
    assert_eq!((counts.calls, counts.replies, counts.dropped), (1, 1, 0));
    assert_eq!((counts.prompt_tokens, counts.cached_tokens, counts.generated_tokens), (10, 7, 3));
    assert_eq!((counts.tool_calls, counts.finish_reasons["stop"]), (1, 1));
    assert_eq!(counts.warnings, [("broken_text".to_owned(), 1), ("option_ignored".to_owned(), 1)].into());
    // Read at the start, at the first delta and at the end.
    assert_eq!((counts.seconds, counts.first_delta_seconds, counts.first_deltas), (2.0, 1.0, 1));

    called(&counters, &Refusing).unwrap_err();
    let mut stream = called(&counters, &model).unwrap();
    block_on(stream.next()).unwrap();
    drop(stream);
    let counts = counters.read()["m"].clone();
    assert_eq!((counts.calls, counts.replies, counts.dropped), (3, 1, 1));
    assert_eq!(counts.errors, [("context_overflow".to_owned(), 1)].into());
}

#[test]
fn a_request_cannot_name_a_counter() {
    let counters = Counters::new("m");
    let stack: [Arc<dyn Middleware>; 1] = [Arc::new(counters.clone())];
    let model = ScriptedModel::new([("<assistant>", "Hi")]);
    for name in ["a", "b"] {
        block_on(Next::new(&stack, &model).call(request().model(name))).unwrap_err();
    }
    let counts = counters.read();
    assert_eq!((counts.len(), counts["m"].errors["not_found"]), (1, 2));
}

#[test]
fn counters_keep_the_laws() {
    let counters: Arc<dyn Middleware> = Arc::new(Counters::new("m"));
    block_on(laws::middleware::all(&counters, &request(), &reply()));
}
