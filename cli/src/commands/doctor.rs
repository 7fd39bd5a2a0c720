//! `alloquy doctor`: whether everything is in place, and what to do where it is not.

use std::fmt::Display;

use alloquy_core::{Error, Result};
use clap::Args;
use serde_json::{Value, json};

use super::Context;
use crate::arguments::{ModelArguments, StoreArguments};
use crate::failure::{Failure, one_line};
use crate::open;

const EXAMPLES: &str = "\
Examples:
  alloquy doctor
  alloquy doctor --model ~/models/qwen3-0.6b      also load this model
  alloquy doctor --json | jq '.checks[] | select(.ok | not)'

The exit code is 1 when there is a problem.";

/// Check the runtime, the store and the model, and say what to do about problems
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Doctor {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    store: StoreArguments,
}

/// One thing that was looked at.
struct Check {
    name: &'static str,
    found: Result<String, Problem>,
}

/// What is wrong, and what to do about it.
struct Problem {
    error: Error,
    advice: &'static str,
}

impl Doctor {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let model = context.settings.settle(&self.model)?;
        let store = context.settings.settle(&self.store)?;
        let checks = [
            check("configuration", Ok(configuration(context)), ""),
            check("runtime", open::runtime(&model), RUNTIME),
            check("store", pollster::block_on(open::inspect_store(&store)), STORE),
            check("model", inspect_model(&model, context), MODEL),
        ];
        let text: String = checks.iter().map(line).collect();
        let values: Vec<_> = checks.iter().map(value).collect();
        context.print(&text, &json!({"checks": values}))?;
        match checks.iter().all(|check| check.found.is_ok()) {
            true => Ok(()),
            false => Err(Failure::Problems),
        }
    }
}

const RUNTIME: &str = "run `cargo xtask setup` in a checkout of Alloquy or `pip install onnxruntime`, or set \
                       ORT_DYLIB_PATH to the library's path";
const STORE: &str = "check the path and its permissions, or name another store with --store URL";
const MODEL: &str = "check the folder or fetch the model again; `alloquy models DIR` lists what is below DIR";

fn check(name: &'static str, found: Result<impl Display>, advice: &'static str) -> Check {
    let found = found.map(|found| found.to_string()).map_err(|error| Problem { error, advice });
    Check { name, found }
}

fn configuration(context: &Context) -> String {
    match &context.settings.path {
        Some(path) if path.exists() => path.display().to_string(),
        Some(path) => format!("none; it would be {}", path.display()),
        None => "none".to_owned(),
    }
}

fn inspect_model(arguments: &ModelArguments, context: &Context) -> Result<String> {
    match arguments.model {
        None if open::pocket::describe().is_none() => Ok("none is named; --model DIR loads one".to_owned()),
        _ => Ok(open::model(arguments, context.notes)?.summary()),
    }
}

fn line(check: &Check) -> String {
    match &check.found {
        Ok(found) => format!("ok       {:14} {found}\n", check.name),
        Err(Problem { error, advice }) => {
            format!("problem  {:14} {}\n{:24}→ {advice}\n", check.name, one_line(error), "")
        }
    }
}

fn value(check: &Check) -> Value {
    match &check.found {
        Ok(found) => json!({"check": check.name, "ok": true, "found": found}),
        Err(Problem { error, advice }) => {
            json!({"check": check.name, "ok": false, "problem": one_line(error), "advice": advice})
        }
    }
}
