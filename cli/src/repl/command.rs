//! The commands of a chat: lines that begin with a slash.

use alloquy::core::{Error, ErrorKind, Result};
use serde_json::{Value, json};

/// Name, argument and purpose of every command, in the order in which help lists them.
const COMMANDS: [(&str, &str, &str); 11] = [
    ("/undo", "", "go back to before the last question"),
    ("/retry", "", "regenerate the last answer; the old one stays as a branch"),
    ("/edit", "TEXT", "replace the last question; the old one stays as a branch"),
    ("/image", "FILE", "attach this image to your next message; may be repeated"),
    ("/audio", "FILE", "attach this audio clip to your next message; may be repeated"),
    ("/branch", "", "continue in a copy of this conversation; the original stays as it is"),
    ("/tree", "", "draw every message with its address; * marks the head of the conversation"),
    ("/switch", "ADDRESS", "go to an address such as 0.1.0; the next message follows it"),
    ("/history", "", "show the messages up to here"),
    ("/help", "", "list these commands"),
    ("/exit", "", "leave; Ctrl-D does, too"),
];

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
    Image(String),
    Audio(String),
    Branch,
    Tree,
    Switch(String),
    History,
    Help,
    Exit,
}

impl Line {
    /// Reads a line. Two slashes are one in a message: `//help` sends `/help`.
    pub(super) fn read(line: &str) -> Result<Self> {
        let line = line.trim();
        match line.strip_prefix('/') {
            _ if line.is_empty() => Ok(Line::Nothing),
            None => Ok(Line::Say(line.to_owned())),
            Some(rest) if rest.starts_with('/') => Ok(Line::Say(rest.to_owned())),
            Some(_) => command(line).map(Line::Command),
        }
    }
}

fn command(line: &str) -> Result<Command> {
    let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let argument = argument.trim().to_owned();
    let command = match name {
        "/undo" => Command::Undo,
        "/retry" => Command::Retry,
        "/edit" => return with(name, argument, Command::Edit),
        "/image" => return with(name, argument, Command::Image),
        "/audio" => return with(name, argument, Command::Audio),
        "/branch" => Command::Branch,
        "/tree" => Command::Tree,
        "/switch" => return with(name, argument, Command::Switch),
        "/history" => Command::History,
        "/help" => Command::Help,
        "/exit" => Command::Exit,
        _ => return Err(invalid(format!("unknown command {name:?}, one of: {}", listed()))),
    };
    if !argument.is_empty() {
        return Err(invalid(format!("{name} takes no argument, but there is {argument:?}")));
    }
    Ok(command)
}

fn with(name: &str, argument: String, command: impl FnOnce(String) -> Command) -> Result<Command> {
    if argument.is_empty() {
        let wanted = COMMANDS.iter().find(|(known, ..)| *known == name).map_or("", |(_, wanted, _)| wanted);
        return Err(invalid(format!("{name} needs an argument: {name} {wanted}")));
    }
    Ok(command(argument))
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

fn listed() -> String {
    COMMANDS.map(|(name, ..)| name).join(", ")
}

/// Returns the names of all commands, for programs.
pub(super) fn names() -> Value {
    json!({"commands": COMMANDS.map(|(name, ..)| name)})
}

/// Returns a line on every command, for people.
pub(super) fn help() -> String {
    let mut help = String::new();
    for (name, argument, purpose) in COMMANDS {
        let usage = format!("{name} {argument}");
        help += &format!("{usage:16} {purpose}\n");
    }
    help += "//…              send a message that begins with a slash\n";
    help += "Ctrl-C           interrupt an answer and keep what was generated\n";
    help
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_command_is_known() {
        for (name, argument, _) in COMMANDS {
            let line = Line::read(&format!("{name} {argument}")).unwrap();
            assert!(matches!(line, Line::Command(_)), "{name}");
        }
    }

    #[test]
    fn slashes_can_be_said() {
        assert_eq!(Line::read("//etc/hosts").unwrap(), Line::Say("/etc/hosts".into()));
        assert_eq!(Line::read("  a / b ").unwrap(), Line::Say("a / b".into()));
        assert_eq!(Line::read(" \t").unwrap(), Line::Nothing);
    }

    #[test]
    fn a_bad_command_says_what_would_be_good() {
        let errors = ["/bark", "/edit", "/undo twice"].map(|line| Line::read(line).unwrap_err().to_string());
        insta::assert_snapshot!(errors.join("\n"));
    }
}
