//! A real server of llama.cpp, on a model with known replies. It says when it skips.
#![allow(clippy::unwrap_used, dead_code)] // a test may panic

use std::env;
use std::io::{BufRead, BufReader};
use std::path::{self, PathBuf};
use std::process::{Child, Command, Stdio};

/// Starts a server of replies, vectors or scores, which prints its address and ends with its standard input.
const SCRIPT: &str = "
import os, sys, xllamacpp
model, slots, cache, *pooling = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path = model
params.hostnames = ['127.0.0.1']
params.port = 0
params.n_parallel = int(slots)
params.n_ctx = 512 * params.n_parallel
params.kv_unified = cache == 'unified'
params.cpuparams.n_threads = 2
for setting in [word for word in pooling if '=' in word]:
    name, value = setting.split('=', 1)
    setattr(params, name, type(getattr(params, name))(value))
for kind in [word for word in pooling if '=' not in word]:
    params.embedding = True
    params.pooling_type = getattr(xllamacpp.llama_pooling_type, 'LLAMA_POOLING_TYPE_' + kind)
params.warmup = False
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)
";

/// A server that ends with its test.
pub(crate) struct Llama {
    process: Child,
    pub(crate) url: String,
    /// The folder of models.
    pub(crate) models: PathBuf,
}

impl Llama {
    /// Starts a server of replies with two slots, if this machine has one.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(&["2", "separate"])
    }

    /// Starts a server of vectors or scores, if this machine has one.
    pub(crate) fn pooling(kind: &str, slots: &str, cache: &str) -> Option<Self> {
        Self::start_with(&[slots, cache, kind])
    }

    /// Starts a server of replies whose slots have separate caches, with these settings of xllamacpp such as `port=8080`.
    pub(crate) fn with_slots(slots: &str, settings: &[&str]) -> Option<Self> {
        Self::start_with(&[&[slots, "separate"], settings].concat())
    }

    fn start_with(settings: &[&str]) -> Option<Self> {
        let shared = env::var_os("ALLOQUY_SHARED").map_or_else(|| "../../shared".into(), PathBuf::from);
        let python = env::var_os("ALLOQUY_LLAMA_PYTHON").map_or_else(|| "python3".into(), PathBuf::from);
        // Programs that run in other folders are given this path too.
        let models = path::absolute(shared.join("models")).unwrap();
        let model = models.join("stories260k.gguf");
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
            .args(settings)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        assert!(!url.trim().is_empty(), "the server of llama.cpp has ended");
        Some(Self { process, url: url.trim().to_owned(), models })
    }
}

impl Drop for Llama {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
