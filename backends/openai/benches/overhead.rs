//! What the client adds to a reply and to a token, how many streams one core carries, and whether its memory grows.
//!
//! `cargo bench -p alloquy-openai --bench overhead` prints the figures. The server is a process of its own that has every token
//! at once, so all of the time is the client's, the system's and the server's for writing. With `taskset`, which Linux has, the
//! client has the first core alone and the server another one. A plain socket that sends the same requests shows what is left
//! without a client.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)] // a benchmark may panic

mod server;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use alloquy_core::model_info::ModelInfo;
use alloquy_core::processor::PromptPart;
use alloquy_core::prompt::Prompt;
use alloquy_core::tokenizer::Tokenizer;
use alloquy_engine::decoder::{DecodeEventKind, DecodeRequest, Decoder};
use alloquy_openai::{Dialect, RemoteDecoder};
use alloquy_testing::ByteTokenizer;
use futures::StreamExt;
use futures::future::join_all;

/// The streams that are open at once.
const STREAMS: usize = 500;

/// The tokens of each of them.
const LENGTH: usize = 200;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|argument| argument == server::ARGUMENT) {
        server::serve();
        return;
    }
    // Cargo also calls benchmarks to see whether they run at all.
    let is_measured = arguments.iter().any(|argument| argument == "--bench");
    let times = if is_measured { 1 } else { 100 };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    pin(std::process::id(), 0);
    let server = Running::start();
    pin(server.process.id(), cores - 1);
    let decoder = connect(&server.url);
    eprintln!("{cores} cores, server at {}", server.url);
    replies(&server.url, &decoder, 2_000 / times);
    tokens(&decoder, 20_000 / times);
    streams(&decoder, 20 / times.min(20), "as fast as they come", 0);
    streams(&decoder, 1, "one each 40 ms", 40);
}

/// Keeps a process, and what it starts later, on one core.
fn pin(process: u32, core: usize) {
    let arguments =
        ["--all-tasks", "--cpu-list", "--pid", &core.to_string(), &process.to_string()].map(str::to_owned);
    let pinned = Command::new("taskset").args(arguments).stdout(Stdio::null()).status();
    if !pinned.is_ok_and(|status| status.success()) {
        eprintln!("process {process} has every core: there is no taskset");
    }
}

/// The server, which ends with the benchmark.
struct Running {
    process: Child,
    url: String,
}

