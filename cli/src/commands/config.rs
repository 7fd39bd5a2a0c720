//! `alloquy config`: which settings are in force, and why.

use alloquy_core::Result;
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::Context;
use crate::arguments::{Settable, variable};
use crate::failure::Failure;
use crate::open;
use crate::settings::{Origin, data_folder, entries, keys};

const EXAMPLES: &str = "\
Examples:
  alloquy config show
  alloquy config show --temperature 0.2       see what wins over what
  alloquy config show --json | jq '.settings.model'

A configuration file is TOML, and its keys are the names of flags:
  model = \"/home/me/models/qwen3-0.6b\"
  system = \"Be brief.\"
  temperature = 0.7
  stop = [\"USER:\"]
Relative paths are relative to the folder in which alloquy runs, as on the command line.";

/// Show the settings in force and where each came from
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Config {
    #[command(subcommand)]
    action: Action,
}

/// What to do with the settings.
#[derive(Debug, Subcommand)]
enum Action {
    /// Print each value with where it came from
    #[command(after_help = EXAMPLES)]
    Show(Box<Settable>),
}

/// A setting as it is in force.
struct Shown {
    key: String,
    value: Value,
    origin: Origin,
    /// The flag, variable or file that it came from.
    place: String,
}

impl Config {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let Action::Show(given) = self.action;
        let shown = shown(context, &given)?;
        let path = context.settings.path.as_deref().map(|path| path.display().to_string());
        let text: String = shown.iter().map(line).collect();
        let values: Map<_, _> = shown.iter().map(value).collect();
        let file = format!("configuration file: {}\n", path.as_deref().unwrap_or("none"));
        context.print(&(file + &text), &json!({"file": path, "settings": values}))
    }
}

fn shown(context: &Context, given: &Settable) -> Result<Vec<Shown>> {
    let settled = context.settings.settle(given)?;
    let (values, defaults) = (entries(&settled)?, defaults(&settled)?);
    let show = |key: String| {
        let value = values.get(&key).filter(|value| !value.is_null());
        let origin = context.settings.origin(&key);
        match (value, defaults.get(&key)) {
            (Some(value), _) => Shown { value: value.clone(), place: place(context, origin, &key), origin, key },
            (None, Some((value, origin))) => {
                Shown { value: value.clone(), place: String::new(), origin: *origin, key }
            }
            (None, None) => Shown { value: Value::Null, place: String::new(), origin: Origin::Default, key },
        }
    };
    Ok(keys::<Settable>().into_iter().map(show).collect())
}

/// What holds where nothing was given: what the model's makers recommend, and this program's own choices.
fn defaults(settled: &Settable) -> Result<Map2> {
    let mut defaults = Map2::new();
    let folder = data_folder()?;
    defaults.insert("store".to_owned(), (open::default_store(&folder).into(), Origin::Default));
    let history = folder.join("history.txt").display().to_string();
    defaults.insert("history-file".to_owned(), (history.into(), Origin::Default));
    Ok(defaults)
}

type Map2 = std::collections::BTreeMap<String, (Value, Origin)>;
