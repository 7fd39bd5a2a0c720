//! A server that speaks the API of the Hugging Face Hub, and fails on request.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::{Value, json};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

/// The commit of every repository.
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A Hub on the loopback. Large files come from a second server, to which the first redirects, as on the real one.
///
/// ```
/// use alloquy_testing::HubServer;
///
/// let server = HubServer::start()?;
/// server.add("tiny/model-ONNX", "config.json", "{}");
/// assert!(server.endpoint().starts_with("http://127.0.0.1:"));
/// assert!(server.requests().is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct HubServer {
    hub: SocketAddr,
    state: Arc<Mutex<State>>,
}

/// A request that a [`HubServer`] received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HubRequest {
    /// The path, with the query.
    pub path: String,
    /// Whether it went to the server of large files.
    pub is_to_storage: bool,
    /// The token that came with it.
    pub token: Option<String>,
    /// The first byte that was requested.
    pub from: Option<u64>,
}

/// What the server does wrong, and what it asks for.
///
/// ```
/// use alloquy_testing::HubFaults;
///
/// let faults = HubFaults { cut_after: Some(1 << 20), ..HubFaults::default() };
/// assert!(faults.status.is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct HubFaults {
    /// Each answer with a file ends after so many bytes.
    pub cut_after: Option<usize>,
    /// Every answer with a file ends before its first byte, after so many bytes in all.
    pub dead_after: Option<usize>,
    /// The next listings, of so many, end after this many bytes.
    pub cut_listing: Option<(usize, usize)>,
    /// The next requests, of so many, are answered with this status.
    pub status: Option<(u16, usize)>,
    /// The text of `Retry-After` in these answers.
    pub retry_after: Option<String>,
    /// Whether large files arrive with a changed byte.
    pub damages: bool,
    /// Whether the start of a range is ignored.
    pub ignores_ranges: bool,
    /// The token without which files are refused.
    pub gate: Option<String>,
}

#[derive(Debug, Default)]
struct State {
    repositories: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
    /// The new names of renamed repositories.
    renamed: BTreeMap<String, String>,
    faults: HubFaults,
    requests: Vec<HubRequest>,
    sent: usize,
    storage: Option<SocketAddr>,
}

impl HubServer {
    /// Starts both servers.
    ///
    /// # Errors
    /// When the loopback has no free port.
    pub fn start() -> io::Result<Self> {
        let state = Arc::new(Mutex::new(State::default()));
        let hub = serve(&state, false)?;
        let storage = serve(&state, true)?;
        lock(&state).storage = Some(storage);
        Ok(Self { hub, state })
    }

    /// Returns the address of the Hub.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.hub)
    }

    /// Adds a file to a repository. A file is large if its name ends in `.onnx` or has `_data` in it.
    pub fn add(&self, repository: &str, path: &str, content: impl Into<Vec<u8>>) {
        let mut state = lock(&self.state);
        let files = state.repositories.entry(repository.to_owned()).or_default();
        files.insert(path.to_owned(), content.into());
    }

    /// Gives a repository another name. Requests for the former one are redirected.
    pub fn rename(&self, from: &str, to: &str) {
        let mut state = lock(&self.state);
        if let Some(files) = state.repositories.remove(from) {
            state.repositories.insert(to.to_owned(), files);
        }
        state.renamed.insert(from.to_owned(), to.to_owned());
    }

    /// Sets what the server does wrong from now on.
    pub fn set_faults(&self, faults: HubFaults) {
        let mut state = lock(&self.state);
        state.faults = faults;
        state.sent = 0;
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<HubRequest> {
        lock(&self.state).requests.clone()
    }

    /// Forgets the requests so far.
    pub fn clear_requests(&self) {
        lock(&self.state).requests.clear();
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers requests on threads of their own, until the process ends.
fn serve(state: &Arc<Mutex<State>>, is_storage: bool) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    let state = Arc::clone(state);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let state = Arc::clone(&state);
            // A client that goes away is a client that a test has ended.
            thread::spawn(move || answer(&state, stream, is_storage).ok());
        }
    });
    Ok(address)
}

/// Reads one request and answers it.
fn answer(state: &Mutex<State>, mut stream: TcpStream, is_storage: bool) -> io::Result<()> {
    let request = read(&stream, is_storage)?;
    let reply = {
        let mut state = lock(state);
        state.requests.push(request.clone());
        reply(&mut state, &request)
    };
    let Reply { status, mut headers, body, cut } = reply;
    headers.push(("Content-Length".to_owned(), body.len().to_string()));
    headers.push(("Connection".to_owned(), "close".to_owned()));
    let mut head = format!("HTTP/1.1 {status} status\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    let sent = body.get(..cut.unwrap_or(body.len())).unwrap_or(&body);
    stream.write_all(sent)
}

/// Reads the head of a request.
fn read(stream: &TcpStream, is_to_storage: bool) -> io::Result<HubRequest> {
    let mut request = HubRequest { is_to_storage, ..HubRequest::default() };
    let mut lines = BufReader::new(stream).lines();
    if let Some(line) = lines.next() {
        request.path = line?.split(' ').nth(1).unwrap_or_default().to_owned();
    }
    for line in lines {
        let line = line?;
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(": ") else { continue };
        match name.to_lowercase().as_str() {
            "authorization" => request.token = value.strip_prefix("Bearer ").map(str::to_owned),
            "range" => request.from = first_byte(value),
            _ => {}
        }
    }
    Ok(request)
}

/// Reads `bytes=100-`.
fn first_byte(range: &str) -> Option<u64> {
    range.strip_prefix("bytes=")?.trim_end_matches('-').parse().ok()
}

struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// How many bytes of the body are sent.
    cut: Option<usize>,
}

