//! The arguments that constrain an answer: its response format, its tool calls, its thinking. Knows no model.

use std::path::{Path, PathBuf};

use alloquy::ModelBuilder;
use alloquy::core::grammar::Grammar;
use alloquy::core::output::{OutputConstraints, ParallelCalls, ToolChoice};
use alloquy::core::{Error, ErrorKind, Result};
use clap::{Args, ValueEnum};

use crate::limits::count;
use crate::schema;

/// The response format of an answer.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Form of the answer")]
pub(crate) struct FormArguments {
    /// The answer is JSON of this schema: a file with a JSON Schema, the schema itself in braces, or a list of fields such as
    /// "name, age int, tags list"
    #[arg(long, value_name = "SCHEMA", env = "ALLOQUY_JSON_SCHEMA")]
    json_schema: Option<String>,

    /// The answer is a text that this regular expression matches from end to end
    #[arg(long, value_name = "PATTERN", env = "ALLOQUY_REGEX", conflicts_with = "json_schema")]
    regex: Option<String>,

    /// The answer is a text that the Lark grammar in FILE derives
    #[arg(long, value_name = "FILE", env = "ALLOQUY_LARK", conflicts_with_all = ["json_schema", "regex"])]
    lark: Option<PathBuf>,

    /// The answer is this text, or another one given by this flag; may be repeated
    #[arg(long, value_name = "TEXT", env = "ALLOQUY_CHOICE", conflicts_with_all = ["json_schema", "regex", "lark"])]
    choice: Vec<String>,
}

/// The constraints of an answer beside its response format.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Form of the answer")]
pub(crate) struct DemandArguments {
    /// Whether the model calls tools: auto, none, required, the name of the one to call, or free (calls are not constrained);
    /// free unless set, auto with the built-in model
    #[arg(long, value_name = "CHOICE", env = "ALLOQUY_TOOL_CHOICE", value_parser = demanded)]
    tool_choice: Option<Demanded>,

    /// Whether one answer may call several tools, where --tool-choice is given: allowed or forbidden
    #[arg(
        long,
        value_enum,
        value_name = "WHETHER",
        env = "ALLOQUY_PARALLEL_CALLS",
        hide_possible_values = true,
        default_value = "allowed"
    )]
    parallel_calls: Parallel,

    /// Make the model answer after N tokens of thinking
    #[arg(long, value_name = "N", env = "ALLOQUY_THINKING_BUDGET", value_parser = count::<usize>("thinking-budget"))]
    thinking_budget: Option<usize>,
}

/// Whether one answer may call several tools.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Parallel {
    #[default]
    Allowed,
    Forbidden,
}

/// What is demanded of calls.
#[derive(Clone, Debug)]
enum Demanded {
    Free,
    Choice(ToolChoice),
}

fn demanded(text: &str) -> Result<Demanded, std::convert::Infallible> {
    Ok(Demanded::Choice(match text {
        "free" => return Ok(Demanded::Free),
        "auto" => ToolChoice::Auto,
        "none" => ToolChoice::None,
        "required" => ToolChoice::Required,
        name => ToolChoice::Named(name.to_owned()),
    }))
}

impl FormArguments {
    /// Reads the schema, the pattern, the grammar or the choice.
    pub(crate) fn output(&self) -> Result<OutputConstraints> {
        let grammar = match self {
            Self { json_schema: Some(text), .. } => Some(Grammar::JsonSchema(schema::read(text)?)),
            Self { regex: Some(pattern), .. } => Some(Grammar::Regex(pattern.clone())),
            Self { lark: Some(file), .. } => Some(Grammar::Lark(read(file)?)),
            Self { choice, .. } if !choice.is_empty() => Some(Grammar::Choice(choice.clone())),
            _ => None,
        };
        let mut constraints = OutputConstraints::default();
        constraints.grammar = grammar;
        Ok(constraints)
    }
}

impl DemandArguments {
    /// Turns the constraints of calls off, where that is demanded; otherwise the model's default applies.
    pub(crate) fn freeing(&self, builder: ModelBuilder) -> ModelBuilder {
        match &self.tool_choice {
            Some(Demanded::Free) => builder.tool_choice(None),
            Some(Demanded::Choice(_)) | None => builder,
        }
    }

    /// Adds what is demanded; where calls are not mentioned, the model's default applies.
    pub(crate) fn added_to(&self, mut constraints: OutputConstraints) -> OutputConstraints {
        constraints.tool_choice = match &self.tool_choice {
            Some(Demanded::Choice(choice)) => Some(choice.clone()),
            Some(Demanded::Free) | None => None,
        };
        constraints.thinking_budget = self.thinking_budget;
        constraints.parallel_calls(match self.parallel_calls {
            Parallel::Allowed => ParallelCalls::Allowed,
            Parallel::Forbidden => ParallelCalls::Forbidden,
        })
    }
}

fn read(file: &Path) -> Result<String> {
    crate::file::text(file).map_err(|source| {
        let kind = match source.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            _ => ErrorKind::Invalid,
        };
        Error::new(kind, format!("file {file:?} cannot be read")).with_source(source)
    })
}
