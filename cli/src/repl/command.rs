//! The commands of a chat: lines that begin with a slash.

use alloquy::core::{Error, ErrorKind, Result};
use serde_json::{Value, json};

use super::quoted::{Quoted, unquoted};
use crate::nearest::nearest;

/// What Tab completes after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completes {
    Nothing,
    /// Addresses and bookmarks.
    Addresses,
    Files,
    Models,
    /// Prompts of the library, and the names of their values.
    Prompts,
    Settings,
}

/// A command as help lists it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) name: &'static str,
    /// Empty for none; in brackets where it may be absent.
    pub(super) argument: &'static str,
    purpose: &'static str,
    pub(super) completes: Completes,
}

const fn entry(name: &'static str, argument: &'static str, purpose: &'static str) -> Entry {
    Entry { name, argument, purpose, completes: Completes::Nothing }
}

const fn completing(
    name: &'static str,
    argument: &'static str,
    completes: Completes,
    purpose: &'static str,
) -> Entry {
    Entry { name, argument, purpose, completes }
}

/// Every command, in the order in which help lists them.
pub(super) const COMMANDS: [Entry; 26] = [
    entry("/undo", "", "go back to before the last question"),
    entry("/retry", "", "generate the last answer again; the old one stays as a branch"),
    entry("/edit", "TEXT", "replace the last question; the old one stays as a branch"),
    entry("/history", "", "show the messages up to here"),
    entry("/tree", "", "draw every message with its address; * marks where you are"),
    completing(
        "/goto",
        "ADDRESS",
        Completes::Addresses,
        "go to an address such as 0.1.0; the next message follows it",
    ),
    entry("/branches", "", "list the branches"),
    completing("/diff", "ADDRESS ADDRESS", Completes::Addresses, "show what two branches do not share"),
    completing(
        "/label",
        "ADDRESS [LABEL]",
        Completes::Addresses,
        "label a branch; without LABEL, remove its label",
    ),
    completing(
        "/bookmark",
        "[NAME [ADDRESS]]",
        Completes::Addresses,
        "set a bookmark, here or at an address; alone, list all",
    ),
    entry("/fork", "[NAME]", "continue in a copy of this conversation; the original stays as it is"),
    entry("/new", "", "begin a new conversation; this one stays"),
    entry("/clear", "", "the same as /new, and clear the screen"),
    entry("/delete", "[yes]", "delete this conversation, after a question; yes answers it"),
    entry(
        "/system",
        "[TEXT]",
        "show the system prompt, or begin a conversation with another: a text, @FILE, or \"\" for none",
    ),
    completing(
        "/prompt",
        "[NAME [KEY=VALUE …]]",
        Completes::Prompts,
        "send a prompt of the library (--prompts), or begin with a system prompt; alone, list all",
    ),
    entry(
        "/remember",
        "TEXT",
        "store a note for this and other conversations; --memory reminds the model of notes",
    ),
    entry("/notes", "", "list the notes, the newest first"),
    entry("/forget", "ID", "forget a note; the end of its id is enough"),
    completing(
        "/model",
        "[[URL] NAME]",
        Completes::Models,
        "show the model, or continue with another; URL is a server that has it, and none is this machine",
    ),
    completing(
        "/set",
        "[NAME VALUE]",
        Completes::Settings,
        "show the settings, or change one, as in /set temperature 0.7",
    ),
    completing("/image", "FILE", Completes::Files, "attach this image to your next message; may be repeated"),
    completing(
        "/audio",
        "FILE",
        Completes::Files,
        "attach this audio clip to your next message; may be repeated",
    ),
    completing(
        "/save",
        "FILE [FORMAT]",
        Completes::Files,
        "write this conversation to a .json, .jsonl or .md file",
    ),
    entry("/help", "", "list these commands"),
    entry("/exit", "", "leave; so do exit, quit and Ctrl-D"),
];

/// What help lists besides.
const OTHERS: [(&str, &str); 4] = [
    ("//…", "send a message that begins with a slash"),
    (
        "\"\"\"",
        "begin and end a message of several lines, or one that is the word exit; Ctrl-J is a new line",
    ),
    ("Tab", "complete a command, an address, a file, a model or a setting"),
    ("Ctrl-C", "interrupt an answer and keep what was generated"),
];

/// Other names of commands.
const ALIASES: [(&str, &str); 10] = [
    ("/?", "/help"),
    ("/h", "/help"),
    ("/quit", "/exit"),
    ("/bye", "/exit"),
    ("/q", "/exit"),
    ("/switch", "/goto"),
    ("/branch", "/fork"),
    ("/export", "/save"),
    ("/settings", "/set"),
    ("/reset", "/clear"),
];

/// The lines that leave a chat without a slash.
const LEAVING: [&str; 2] = ["exit", "quit"];

