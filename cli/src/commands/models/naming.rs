//! `alloquy models alias` and `alloquy models default`: short names of models, in the configuration file.

use std::fs;
use std::path::{Path, PathBuf};

use alloquy::core::{Error, ErrorKind, Result};
use clap::Args;
use clap::builder::BoolishValueParser as Switch;
use serde_json::json;
use toml_edit::{DocumentMut, Item, Table, value};

use crate::context::Context;
use crate::failure::Failure;
use crate::file;
use crate::found;
use crate::settings::{ALIASES, check_alias};

const ALIAS_EXAMPLES: &str = "\
Examples:
  alloquy models alias qwen onnx-community/Qwen3-0.6B-ONNX:q4
  alloquy ask --model qwen \"What is a monad?\"
  alloquy models alias qwen --remove
  alloquy models alias                       list them

They are in the table [aliases] of the configuration file, whose comments and order stay as they are.";

/// Give a model a short name, which --model takes
#[derive(Args, Debug)]
#[command(after_help = ALIAS_EXAMPLES)]
pub(super) struct Alias {
    /// The short name
    name: Option<String>,
    /// The model: a folder, or the name of one that was or will be fetched
    #[arg(value_name = "MODEL", requires = "name")]
    target: Option<String>,
    /// Remove the short name; the model stays
    #[arg(long, env = "ALLOQUY_REMOVE", requires = "name", conflicts_with = "target", value_parser = Switch::new())]
    remove: bool,
}

const DEFAULT_EXAMPLES: &str = "\
Examples:
  alloquy models default qwen
  alloquy models default onnx-community/Qwen3-0.6B-ONNX
  alloquy models default pocket              the built-in model, without a notice
  alloquy models default                     print it

It is the key `model` of the configuration file. The flag --model and the variable ALLOQUY_MODEL override it.";

/// Choose the model that answers unless --model names another one
#[derive(Args, Debug)]
#[command(after_help = DEFAULT_EXAMPLES)]
pub(super) struct Default {
    /// The model: a short name, a folder, or the name of one that was or will be fetched
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

impl Alias {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let aliases = &context.settings.aliases;
        let Some(name) = self.name else {
            let lines: String = aliases.iter().map(|(name, target)| format!("{name} = {target}\n")).collect();
            return context.print(&lines, &json!({"aliases": aliases}));
        };
        if self.remove {
            if !aliases.contains_key(&name) {
                let message = format!("there is no alias {name:?}; `alloquy models alias` lists them");
                return Err(Error::new(ErrorKind::NotFound, message).into());
            }
            let path = edit(context, |document| {
                if let Some(table) = document.get_mut(ALIASES).and_then(Item::as_table_like_mut) {
                    table.remove(&name);
                }
            })?;
            return context.print(
                &format!("removed {name} from {}\n", path.display()),
                &json!({"removed": name, "file": path.display().to_string()}),
            );
        }
        let Some(target) = self.target else {
            let message = format!("no model is named: alloquy models alias {name} MODEL, or --remove");
            return Err(Failure::Arguments(Error::new(ErrorKind::Invalid, message)));
        };
        check_alias(&name, Some(&target)).map_err(Failure::Arguments)?;
        remark(context, &target)?;
        let path = edit(context, |document| {
            let table = document.entry(ALIASES).or_insert(Item::Table(Table::new()));
            if let Some(table) = table.as_table_like_mut() {
                table.insert(&name, value(&target));
            }
        })?;
        context.print(
            &format!("{name} = {target}, in {}\n", path.display()),
            &json!({"alias": name, "model": target, "file": path.display().to_string()}),
        )
    }
}

impl Default {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let Some(name) = self.name else {
            let default = context.settings.default_model();
            let text =
                default.as_deref().unwrap_or("no model is chosen; alloquy models default NAME chooses one");
            return context.print(&format!("{text}\n"), &json!({"default": default}));
        };
        remark(context, &context.settings.model_named(&name))?;
        let path = edit(context, |document| {
            document.insert("model", value(&name));
        })?;
        context.print(
            &format!("model = {name}, in {}\n", path.display()),
            &json!({"default": name, "file": path.display().to_string()}),
        )
    }
}

/// Notes that a model is not on this machine. It may be fetched later.
fn remark(context: &Context, target: &str) -> Result<()> {
    if found::by_name(target)?.is_none() {
        context.notes.say(format_args!(
            "{target} is not on this machine yet; `alloquy pull {target}` fetches it if it is a name of the Hub"
        ));
    }
    Ok(())
}

/// Changes the configuration file, which is created if it does not exist, and returns its path.
fn edit(context: &Context, change: impl FnOnce(&mut DocumentMut)) -> Result<PathBuf> {
    let Some(path) = &context.settings.path else {
        let message = "the home folder is unknown: name a configuration file with --config FILE";
        return Err(Error::new(ErrorKind::NotFound, message));
    };
    // The file itself is replaced, not a link to it.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
    let text = if path.exists() {
        file::text(&path).map_err(|source| unwritable(&path, source))?
    } else {
        String::new()
    };
    let mut document: DocumentMut = text.parse().map_err(|source| {
        Error::new(ErrorKind::Invalid, format!("configuration file {path:?} is not valid"))
            .with_source(source)
    })?;
    change(&mut document);
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        file::make_private_folder(folder).map_err(|source| unwritable(&path, source))?;
    }
    // Renamed when it is complete, so that a full disk leaves the file as it was.
    let part = path.with_extension("toml.part");
    fs::write(&part, document.to_string()).map_err(|source| unwritable(&path, source))?;
    if let Ok(metadata) = fs::metadata(&path) {
        fs::set_permissions(&part, metadata.permissions()).map_err(|source| unwritable(&path, source))?;
    }
    fs::rename(&part, &path).map_err(|source| unwritable(&path, source))?;
    Ok(path)
}

fn unwritable(path: &Path, source: std::io::Error) -> Error {
    Error::new(ErrorKind::Invalid, format!("configuration file {path:?} cannot be changed"))
        .with_source(source)
}
