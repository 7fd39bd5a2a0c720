//! Many streams that are silent, and some that ask all the time.

use std::thread;
use std::time::{Duration, Instant};

use alloquy::core::report::CacheReport;
use alloquy::core::stream::EventStream;
use alloquy::core::{ChatModel, Delta, ReplyStream, Request, Result};
use alloquy::prelude::*;
use alloquy_server::{RequestLimits, ServedModel, Server};
use async_trait::async_trait;
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::figures::{milliseconds, quantile};
use crate::serving::serve;

const PATH: &str = "/v1/chat/completions";

/// Says a word and no more.
#[derive(Debug)]
struct Silent;

#[async_trait]
impl ChatModel for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    async fn reply(&self, _: Request) -> Result<ReplyStream> {
        Ok(EventStream::new(|mut emit| async move {
            emit.send(Delta::Text("Hm".to_owned())).await;
            std::future::pending().await
        }))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

fn body(model: &str, content: &str) -> Value {
    let messages = json!([{"role": "user", "content": content}]);
    json!({"model": model, "messages": messages, "stream": true, "max_tokens": 16, "temperature": 0})
}

pub(crate) fn run(silent: usize, active: usize, time: Duration) {
    let model = Model::pocket().unwrap();
    let mut limits = RequestLimits::default();
    limits.running = silent + active;
    let server = Server::builder().limits(limits);
    let server =
        server.model(ServedModel::loaded("pocket", model)).model(ServedModel::loaded("silent", Silent));
    let address = serve(server);
    let mut kept = Vec::new();
    for _ in 0..silent {
        let mut client = Client::connect(address).expect("enough open files: ulimit -n 4096");
        client.send(PATH, &body("silent", "Hi")).unwrap();
        client.read_some().unwrap();
        kept.push(client);
    }
    let until = Instant::now() + time;
    let people: Vec<_> = (0..active)
        .map(|person| thread::spawn(move || ask_until(Client::connect(address).unwrap(), person, until)))
        .collect();
    let answers: Vec<Answer> = people.into_iter().flat_map(|person| person.join().unwrap()).collect();
    let errors =
        answers.iter().filter(|answer| answer.status != 200 || !answer.text.contains("[DONE]")).count();
    let mut bytes: Vec<_> = answers.iter().map(|answer| answer.first_byte).collect();
    let mut words: Vec<_> = answers.iter().map(|answer| answer.first_word).collect();
    eprintln!(
        "crowd: {active} active streams beside {silent} silent ones: {} replies in {} s, {errors} errors; first byte {} (p99 {}), first word {} (p99 {})",
        answers.len(),
        time.as_secs(),
        milliseconds(quantile(&mut bytes, 0.5)),
        milliseconds(quantile(&mut bytes, 0.99)),
        milliseconds(quantile(&mut words, 0.5)),
        milliseconds(quantile(&mut words, 0.99)),
    );
    assert_eq!(kept.len(), silent);
}

fn ask_until(mut client: Client, person: usize, until: Instant) -> Vec<Answer> {
    let mut answers = Vec::new();
    while Instant::now() < until {
        let question = format!("What is {person} plus {}?", answers.len() % 90);
        answers.push(client.ask(PATH, &body("pocket", &question), 1).unwrap());
    }
    answers
}
