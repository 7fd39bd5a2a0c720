//! `alloquy models`: lists models, shows one, and removes one that was fetched. Reads their descriptions, not their weights.

mod naming;

use std::collections::BTreeMap;
use std::path::PathBuf;

use alloquy::ModelDescription;
use alloquy::core::{Error, ErrorKind};
use alloquy::hub::{HubCache, ModelName, human};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::found::{self, Found};
use crate::hub;

const EXAMPLES: &str = "\
Examples:
  alloquy models                                   the built-in one, and those that were fetched
  alloquy models ~/models /mnt/models              those below these folders
  ALLOQUY_MODELS=~/models alloquy models           those too, under short names
  alloquy models show onnx-community/Qwen3-0.6B-ONNX
  alloquy models rm onnx-community/Qwen3-0.6B-ONNX
  alloquy models alias qwen onnx-community/Qwen3-0.6B-ONNX   a short name for --model
  alloquy models default qwen
  alloquy models --json | jq '.models[].name'

--model takes every NAME that is listed. A model is a folder with a decoder in ONNX and the files that describe it, as the \
exporters of ONNX Runtime GenAI, optimum and transformers.js write it; `alloquy pull` fetches one.";

/// Models that people may fetch: a line with what `pull` accepts, and one with variant, size, licence and media. Generated from docs/models.json.
const PUBLIC: &str = include_str!("models.txt");

/// Returns the examples, and the list of public models.
fn long_help() -> String {
    format!(
        "{EXAMPLES}\n\nPublic models for `alloquy pull`. None of them was run on the machines on which Alloquy is tested. Sizes are \
         those of October 2026; `alloquy pull NAME --list` shows the present ones.\n{PUBLIC}"
    )
}

/// List the models on this machine
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = long_help(), args_conflicts_with_subcommands = true)]
pub(crate) struct Models {
    /// Folders to look below, in place of those of ALLOQUY_MODELS and of what was fetched
    #[arg(value_name = "DIR")]
    folders: Vec<PathBuf>,
    #[command(subcommand)]
    action: Option<Action>,
}

/// What to do with one model.
#[derive(Debug, Subcommand)]
enum Action {
    Show(Show),
    Rm(Remove),
    Alias(naming::Alias),
    Default(naming::Default),
}

const SHOW_EXAMPLES: &str = "\
Examples:
  alloquy models show pocket
  alloquy models show onnx-community/Qwen3-0.6B-ONNX";

/// Show where a model is and what it is
#[derive(Args, Debug)]
#[command(after_help = SHOW_EXAMPLES)]
struct Show {
    /// The model, as lists name it
    #[arg(value_name = "NAME")]
    name: String,
}

const REMOVE_EXAMPLES: &str = "\
Examples:
  alloquy models rm onnx-community/Qwen3-0.6B-ONNX";

/// Remove a repository that was fetched from the Hugging Face Hub, with all its variants
#[derive(Args, Debug)]
#[command(after_help = REMOVE_EXAMPLES)]
struct Remove {
    /// The model, as lists name it
    #[arg(value_name = "OWNER/NAME")]
    name: ModelName,
}

impl Models {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        match self.action {
            Some(Action::Show(show)) => return show.run(context),
            Some(Action::Rm(remove)) => return remove.run(context),
            Some(Action::Alias(alias)) => return alias.run(context),
            Some(Action::Default(default)) => return default.run(context),
            None => {}
        }
        let found =
            if self.folders.is_empty() { found::everywhere()? } else { found::in_folders(&self.folders)? };
        if found.iter().all(|found| found.path.is_none()) {
            context.notes.say(nothing_in(&self.folders));
        }
        let values: Vec<_> = found.iter().map(value).collect();
        let settings = &context.settings;
        let default = settings.default_model();
        let text = table(&found) + &short_names(&settings.aliases, default.as_deref());
        context.print(&text, &json!({"models": values, "aliases": settings.aliases, "default": default}))
    }
}

/// Lists the short names of models, and the default.
fn short_names(aliases: &BTreeMap<String, String>, default: Option<&str>) -> String {
    let mut text = String::new();
    if !aliases.is_empty() || default.is_some() {
        text.push('\n');
    }
    for (name, target) in aliases {
        text += &format!("{name} = {target}\n");
    }
    if let Some(default) = default {
        text += &format!("default: {default}\n");
    }
    text
}

