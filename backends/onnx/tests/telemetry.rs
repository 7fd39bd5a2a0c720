//! A program with only this crate loads a model on a thread. Nothing is written into its home folder, and no socket is
//! opened. ONNX Runtime does both unless a variable forbids it before it is loaded.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)] // a test may panic

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use alloquy_onnx::{Locator, OnnxEngine};
use common::graphs::{Cache, Lora, model, noise};

const VARIABLE: &str = "ORT_DISABLE_TELEMETRY";

/// Not a test of its own: the program that the tests start. The harness runs it on a thread.
#[test]
fn program() {
    match std::env::var("TEST_PROGRAM").as_deref() {
        Ok("plain") => {}
        Ok("without the variable") => without_the_variable(),
        _ => return,
    }
    let lora = Lora::Merged(noise(3, 16), noise(4, 128));
    match OnnxEngine::of_files(model(Cache::Concat, &lora)).load() {
        Ok(_) => println!("loaded with {:?}", std::env::var(VARIABLE)),
        Err(error) => println!("refused: {error}"),
    }
}

/// As in a plugin of a program with threads, where the variable could not be set.
#[allow(unsafe_code)] // the environment belongs to the whole process
fn without_the_variable() {
    // SAFETY: the other thread of this process waits for this one, and does not read the environment meanwhile.
    unsafe { std::env::remove_var(VARIABLE) };
}

/// A home folder and a temporary folder with nothing in them.
struct Home {
    root: tempfile::TempDir,
    library: PathBuf,
}

impl Home {
    fn new() -> Self {
        let library = Locator::new().locate(|event| eprintln!("{event}")).unwrap().path;
        let root = tempfile::tempdir().unwrap();
        for name in ["home", "tmp"] {
            std::fs::create_dir(root.path().join(name)).unwrap();
        }
        Self { root, library }
    }

    /// Runs the program; with a `launcher`, the program is its last argument.
    fn run(&self, kind: &str, launcher: &[&str]) -> String {
        let program = std::env::current_exe().unwrap();
        let words: Vec<_> = launcher.iter().map(Path::new).chain([program.as_path()]).collect();
        let mut command = Command::new(words.first().unwrap());
        command.args(words.iter().skip(1)).args(["--exact", "program", "--nocapture"]);
        // On build servers there are variables that turn the telemetry off, and the test would prove nothing.
        command.env_clear().env("TEST_PROGRAM", kind).env(VARIABLE, "0");
        command.env("HOME", self.root.path().join("home")).env("TMPDIR", self.root.path().join("tmp"));
        command.env("ORT_DYLIB_PATH", &self.library).current_dir(self.root.path().join("home"));
        let Output { status, stdout, stderr } = command.output().unwrap();
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).unwrap()
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut pending = vec![self.root.path().join("home"), self.root.path().join("tmp")];
        let mut found = Vec::new();
        while let Some(folder) = pending.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    pending.push(path.clone());
                }
                found.push(path);
            }
        }
        found
    }
}

#[test]
fn nothing_appears_beside_a_program_that_loads_a_model() {
    let home = Home::new();
    let said = home.run("plain", &[]);
    assert!(said.contains("loaded with Ok(\"1\")"), "{said}");
    assert_eq!(home.files(), Vec::<PathBuf>::new());
}

#[test]
fn a_library_that_would_send_telemetry_is_not_loaded() {
    let home = Home::new();
    let said = home.run("without the variable", &[]);
    assert!(said.contains("refused: ONNX Runtime is not loaded"), "{said}");
    assert!(said.contains("set ORT_DISABLE_TELEMETRY=1 before this process starts"), "{said}");
    assert_eq!(home.files(), Vec::<PathBuf>::new());
}

#[test]
fn no_socket_is_opened() {
    let traces = tempfile::tempdir().unwrap();
    let trace = traces.path().join("trace");
    // Only network calls are traced. A thread that ends in another call has no line of its own (`???( <detached ...>`).
    let options = ["strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=%network", "-e", "signal=none", "-o"];
    let options = [&options[..], &[trace.to_str().unwrap()]].concat();
    let works = Command::new("strace").args(options.iter().skip(1)).arg("true").status();
    if !works.is_ok_and(|status| status.success()) {
        eprintln!("Skipping: strace cannot be run");
        return;
    }
    let said = Home::new().run("plain", &options);
    assert!(said.contains("loaded with Ok(\"1\")"), "{said}");
    assert_eq!(std::fs::read_to_string(&trace).unwrap(), "");
}
