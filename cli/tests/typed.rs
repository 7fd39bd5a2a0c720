//! A chat at a terminal: whatever is typed, and whenever, is asked once and in order.
#![cfg(all(unix, feature = "pocket"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;
mod terminal;

use std::process::Command;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use program::Program;
use terminal::Terminal;

/// Short answers, so that many fit into a run.
const SHORT: [&str; 7] = ["chat", "-q", "--max-tokens", "4", "--context-policy", "drop", "--no-history"];

/// Answers that take a while.
const LONG: [&str; 5] = ["chat", "-q", "--no-history", "--regex", "[ab]{1500}"];

/// Numbers that look random and are the same in each run.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        // Xorshift, by Marsaglia.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Something that is typed and what it does.
#[derive(Debug)]
enum Line {
    Ask(String),
    Undo,
    /// Shows something, and changes nothing.
    Look,
}

/// What is typed in one run, and what comes of it.
struct Script {
    keys: Vec<u8>,
    lines: Vec<Line>,
}

impl Script {
    /// Lines of all kinds: plain ones, pasted ones of several lines, ones that are edited while they are typed, commands.
    fn drawn(draws: &mut Draws, name: &str) -> Self {
        let mut keys = Vec::new();
        let mut lines = Vec::new();
        for index in 0..=draws.below(4) {
            let said = format!("What is {index} + {}? é€ {name}", draws.below(9));
            let (typed, line) = match draws.below(9) {
                0 => (b"/undo".to_vec(), Line::Undo),
                1 => (b"/help".to_vec(), Line::Look),
                2 => {
                    let pasted = format!("\u{1b}[200~{said}\rand more\u{1b}[201~");
                    (pasted.into_bytes(), Line::Ask(format!("{said}\nand more")))
                }
                3 => (format!("{said}xy\u{7f}\u{7f}").into_bytes(), Line::Ask(said)),
                4 => (format!("{said}\u{1b}[D\u{1b}[C").into_bytes(), Line::Ask(said)),
                5 => (format!("{said}\nbelow").into_bytes(), Line::Ask(format!("{said}\nbelow"))),
                _ => (said.clone().into_bytes(), Line::Ask(said)),
            };
            keys.extend(typed);
            keys.push(b'\r');
            lines.push(line);
        }
        Self { keys, lines }
    }

    /// The keys in the writes in which they arrive: all at once, or cut anywhere, characters and sequences too.
    fn writes(&self, draws: &mut Draws) -> Vec<Vec<u8>> {
        if draws.below(3) == 0 {
            return vec![self.keys.clone()];
        }
        let mut writes = Vec::new();
        let mut rest = self.keys.as_slice();
        while !rest.is_empty() {
            let (write, after) = rest.split_at(1 + draws.below(rest.len() as u64) as usize);
            writes.push(write.to_vec());
            rest = after;
        }
        writes
    }
}

/// The questions of a conversation with the text of what each follows, in the order in which they were asked.
fn asked(program: &Program) -> Vec<(String, Option<String>)> {
    let shown = program.run(&["tree", "--json"]).ok().events().remove(0);
    let mut nodes = shown["nodes"].as_array().unwrap().clone();
    // Ids sort by time.
    nodes.sort_by_key(|node| node["id"].as_str().unwrap().to_owned());
    let text = |node: &Value| node["message"]["parts"][0]["text"].as_str().unwrap_or_default().to_owned();
    let find = |id: &Value| nodes.iter().find(|node| node["id"] == *id);
    let questions = nodes.iter().filter(|node| node["message"]["role"] == "user");
    let with_place = |node: &Value| {
        // The question before is what the answer before follows.
        let before = find(&node["parent"]).and_then(|answer| find(&answer["parent"]));
        (text(node), before.map(text))
    };
    questions.map(with_place).collect()
}

/// What comes of lines: the questions with what they follow, undone ones included.
fn expected(lines: &[Line]) -> Vec<(String, Option<String>)> {
    let mut questions = Vec::new();
    let mut path = Vec::<String>::new();
    for line in lines {
        match line {
            Line::Ask(said) => {
                questions.push((said.clone(), path.last().cloned()));
                path.push(said.clone());
            }
            Line::Undo => drop(path.pop()),
            Line::Look => {}
        }
    }
    questions
}

