//! Random requests to all routes: no answer is a failure of the server, nothing panics, and every error has its body.
//!
//! `ALLOQUY_RANDOM_REQUESTS=100000 cargo test -p alloquy-server --test random_requests` sends as many as are named.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloquy_retrieval::NgramEmbedder;
use alloquy_server::{OpenedModel, ServedEmbedder, ServedModel, Server};
use alloquy_storage::SnapshotBucket;
use alloquy_testing::Draws;
use futures::future::join_all;
use serde_json::Value;

use shared::grammar::{Grammar, Ids};
use shared::host_tools::sums;
use shared::saved::CountedSnapshots;
use shared::sending::{Outcome, Sending};
use shared::{ObedientModel, TestServer};

/// How many requests are sent by default.
const REQUESTS: usize = 600;
/// How many requests one server receives, so that lists stay short.
const PER_SERVER: usize = 4000;
/// How many are sent at once.
const AT_ONCE: usize = 6;

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Checks that an answer is no failure of the server, and that a refusal has the body of its protocol.
fn check(outcome: &Outcome) {
    let Outcome { drawn, status, text, .. } = outcome;
    // A drawn text may be an order to the model.
    let is_ordered = text.contains("the model fails, as ordered");
    assert!(*status < 500 || is_ordered, "{drawn:?}: {status} {text}");
    if *status < 400 {
        return;
    }
    let body: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{drawn:?}: {error}: {text}"));
    let error = &body["error"];
    let has_body = if drawn.path.starts_with("/api/") && error.is_string() {
        true
    } else if drawn.path.starts_with("/v1/messages") && body["type"] == "error" {
        error["type"].is_string() && error["message"].is_string()
    } else {
        ["message", "type", "param", "code"].iter().all(|name| error.get(name).is_some())
    };
    assert!(has_body, "{drawn:?}: {status} {text}");
}

/// How many answers there were of each class of status, by the first segments of the address.
type Counts = std::collections::BTreeMap<String, [usize; 2]>;

async fn round(grammar: &Grammar, draws: &mut Draws, requests: usize, counts: &mut Counts) {
    let builder = Server::builder()
        .model(ServedModel::opened("tea", OpenedModel::new(ObedientModel).snapshots(CountedSnapshots)))
        .snapshots(Arc::new(SnapshotBucket::in_memory().await.unwrap()))
        .tools(sums().0)
        .embedder(ServedEmbedder::new("words", NgramEmbedder::new(8)));
    let server = TestServer::start(builder).await;
    let mut ids = Ids::default();
    let mut sent = 0;
    while sent < requests {
        let mut batch = Vec::new();
        for _ in 0..AT_ONCE {
            let drawn = grammar.draw(draws, &ids);
            let is_damaged = draws.below(60) == 0;
            batch.push(Sending::new(&server).damaged(is_damaged).send(drawn));
        }
        sent += batch.len();
        for outcome in join_all(batch).await {
            check(&outcome);
            ids.read(&outcome.text);
            let path = outcome.drawn.path.split('?').next().unwrap_or_default();
            let route: Vec<&str> = path.split('/').take(4).collect();
            let place = usize::from(outcome.status >= 400);
            counts
                .entry(format!("{} {}", outcome.drawn.method, route[..route.len().min(3)].join("/")))
                .or_default()[place] += 1;
        }
    }
    server.handle.shut_down();
    server.served.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_makes_the_server_fail() {
    let wanted = std::env::var("ALLOQUY_RANDOM_REQUESTS").map_or(REQUESTS, |text| text.parse().unwrap());
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        hook(panic);
    }));
    let grammar = Grammar::read();
    let mut draws = Draws::default();
    let mut counts = Counts::new();
    let mut left = wanted;
    while left > 0 {
        let requests = left.min(PER_SERVER);
        round(&grammar, &mut draws, requests, &mut counts).await;
        left -= requests;
    }
    assert_eq!(PANICS.load(Ordering::Relaxed), 0);
    let answered: usize = counts.values().map(|[answered, _]| answered).sum();
    let refused: usize = counts.values().map(|[_, refused]| refused).sum();
    eprintln!("{answered} answered, {refused} refused");
    for (route, [answered, refused]) in counts {
        eprintln!("{route}: {answered} answered, {refused} refused");
    }
    assert!(answered > wanted / 20, "only {answered} requests were valid");
}
