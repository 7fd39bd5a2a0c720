//! `alloquy config`: the settings in force, and where each came from.

use std::collections::BTreeMap;

use alloquy::ModelDescription;
use alloquy::core::{Error, Owner, Result};
use clap::builder::BoolishValueParser as Switch;
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use crate::arguments::{ContextPolicy, NumberType, REMOTE_AUTO, REMOTE_NONE, SamplingArguments, Settable};
use crate::context::Context;
use crate::failure::{Failure, one_line};
use crate::kept::default_store;
use crate::open;
use crate::pocket::{POCKET, describe_pocket};
use crate::resume::QUOTA;
use crate::settings::{ALIASES, HISTORY_FILE, Origin, data_folder, entries, keys};
use crate::tools::{ROUNDS, TIMEOUT};

const EXAMPLES: &str = "\
Examples:
  alloquy config show                         what was set, and what the model's authors recommend
  alloquy config show --all
  alloquy config show --temperature 0.2       see what wins over what
  alloquy config show --json | jq '.settings.model'

A configuration file is TOML, and its keys are the names of flags:
  model = \"/models/qwen3-0.6b\"
  system = \"Be brief.\"
  temperature = 0.7
  stop = [\"USER:\"]

  [aliases]
  qwen = \"onnx-community/Qwen3-0.6B-ONNX:q4\"
--model takes the names of [aliases], and `alloquy models alias` writes them. Relative paths are relative to the folder in which \
alloquy runs, as on the command line.

Origins: flag, environment (a variable), file, model (its authors recommend it) and default. What is wrong is marked with →, and the \
exit code is 1 then.";

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
    Show(Box<Show>),
}

/// Print each value with where it came from
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
struct Show {
    /// Show every setting, also those that have their defaults
    #[arg(long, env = "ALLOQUY_ALL", value_parser = Switch::new())]
    all: bool,
    #[command(flatten)]
    given: Settable,
}

/// A setting as it is in force, and what is wrong with it.
struct Shown {
    key: String,
    value: Value,
    origin: Origin,
    problem: Option<String>,
}

impl Config {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let Action::Show(show) = self.action;
        let (shown, model_problem) = shown(context, &show.given)?;
        let path = context.settings.path.as_deref().map(|path| path.display().to_string());
        let mut text = format!("configuration file: {}\n", path.as_deref().unwrap_or("none"));
        let mut problems = Vec::new();
        for problem in &context.settings.problems {
            if problem.key.is_none() {
                text += &format!("→ {}\n", problem.message);
            }
            problems.push(json!({"key": problem.key, "problem": problem.message}));
        }
        let model_problem = model_problem.as_ref().map(one_line);
        if let Some(problem) = &model_problem {
            problems.push(json!({"key": "model", "problem": problem}));
        }
        text += &table(&shown, show.all);
        let values: Map<_, _> = shown.iter().map(value).collect();
        let aliases = &context.settings.aliases;
        context.print(
            &text,
            &json!({"file": path, "settings": values, "aliases": aliases, "problem": model_problem, "problems": problems}),
        )?;
        if problems.is_empty() { Ok(()) } else { Err(Failure::Problems) }
    }
}

/// Returns the settings, and the error of a model that cannot be read; its values are left out then.
fn shown(context: &Context, given: &Settable) -> Result<(Vec<Shown>, Option<Error>)> {
    let settled = context.settings.settle(given)?;
    let values = entries(&settled)?;
    let (defaults, problem) = defaults(&settled)?;
    let mut shown = Vec::new();
    let wrong = &context.settings.problems;
    for key in keys::<Settable>() {
        if wrong.iter().any(|problem| problem.key.as_deref() == Some(&key)) {
            continue;
        }
        let (value, origin) = match values.get(&key).filter(|value| !value.is_null()) {
            Some(given) => (given.clone(), context.settings.origin(&key)),
            None => defaults.get(&key).cloned().unwrap_or((Value::Null, Origin::Default)),
        };
        let problem = if key == "model" { problem.as_ref().map(one_line) } else { None };
        shown.push(Shown { key, value, origin, problem });
    }
    for (name, target) in &context.settings.aliases {
        let key = format!("{ALIASES}.{name}");
        shown.push(Shown { key, value: target.as_str().into(), origin: Origin::File, problem: None });
    }
    for problem in wrong {
        let Some(key) = &problem.key else { continue };
        let message = Some(problem.message.clone());
        let (key, value) = (key.clone(), problem.value.clone());
        shown.push(Shown { key, value, origin: Origin::File, problem: message });
    }
    Ok((shown, problem))
}

/// Lists what was set, then what the model's authors recommend, then the defaults, if they are wanted.
fn table(shown: &[Shown], all: bool) -> String {
    let mut set = String::new();
    let mut recommended = String::new();
    let mut defaults = String::new();
    let mut hidden = 0;
    for shown in shown {
        match shown.origin {
            Origin::Flag | Origin::Variable | Origin::File => set += &line(shown),
            Origin::Model => recommended += &line(shown),
            Origin::Default if all => defaults += &line(shown),
            Origin::Default => hidden += 1,
        }
    }
    let mut table = set;
    for group in [recommended, defaults] {
        if !group.is_empty() {
            table += &format!("\n{group}");
        }
    }
    if hidden > 0 {
        table += &format!("\n{hidden} others have their defaults; --all shows them\n");
    }
    table
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
    defaults.insert("remote".to_owned(), (REMOTE_NONE.into(), Origin::Default));
    defaults.insert("remote-dialect".to_owned(), (REMOTE_AUTO.into(), Origin::Default));
    for key in ["kv-cache", "matmul"] {
        defaults.insert(key.to_owned(), (json!(NumberType::Exported), Origin::Default));
    }
    defaults.insert("graph-cache".to_owned(), (false.into(), Origin::Default));
    defaults.insert("approve".to_owned(), ("ask".into(), Origin::Default));
    defaults.insert("tool-timeout".to_owned(), (TIMEOUT.into(), Origin::Default));
    defaults.insert("tool-rounds".to_owned(), (ROUNDS.into(), Origin::Default));
    let mut overflow = (ContextPolicy::Error, Origin::Default);
    let named = settled.model.model.as_deref();
    let remote = &settled.model.remote;
    let is_elsewhere = remote.is_set() && (named.is_none() || remote.remote_chat.is_some());
    let described = match named {
        // A server says what it has when it is asked.
        _ if is_elsewhere => Ok(None),
        Some(name) if remote.is_set() => open::describe_remote(name).map(Some),
        None if describe_pocket().is_none() => Ok(None),
        named => open::describe(named).map(Some),
    };
    if named.is_none() && !is_elsewhere && describe_pocket().is_some() {
        defaults.insert("model".to_owned(), (POCKET.into(), Origin::Default));
    }
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
    let mut line = format!("{:20} {:11} {value}\n", shown.key, shown.origin.to_string());
    if let Some(problem) = &shown.problem {
        line += &format!("{:33}→ {problem}\n", "");
    }
    line
}

fn value(shown: &Shown) -> (String, Value) {
    let origin = shown.origin.to_string();
    (shown.key.clone(), json!({"value": shown.value, "origin": origin}))
}