/// Types scripts into one chat, and says what should have come of them.
fn run(scripts: usize, seed: u64) {
    let program = Program::new();
    let mut terminal = Terminal::start(program.command(&SHORT));
    // Before that, in the terminal's usual mode, a line feed ends a line and nothing is bracketed.
    terminal.wait_until_taken();
    let mut draws = Draws(seed);
    let mut lines = Vec::new();
    for index in 0..scripts {
        let script = Script::drawn(&mut draws, &format!("{seed}-{index}"));
        for write in script.writes(&mut draws) {
            terminal.type_in(write);
            // None, or a moment in which an answer may begin, end or be under way.
            if draws.below(2) == 0 {
                std::thread::sleep(Duration::from_millis(draws.below(60)));
            }
        }
        lines.extend(script.lines);
        if draws.below(4) == 0 {
            // Somebody waits for the answers before typing on.
            std::thread::sleep(Duration::from_millis(300));
        }
    }
    terminal.type_in("/exit\r");
    let status = terminal.end();
    assert_eq!(status.code(), Some(0), "{}", terminal.text());
    assert_eq!(asked(&program), expected(&lines), "seed {seed}:\n{}", terminal.text());
    let looks = lines.iter().filter(|line| matches!(line, Line::Look)).count();
    assert_eq!(terminal.text().matches("list these commands").count(), looks);
    assert_eq!(terminal.modes_now(), terminal.modes, "the terminal is as it was");
}

#[test]
fn two_hundred_scripts_are_asked_line_by_line() {
    let runs = 1..=8;
    let running: Vec<_> = runs.map(|seed| std::thread::spawn(move || run(25, 0x9E37_79B9 * seed))).collect();
    for run in running {
        run.join().unwrap();
    }
}

/// A server with one tool, which notes each of its calls in a file.
#[cfg(feature = "mcp")]
const SERVER: &str = r#"
import json, sys
schema = {"type": "object", "properties": {"city": {"enum": ["Oslo"]}}, "required": ["city"]}
answers = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "sky", "version": "1"}},
    "tools/list": {"tools": [{"name": "weather", "description": "Tells the weather", "inputSchema": schema}]},
    "tools/call": {"content": [{"type": "text", "text": "Rain"}]},
}
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "tools/call":
        open("calls.log", "a").write("call\n")
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answers[asked["method"]]}), flush=True)
"#;

#[cfg(feature = "mcp")]
fn calls(program: &Program) -> usize {
    std::fs::read_to_string(program.path("calls.log")).unwrap_or_default().lines().count()
}

#[cfg(feature = "mcp")]
#[test]
fn a_yes_that_is_typed_ahead_approves_of_nothing_and_is_the_next_line() {
    let program = Program::new();
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("Skipping: there is no python3");
        return;
    }
    program.write("server.py", SERVER);
    let chat = ["chat", "-q", "--no-history", "--mcp", "python3 server.py", "--tool-choice", "weather"];
    let mut terminal = Terminal::start(program.command(&[&chat[..], &["--tool-rounds", "1"]].concat()));
    terminal.wait_until_taken();
    terminal.type_in("Hello\ry\r");
    terminal.wait_for(1, "run weather(");
    // Whatever was typed ahead would have been taken by now.
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(
        (terminal.text().matches("run weather(").count(), calls(&program)),
        (1, 0),
        "{}",
        terminal.text()
    );
    terminal.type_in("n\r");
    // What was typed ahead is asked now, and brings a call of its own.
    terminal.wait_for(2, "run weather(");
    assert_eq!(calls(&program), 0, "{}", terminal.text());
    terminal.type_in("y\r");
    terminal.type_in("/exit\r");
    assert_eq!(terminal.end().code(), Some(0), "{}", terminal.text());
    assert_eq!(calls(&program), 1, "{}", terminal.text());
    let said: Vec<_> = asked(&program).into_iter().map(|(said, _)| said).collect();
    assert_eq!(said, ["Hello", "y"]);
}

