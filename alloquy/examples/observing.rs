//! Two middlewares that watch: one logs whose turn it is, one notes on each reply how long it took.

use std::time::Instant;

use alloquy::core::middleware::{Middleware, Next};
use alloquy::core::{ReplyStream, Request};
use alloquy::prelude::*;

/// Logs each model call with its conversation, on the way in and on the way out.
#[derive(Debug)]
struct Logging;

#[async_trait::async_trait]
impl Middleware for Logging {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let id = request.origin.as_ref().map_or("none".to_owned(), |origin| origin.conversation.to_string());
        eprintln!("{id}: {} messages, the last of role {:?}", request.path.len(), last_role(&request));
        let stream = next.call(request).await?;
        Ok(stream.map_result(move |reply| {
            eprintln!("{id}: {} tokens, {:?}", reply.usage.generated, reply.finish);
            Ok(reply)
        }))
    }
}

fn last_role(request: &Request) -> Option<Role> {
    request.path.last().map(|message| message.role)
}

/// Notes how long a model call took, as a fact of the reply that its node keeps.
#[derive(Debug)]
struct Timing;

#[async_trait::async_trait]
impl Middleware for Timing {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let begun = Instant::now();
        let stream = next.call(request).await?;
        Ok(stream.map_result(move |mut reply| {
            reply.facts.insert("llm_duration_seconds".to_owned(), begun.elapsed().as_secs_f64().into());
            Ok(reply)
        }))
    }
}

fn main() -> Result<()> {
    let manager = Model::pocket()?.manager().middleware(Logging).middleware(Timing).build()?;
    let chat = pollster::block_on(manager.create(Preface::default()))?;
    let answer = chat.ask("What is the capital of Portugal?")?;
    println!("{}", answer.text());
    for node in pollster::block_on(chat.history())? {
        let facts = node.reply.map(|reply| reply.facts);
        println!("{}: {facts:?}", node.message.role);
    }
    Ok(())
}
