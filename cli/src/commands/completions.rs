//! `alloquy completions`: the script with which a shell completes commands, flags and values.

use alloquy::formats::archive::ArchiveFormat;
use alloquy::formats::messages::Dialect;
use alloquy::onnx::providers;
use alloquy::processors::families;
use clap::Args;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use serde_json::json;

use crate::arguments::{dialect_names, protocol_names};
use crate::context::Context;
use crate::failure::Failure;
use crate::open;

const EXAMPLES: &str = "\
Examples:
  alloquy completions bash > ~/.local/share/bash-completion/completions/alloquy
  alloquy completions fish > ~/.config/fish/completions/alloquy.fish
  alloquy completions zsh > ~/.zfunc/_alloquy
  alloquy completions powershell >> $PROFILE
  alloquy completions elvish >> ~/.config/elvish/rc.elv

Folders that do not exist have to be made first. zsh looks into a folder of your own if ~/.zshrc has these lines:
  fpath=(~/.zfunc $fpath)
  autoload -Uz compinit && compinit
The next shell that starts completes commands, flags, files, and the names of formats, families and providers.";

/// Print the completions of a shell
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    /// The shell: bash, elvish, fish, powershell or zsh
    #[arg(hide_possible_values = true)]
    shell: Shell,
}

impl Completions {
    /// Prints the completions of the whole command line.
    pub(crate) fn run(self, program: clap::Command, context: &Context) -> Result<(), Failure> {
        let name = program.get_name().to_owned();
        let mut command = with_values(program);
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, name, &mut script);
        let script = String::from_utf8_lossy(&script);
        let shell = self.shell.to_string();
        context.print_document(&script, &json!({"shell": shell, "script": script}))
    }
}

/// Adds the valid values of flags that accept names. They are checked elsewhere, with errors of their own.
fn with_values(command: clap::Command) -> clap::Command {
    let is_archive = ["import", "export"].contains(&command.get_name());
    let command = command.mut_args(|argument| match values(argument.get_id().as_str(), is_archive) {
        Some(values) => argument.value_parser(PossibleValuesParser::new(values)),
        None => argument,
    });
    command.mut_subcommands(with_values)
}

/// Returns the names that a flag accepts, if they are few.
fn values(id: &str, is_archive: bool) -> Option<Vec<&'static str>> {
    match id {
        "family" => Some(families().collect()),
        "provider" | "vision_provider" | "audio_provider" => Some(providers().chain([open::AUTO]).collect()),
        "from" | "to" if is_archive => Some(ArchiveFormat::ALL.map(ArchiveFormat::as_str).to_vec()),
        "from" | "to" => Some(Dialect::ALL.map(Dialect::as_str).to_vec()),
        "remote_dialect" => Some(dialect_names()),
        "remote_chat" => Some(protocol_names()),
        "tool_choice" => Some(vec!["auto", "none", "required", "free"]),
        _ => None,
    }
}
