//! Commands that people know from other programs, and what they are called here.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Names that are no commands here, and what to say of them.
const PEERS: [(&[&str], &str); 14] = [
    (
        &["run", "repl", "interactive"],
        "`alloquy chat` talks with a model, and `alloquy ask` asks one question",
    ),
    (&["prompt", "generate", "query", "q"], "`alloquy ask \"QUESTION\"` asks one question"),
    (
        &["server", "api", "web", "ui", "daemon"],
        "`alloquy serve` serves models over HTTP, for the clients of OpenAI's API",
    ),
    (&["list", "ls", "ps"], "`alloquy models` lists models, and `alloquy conversations` lists conversations"),
    (
        &["rm", "remove"],
        "`alloquy models rm NAME` removes a model; `alloquy --help` lists the commands for conversations",
    ),
    (
        &["logs", "log", "history", "chats", "threads"],
        "`alloquy conversations` lists conversations, and `alloquy tree` shows one",
    ),
    (&["find", "grep"], "`alloquy search WORDS` finds messages"),
    (&["get", "download", "fetch", "install", "add"], "`alloquy pull OWNER/NAME` fetches a model"),
    (
        &["show", "info", "inspect", "describe"],
        "`alloquy models show NAME` describes a model, and `alloquy tree` shows a conversation",
    ),
    (
        &["aliases", "alias", "default", "cp"],
        "`alloquy models alias NAME MODEL` gives a model a short name, and `alloquy models default NAME` chooses one",
    ),
    (&["settings", "options", "env", "set"], "`alloquy config show` shows the settings"),
    (&["status", "check", "health", "diagnose"], "`alloquy doctor` checks whether everything is in place"),
    (&["benchmark", "perf", "tune"], "`alloquy bench` measures how fast a model is here"),
    (&["completion", "autocomplete"], "`alloquy completions SHELL` prints the completions of a shell"),
];

/// Adds to the error of an unknown command what it is called here, if it is known.
pub(crate) fn advise(error: &mut clap::Error) {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return;
    }
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else { return };
    let Some(advice) = advice(name) else { return };
    // What clap suggests is similar by its letters alone.
    error.remove(ContextKind::SuggestedSubcommand);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
}

fn advice(name: &str) -> Option<&'static str> {
    let known = PEERS.iter().find(|(names, _)| names.contains(&name));
    known.map(|(_, advice)| *advice)
}
