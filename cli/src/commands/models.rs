//! `alloquy models`: lists models. Reads their descriptions, not their weights.

use std::fs;
use std::path::{Path, PathBuf};

use alloquy::ModelDescription;
use alloquy::core::{Error, ErrorKind, Result};
use clap::Args;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::open;

const EXAMPLES: &str = "\
Examples:
  alloquy models                        the built-in one, and those of the Hugging Face cache
  alloquy models ~/models /mnt/models   those below these folders
  ALLOQUY_MODELS=~/models alloquy models
  alloquy models --json | jq '.models[].path'

A model is a folder with a decoder in ONNX and the files that describe it, as the exporters of ONNX Runtime \
GenAI, optimum and transformers.js write it.";

/// How deep below a given folder a model may lie: a Hugging Face cache has three levels of its own.
const DEPTH: usize = 4;

/// What separates folders in ALLOQUY_MODELS.
const SEPARATOR: char = if cfg!(windows) { ';' } else { ':' };

/// List the models below folders, or those of the Hugging Face cache
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Models {
    /// Folders to look below
    #[arg(value_name = "DIR", env = "ALLOQUY_MODELS", value_delimiter = SEPARATOR)]
    folders: Vec<PathBuf>,
}

/// A model that was found.
struct Found {
    /// The folder, or the name of the built-in model.
    path: PathBuf,
    description: Result<ModelDescription>,
}

impl Models {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let folders = if self.folders.is_empty() { cache() } else { self.folders };
        let mut paths = Vec::new();
        for folder in &folders {
            look_into(folder, &mut paths)?;
        }
        if paths.is_empty() {
            context.notes.say(nothing_below(&folders));
        }
        let found: Vec<_> = pocket().into_iter().chain(paths.into_iter().map(found)).collect();
        let values: Vec<_> = found.iter().map(value).collect();
        context.print(&table(&found), &json!({"models": values}))
    }
}

fn nothing_below(folders: &[PathBuf]) -> String {
    if folders.is_empty() {
        return "there is no cache of Hugging Face here; `alloquy models DIR` looks below DIR".to_owned();
    }
    let searched: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
    format!("there is no model below {}", searched.join(", "))
}

fn look_into(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    if !folder.is_dir() {
        return Err(Error::new(ErrorKind::NotFound, format!("folder {folder:?} does not exist")));
    }
    walk(folder, DEPTH, paths);
    Ok(())
}

/// Collects the model folders at and below `folder`. A folder that cannot be read is skipped.
fn walk(folder: &Path, depth: usize, paths: &mut Vec<PathBuf>) {
    if is_model(folder) {
        paths.push(folder.to_owned());
        return;
    }
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    let mut below: Vec<_> = entries(folder).filter(|path| path.is_dir()).collect();
    below.sort();
    for path in below {
        walk(&path, depth, paths);
    }
}

/// Returns whether a folder has a tokenizer and a graph, the latter in the folder itself or in `onnx`.
fn is_model(folder: &Path) -> bool {
    folder.join("tokenizer.json").is_file() && (has_graph(folder) || has_graph(&folder.join("onnx")))
}

fn has_graph(folder: &Path) -> bool {
    entries(folder).any(|path| path.extension().is_some_and(|end| end == "onnx"))
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()))
}

/// Returns the Hugging Face cache of this user, if there is one.
///
/// Reference: the variables of huggingface_hub.
fn cache() -> Vec<PathBuf> {
    let Some(hub) = hub() else { return Vec::new() };
    if hub.is_dir() { vec![hub] } else { Vec::new() }
}

fn hub() -> Option<PathBuf> {
    if let Some(hub) = variable("HF_HUB_CACHE") {
        return Some(hub);
    }
    if let Some(home) = variable("HF_HOME") {
        return Some(home.join("hub"));
    }
    Some(etcetera::home_dir().ok()?.join(".cache").join("huggingface").join("hub"))
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns the built-in model, which is listed first.
fn pocket() -> Option<Found> {
    let description = open::describe_pocket()?;
    Some(Found { path: PathBuf::from(open::POCKET), description })
}

fn found(path: PathBuf) -> Found {
    let description = ModelDescription::read(&path);
    Found { path, description }
}

/// The columns of the table.
const HEADER: [&str; 6] = ["NAME", "FAMILY", "CONTEXT", "LAYOUT", "TEMPLATE", "FOLDER"];

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
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    })
}

fn row(found: &Found) -> [String; 6] {
    let path = found.path.display().to_string();
    match &found.description {
        Ok(ModelDescription { info, family, template, layout, .. }) => {
            let context = info.context_length.to_string();
            [info.name.clone(), family.clone(), context, (*layout).to_owned(), template.clone(), path]
        }
        Err(error) => {
            let name = found.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let unknown = "-".to_owned();
            [name, unknown.clone(), unknown.clone(), unknown, format!("problem: {error:#}"), path]
        }
    }
}

fn value(found: &Found) -> Value {
    let path = found.path.display().to_string();
    match &found.description {
        Ok(ModelDescription { info, family, template, layout, .. }) => json!({
            "name": info.name,
            "family": family,
            "context": info.context_length,
            "layout": layout,
            "template": template,
            "path": path,
        }),
        Err(error) => json!({"path": path, "problem": format!("{error:#}")}),
    }
}
