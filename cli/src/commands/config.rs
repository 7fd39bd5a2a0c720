//! `alloquy config`: the settings in force, and where each came from.

use std::collections::BTreeMap;

use alloquy::ModelDescription;
use alloquy::core::{Error, Owner, Result};
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use crate::arguments::{ContextPolicy, SamplingArguments, Settable};
use crate::context::Context;
use crate::failure::{Failure, one_line};
use crate::kept::default_store;
use crate::open;
use crate::resume::QUOTA;
use crate::settings::{HISTORY_FILE, Origin, data_folder, entries, keys};
use crate::tools::{ROUNDS, TIMEOUT};

const EXAMPLES: &str = "\
Examples:
  alloquy config show
  alloquy config show --temperature 0.2       see what wins over what
  alloquy config show --json | jq '.settings.model'

A configuration file is TOML, and its keys are the names of flags:
  model = \"/models/qwen3-0.6b\"
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
}

impl Config {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let Action::Show(given) = self.action;
        let (shown, problem) = shown(context, &given)?;
        let path = context.settings.path.as_deref().map(|path| path.display().to_string());
        let text: String = shown.iter().map(line).collect();
        let values: Map<_, _> = shown.iter().map(value).collect();
        let file = format!("configuration file: {}\n", path.as_deref().unwrap_or("none"));
        let value = json!({"file": path, "settings": values, "problem": problem.as_ref().map(one_line)});
        context.print(&(file + &text), &value)?;
        if let Some(problem) = problem {
            let origin = context.settings.origin("model");
            context.notes.say(format_args!(
                "the model's own values are missing: {} (`model` comes from: {origin})",
                one_line(&problem)
            ));
        }
        Ok(())
    }
}

/// Returns the settings, and the error of a model that cannot be read; its values are left out then.
fn shown(context: &Context, given: &Settable) -> Result<(Vec<Shown>, Option<Error>)> {
    let settled = context.settings.settle(given)?;
    let values = entries(&settled)?;
    let (defaults, problem) = defaults(&settled)?;
    let mut shown = Vec::new();
    for key in keys::<Settable>() {
        let (value, origin) = match values.get(&key).filter(|value| !value.is_null()) {
            Some(given) => (given.clone(), context.settings.origin(&key)),
            None => defaults.get(&key).cloned().unwrap_or((Value::Null, Origin::Default)),
        };
        shown.push(Shown { key, value, origin });
    }
    Ok((shown, problem))
}

/// The default values of settings, by their keys.
type Defaults = BTreeMap<String, (Value, Origin)>;

/// Returns the values of settings that are not given: what the model's authors recommend, and this program's defaults.
fn defaults(settled: &Settable) -> Result<(Defaults, Option<Error>)> {
    let mut defaults = BTreeMap::new();
    let folder = data_folder()?;
    let history = folder.join(HISTORY_FILE).display().to_string();
    defaults.insert("owner".to_owned(), (Owner::local().to_string().into(), Origin::Default));
    defaults.insert("store".to_owned(), (default_store(&folder).into(), Origin::Default));
    defaults.insert("history-file".to_owned(), (history.into(), Origin::Default));
    defaults.insert("no-history".to_owned(), (false.into(), Origin::Default));
    defaults.insert("resume".to_owned(), (false.into(), Origin::Default));
    defaults.insert("resume-quota".to_owned(), (QUOTA.into(), Origin::Default));
    defaults.insert("provider".to_owned(), (open::PROVIDER.into(), Origin::Default));
    defaults.insert("graph-optimization".to_owned(), (json!(open::OPTIMIZATION), Origin::Default));
    defaults.insert("graph-cache".to_owned(), (false.into(), Origin::Default));
    defaults.insert("approve".to_owned(), ("ask".into(), Origin::Default));
    defaults.insert("tool-timeout".to_owned(), (TIMEOUT.into(), Origin::Default));
    defaults.insert("tool-rounds".to_owned(), (ROUNDS.into(), Origin::Default));
    let mut overflow = (ContextPolicy::Error, Origin::Default);
    let described = settled.model.model.as_deref().map(|path| open::describe(Some(path))).transpose();
    let (description, problem) = match described {
        Ok(description) => (description, None),
        Err(error) => (None, Some(error)),
    };
    if let Some(description) = description {
        let policy = ContextPolicy::from(description.context_policy);
        if policy != ContextPolicy::Error {
            overflow = (policy, Origin::Model);
        }
        for (key, value) in described_values(description)? {
            defaults.insert(key, (value, Origin::Model));
        }
    }
    defaults.insert("context-policy".to_owned(), (json!(overflow.0), overflow.1));
    Ok((defaults, problem))
}

/// Returns the settings in a model's description files.
fn described_values(description: ModelDescription) -> Result<Map<String, Value>> {
    let mut values = entries(&SamplingArguments::from(description.info.sampling))?;
    values.retain(|_, value| !value.is_null());
    values.insert("family".to_owned(), description.family.into());
    values.insert("template".to_owned(), description.template.into());
    Ok(values)
}

fn line(shown: &Shown) -> String {
    let value = match &shown.value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    format!("{:20} {:11} {value}\n", shown.key, shown.origin.to_string())
}

fn value(shown: &Shown) -> (String, Value) {
    let origin = shown.origin.to_string();
    (shown.key.clone(), json!({"value": shown.value, "origin": origin}))
}
