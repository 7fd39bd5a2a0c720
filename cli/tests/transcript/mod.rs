//! Commands that are typed in an empty home folder, and what a terminal shows then: the same on every machine.

mod names;
mod screen;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::terminal::Terminal;
use names::Names;
use screen::rendered;

/// How long an answer may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(120);

/// What begins a line that is typed in a chat.
const PROMPTS: [&str; 2] = ["> ", "... "];

/// A person's home folder, and what of it is shown under another name.
pub(crate) struct Home {
    folder: TempDir,
    cache: PathBuf,
    names: Names,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().unwrap(), cache: cache(), names: Names::default() }
    }

    /// Runs the blocks of a page again, and returns the page as it should be.
    pub(crate) fn page(&mut self, page: &str) -> String {
        let mut made = String::new();
        let mut lines = page.lines().peekable();
        while let Some(line) = lines.next() {
            made += &format!("{line}\n");
            if line != "```console" {
                continue;
            }
            let mut block = Vec::new();
            for line in lines.by_ref().take_while(|line| *line != "```") {
                block.push(line);
            }
            made += &self.block(&block);
            made += "```\n";
        }
        made
    }

    /// Runs the commands of a block, which begin with a dollar sign.
    fn block(&mut self, block: &[&str]) -> String {
        let mut shown = String::new();
        let mut lines = block.iter().peekable();
        while let Some(line) = lines.next() {
            let command = line.strip_prefix("$ ").unwrap_or_else(|| panic!("{line:?} is no command"));
            let mut typed = Vec::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
                let prompt = PROMPTS.iter().find(|prompt| line.starts_with(**prompt));
                typed.extend(prompt.map(|prompt| &line[prompt.len()..]));
            }
            let real = self.names.real(command);
            let out = if is_chat(command) { self.chat(&real, &typed) } else { self.shell(&real) };
            self.learn();
            shown += &format!("$ {command}\n{}", self.normal(&out));
        }
        shown
    }

    /// Runs a command of a shell; both of its outputs are shown, as a terminal shows them.
    fn shell(&self, command: &str) -> String {
        let Output { stdout, .. } = self.command(&format!("exec 2>&1\n{command}")).output().unwrap();
        let shown = String::from_utf8(stdout).unwrap();
        // At a terminal this line is gone when the model is loaded.
        let is_kept = |line: &&str| !line.starts_with("loading ");
        shown.lines().filter(is_kept).map(|line| format!("{}\n", line.trim_end())).collect()
    }

    /// Types lines into a chat, each at the next prompt.
    fn chat(&self, command: &str, typed: &[&str]) -> String {
        let mut terminal = Terminal::start(self.command(&format!("exec {command}")));
        for (index, line) in typed.iter().enumerate() {
            wait_for_prompt(&terminal, index + 1);
            terminal.type_in(format!("{line}\r"));
        }
        let ended = terminal.end();
        assert!(ended.success(), "{command}: {}", terminal.text());
        let lines = rendered(&terminal.bytes());
        lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    fn command(&self, script: &str) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_alloquy")).parent().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(self.folder.path()).env_clear();
        command.env("HOME", self.folder.path()).env("LANG", "C.UTF-8").env("ALLOQUY_CACHE", &self.cache);
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", program.display()));
        for name in ["ORT_DYLIB_PATH", "LD_LIBRARY_PATH"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn json(&self, command: &str) -> serde_json::Value {
        let printed = self.command(command).output().unwrap().stdout;
        serde_json::from_slice(&printed).unwrap_or_default()
    }

    /// Learns the ids of the conversations and messages that are new.
    fn learn(&mut self) {
        let listed = self.json("alloquy conversations --json --limit 1000");
        let mut conversations = ids(&listed["conversations"]);
        conversations.sort();
        for id in conversations {
            let tree = self.json(&format!("alloquy tree --json --conversation {id}"));
            self.names.learn_conversation(&id);
            for node in ids(&tree["nodes"]) {
                self.names.learn_message(&node);
            }
        }
    }

    /// Puts names in the place of what differs between machines and runs.
    fn normal(&self, shown: &str) -> String {
        let shown = shown.replace(&self.folder.path().display().to_string(), "~");
        let shown = shown.replace(&self.cache.display().to_string(), "~/.cache/alloquy");
        // Lists have tabs in a pipe, which the page shows as spaces.
        names::without_times(&self.names.fake(&shown)).replace('\t', "  ")
    }
}

fn is_chat(command: &str) -> bool {
    command.starts_with("alloquy chat") && !command.contains('|')
}

fn ids(list: &serde_json::Value) -> Vec<String> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(|one| Some(one["id"].as_str()?.to_owned())).collect()
}

/// Waits until the last line is an empty prompt, and there are so many lines with a prompt.
fn wait_for_prompt(terminal: &Terminal, count: usize) {
    let begun = Instant::now();
    loop {
        let lines = rendered(&terminal.bytes());
        let is_prompt = |line: &&String| PROMPTS.iter().any(|prompt| format!("{line} ").starts_with(prompt));
        let is_ready =
            lines.last().is_some_and(|line| PROMPTS.iter().any(|prompt| prompt.trim() == line.trim()));
        if is_ready && lines.iter().filter(is_prompt).count() == count {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "no prompt {count}: {lines:#?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Where ONNX Runtime is on this machine: fetching it again would take a while.
fn cache() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let home = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    variable("ALLOQUY_CACHE").or_else(|| Some(home?.join("alloquy"))).unwrap()
}
