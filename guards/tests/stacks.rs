//! Random stacks of guards: each keeps the laws, and what is redacted is visible nowhere outside of the redaction.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::chat_model::Origin;
use alloquy_core::message::ToolCall;
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::report::CacheReport;
use alloquy_core::{
    ChatModel, Content, Message, Owner, Preface, Reply, ReplyStream, Request, Result, Role, SamplingOptions,
};
use alloquy_guards::facts::{AddFacts, KeepFacts};
use alloquy_guards::limits::{Budget, BudgetLimit, MemoryLimits, Period, Rate, RateLimit, Scope};
use alloquy_guards::redact::{RedactHistory, RedactReplies, Redactor, ScanFinding, ScanReplies, Scanner};
use alloquy_guards::reply_cache::{CacheReplies, MemoryReplies};
use alloquy_guards::spans::Spans;
use alloquy_guards::validate::{ValidateReplies, Verdict};
use alloquy_testing::laws;
use pollster::block_on;
use proptest::prelude::*;
use serde_json::json;

const SECRET: &str = "sk-aB3dE6gH9aB3dE6gH9aB";

/// A stack of middleware as one middleware.
#[derive(Debug)]
struct Stack(Vec<Arc<dyn Middleware>>);

/// The rest of the outer stack as a model, without which a stack within a stack cannot be called.
#[derive(Debug)]
struct Rest<'a>(Next<'a>);

#[async_trait::async_trait]
impl ChatModel for Rest<'_> {
    fn name(&self) -> &str {
        "rest"
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        self.0.call(request).await
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

#[async_trait::async_trait]
impl Middleware for Stack {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        Next::new(&self.0, &Rest(next)).call(request).await
    }

    async fn prepare(&self, mut request: Request) -> Result<Request> {
        for middleware in &self.0 {
            request = middleware.prepare(request).await?;
        }
        Ok(request)
    }
}

#[derive(Debug)]
struct Names;

#[async_trait::async_trait]
impl Scanner for Names {
    async fn scan(&self, text: &str) -> Result<Vec<ScanFinding>> {
        Ok(text.match_indices("Ann").map(|(start, _)| ScanFinding::new("person", start..start + 3)).collect())
    }
}

fn accept(_: &Request, _: &Reply) -> Result<Verdict> {
    Ok(Verdict::Valid)
}

fn counted(request: &Request) -> Result<usize> {
    Ok(10 * request.path.len())
}

fn redactor() -> Redactor {
    Redactor::named(["email", "card", "key"]).unwrap()
}

fn guard(kind: usize) -> Arc<dyn Middleware> {
    let store = Arc::new(MemoryLimits::default());
    let rate = Rate::new(1_000_000, Duration::from_secs(1)).unwrap();
    match kind {
        0 => Arc::new(RedactReplies::new(redactor())),
        1 => Arc::new(RedactHistory::new(redactor())),
        2 => Arc::new(ScanReplies::new(Names)),
        3 => Arc::new(ValidateReplies::new(accept)),
        4 => Arc::new(RateLimit::new(rate, Scope::Owner, store)),
        5 => Arc::new(BudgetLimit::new(
            Budget::tokens(1 << 60),
            Period::Day,
            Scope::Conversation,
            store,
            counted,
        )),
        6 => Arc::new(CacheReplies::new("played", MemoryReplies::new(1 << 20))),
        7 => Arc::new(AddFacts::new().fixed("app", "tea")),
        8 => Arc::new(KeepFacts::of(["app", "alloquy.redaction"])),
        _ => Arc::new(Spans::new("played")),
    }
}

fn request() -> Request {
    let origin = Origin::new(Owner::local(), "tea".parse().unwrap());
    let sampling = SamplingOptions { temperature: Some(0.0), ..SamplingOptions::default() };
    let path = vec![
        Message::user(format!("Write ann@example.org with {SECRET}.")),
        Message::assistant("Which?"),
        Message::user("Ann"),
    ];
    Request::new(Preface::default(), path).origin(origin).sampling(sampling)
}

fn reply() -> Reply {
    let call = ToolCall::new("call_1", "note", json!({"text": SECRET}));
    let parts = vec![
        Content::Thinking("It is ann@example.org".into()),
        Content::Text(format!("Hello Ann, take {SECRET} or 4111 1111 1111 1111.")),
        Content::ToolCall(call),
    ];
    Reply::new(Message::new(Role::Assistant, parts))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 60 } else { 500 }))]

    #[test]
    fn each_stack_keeps_the_laws(kinds in proptest::collection::vec(0_usize..10, 1..6)) {
        let guards = kinds.iter().map(|kind| guard(*kind)).collect();
        let stack: Arc<dyn Middleware> = Arc::new(Stack(guards));
        block_on(laws::middleware::all(&stack, &request(), &reply()));
        if kinds.contains(&0) {
            let secrets = ["aB3dE6gH9", "4111 1111", "ann@example"];
            block_on(laws::middleware::nothing_removed_is_visible(&stack, &reply(), &secrets));
        }
    }
}
