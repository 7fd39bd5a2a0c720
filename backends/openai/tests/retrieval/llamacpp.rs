//! A real server of llama.cpp. It says when it skips.

use std::env;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use alloquy_core::ErrorKind;
use alloquy_openai::{RemoteEmbedder, RemoteReranker};
use alloquy_retrieval::{Embedder, TextKind, laws};
use pollster::block_on;

/// Starts a server of vectors, or of scores, which prints its address and ends with its standard input.
const SCRIPT: &str = "
import os, sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ['127.0.0.1']
params.port = 0
params.n_parallel = int(sys.argv[3])
params.n_ctx = 512 * params.n_parallel
params.kv_unified = sys.argv[4] == 'unified'
params.cpuparams.n_threads = 2
params.embedding = True
params.pooling_type = getattr(xllamacpp.llama_pooling_type, 'LLAMA_POOLING_TYPE_' + sys.argv[2])
params.warmup = False
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)
";

/// A server that ends with its test.
struct Server {
    process: Child,
    url: String,
}

impl Server {
    /// Starts the server, if this machine has one.
    fn start(pooling: &str, slots: &str, cache: &str) -> Option<Self> {
        let shared = env::var_os("ALLOQUY_SHARED").map_or_else(|| "../../shared".into(), PathBuf::from);
        let python = env::var_os("ALLOQUY_LLAMA_PYTHON").map_or_else(|| "python3".into(), PathBuf::from);
        let model = shared.join("models/stories260k.gguf");
        let has_server = Command::new(&python)
            .args(["-c", "import xllamacpp"])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !has_server || !model.is_file() {
            eprintln!(
                "Skipping: no server of llama.cpp. Set ALLOQUY_SHARED, and ALLOQUY_LLAMA_PYTHON to a Python that has the \
                 package xllamacpp"
            );
            return None;
        }
        let mut process = Command::new(python)
            .args(["-c", SCRIPT])
            .arg(model)
            .args([pooling, slots, cache])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Some(Self { process, url: url.trim().to_owned() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn dot(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

#[test]
fn equal_texts_have_equal_vectors() {
    let Some(server) = Server::start("MEAN", "2", "unified") else { return };
    let embedder = block_on(RemoteEmbedder::connect(&server.url)).unwrap();
    assert_eq!(embedder.dimensions(), 64);
    let texts = ["Once upon a time", "The sun was hot", "Once upon a time"];
    let found = block_on(embedder.embed(&texts, TextKind::Passage)).unwrap();
    let [first, other, again] = found.vectors.as_slice() else { panic!("three vectors") };
    assert!((dot(first, first) - 1.0).abs() < 1e-5);
    assert!((dot(first, again) - 1.0).abs() < 1e-5);
    assert!(dot(first, other) < 0.999);
}

#[test]
fn the_laws_of_embedders_hold() {
    for slots in ["1", "2"] {
        let Some(server) = Server::start("MEAN", slots, "unified") else { return };
        let embedder = block_on(RemoteEmbedder::builder(&server.url).max_characters(150).connect()).unwrap();
        block_on(laws::embedder::all(&embedder)).unwrap();
    }
}

#[test]
fn slots_that_mix_up_their_texts_are_found() {
    let Some(server) = Server::start("MEAN", "2", "separate") else { return };
    let error = block_on(RemoteEmbedder::connect(&server.url)).err().unwrap();
    assert!(error.to_string().contains("--kv-unified"), "{error}");
    let builder = RemoteEmbedder::builder(&server.url).max_characters(150).batch_size(1);
    let embedder = block_on(builder.connect()).unwrap();
    block_on(laws::embedder::all(&embedder)).unwrap();
}

#[test]
fn a_text_that_is_too_long_is_refused() {
    let Some(server) = Server::start("MEAN", "1", "unified") else { return };
    let embedder = block_on(RemoteEmbedder::connect(&server.url)).unwrap();
    let long = "tea ".repeat(3_000);
    let error = block_on(embedder.embed(&[&long], TextKind::Passage)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::ContextOverflow, "{error}");
    assert!(block_on(embedder.embed(&["tea"], TextKind::Query)).is_ok());

    let error = block_on(RemoteReranker::connect(&server.url)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "a server of vectors has no scores: {error}");
}

#[test]
fn the_laws_of_rerankers_hold() {
    let Some(server) = Server::start("RANK", "1", "unified") else { return };
    let reranker = block_on(RemoteReranker::connect(&server.url)).unwrap();
    block_on(laws::reranker::all(&reranker)).unwrap();
}