impl Running {
    fn start() -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .arg(server::ARGUMENT)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { process, url: url.trim().to_owned() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn connect(url: &str) -> RemoteDecoder {
    let tokenizer = ByteTokenizer::new(["<end>"]);
    let mut info = ModelInfo::default();
    info.name = "script".to_owned();
    info.vocabulary = tokenizer.vocabulary();
    info.context_length = 1 << 20;
    info.specials = tokenizer.specials().to_vec();
    let builder = RemoteDecoder::builder(url, "unused").tokenizer(tokenizer, info).dialect(Dialect::Vllm);
    pollster::block_on(builder.connect()).unwrap()
}

/// Reads a reply of so many tokens, and returns when the first and the last one came.
async fn reply(decoder: &dyn Decoder, limit: usize, priority: &str) -> (Instant, Instant) {
    let parts = [PromptPart::Text(priority.to_owned())];
    let prompt = Prompt::lower(&parts, &ByteTokenizer::new(["<end>"])).unwrap();
    let mut stream = decoder.decode(DecodeRequest::new(prompt, limit));
    let mut times = Vec::new();
    let mut count = 0;
    while let Some(event) = stream.next().await {
        if let DecodeEventKind::Token { .. } = event.unwrap().kind {
            count += 1;
            if count == 1 || count == limit {
                times.push(Instant::now());
            }
        }
    }
    assert_eq!(count, limit);
    (times[0], *times.last().unwrap())
}

/// Sends the same request by a plain socket, and reads the answer without looking into it.
fn bare(socket: &mut TcpStream, limit: usize) {
    let body = format!("{{\"max_tokens\": {limit}, \"prompt\": [65, 66, 67]}}");
    let head = format!(
        "POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all((head + &body).as_bytes()).unwrap();
    let mut answer = Vec::new();
    let mut buffer = [0; 1 << 16];
    while !answer.ends_with(b"\r\n0\r\n\r\n") {
        let read = socket.read(&mut buffer).unwrap();
        answer.extend_from_slice(&buffer[..read]);
    }
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all[all.len() / 2]
}

/// Measures replies of one token, each after the other.
fn replies(url: &str, decoder: &RemoteDecoder, times: usize) {
    let mut socket = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    socket.set_nodelay(true).unwrap();
    let mut with_client = Vec::new();
    let mut without = Vec::new();
    for _ in 0..times {
        let begun = Instant::now();
        bare(&mut socket, 1);
        without.push(begun.elapsed());
        let begun = Instant::now();
        pollster::block_on(reply(decoder, 1, "ABC"));
        with_client.push(begun.elapsed());
    }
    let (with_client, without) = (median(with_client), median(without));
    eprintln!(
        "a reply of one token: {with_client:?}, by a plain socket {without:?}, so the client adds {:?}",
        with_client.saturating_sub(without)
    );
}

/// Measures one long stream.
fn tokens(decoder: &RemoteDecoder, length: usize) {
    let mut all = Vec::new();
    let used = processor_time();
    for _ in 0..5 {
        let begun = Instant::now();
        pollster::block_on(reply(decoder, length, "ABC"));
        all.push(begun.elapsed());
    }
    let count = u32::try_from(length).unwrap();
    let used = (processor_time() - used) / (5 * count);
    eprintln!("a token of one stream: {:?}, {used:?} of processor time", median(all) / count);
}

/// Measures many streams at once, in rounds.
fn streams(decoder: &RemoteDecoder, rounds: usize, pace: &str, pause: u64) {
    let mut memory = Vec::new();
    for round in 0..rounds.max(1) {
        let used = processor_time();
        let begun = Instant::now();
        // The server begins to answer when all requests are there.
        let pace = format!("wait {STREAMS} pause {pause}");
        let streams = (0..STREAMS).map(|_| reply(decoder, LENGTH, &pace));
        let times = pollster::block_on(join_all(streams));
        let elapsed = begun.elapsed();
        let first = times.iter().map(|(first, _)| *first).max().unwrap();
        let last = times.iter().map(|(_, last)| *last).min().unwrap();
        assert!(pause == 0 || first < last, "not all streams were open at once");
        let count = u32::try_from(STREAMS * LENGTH).unwrap();
        let used = processor_time() - used;
        memory.push(resident());
        if round == 0 {
            let share = 100.0 * used.as_secs_f64() / elapsed.as_secs_f64();
            eprintln!(
                "{STREAMS} streams of {LENGTH} tokens: {elapsed:?}, {:?} a token, {:?} of processor time ({share:.0} % of a core)",
                elapsed / count,
                used / count
            );
        }
    }
    eprintln!("memory after each round, tokens {pace}: {memory:?} MiB");
}

/// Returns the time that this process has used of processors.
fn processor_time() -> Duration {
    // The name of the program, which is in brackets, may have spaces.
    let status = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Numbers, of which some are negative, follow a letter.
    let fields: Vec<i64> = status
        .rsplit_once(')')
        .map(|(_, rest)| rest.split_whitespace().filter_map(|field| field.parse().ok()).collect())
        .unwrap_or_default();
    // Field 14 and 15, in ticks of 10 ms. The first number is field 4.
    let ticks = fields.get(10).unwrap_or(&0) + fields.get(11).unwrap_or(&0);
    Duration::from_millis(u64::try_from(ticks).unwrap_or(0) * 10)
}

/// Returns the memory of this process, in MiB.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.split_whitespace().next().and_then(|size| size.parse::<u64>().ok()).unwrap_or(0) / 1024
}
