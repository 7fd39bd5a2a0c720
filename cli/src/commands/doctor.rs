//! `alloquy doctor`: checks whether everything is in place, and says what to do where it is not.

use std::fmt::Display;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::onnx::{CpuShare, ProviderTrial};
use clap::Args;
use clap::builder::BoolishValueParser as Switch;
use serde_json::{Value, json};

use crate::arguments::{ContextArguments, ModelArguments, StoreArguments};
use crate::context::Context;
use crate::failure::{Failure, one_line};
use crate::kept;
use crate::open;
use crate::pocket;
use crate::runtime::{self, Runtime};

const EXAMPLES: &str = "\
Examples:
  alloquy doctor
  alloquy doctor --model ~/models/qwen3-0.6b      also load this model
  alloquy doctor --providers --model NAME         and measure each execution provider with it
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

    /// Also measure what each execution provider of this build can do with the model: whether it loads it, how fast it
    /// generates, and what it leaves to the processor
    #[arg(long, env = "ALLOQUY_PROVIDERS", value_parser = Switch::new())]
    providers: bool,
}

/// The result of one check.
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
        let runtime = runtime::runtime(&model);
        let unloaded = match &runtime {
            Ok(Runtime::Loaded(_)) => None,
            Ok(Runtime::Fetchable(_)) => Some("as the runtime is not here yet"),
            Err(_) => Some("because of the problem with the runtime"),
        };
        let mut checks = vec![
            check("configuration", configuration(context), CONFIGURATION),
            check("runtime", runtime.map(|runtime| present(&runtime)), RUNTIME),
            check("store", pollster::block_on(kept::inspect_store(&store)), STORE),
        ];
        // A folder on this machine is not read again where the server does not answer.
        let answers = match model.remote.address() {
            Ok(None) => true,
            address => {
                let found = address.and_then(|url| inspect_server(&model, url.unwrap_or_default()));
                checks.push(check("server", found, SERVER));
                for further in model.remote.further_addresses() {
                    checks.push(check("server", inspect_server(&model, further), SERVER));
                }
                checks.iter().any(|check| check.name == "server" && check.found.is_ok())
            }
        };
        if answers {
            checks.push(check("model", inspect_model(&model, unloaded, context), MODEL));
        }
        let mut trials = Vec::new();
        if self.providers {
            match tried(&model, unloaded, context) {
                Ok(tried) => trials = tried,
                Err(error) => checks.push(check("providers", Err::<String, _>(error), PROVIDERS)),
            }
        }
        let text: String = checks.iter().map(line).chain(trials.iter().map(trial_line)).collect();
        let values: Vec<_> = checks.iter().map(value).collect();
        let document = if self.providers {
            json!({"checks": values, "providers": trials.iter().map(trial_value).collect::<Vec<_>>()})
        } else {
            json!({"checks": values})
        };
        context.print(&text, &document)?;
        if checks.iter().all(|check| check.found.is_ok()) { Ok(()) } else { Err(Failure::Problems) }
    }
}

const RUNTIME: &str = "correct ORT_DYLIB_PATH if it is set; without it the first question fetches the library with Python's \
                       pip, unless ALLOQUY_OFFLINE is set";
const CONFIGURATION: &str = "`alloquy config show` shows every setting, and what is wrong";
const STORE: &str = "check the path and its permissions, or name another store with --store URL";
const SERVER: &str = "start the server, or correct its address: --remote URL; --remote none is this machine";
const PROVIDERS: &str =
    "correct what the lines of the runtime and the model name, or choose another model with --model NAME";
const MODEL: &str = "check the folder or fetch the model again; `alloquy models` lists those that are here";

fn check(name: &'static str, found: Result<impl Display>, advice: &'static str) -> Check {
    let found = found.map(|found| found.to_string()).map_err(|error| Problem { error, advice });
    Check { name, found }
}

fn configuration(context: &Context) -> Result<String> {
    context.settings.check()?;
    Ok(match &context.settings.path {
        Some(path) if path.exists() => path.display().to_string(),
        Some(path) => format!("none; it would be {}", path.display()),
        None => "none".to_owned(),
    })
}

fn present(runtime: &Runtime) -> String {
    match runtime {
        Runtime::Loaded(found) => found.clone(),
        Runtime::Fetchable(bytes) => {
            let megabytes = bytes.div_ceil(1_000_000);
            format!("ONNX Runtime is not here yet; the first question fetches it ({megabytes} MB)")
        }
    }
}

/// Asks the server of the model what it is.
fn inspect_server(arguments: &ModelArguments, url: &str) -> Result<String> {
    let remote = &arguments.remote;
    let report = pollster::block_on(remote.server(url)?.inspect(remote.dialect()))?;
    let names: Vec<_> = report.models.iter().map(|model| model.name.as_str()).collect();
    let version = report.version.map_or_else(String::new, |version| format!(" {version}"));
    Ok(format!("{}: {}{version} with {}", report.url, report.dialect.as_str(), names.join(", ")))
}

/// Loads the model; if there is no runtime, for the reason `unloaded`, only reads its description.
fn inspect_model(arguments: &ModelArguments, unloaded: Option<&str>, context: &Context) -> Result<String> {
    if arguments.remote.is_set() {
        let model = open::for_turns(arguments, &ContextArguments::default(), None, context.notes)?;
        return Ok(model.summary());
    }
    if arguments.model.is_none() && pocket::describe_pocket().is_none() {
        return Ok("none is named; --model NAME loads one".to_owned());
    }
    let Some(reason) = unloaded else {
        return Ok(open::model(arguments, context.notes)?.summary());
    };
    let described = runtime::described(arguments)?;
    Ok(format!("{described}; it was not loaded, {reason}"))
}

/// Measures the execution providers with the model.
fn tried(
    arguments: &ModelArguments,
    unloaded: Option<&str>,
    context: &Context,
) -> Result<Vec<ProviderTrial>> {
    if let Some(reason) = unloaded {
        return Err(Error::new(ErrorKind::Backend, format!("nothing was measured, {reason}")));
    }
    let trials = open::builder(arguments, context.notes)?.try_providers()?;
    if trials.iter().any(|trial| trial.outcome.is_ok()) {
        return Ok(trials);
    }
    let reasons: Vec<_> = trials.iter().map(ToString::to_string).collect();
    let message = format!("no execution provider can compute the model: {}", reasons.join("; "));
    Err(Error::new(ErrorKind::Backend, message))
}

fn trial_line(trial: &ProviderTrial) -> String {
    match &trial.outcome {
        Ok(speed) => format!("usable   {:14} {speed}\n", trial.provider),
        Err(reason) => format!("absent   {:14} {}\n", trial.provider, reason.replace('\n', " ")),
    }
}

fn trial_value(trial: &ProviderTrial) -> Value {
    let provider = &trial.provider;
    match &trial.outcome {
        Ok(speed) => json!({
            "provider": provider,
            "ok": true,
            "load_seconds": speed.load.as_secs_f64(),
            "tokens_per_second": speed.rate(),
            "nodes": speed.on_cpu.as_ref().map(|share| share.nodes),
            "nodes_on_cpu": speed.on_cpu.as_ref().map(CpuShare::on_cpu),
            "caches": speed.caches.to_string(),
            "operators_on_cpu": speed.on_cpu.as_ref().map(|share| &share.operators),
        }),
        Err(reason) => json!({"provider": provider, "ok": false, "problem": reason}),
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
