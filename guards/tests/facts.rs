//! Facts: which of them are stored, by their names and by the order of the middleware.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::turn::TurnData;
use alloquy_core::{Message, Preface, Reply, ReplyStream, Request, Result};
use alloquy_guards::facts::{AddFacts, TurnFacts};
use alloquy_testing::{EchoModel, laws};
use async_trait::async_trait;
use pollster::block_on;

/// Sets a fact of the turn after each reply.
#[derive(Debug)]
struct Measure;

#[async_trait]
impl Middleware for Measure {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let facts = request.turn_data.get::<TurnFacts>().cloned().unwrap_or_default();
        let stream = next.call(request).await?;
        Ok(stream.map_result(move |reply| {
            facts.set("length", reply.text().len());
            Ok(reply)
        }))
    }
}

/// Returns the names of the facts of a reply, where the host has set the facts `channel` and `debug`.
fn stored(stack: &[Arc<dyn Middleware>]) -> Vec<String> {
    let facts = TurnFacts::default();
    facts.set("channel", "letter");
    facts.set("debug", true);
    let mut request = Request::new(Preface::default(), vec![Message::user("Tea?")]);
    request.turn_data = TurnData::default().with(facts);
    let reply = block_on(async { Next::new(stack, &EchoModel).call(request).await?.finish().await });
    let mut names: Vec<_> = reply.unwrap().facts.keys().cloned().collect();
    names.sort();
    names
}

#[test]
fn facts_of_the_turn_are_stored_by_name_and_by_order() {
    let named = AddFacts::new().of_turn(["channel", "length", "missing"]);
    let none: [&str; 0] = [];
    assert_eq!(stored(&[Arc::new(AddFacts::new()), Arc::new(Measure)]), ["channel", "debug", "length"]);
    assert_eq!(stored(&[Arc::new(named.clone()), Arc::new(Measure)]), ["channel", "length"]);
    // What is set outside of it comes too late.
    assert_eq!(stored(&[Arc::new(Measure), Arc::new(named)]), ["channel"]);
    assert_eq!(stored(&[Arc::new(AddFacts::new().of_turn(none).fixed("app", "tea"))]), ["app"]);
}

#[test]
fn a_guard_with_named_facts_keeps_the_laws() {
    let guard: Arc<dyn Middleware> = Arc::new(AddFacts::new().of_turn(["channel"]));
    let request = Request::new(Preface::default(), vec![Message::user("Tea?")]);
    let reply = Reply::new(Message::assistant("Yes."));
    block_on(laws::middleware::all(&guard, &request, &reply));
}
