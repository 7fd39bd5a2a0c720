//! Makes each attempt in a process of its own that has little memory. Knows no attempt.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use alloquy_core::model_info::ModelInfo;
use alloquy_core::template::PromptTemplate as _;
use alloquy_inference::RoleMarkers;
use alloquy_templates::{JinjaTemplate, Limits};

/// Set in a child process, which reads the attempt's source.
const CHILD: &str = "ALLOQUY_HOSTILE_CHILD";
/// What a child may have: 256 MiB of address space.
const ADDRESS_SPACE_KIB: usize = 256 << 10;
/// How long an attempt may compute: a build that is not optimised is slower.
const SECONDS: f64 = if cfg!(debug_assertions) { 15.0 } else { 1.0 };
/// When the system ends what does not end.
const ENOUGH: u32 = 20;
/// A build that is not optimised takes ten to twenty times as long for a step, so it may take fewer.
const SHARE: u64 = if cfg!(debug_assertions) { 16 } else { 1 };

fn limits() -> Limits {
    let limits = Limits::default();
    Limits { steps: limits.steps / SHARE, ..limits }
}

/// What came of an attempt.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) words: String,
    pub(crate) seconds: f64,
    /// The most memory that the process had at a time.
    pub(crate) kib: u64,
}

impl Outcome {
    pub(crate) fn is_soon(&self) -> bool {
        self.seconds < SECONDS
    }
}

/// Runs in a child process; on its own it does nothing.
#[test]
fn child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let mut source = String::new();
    std::io::stdin().read_to_string(&mut source).unwrap();
    let started = computed();
    let template = JinjaTemplate::builder(source).limits(limits()).build();
    let rendered = template.and_then(|template| {
        // What is learnt of a template when it is loaded and when it is first used counts as well.
        template.capabilities();
        RoleMarkers::of(&template, &ModelInfo::default());
        template.render(&crate::input())
    });
    let took = computed() - started;
    let words = match rendered {
        Ok(text) => format!("rendered {} bytes", text.len()),
        Err(error) => {
            format!("{:?}: {}", error.kind(), error.to_string().chars().take(200).collect::<String>())
        }
    };
    let words = words.replace(&limits().steps.to_string(), &Limits::default().steps.to_string());
    println!("\nOUTCOME {took:.3} {} {}", peak(), words.escape_debug());
}

/// The seconds that this thread has computed: other processes take none of these.
fn computed() -> f64 {
    let status = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    status.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

/// The most memory that this process had at a time, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Makes an attempt in a process of its own.
pub(crate) fn outcome(name: &str, source: &str) -> Outcome {
    let limited = format!(
        "ulimit -v {ADDRESS_SPACE_KIB} -t {ENOUGH}; exec \"$0\" --exact child::child --nocapture --test-threads=1"
    );
    let mut child = Command::new("bash")
        .args(["-c", &limited])
        .arg(std::env::current_exe().unwrap())
        .env(CHILD, "1")
        // Each arena of the C library's reserves 64 MiB.
        .env("MALLOC_ARENA_MAX", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(complaint.is_empty(), "{name} wrote to stderr: {complaint}");
    let Some(outcome) = printed.lines().find_map(|line| line.strip_prefix("OUTCOME ")) else {
        return Outcome { words: format!("no end: {}", output.status), seconds: f64::INFINITY, kib: 0 };
    };
    let mut words = outcome.splitn(3, ' ');
    let seconds = words.next().unwrap().parse().unwrap();
    let kib = words.next().unwrap().parse().unwrap();
    Outcome { words: words.next().unwrap().to_owned(), seconds, kib }
}
