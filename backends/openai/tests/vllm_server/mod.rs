//! A real server of vLLM on the CPU, on a model with known replies. It says when it skips.
#![allow(clippy::unwrap_used, dead_code)] // a test may panic

use std::env;
use std::io::{BufRead, BufReader};
use std::ops::Deref;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Starts a server, prints its address when it is ready, and ends it with the standard input. The module is run, because the
/// command `vllm serve` of the package for CPUs does not find its own version.
const SCRIPT: &str = "
import os, signal, socket, subprocess, sys, time, urllib.request
model = sys.argv[1]
with socket.socket() as free:
    free.bind(('127.0.0.1', 0))
    port = str(free.getsockname()[1])
environment = dict(
    os.environ, VLLM_CPU_KVCACHE_SPACE='1', VLLM_CPU_OMP_THREADS_BIND='nobind', OMP_NUM_THREADS='2',
    HF_HUB_OFFLINE='1', VLLM_NO_USAGE_STATS='1', DO_NOT_TRACK='1',
)
log = open(os.environ.get('ALLOQUY_VLLM_LOG', os.devnull), 'w')
server = subprocess.Popen(
    [sys.executable, '-m', 'vllm.entrypoints.openai.api_server', '--model', model, '--served-model-name', 'stories',
     '--host', '127.0.0.1', '--port', port, '--dtype', 'float32', '--max-model-len', '512', '--enforce-eager',
     '--max-num-seqs', '4', '--enable-prefix-caching', '--block-size', '32', '--enable-prompt-tokens-details',
     '--scheduling-policy', 'priority'],
    env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
def stop(*_):
    sys.exit()
signal.signal(signal.SIGTERM, stop)
url = 'http://127.0.0.1:' + port
try:
    while server.poll() is None:
        try:
            urllib.request.urlopen(url + '/health', timeout=5).read()
        except OSError:
            time.sleep(1)
            continue
        print(url, flush=True)
        sys.stdin.read()
        break
finally:
    if server.poll() is None:
        os.killpg(server.pid, signal.SIGTERM)
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
";

static SERVER: OnceLock<Option<Vllm>> = OnceLock::new();

/// A server that ends with the process of the tests, which share it: it takes a minute to start.
pub(crate) struct Vllm {
    /// Its standard input is open as long as this process lives.
    process: Child,
    pub(crate) url: String,
    /// The folder of models.
    pub(crate) models: PathBuf,
}

/// The server, as long as no other test uses it: its metrics are of all requests.
pub(crate) struct Alone {
    server: &'static Vllm,
    _others: MutexGuard<'static, ()>,
}

impl Deref for Alone {
    type Target = Vllm;

    fn deref(&self) -> &Vllm {
        self.server
    }
}

impl Vllm {
    /// Returns the server, if this machine has one. The first call starts it.
    pub(crate) fn alone() -> Option<Alone> {
        static OTHERS: Mutex<()> = Mutex::new(());
        let others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
        let server = SERVER.get_or_init(Self::start).as_ref()?;
        Some(Alone { server, _others: others })
    }

    fn start() -> Option<Self> {
        let shared = env::var_os("ALLOQUY_SHARED").map_or_else(|| "../../shared".into(), PathBuf::from);
        let models = shared.join("models");
        let model = models.join("stories260k-hf64");
        let Some(python) = env::var_os("ALLOQUY_VLLM_PYTHON").filter(|_| model.is_dir()) else {
            eprintln!(
                "Skipping: no server of vLLM. Set ALLOQUY_SHARED, and ALLOQUY_VLLM_PYTHON to a Python that has the package \
                 vllm or vllm-cpu"
            );
            return None;
        };
        let mut process = Command::new(python)
            .args(["-c", SCRIPT])
            .arg(model)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        assert!(!url.is_empty(), "the server of vLLM ends: set ALLOQUY_VLLM_LOG to a file for its messages");
        Some(Self { process, url: url.trim().to_owned(), models })
    }
}