impl Reply {
    fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), cut: None }
    }

    fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

fn reply(state: &mut State, request: &HubRequest) -> Reply {
    if let Some((status, left)) = state.faults.status.filter(|(_, left)| *left > 0) {
        state.faults.status = Some((status, left - 1));
        let reply = Reply::new(status, "the server says no");
        return match &state.faults.retry_after {
            Some(wait) => reply.header("Retry-After", wait),
            None => reply,
        };
    }
    if request.is_to_storage {
        return stored(state, request);
    }
    for (from, to) in &state.renamed {
        if request.path.contains(&format!("/{from}/")) {
            return Reply::new(307, "").header("Location", request.path.replacen(from, to, 1));
        }
    }
    if let Some(rest) = request.path.strip_prefix("/api/models/") {
        return listing(state, rest);
    }
    resolve(state, request)
}

/// Answers `OWNER/NAME/revision/REVISION?blobs=true`.
fn listing(state: &mut State, path: &str) -> Reply {
    let Some((repository, revision)) = path.split_once("/revision/") else { return Reply::new(404, "") };
    let Some(files) = state.repositories.get(repository) else {
        return Reply::new(401, "").header("X-Error-Code", "RepoNotFound");
    };
    let revision = revision.split('?').next().unwrap_or_default();
    if !["main", COMMIT, "refs%2Fpr%2F1"].contains(&revision) {
        return Reply::new(404, "").header("X-Error-Code", "RevisionNotFound");
    }
    let mut siblings = Vec::new();
    for (path, bytes) in files {
        siblings.push(sibling(path, bytes));
    }
    let gated = if state.faults.gate.is_some() { json!("auto") } else { json!(false) };
    let card = json!({"license": "apache-2.0"});
    let answer =
        json!({"id": repository, "sha": COMMIT, "gated": gated, "cardData": card, "siblings": siblings});
    let mut reply = Reply::new(200, answer.to_string()).header("Content-Type", "application/json");
    if let Some((bytes, left)) = state.faults.cut_listing.filter(|(_, left)| *left > 0) {
        state.faults.cut_listing = Some((bytes, left - 1));
        reply.cut = Some(bytes.min(reply.body.len()));
    }
    reply
}

fn sibling(path: &str, bytes: &[u8]) -> Value {
    if !is_large(path) {
        return json!({"rfilename": path, "size": bytes.len(), "blobId": git_digest(bytes)});
    }
    let lfs = json!({"sha256": sha256(bytes), "size": bytes.len(), "pointerSize": 130});
    json!({"rfilename": path, "size": bytes.len(), "blobId": git_digest(b"pointer"), "lfs": lfs})
}

/// Answers `/OWNER/NAME/resolve/COMMIT/PATH`.
fn resolve(state: &mut State, request: &HubRequest) -> Reply {
    if state.faults.gate.is_some() && state.faults.gate != request.token {
        return Reply::new(if request.token.is_some() { 403 } else { 401 }, "")
            .header("X-Error-Code", "GatedRepo");
    }
    let marker = format!("/resolve/{COMMIT}/");
    let found = request.path.trim_start_matches('/').split_once(&marker);
    let Some((repository, path)) = found else { return Reply::new(404, "no such page") };
    let path = path.replace("%20", " ");
    let bytes = state.repositories.get(repository).and_then(|files| files.get(&path)).cloned();
    let Some(bytes) = bytes else { return Reply::new(404, "").header("X-Error-Code", "EntryNotFound") };
    match state.storage.filter(|_| is_large(&path)) {
        // Another host than the Hub's, by its name.
        Some(storage) => {
            let location = format!("http://localhost:{}/{repository}?file={path}", storage.port());
            Reply::new(302, "").header("Location", location)
        }
        None => content(state, request, &bytes),
    }
}

/// Answers `/OWNER/NAME?file=PATH` of the server of large files.
fn stored(state: &mut State, request: &HubRequest) -> Reply {
    let (repository, path) = request.path.trim_start_matches('/').split_once("?file=").unwrap_or_default();
    let bytes = state.repositories.get(repository).and_then(|files| files.get(path)).cloned();
    let Some(mut bytes) = bytes else { return Reply::new(404, "no such file") };
    if state.faults.damages
        && let Some(byte) = bytes.last_mut()
    {
        *byte ^= 1;
    }
    content(state, request, &bytes)
}

/// Answers with a file, from the requested byte on.
fn content(state: &mut State, request: &HubRequest, bytes: &[u8]) -> Reply {
    let from = request.from.filter(|_| !state.faults.ignores_ranges);
    let start = from.unwrap_or(0) as usize;
    if start > bytes.len() {
        return Reply::new(416, "");
    }
    let rest = bytes.get(start..).unwrap_or_default().to_vec();
    let mut cut = state.faults.cut_after;
    if let Some(most) = state.faults.dead_after {
        cut = Some(most.saturating_sub(state.sent));
    }
    state.sent += cut.unwrap_or(rest.len()).min(rest.len());
    let mut reply = match from {
        Some(from) => {
            let range = format!("bytes {from}-{}/{}", bytes.len().saturating_sub(1), bytes.len());
            Reply::new(206, rest).header("Content-Range", range)
        }
        None => Reply::new(200, rest),
    };
    reply.cut = cut.map(|cut| cut.min(reply.body.len()));
    reply
}

fn is_large(path: &str) -> bool {
    path.ends_with(".onnx") || path.contains("_data")
}

fn git_digest(bytes: &[u8]) -> String {
    let hasher = Sha1::new().chain_update(format!("blob {}\0", bytes.len())).chain_update(bytes);
    digits(&hasher.finalize())
}

fn sha256(bytes: &[u8]) -> String {
    digits(&Sha256::digest(bytes))
}

fn digits(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
