//! What docs/privacy.md promises: with an empty home folder, the files that are there afterwards are those of its table, nobody else
//! may read them, nothing is left in the temporary folder, and no call of the network is made.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use alloquy::onnx::Locator;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_alloquy");

/// What is run one after another, with what is piped in.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["ask", "--conversation", "tea", "--max-tokens", "4", "What is 2 + 2?"], ""),
    (&["ask", "-c", "--json", "--max-tokens", "4", "And 3?"], ""),
    (&["ask", "--conversation", "cups", "--graph-cache", "--max-tokens", "4", "Hello"], ""),
    (&["chat", "--conversation", "tea", "--max-tokens", "4"], "Hello\n/tree\n/exit\n"),
    (&["chat", "--conversation", "tea", "--resume", "--max-tokens", "4"], "Hello\n"),
    (&["complete", "--max-tokens", "4", "Once"], ""),
    (&["ask", "--limit", "rate=100/day", "--guard", "redact", "--max-tokens", "4", "Hello"], ""),
    (&["bench", "--prompt", "8", "--generate", "4", "--repeat", "1"], ""),
    (&["doctor"], ""),
    (&["render", "Hello"], ""),
    (&["conversations"], ""),
    (&["tree", "--conversation", "tea"], ""),
    (&["branches", "--conversation", "tea"], ""),
    (&["search", "hello"], ""),
    (&["cost", "--conversation", "tea"], ""),
    (&["export", "tea", "--to", "markdown"], ""),
    (&["fork", "--conversation", "tea", "--name", "more tea"], ""),
    (&["note", "add", "I like tea"], ""),
    (&["note", "search", "tea"], ""),
    (&["index", "add", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")], ""),
    (&["index", "search", "tea"], ""),
    (&["ask", "--documents", "--memory", "--max-tokens", "4", "Which tea?"], ""),
    (&["models", "."], ""),
    (&["config", "show"], ""),
    (&["--help"], ""),
];

/// A home folder and a temporary folder with nothing in them, and a library that is outside of both.
struct Home {
    root: TempDir,
    library: PathBuf,
}

impl Home {
    fn new() -> Self {
        let library = Locator::new().locate(|event| eprintln!("{event}")).unwrap().path;
        let root = TempDir::new().unwrap();
        for name in ["home", "tmp", "work"] {
            fs::create_dir(root.path().join(name)).unwrap();
        }
        Self { root, library }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Runs a program as the last arguments of a launcher, where there is one.
    fn run(&self, launcher: &[&str], program: &Path, arguments: &[&str], stdin: &str) -> Output {
        let words: Vec<_> = launcher.iter().map(Path::new).chain([program]).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(arguments);
        // Servers that build programs have variables that keep ONNX Runtime quiet, so that nothing would be proved.
        command.env_clear().env("ORT_DISABLE_TELEMETRY", "0").env("ORT_DYLIB_PATH", &self.library);
        command.env("HOME", self.path("home")).env("TMPDIR", self.path("tmp")).current_dir(self.path("work"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that ends before it read everything is no failure of this test.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        output
    }

    /// Every file and folder below a folder, by its path from there.
    fn entries(&self, name: &str) -> BTreeSet<PathBuf> {
        let root = self.path(name);
        let mut pending = vec![root.clone()];
        let mut found = BTreeSet::new();
        while let Some(folder) = pending.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    pending.push(path.clone());
                }
                found.insert(path.strip_prefix(&root).unwrap().to_owned());
            }
        }
        found
    }
}

/// The paths of the page's table, from the home folder on; `*` is whatever is below a folder.
fn documented() -> Vec<String> {
    let page = include_str!("../../docs/privacy.md");
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let quoted = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    let paths: Vec<_> = quoted.filter_map(|path| path.strip_prefix("~/").map(str::to_owned)).collect();
    assert!(paths.len() >= 5, "{paths:?}");
    paths
}

fn is_documented(file: &Path, documented: &[String]) -> bool {
    let file = file.to_str().unwrap();
    let beside = |name: &str| format!(".local/share/alloquy/{name}");
    documented.iter().any(|path| match path.strip_suffix('*') {
        Some(folder) => file.starts_with(folder),
        None => file == path,
    }) || ["conversations.db-wal", "conversations.db-shm"].iter().any(|name| file == beside(name))
}

#[test]
fn every_file_is_one_that_the_page_names() {
    let home = Home::new();
    for (arguments, stdin) in COMMANDS {
        home.run(&[], Path::new(PROGRAM), arguments, stdin);
    }
    let documented = documented();
    let entries = home.entries("home");
    let files = || entries.iter().filter(|entry| home.path("home").join(entry).is_file());
    for file in files() {
        assert!(is_documented(file, &documented), "{file:?} is in no row of docs/privacy.md");
    }
    for named in ["conversations.db", "conversations.db.snapshots/", "alloquy/graphs/"] {
        assert!(files().any(|file| file.to_str().unwrap().contains(named)), "{named}: {entries:?}");
    }
    assert_eq!(home.entries("tmp"), BTreeSet::new());
    assert_eq!(home.entries("work"), BTreeSet::new());
}

#[test]
fn nobody_else_may_read_what_is_kept() {
    let home = Home::new();
    for (arguments, stdin) in COMMANDS {
        home.run(&[], Path::new(PROGRAM), arguments, stdin);
    }
    for entry in home.entries("home") {
        let path = home.path("home").join(&entry);
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        // Optimised graphs have the rights of the umask, in folders that others cannot enter.
        let is_graph = entry.starts_with(".cache/alloquy/graphs") && path.is_file();
        if !is_graph {
            assert_eq!(mode & 0o077, 0, "{entry:?} has mode {mode:o}");
        }
    }
}

/// Returns a launcher that writes calls of the network into a file; `None`, said aloud, where there is none.
fn tracer(trace: &Path) -> Option<Vec<String>> {
    // Only calls of the network stop a thread.
    let options = ["strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=%network", "-e", "signal=none", "-o"];
    let launcher: Vec<_> =
        options.iter().map(|word| (*word).to_owned()).chain([trace.display().to_string()]).collect();
    let works = Command::new("strace").args(&launcher[1..]).arg("true").status();
    if works.is_ok_and(|status| status.success()) {
        return Some(launcher);
    }
    eprintln!("Skipping: strace cannot be run");
    None
}

/// Returns the calls that were traced.
///
/// A thread that is stopped in no call at all when its process ends leaves a line too, `PID ???( <detached ...>`; a call of
/// the network always has its name.
fn calls(trace: &Path) -> Vec<String> {
    let lines = fs::read_to_string(trace).unwrap();
    lines.lines().filter(|line| !line.contains(" ???( <detached")).map(str::to_owned).collect()
}

#[test]
fn no_command_makes_a_call_of_the_network() {
    let home = Home::new();
    let trace = home.path("trace");
    let Some(launcher) = tracer(&trace) else { return };
    let launcher: Vec<_> = launcher.iter().map(String::as_str).collect();
    for (arguments, stdin) in COMMANDS {
        home.run(&launcher, Path::new(PROGRAM), arguments, stdin);
        assert_eq!(calls(&trace), Vec::<String>::new(), "{arguments:?}");
    }
}

/// The trace would show one.
#[test]
fn a_call_of_the_network_is_seen() {
    let home = Home::new();
    let trace = home.path("trace");
    let Some(launcher) = tracer(&trace) else { return };
    let launcher: Vec<_> = launcher.iter().map(String::as_str).collect();
    let program = std::env::current_exe().unwrap();
    home.run(&launcher, &program, &["--ignored", "--exact", "opens_a_socket"], "");
    assert!(calls(&trace).iter().any(|call| call.contains("socket(")), "{:?}", calls(&trace));
}

#[test]
#[ignore = "what `a_call_of_the_network_is_seen` runs"]
fn opens_a_socket() {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap();
}

/// Examples that embed the libraries, as `cargo test` builds them beside this test.
#[test]
fn an_example_that_embeds_the_library_leaves_nothing() {
    let beside = std::env::current_exe().unwrap();
    let examples = beside.parent().unwrap().parent().unwrap().join("examples");
    for name in ["hello", "streaming", "branching", "tool"] {
        let example = examples.join(name);
        if !example.is_file() {
            eprintln!("Skipping: {example:?} is not built; `cargo test --workspace` builds it");
            continue;
        }
        let home = Home::new();
        let trace = home.path("trace");
        let launcher = tracer(&trace).unwrap_or_default();
        let launcher: Vec<_> = launcher.iter().map(String::as_str).collect();
        let output = home.run(&launcher, &example, &[], "");
        assert!(!output.stdout.is_empty(), "{name} prints something");
        for folder in ["home", "tmp", "work"] {
            assert_eq!(home.entries(folder), BTreeSet::new(), "{name}");
        }
        if !launcher.is_empty() {
            assert_eq!(calls(&trace), Vec::<String>::new(), "{name}");
        }
    }
}