/// A line of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// An empty line.
    Nothing,
    /// A message.
    Say(String),
    /// A command.
    Command(Command),
}

/// A command of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Undo,
    Retry,
    Edit(String),
    History,
    Tree,
    Goto(String),
    Branches,
    Diff(String, String),
    /// An address, and the label unless it is removed.
    Label(String, Option<String>),
    /// A name unless all are listed, and an address unless it is set here.
    Bookmark(Option<(String, Option<String>)>),
    Fork(Option<String>),
    New,
    Clear,
    Delete(Consent),
    System(Option<String>),
    Model(Option<String>),
    /// A name and values, unless all are listed.
    Prompt(Option<(String, Vec<String>)>),
    Remember(String),
    Notes,
    Forget(String),
    Set(Option<(String, String)>),
    Image(String),
    Audio(String),
    /// A file and the format, if there is a second argument.
    Save(String),
    Help,
    Exit,
}

/// Whether a person has agreed to what cannot be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consent {
    Given,
    Missing,
}

impl Line {
    /// Reads a line, or the lines between marks. Two slashes are one in a message: `//help` sends `/help`.
    pub(super) fn read(line: &str) -> Result<Self> {
        let line = line.trim();
        if let Quoted::Closed(text) = Quoted::read(line) {
            return Ok(if text.trim().is_empty() { Line::Nothing } else { Line::Say(text.to_owned()) });
        }
        if LEAVING.iter().any(|word| line.eq_ignore_ascii_case(word)) {
            return Ok(Line::Command(Command::Exit));
        }
        match line.strip_prefix('/') {
            _ if line.is_empty() => Ok(Line::Nothing),
            None => Ok(Line::Say(line.to_owned())),
            Some(rest) if rest.starts_with('/') => Ok(Line::Say(rest.to_owned())),
            Some(_) => command(line).map(Line::Command),
        }
    }
}

/// Finds a command by its name or by another name of it.
pub(super) fn find(name: &str) -> Option<Entry> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
    let name = alias.map_or(name, |(_, name)| name);
    COMMANDS.into_iter().find(|entry| entry.name == name)
}

fn command(line: &str) -> Result<Command> {
    let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let entry = find(name).ok_or_else(|| unknown(name))?;
    let argument = argument.trim();
    if entry.argument.is_empty() && !argument.is_empty() {
        return Err(invalid(format!("{name} takes no argument")));
    }
    if argument.is_empty() && !entry.argument.is_empty() && !entry.argument.starts_with('[') {
        return Err(usage(entry));
    }
    let (first, rest) = split(argument);
    let some = (!argument.is_empty()).then(|| argument.to_owned());
    Ok(match entry.name {
        "/undo" => Command::Undo,
        "/retry" => Command::Retry,
        "/edit" => Command::Edit(unquoted(argument).to_owned()),
        "/history" => Command::History,
        "/tree" => Command::Tree,
        "/goto" => Command::Goto(literal(argument)),
        "/branches" => Command::Branches,
        "/diff" => Command::Diff(first.to_owned(), rest.ok_or_else(|| usage(entry))?),
        "/label" => Command::Label(first.to_owned(), rest),
        "/bookmark" => Command::Bookmark(some.map(|_| (first.to_owned(), rest))),
        "/fork" => Command::Fork(some),
        "/new" => Command::New,
        "/clear" => Command::Clear,
        "/delete" => Command::Delete(consent(argument).ok_or_else(|| usage(entry))?),
        "/system" => Command::System(some.map(|text| literal(unquoted(&text)))),
        "/model" => Command::Model(some),
        "/prompt" => Command::Prompt(prompt(argument)?),
        "/remember" => Command::Remember(unquoted(argument).to_owned()),
        "/notes" => Command::Notes,
        "/forget" => Command::Forget(argument.to_owned()),
        "/set" => Command::Set(setting(argument).map_err(|()| usage(entry))?),
        "/image" => Command::Image(argument.to_owned()),
        "/audio" => Command::Audio(argument.to_owned()),
        "/save" => Command::Save(argument.to_owned()),
        "/help" => Command::Help,
        _ => Command::Exit,
    })
}

/// Reads the name of a prompt and its values, which may be quoted as in a shell.
fn prompt(argument: &str) -> Result<Option<(String, Vec<String>)>> {
    let Some(words) = shlex::split(argument) else {
        return Err(invalid(format!("{argument:?} has a quote without an end; close it")));
    };
    let mut words = words.into_iter();
    Ok(words.next().map(|name| (name, words.collect())))
}

/// Splits an argument after its first word.
fn split(argument: &str) -> (&str, Option<String>) {
    match argument.split_once(char::is_whitespace) {
        Some((first, rest)) => (first, Some(rest.trim().to_owned())),
        None => (argument, None),
    }
}

