//! The second turn of a conversation, here and by llama.cpp's server, in turns, with the same weights.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use alloquy::prelude::*;
use alloquy_server::{ServedModel, Server};
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::figures::{milliseconds, quantile};
use crate::serving::serve;

const FIRST: &str = "Once upon a time, there was a little girl named Lily. She loved to play outside in the park with her friends. ";
const SECOND: &str = " The next day, Lily went to the park again. ";

/// Starts llama.cpp's server, prints its address, and ends with its standard input.
const SCRIPT: &str = "
import os, sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ['127.0.0.1']
params.port = 0
params.n_parallel = 2
params.n_ctx = 1024
params.cpuparams.n_threads = 2
params.warmup = False
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)
";

struct Llama {
    process: Child,
    address: SocketAddr,
}

impl Llama {
    fn start(models: &Path) -> Option<Self> {
        let python = std::env::var_os("ALLOQUY_LLAMA_PYTHON").map_or_else(|| "python3".into(), PathBuf::from);
        let mut command = Command::new(python);
        command.args(["-c", SCRIPT]).arg(models.join("stories260k.gguf"));
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take()?).read_line(&mut line).ok()?;
        let address = line.trim().strip_prefix("http://")?.parse().ok()?;
        Some(Self { process, address })
    }
}

impl Drop for Llama {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The times of one server.
#[derive(Default)]
struct Times {
    first: Vec<Duration>,
    second: Vec<Duration>,
    whole: Vec<Duration>,
}

impl Times {
    fn add(&mut self, first: &Answer, second: &Answer) {
        self.first.push(first.first_word);
        self.second.push(second.first_word);
        self.whole.push(first.whole + second.whole);
    }

    fn print(&mut self, name: &str) {
        let whole = quantile(&mut self.whole, 0.5);
        eprintln!(
            "peers: {name}: first word of the first turn after {}, of the second after {}; {:.1} requests a second",
            milliseconds(quantile(&mut self.first, 0.5)),
            milliseconds(quantile(&mut self.second, 0.5)),
            2.0 / whole.as_secs_f64()
        );
    }
}

pub(crate) fn run(pairs: usize) {
    let shared = std::env::var_os("ALLOQUY_SHARED").map_or_else(|| "../../shared".into(), PathBuf::from);
    let models = std::path::absolute(shared.join("models")).unwrap();
    let llama = models.join("stories260k").is_dir().then(|| Llama::start(&models)).flatten();
    let Some(llama) = llama else {
        eprintln!(
            "peers: skipped, set ALLOQUY_SHARED, and ALLOQUY_LLAMA_PYTHON to a Python that has the package xllamacpp"
        );
        return;
    };
    let model = Model::builder(models.join("stories260k")).completion().build().unwrap();
    let ours = serve(Server::builder().model(ServedModel::loaded("stories", model)));
    let (mut our_times, mut their_times) = (Times::default(), Times::default());
    for pair in 0..pairs + 1 {
        let start = format!("Number {pair}. {}", FIRST.repeat(4));
        let our = our_pair(ours, &start);
        let their = their_pair(llama.address, &start);
        // The first pair loads.
        if pair > 0 {
            our_times.add(&our.0, &our.1);
            their_times.add(&their.0, &their.1);
        }
    }
    our_times.print("alloquy");
    their_times.print("llama.cpp");
}

/// Two turns here.
fn our_pair(server: SocketAddr, start: &str) -> (Answer, Answer) {
    let mut messages = vec![json!({"role": "user", "content": start})];
    let first = our_turn(server, &messages);
    messages.push(json!({"role": "assistant", "content": text(&first, "/choices/0/delta/content")}));
    messages.push(json!({"role": "user", "content": SECOND}));
    let second = our_turn(server, &messages);
    (first, second)
}

fn our_turn(server: SocketAddr, messages: &[Value]) -> Answer {
    let body = json!({"messages": messages, "stream": true, "max_tokens": 16, "temperature": 0});
    // llama.cpp's server closes connections, so each turn has one of its own, which is open before the time begins.
    let mut client = Client::connect(server).unwrap();
    let answer = client.ask("/v1/chat/completions", &body, 1).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer
}

/// Two turns there, as the texts that the model reads.
fn their_pair(server: SocketAddr, start: &str) -> (Answer, Answer) {
    let first = their_turn(server, start);
    let second = their_turn(server, &format!("{start}{}{SECOND}", text(&first, "/content")));
    (first, second)
}

fn their_turn(server: SocketAddr, prompt: &str) -> Answer {
    let body =
        json!({"prompt": prompt, "stream": true, "n_predict": 16, "temperature": 0, "cache_prompt": true});
    // llama.cpp's server closes connections, so each turn has one of its own, which is open before the time begins.
    let mut client = Client::connect(server).unwrap();
    let answer = client.ask("/completion", &body, 0).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer
}

/// The words of a stream.
fn text(answer: &Answer, place: &str) -> String {
    let events = answer.text.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = events.filter_map(|event| serde_json::from_str::<Value>(event).ok());
    events.filter_map(|event| Some(event.pointer(place)?.as_str()?.to_owned())).collect()
}
