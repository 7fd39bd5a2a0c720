//! The commands of a chat: lines that begin with a slash.

use alloquy::core::{Error, ErrorKind, Result};
use serde_json::{Value, json};

/// Name, argument and purpose of every command, in the order in which help lists them.
const COMMANDS: [(&str, &str, &str); 11] = [
    ("/undo", "", "take back the last question and its answer"),
    ("/retry", "", "get another answer to the last question; the old one stays as a branch"),
    ("/edit", "TEXT", "ask something else in place of the last question; the old one stays as a branch"),
    ("/image", "FILE", "show this picture with what you say next; may be repeated"),
    ("/audio", "FILE", "let this sound be heard with what you say next; may be repeated"),
    ("/branch", "", "go on in a copy of this conversation; the original stays as it is"),
    ("/tree", "", "draw everything that was said, with addresses; * is where the conversation stands"),
    ("/switch", "ADDRESS", "go to an address such as 0.1.0; what is said next follows it"),
    ("/history", "", "show what was said up to here"),
    ("/help", "", "list these commands"),
    ("/exit", "", "leave; Ctrl-D does, too"),
];

/// A line as it was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// There is nothing in it.
    Nothing,
    /// Something to say.
    Say(String),
    /// Something to do.
    Command(Command),
}

/// Something to do.
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
    /// Reads a line. Two slashes say one: `//help` says `/help`.
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
    let (name, argument) = (name, argument.trim().to_owned());
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
    match argument.is_empty() {
        true => Ok(command),
        false => Err(invalid(format!("{name} takes nothing behind it, but there is {argument:?}"))),
    }
}

fn with(name: &str, argument: String, command: impl FnOnce(String) -> Command) -> Result<Command> {
    match argument.is_empty() {
        true => {
            let wanted =
                COMMANDS.iter().find(|(known, ..)| *known == name).map_or("", |(_, wanted, _)| wanted);
            Err(invalid(format!("{name} needs something behind it: {name} {wanted}")))
        }
        false => Ok(command(argument)),
    }
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
    let line = |(name, argument, purpose): (&str, &str, &str)| {
        let usage = format!("{name} {argument}");
        format!("{usage:16} {purpose}\n")
    };
    let commands: String = COMMANDS.map(line).concat();
    format!(
        "{commands}//…              say something that begins with a slash\nCtrl-C           end an answer and keep what was said\n"
    )
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