fn consent(argument: &str) -> Option<Consent> {
    match argument {
        "" => Some(Consent::Missing),
        "yes" => Some(Consent::Given),
        _ => None,
    }
}

/// Returns an argument, of which two quotation marks are an empty one.
fn literal(argument: &str) -> String {
    if argument == "\"\"" { String::new() } else { argument.to_owned() }
}

/// Reads the name and the value of a setting, with a space or an equals sign between them.
fn setting(argument: &str) -> Result<Option<(String, String)>, ()> {
    if argument.is_empty() {
        return Ok(None);
    }
    let (name, value) = argument.split_once([' ', '\t', '=']).ok_or(())?;
    Ok(Some((name.to_owned(), value.trim().to_owned())))
}

fn usage(entry: Entry) -> Error {
    invalid(format!("usage: {} {}", entry.name, entry.argument))
}

fn unknown(name: &str) -> Error {
    // Short names are near to anything.
    let aliases = ALIASES.iter().map(|(alias, _)| *alias).filter(|alias| alias.len() > 2);
    let known = COMMANDS.iter().map(|entry| entry.name).chain(aliases);
    invalid(match nearest(name, known) {
        Some(near) => format!("unknown command {name:?}, did you mean {near}? /help lists all commands"),
        None => format!(
            "unknown command {name:?}: /help lists all commands, and // begins a message that begins with a slash"
        ),
    })
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

/// Returns the names of all commands, for programs.
pub(super) fn names() -> Value {
    json!({"commands": COMMANDS.map(|entry| entry.name)})
}

/// Returns a line on every command, for people.
pub(super) fn help() -> String {
    let mut help = String::new();
    for entry in COMMANDS {
        let usage = format!("{} {}", entry.name, entry.argument);
        help += &format!("{usage:26} {}\n", entry.purpose);
    }
    for (usage, purpose) in OTHERS {
        help += &format!("{usage:26} {purpose}\n");
    }
    help
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_command_is_known() {
        for entry in COMMANDS {
            let argument = entry.argument.replace(['[', ']'], "");
            let argument = if entry.name == "/delete" { "yes".to_owned() } else { argument };
            let line = Line::read(&format!("{} {argument}", entry.name)).unwrap();
            assert!(matches!(line, Line::Command(_)), "{}", entry.name);
            let is_exit = line == Line::Command(Command::Exit);
            assert_eq!(is_exit, entry.name == "/exit");
        }
        for (alias, name) in ALIASES {
            assert_eq!(find(alias).unwrap().name, name);
        }
    }

    #[test]
    fn slashes_and_words_of_commands_can_be_said() {
        assert_eq!(Line::read("//etc/hosts").unwrap(), Line::Say("/etc/hosts".into()));
        assert_eq!(Line::read("  a / b ").unwrap(), Line::Say("a / b".into()));
        assert_eq!(Line::read(" \t").unwrap(), Line::Nothing);
        for line in ["exit", "Quit", "/quit", "/bye", "/q"] {
            assert_eq!(Line::read(line).unwrap(), Line::Command(Command::Exit), "{line}");
        }
        assert_eq!(Line::read("\"\"\"exit\"\"\"").unwrap(), Line::Say("exit".into()));
        assert_eq!(Line::read("exit now").unwrap(), Line::Say("exit now".into()));
        assert_eq!(Line::read("\"\"\"\n\"\"\"").unwrap(), Line::Nothing);
        assert_eq!(Line::read("/?").unwrap(), Line::Command(Command::Help));
    }

    #[test]
    fn arguments_are_read() {
        let read = |line| match Line::read(line).unwrap() {
            Line::Command(command) => command,
            line => panic!("{line:?}"),
        };
        let set = |name: &str, value: &str| Command::Set(Some((name.into(), value.into())));
        assert_eq!(read("/set temperature 0.7"), set("temperature", "0.7"));
        assert_eq!(read("/set stop=a b"), set("stop", "a b"));
        assert_eq!(read("/set"), Command::Set(None));
        assert_eq!(read("/system \"\""), Command::System(Some(String::new())));
        assert_eq!(read("/edit \"\"\"One\nTwo\"\"\""), Command::Edit("One\nTwo".into()));
        assert_eq!(
            read("/label 0.1 the formal one"),
            Command::Label("0.1".into(), Some("the formal one".into()))
        );
        assert_eq!(read("/bookmark here"), Command::Bookmark(Some(("here".into(), None))));
    }

    #[test]
    fn a_bad_command_says_what_would_be_good() {
        let lines = [
            "/bark",
            "/hist",
            "/swich 0.1",
            "/etc/hosts",
            "/edit",
            "/goto",
            "/undo twice",
            "/diff 0",
            "/set seed",
        ];
        let errors = lines.map(|line| Line::read(line).unwrap_err().to_string());
        insta::assert_snapshot!(errors.join("\n"));
    }
}