fn nothing_in(folders: &[PathBuf]) -> String {
    if folders.is_empty() {
        return "no other model is here yet; `alloquy pull OWNER/NAME` fetches one, such as onnx-community/Qwen3-0.6B-ONNX"
            .to_owned();
    }
    let searched: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
    format!("there is no model below {}", searched.join(", "))
}

impl Show {
    fn run(self, context: &Context) -> Result<(), Failure> {
        let Some(found) = found::by_name(&context.settings.model_named(&self.name))? else {
            let message = format!(
                "there is no model {:?} on this machine; `alloquy models` lists those that are",
                self.name
            );
            return Err(Error::new(ErrorKind::NotFound, message).into());
        };
        let value = value(&found);
        let mut text = String::new();
        for (key, value) in value.as_object().into_iter().flatten() {
            let shown = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) if key == "bytes" => number.as_u64().map_or_else(String::new, human),
                Value::Array(parts) => parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
                Value::Null => continue,
                other => other.to_string(),
            };
            let label = if key == "bytes" { "size" } else { key };
            text += &format!("{label:<9} {shown}\n");
        }
        context.print(&text, &value)
    }
}

impl Remove {
    fn run(self, context: &Context) -> Result<(), Failure> {
        let repository = &self.name.repository;
        let cache = HubCache::from_env().map_err(hub::error)?;
        let Some(bytes) = cache.remove(repository).map_err(hub::error)? else {
            let message = format!("{repository} was not fetched; `alloquy models` lists what was");
            return Err(Error::new(ErrorKind::NotFound, message).into());
        };
        let value = json!({"removed": repository.to_string(), "bytes": bytes});
        context.print(&format!("removed {repository}: {}\n", human(bytes)), &value)
    }
}

/// The columns of the table.
const HEADER: [&str; 6] = ["NAME", "SIZE", "WEIGHTS", "INPUT", "CONTEXT", "FAMILY"];

fn table(found: &[Found]) -> String {
    if found.is_empty() {
        return String::new();
    }
    let rows: Vec<_> = std::iter::once(HEADER.map(str::to_owned)).chain(found.iter().map(row)).collect();
    let widths = widths(&rows);
    let mut table = String::new();
    for row in &rows {
        let cells: Vec<_> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        table += cells.join("  ").trim_end();
        table.push('\n');
    }
    table
}

fn widths(rows: &[[String; 6]]) -> [usize; 6] {
    std::array::from_fn(|column| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        // The reason of a problem may be as long as it needs.
        let is_last = column + 1 == HEADER.len();
        if is_last { 0 } else { cells.map(|cell| cell.chars().count()).max().unwrap_or(0) }
    })
}

fn row(found: &Found) -> [String; 6] {
    let unknown = "-".to_owned();
    let size = found.bytes.map_or_else(|| "built in".to_owned(), human);
    let weights = if found.weights.is_empty() { unknown.clone() } else { found.weights.clone() };
    match &found.description {
        Ok(description) => {
            let context = description.info.context_length.to_string();
            [
                found.name.clone(),
                size,
                weights,
                inputs(description).join("+"),
                context,
                description.family.clone(),
            ]
        }
        Err(error) => {
            [found.name.clone(), size, weights, unknown.clone(), unknown, format!("problem: {error:#}")]
        }
    }
}

/// Returns the kinds of input that a model accepts.
fn inputs(description: &ModelDescription) -> Vec<&'static str> {
    let mut inputs = vec!["text"];
    inputs.extend(description.media.iter().map(|kind| kind.as_str()));
    inputs
}

fn value(found: &Found) -> Value {
    let Found { name, path, bytes, weights, description } = found;
    let path = path.as_ref().map(|path| path.display().to_string());
    match description {
        Ok(description) => json!({
            "name": name,
            "bytes": bytes,
            "weights": weights,
            "input": inputs(description),
            "context": description.info.context_length,
            "family": description.family,
            "layout": description.layout,
            "template": description.template,
            "path": path,
        }),
        Err(error) => json!({"name": name, "bytes": bytes, "path": path, "problem": format!("{error:#}")}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_public_model_has_a_name_that_pull_accepts() {
        let names: Vec<_> = PUBLIC.lines().step_by(2).map(str::trim).collect();
        assert_eq!(names.len(), 10);
        for name in names {
            assert!(name.parse::<ModelName>().is_ok(), "{name}");
        }
    }

    #[test]
    fn the_list_of_public_models_fits_a_terminal() {
        assert!(PUBLIC.lines().all(|line| line.chars().count() <= 79), "{PUBLIC}");
    }
}
