//! The built program, run in a folder of its own that nothing of this machine's configuration reaches.
#![allow(dead_code)] // each test file uses its part

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

/// A folder with a store, and the program to run in it.
pub(crate) struct Program {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Program {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().unwrap(), variables: Vec::new() }
    }

    /// Sets a variable of the environment for every run.
    pub(crate) fn variable(mut self, name: &str, value: impl AsRef<Path>) -> Self {
        self.variables.push((name.to_owned(), value.as_ref().display().to_string()));
        self
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    pub(crate) fn store(&self) -> String {
        format!("sqlite:{}", self.path("store.db").display())
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_alloquy"));
        let ours = |name: &str| name.starts_with("ALLOQUY_") && name != "ALLOQUY_CACHE";
        for (name, _) in std::env::vars().filter(|(name, _)| ours(name)) {
            command.env_remove(name);
        }
        command
            .env_remove("RUST_LOG")
            .env("XDG_CONFIG_HOME", self.folder())
            .env("XDG_DATA_HOME", self.folder())
            .env("XDG_STATE_HOME", self.folder())
            .env("HF_HOME", self.path("hugging-face"));
        command.env("ALLOQUY_STORE", self.store());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.args(arguments).current_dir(self.folder());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program with nothing to read.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, "")
    }

    /// Runs the program as it is where no variable says which store is meant.
    pub(crate) fn run_without_a_store(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.command(arguments).env_remove("ALLOQUY_STORE").output().unwrap())
    }

    /// Runs the program with a text to read.
    pub(crate) fn run_with(&self, arguments: &[&str], stdin: &str) -> Ran {
        let mut child = self.spawn(arguments);
        // A program that ends before it read everything is no failure of this test.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        Ran::from(child.wait_with_output().unwrap())
    }

    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().unwrap()
    }

    /// Puts names in the place of what differs between machines and runs: paths and ids.
    pub(crate) fn redacted(&self, text: &str) -> String {
        let text = text.replace(&self.folder().display().to_string(), "[folder]");
        let models = crate::shared::find("models").map(|path| path.display().to_string());
        let text = models.map_or(text.clone(), |models| text.replace(&models, "[models]"));
        with_numbered_ids(&without_times(&text))
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Ran {
    /// Returns what was printed, of a run that has to succeed.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// Returns the lines of standard error that are errors.
    pub(crate) fn errors(&self) -> Vec<&str> {
        self.err.lines().filter(|line| line.starts_with("error:")).collect()
    }

    /// Returns the events of standard output.
    pub(crate) fn events(&self) -> Vec<serde_json::Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Puts `[time]` in the place of each line that says how long an answer took.
fn without_times(text: &str) -> String {
    let is_time = |line: &str| line.starts_with("(first token after ");
    text.split('\n').map(|line| if is_time(line) { "[time]" } else { line }).collect::<Vec<_>>().join("\n")
}

/// Puts `[id 1]`, `[id 2]`, … in the place of ids, in the order in which they appear.
fn with_numbered_ids(text: &str) -> String {
    const LENGTH: usize = 36;
    let mut known: Vec<&str> = Vec::new();
    let mut numbered = String::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        match rest.get(..LENGTH).filter(|id| is_id(id)) {
            Some(id) => {
                let place = known.iter().position(|&seen| seen == id).unwrap_or_else(|| {
                    known.push(id);
                    known.len() - 1
                });
                numbered += &format!("[id {}]", place + 1);
                rest = &rest[LENGTH..];
            }
            None => {
                numbered.push(character);
                rest = &rest[character.len_utf8()..];
            }
        }
    }
    numbered
}

fn is_id(text: &str) -> bool {
    let fits = |(place, byte): (usize, u8)| match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.bytes().enumerate().all(fits)
}