#[test]
fn what_is_typed_before_the_chat_is_there_is_kept() {
    let program = Program::new();
    let mut terminal = Terminal::start(program.command(&SHORT));
    terminal.type_in("One\rTwo\rThr");
    std::thread::sleep(Duration::from_millis(100));
    terminal.type_in("ee\r/exit\r");
    assert_eq!(terminal.end().code(), Some(0));
    let said: Vec<_> = asked(&program).into_iter().map(|(said, _)| said).collect();
    assert_eq!(said, ["One", "Two", "Three"]);
}

#[test]
fn an_interrupt_ends_the_answer_and_keeps_what_is_typed_ahead() {
    let program = Program::new();
    let mut terminal = Terminal::start(program.command(&LONG));
    terminal.wait_for(1, "> ");
    terminal.type_in("Hello\r");
    terminal.wait_for(1, "aaa");
    terminal.type_in("Again");
    terminal.type_in("\u{3}");
    terminal.wait_for(1, "> Again");
    terminal.type_in("\r");
    // Right after Enter there is no answer yet, and it is meant all the same.
    std::thread::sleep(Duration::from_millis(5));
    terminal.type_in("\u{3}");
    terminal.wait_for(3, "> ");
    terminal.type_in("/exit\r");
    assert_eq!(terminal.end().code(), Some(0));
    let said: Vec<_> = asked(&program).into_iter().map(|(said, _)| said).collect();
    assert_eq!(said[..1], ["Hello"]);
    assert_eq!(terminal.modes_now(), terminal.modes);
}

#[test]
fn a_second_interrupt_leaves_and_puts_the_terminal_back() {
    let program = Program::new();
    let mut terminal = Terminal::start(program.command(&LONG));
    terminal.wait_for(1, "> ");
    terminal.type_in("Hello\r");
    terminal.wait_for(1, "aaa");
    terminal.type_in("\u{3}\u{3}");
    assert_eq!(terminal.end().code(), Some(130));
    assert_eq!(terminal.modes_now(), terminal.modes);
    let bytes = terminal.bytes();
    let switched = bytes.windows(8).rfind(|window| window.starts_with(b"\x1b[?2004")).unwrap();
    assert!(switched.ends_with(b"l"), "pasted text is bracketed no more: {}", terminal.text());
}

#[test]
fn a_signal_that_ends_the_program_puts_the_terminal_back() {
    use std::os::unix::process::ExitStatusExt as _;

    for signal in [Signal::SIGTERM, Signal::SIGHUP] {
        let program = Program::new();
        let mut terminal = Terminal::start(program.command(&LONG));
        terminal.wait_for(1, "> ");
        terminal.type_in("Hello\r");
        terminal.wait_for(1, "aaa");
        terminal.signal(signal);
        assert_eq!(terminal.end().signal(), Some(signal as i32));
        assert_eq!(terminal.modes_now(), terminal.modes);
    }
}

