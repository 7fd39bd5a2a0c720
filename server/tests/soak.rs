//! Simulated use, much faster than people are: conversations are created, continued, streamed, left midway and deleted, and the memory and the open
//! files of the process stay as they are after the beginning.
//!
//! `ALLOQUY_SOAK_SECONDS=1200 cargo test -p alloquy-server --release --test soak -- --nocapture` runs as long as is named.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::time::{Duration, Instant};

use alloquy_server::{ServedModel, Server};
use alloquy_testing::Draws;
use futures::future::join_all;
use serde_json::{Value, json};

use shared::{ObedientModel, TestServer, asking};

/// How long the use lasts by default.
const SECONDS: u64 = 5;
/// How many people there are.
const PEOPLE: usize = 6;
/// How many times memory is measured in all.
const MEASUREMENTS: usize = 10;
/// How many bytes may be added to the memory in a short run, in which caches still fill.
const SLACK: usize = 6 << 20;

/// What one person does in one visit.
async fn visit(server: &TestServer, draws: &mut Draws) {
    match draws.below(4) {
        0 => {
            let answer =
                server.chat(json!({"messages": [{"role": "user", "content": "say one two three"}]})).await;
            assert_eq!(answer.status, 200, "{}", answer.text);
        }
        1 => stored(server).await,
        2 => {
            let answer = server
                .chat(json!({"stream": true, "messages": [{"role": "user", "content": "say a b c d e"}]}))
                .await;
            assert_eq!(answer.events().last().map(String::as_str), Some("[DONE]"));
        }
        _ => left(server).await,
    }
}

/// A conversation that is stored, read and deleted.
async fn stored(server: &TestServer) {
    let answer =
        server.chat(json!({"store": true, "messages": [{"role": "user", "content": "say kept"}]})).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/chat/completions/{id}");
    assert_eq!(server.get(&path).await.status, 200);
    assert_eq!(server.delete(&path).await.status, 200);
}

/// A stream that is left after its first words.
async fn left(server: &TestServer) {
    let messages = json!([{"role": "user", "content": "say one two\nwait 20\nsay three four"}]);
    let request = asking(json!({"stream": true, "messages": messages}));
    let mut response = server.posting("/v1/chat/completions", &request).send().await.unwrap();
    assert!(response.chunk().await.unwrap().is_some());
}

async fn person(server: &TestServer, seed: usize, until: Instant) -> usize {
    let mut draws = Draws::default();
    for _ in 0..seed * 101 {
        draws.below(2);
    }
    let mut visits = 0;
    while Instant::now() < until {
        visit(server, &mut draws).await;
        visits += 1;
    }
    visits
}

/// How many bytes of memory the process has.
fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kibibytes: usize = line.trim().trim_end_matches(" kB").parse().unwrap();
    kibibytes << 10
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_and_files_stay_as_they_are() {
    let seconds = std::env::var("ALLOQUY_SOAK_SECONDS").map_or(SECONDS, |text| text.parse().unwrap());
    let server = TestServer::start(Server::builder().model(ServedModel::loaded("tea", ObedientModel))).await;
    let part = Duration::from_secs(seconds) / u32::try_from(MEASUREMENTS).unwrap();
    let mut measured = Vec::new();
    let mut visits = 0;
    for round in 0..MEASUREMENTS {
        let until = Instant::now() + part;
        let people = (0..PEOPLE).map(|person_index| person(&server, round * PEOPLE + person_index, until));
        visits += join_all(people).await.iter().sum::<usize>();
        // Streams that were left end within a moment.
        tokio::time::sleep(Duration::from_millis(100)).await;
        measured.push((memory(), open_files()));
    }
    let list: Value = server.get("/v1/chat/completions").await.json();
    assert_eq!(list["data"], json!([]), "conversations are left");
    eprintln!("{visits} visits in {seconds} s; bytes of memory and open files: {measured:?}");
    // The first measurements are the beginning, in which pools and caches fill.
    let (early, late) = measured.split_at(MEASUREMENTS / 2);
    let start = early.iter().map(|(bytes, _)| *bytes).max().unwrap();
    let end = late.iter().map(|(bytes, _)| *bytes).max().unwrap();
    // Connections of people come and go, so the number varies by as many as there are.
    let files = early.iter().map(|(_, files)| *files).max().unwrap();
    let files_at_the_end = late.iter().map(|(_, files)| *files).max().unwrap();
    assert!(end <= start + start / 20 + if seconds < 60 { SLACK } else { 0 }, "{start} bytes became {end}");
    assert!(files_at_the_end <= files + 2 * PEOPLE, "{files} open files became {files_at_the_end}");
}
