//! One stream, by the library and by the server, in turns: what HTTP adds. With as many threads as cores, the server takes its time from the model;
//! with one thread less, it has a core of its own.

use std::time::{Duration, Instant};

use alloquy::prelude::*;
use alloquy_server::{ServedModel, Server};
use futures::StreamExt;
use serde_json::json;

use crate::client::Client;
use crate::figures::{milliseconds, quantile};
use crate::serving::serve;

const QUESTION: &str = "Count from 1 to 20.";
const PATH: &str = "/v1/chat/completions";

pub(crate) fn run(pairs: usize) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    compare(pairs, cores);
    if cores > 1 {
        compare(pairs, cores - 1);
    }
}

fn compare(pairs: usize, threads: usize) {
    let model = Model::pocket_builder().threads(threads).build().unwrap();
    let address = serve(Server::builder().model(ServedModel::loaded("pocket", model.clone())));
    let manager = model.manager().build().unwrap();
    let mut client = Client::connect(address).unwrap();
    let messages = json!([{"role": "user", "content": QUESTION}]);
    let body = json!({"model": "pocket", "messages": messages, "temperature": 0, "stream": true});
    let mut library = Vec::new();
    let mut http = Vec::new();
    let mut tokens = 0;
    for pair in 0..pairs + 1 {
        let begun = Instant::now();
        let generated = pollster::block_on(ask(&manager));
        let by_library = begun.elapsed();
        let answer = client.ask(PATH, &body, 1).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text);
        // The first pair fills the cache.
        if pair > 0 {
            library.push(by_library);
            http.push(answer.whole);
            tokens = generated;
        }
    }
    let (library, http) = (quantile(&mut library, 0.5), quantile(&mut http, 0.5));
    let added = http.saturating_sub(library);
    eprintln!(
        "overhead, threads of the model {threads}: a reply of {tokens} tokens takes {} by the library and {} over HTTP, median of {pairs}: {} or {:.2} % more",
        milliseconds(library),
        milliseconds(http),
        milliseconds(added),
        100.0 * share(added, library)
    );
}

fn share(part: Duration, whole: Duration) -> f64 {
    part.as_secs_f64() / whole.as_secs_f64()
}

/// Reads a reply event by event, and returns how many tokens it has.
async fn ask(manager: &Manager) -> usize {
    let conversation = manager.create(Preface::default()).await.unwrap();
    let sampling = SamplingOptions { temperature: Some(0.0), ..SamplingOptions::default() };
    let mut turn = conversation.send(TurnRequest::from(QUESTION).sampling(sampling));
    let mut generated = 0;
    while let Some(event) = turn.next().await {
        if let TurnEvent::Finished(reply) = event.unwrap() {
            generated = reply.reply.usage.generated;
        }
    }
    generated
}