/// Without a shell nobody continues what is stopped, so the test does.
#[cfg(target_os = "linux")] // where /proc tells that it is stopped
#[test]
fn a_chat_is_stopped_and_goes_on() {
    let program = Program::new();
    let mut terminal = Terminal::start(program.command(&SHORT));
    terminal.wait_for(1, "> ");
    terminal.type_in("One\rhalf a l");
    terminal.wait_for(1, "> half a l");
    terminal.type_in("\u{1a}");
    while terminal.state() != 'T' {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(terminal.modes_now(), terminal.modes, "the shell has the terminal as it was");
    terminal.signal(Signal::SIGCONT);
    terminal.wait_for(2, "> half a l");
    terminal.type_in("ine\r/exit\r");
    assert_eq!(terminal.end().code(), Some(0));
    let said: Vec<_> = asked(&program).into_iter().map(|(said, _)| said).collect();
    assert_eq!(said, ["One", "half a line"]);
}

#[test]
fn bytes_that_are_no_text_do_not_end_a_chat() {
    let program = Program::new();
    let mut terminal = Terminal::start(program.command(&SHORT));
    terminal.type_in(b"caf\xe9\r\xff\xfe ok\xc2\x9b2J\rTwo\ttabs\r/exit\r");
    assert_eq!(terminal.end().code(), Some(0));
    let said: Vec<_> = asked(&program).into_iter().map(|(said, _)| said).collect();
    assert_eq!(said, ["caf\u{FFFD}", "\u{FFFD}\u{FFFD} ok\u{FFFD}2J", "Two\ttabs"]);
}

/// More than a terminal holds by itself.
#[test]
fn a_long_paste_while_an_answer_is_written_is_whole() {
    let program = Program::new();
    let mut terminal = Terminal::start(program.command(&SHORT));
    terminal.wait_for(1, "> ");
    terminal.type_in("One\r");
    let long = "word ".repeat(4000);
    terminal.type_in(format!("\u{1b}[200~{long}\u{1b}[201~ end\u{15}Two\r/exit\r"));
    assert_eq!(terminal.end().code(), Some(0));
    let said: Vec<_> = asked(&program).into_iter().map(|(said, _)| said).collect();
    assert_eq!(said, ["One", "Two"], "the long line was taken back with Ctrl-U");
}

/// A server of terminals of its own.
struct Tmux(String);

impl Tmux {
    fn run(&self, arguments: &[&str]) -> String {
        let ran = Command::new("tmux").args(["-L", &self.0, "-f", "/dev/null"]).args(arguments).output();
        let ran = ran.unwrap();
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

#[test]
fn under_tmux_every_line_is_asked_too() {
    if Command::new("tmux").arg("-V").output().is_err() {
        eprintln!("Skipping: there is no tmux");
        return;
    }
    let program = Program::new();
    let tmux = Tmux(format!("alloquy-{}", std::process::id()));
    let chat = program.command(&SHORT);
    let mut start = vec!["new-session".to_owned(), "-d".to_owned(), "-s".to_owned(), "chat".to_owned()];
    start.extend(["-x", "150", "-y", "50", "env"].map(str::to_owned));
    for (name, value) in chat.get_envs() {
        let name = name.to_string_lossy();
        let value = value.map(|value| value.to_string_lossy());
        start.extend(value.map(|value| format!("{name}={value}")));
    }
    start.push(chat.get_program().to_string_lossy().into_owned());
    start.extend(chat.get_args().map(|argument| argument.to_string_lossy().into_owned()));
    tmux.run(&start.iter().map(String::as_str).collect::<Vec<_>>());
    // A paste that comes before the chat has asked for marks around pastes is, to tmux, lines with Enter.
    let is_ready = (0..1200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        tmux.run(&["capture-pane", "-p", "-t", "chat"]).contains('>')
    });
    assert!(is_ready, "the chat shows no prompt");

    let mut draws = Draws(0xA11_0C0DE);
    let mut expected = Vec::new();
    for index in 0..40 {
        let said = format!("What is {index} + {}?", draws.below(9));
        match draws.below(3) {
            0 => {
                tmux.run(&["send-keys", "-t", "chat", "-l", &said]);
                tmux.run(&["send-keys", "-t", "chat", "Enter"]);
                expected.push(said);
            }
            1 => {
                // Without -p a paste is not bracketed: each line ends with Enter.
                tmux.run(&["set-buffer", &format!("{said}\n{said} again\n")]);
                tmux.run(&["paste-buffer", "-t", "chat"]);
                expected.extend([said.clone(), format!("{said} again")]);
            }
            _ => {
                tmux.run(&["set-buffer", &format!("{said}\nin one")]);
                tmux.run(&["paste-buffer", "-p", "-t", "chat"]);
                tmux.run(&["send-keys", "-t", "chat", "Enter"]);
                expected.push(format!("{said}\nin one"));
            }
        }
        std::thread::sleep(Duration::from_millis(draws.below(80)));
    }
    tmux.run(&["send-keys", "-t", "chat", "-l", "/exit"]);
    tmux.run(&["send-keys", "-t", "chat", "Enter"]);
    for _ in 0..1200 {
        if tmux.run(&["list-sessions"]).is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let said: Vec<_> = asked(&program).into_iter().map(|(said, _)| said).collect();
    assert_eq!(said, expected);
}
