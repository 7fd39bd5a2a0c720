//! Two middlewares: one counts what a call took, one hides long numbers while they are written.

use std::time::Instant;

use alloquy::core::chat_model::TextMap;
use alloquy::core::middleware::{Middleware, Next};
use alloquy::core::{ReplyStream, Request};
use alloquy::prelude::*;

#[derive(Debug)]
struct Log;

#[async_trait::async_trait]
impl Middleware for Log {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let begun = Instant::now();
        let messages = request.path.len();
        let stream = next.call(request).await?;
        eprintln!("{messages} messages, the first event after {:?}", begun.elapsed());
        Ok(stream)
    }
}

/// Holds the digits at the end back until it is known how many there are.
#[derive(Debug, Default)]
struct Redaction {
    digits: String,
}

impl TextMap for Redaction {
    fn push(&mut self, text: &str) -> String {
        let mut shown = String::new();
        for character in text.chars() {
            if character.is_ascii_digit() {
                self.digits.push(character);
            } else {
                shown += &self.finish();
                shown.push(character);
            }
        }
        shown
    }

    fn finish(&mut self) -> String {
        let digits = std::mem::take(&mut self.digits);
        if digits.len() > 4 { "###".to_owned() } else { digits }
    }
}

#[async_trait::async_trait]
impl Middleware for Redaction {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        Ok(next.call(request).await?.map_text(Redaction::default()))
    }
}

fn main() -> Result<()> {
    let model = Model::pocket()?;
    let manager = model.manager().middleware(Log).middleware(Redaction::default()).build()?;
    let chat = pollster::block_on(manager.create(Preface::default()))?;
    println!("{}", chat.ask("Repeat after me: my card is 1234567890.")?.text());
    Ok(())
}
