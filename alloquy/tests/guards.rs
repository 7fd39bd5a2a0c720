//! Random stacks of guards over the built-in model: streamed and whole they give the same reply, and nothing that is removed is stored.
#![cfg(all(feature = "guards", feature = "pocket", feature = "constraints"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use alloquy::core::middleware::Middleware;
use alloquy::core::store::MemoryStore;
use alloquy::core::turn::TurnEvent;
use alloquy::core::{Delta, Reply, Request};
use alloquy::guards::counters::Counters;
use alloquy::guards::facts::{AddFacts, KeepFacts};
use alloquy::guards::limits::{Budget, BudgetLimit, MemoryLimits, Period, Rate, RateLimit, Scope};
use alloquy::guards::redact::{RedactHistory, RedactReplies, Redactor};
use alloquy::guards::reply_cache::{CacheReplies, MemoryReplies};
use alloquy::guards::spans::Spans;
use alloquy::guards::validate::{ValidateReplies, Verdict};
use alloquy::prelude::*;
use proptest::prelude::*;

/// What the model says, whatever it is asked.
const ANSWER: &str = "Write to ann@example.org today.";

const REDACTED: &str = "Write to [email] today.";

/// How many stacks are tried: the model takes a tenth of a second for each where it is not optimized.
const STACKS: u32 = if cfg!(debug_assertions) { 40 } else { 500 };

fn accept(_: &Request, _: &Reply) -> Result<Verdict> {
    Ok(Verdict::Valid)
}

fn counted(request: &Request) -> Result<usize> {
    Ok(100 * request.path.len())
}

fn redactor() -> Redactor {
    Redactor::named(["email", "card"]).unwrap()
}

/// How many kinds of guards there are.
const KINDS: usize = 10;

fn guard(kind: usize) -> Arc<dyn Middleware> {
    let store = Arc::new(MemoryLimits::default());
    let rate = Rate::new(1_000_000, Duration::from_secs(1)).unwrap();
    match kind {
        0 => Arc::new(RedactReplies::new(redactor())),
        1 => Arc::new(RedactHistory::new(redactor())),
        2 => Arc::new(ValidateReplies::new(accept)),
        3 => Arc::new(RateLimit::new(rate, Scope::Owner, store)),
        4 => {
            let budget = Budget::tokens(1 << 60);
            Arc::new(BudgetLimit::new(budget, Period::Day, Scope::Conversation, store, counted))
        }
        5 => Arc::new(CacheReplies::new("pocket", MemoryReplies::new(1 << 20))),
        6 => Arc::new(AddFacts::new().fixed("app", "tea")),
        7 => Arc::new(KeepFacts::of(["app", "alloquy.redaction"])),
        8 => Arc::new(Counters::new("pocket")),
        _ => Arc::new(Spans::new("pocket")),
    }
}

fn question() -> TurnRequest {
    let output = OutputConstraints::default().grammar(Grammar::Choice(vec![ANSWER.into()]));
    let sampling =
        SamplingOptions { temperature: Some(0.0), max_tokens: Some(60), ..SamplingOptions::default() };
    TurnRequest::from("Who is bob@example.org?").output(output).sampling(sampling)
}

/// The model, which all cases share.
static MODEL: LazyLock<Model> = LazyLock::new(|| Model::pocket().unwrap());

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(STACKS) })]

    #[test]
    fn stacks_of_guards_hold_over_the_built_in_model(kinds in proptest::collection::vec(0..KINDS, 1..6)) {
        let mut manager = MODEL.manager().store(Arc::new(MemoryStore::default()));
        for kind in &kinds {
            manager = manager.middleware(guard(*kind));
        }
        let manager = manager.build().unwrap();
        let (streamed, whole, stored) = pollster::block_on(both(&manager));
        let is_redacted = kinds.contains(&0);
        let expected = if is_redacted { REDACTED } else { ANSWER };
        prop_assert_eq!((streamed.as_str(), whole.as_str()), (expected, expected));
        prop_assert!(!is_redacted || !stored.contains("ann@"), "it stores what it removed: {}", stored);
    }
}

/// Returns a reply as its deltas join, another one whole, and everything that is stored of both.
async fn both(manager: &alloquy::core::Manager) -> (String, String, String) {
    let conversation = manager.create(Preface::default()).await.unwrap();
    let mut streamed = String::new();
    let mut turn = conversation.send(question());
    while let Some(event) = turn.next().await {
        if let TurnEvent::Delta(Delta::Text(text)) = event.unwrap() {
            streamed += &text;
        }
    }
    drop(turn);
    // A turn that is dropped after its first delta leaves the conversation usable.
    let mut dropped = conversation.send(question());
    while let Some(event) = dropped.next().await {
        if matches!(event.unwrap(), TurnEvent::Delta(_)) {
            break;
        }
    }
    drop(dropped);
    let whole = conversation.send(question()).await.unwrap();
    let nodes = conversation.nodes().await.unwrap();
    (streamed, whole.text(), serde_json::to_string(&nodes).unwrap())
}
