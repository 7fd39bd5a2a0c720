//! Every check that CI runs, by name. Knows the order and how to sum up; each check stands in a function of its own.

mod checks;
mod deny;
mod examples;
mod features;
mod verdict;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use self::verdict::{Tests, Verdict};
use crate::{Error, Result};

/// Runs the checks that CI runs: all of them, or those that are named.
#[derive(Debug, clap::Args)]
pub struct Ci {
    /// The checks to run; they keep the order of the list.
    names: Vec<String>,
    /// Lists the checks.
    #[arg(long)]
    list: bool,
}

/// A check: what it is called, what it is for, and what it does.
struct Check {
    name: &'static str,
    about: &'static str,
    run: fn(&mut Tests) -> Result<Verdict>,
}

/// Every check: what is quick and what fails often first, what people want to read last.
const CHECKS: [Check; 15] = [
    Check { name: "fmt", about: "the code is formatted", run: checks::fmt },
    Check { name: "tidy", about: "house rules that no compiler checks", run: checks::tidy },
    Check { name: "links", about: "links inside the documentation lead somewhere", run: checks::links },
    Check { name: "layers", about: "no crate imports what it must not", run: checks::layers },
    Check { name: "codegen", about: "generated pages are up to date", run: checks::codegen },
    Check { name: "deny", about: "licences, sources and duplicates of dependencies", run: deny::deny },
    Check { name: "clippy", about: "lints, warnings denied", run: checks::clippy },
    Check { name: "features", about: "each feature builds alone, warnings denied", run: features::features },
    Check { name: "docs", about: "the documentation builds, warnings denied", run: checks::docs },
    Check { name: "setup", about: "ONNX Runtime is there or can be fetched", run: checks::setup },
    Check { name: "run", about: "the README's run command prints something", run: checks::run },
    Check { name: "examples", about: "each example runs and prints something", run: examples::examples },
    Check {
        name: "doctests",
        about: "examples in the documentation, where the tests leave them out",
        run: checks::doctests,
    },
    Check {
        name: "servers",
        about: "tools of servers, whose feature the tests leave out",
        run: checks::servers,
    },
    Check { name: "tests", about: "the README's test command", run: checks::tests },
];

impl Ci {
    /// Runs the checks and prints a table of how they ended.
    ///
    /// # Errors
    /// When a name is unknown. A check that failed is no error but an exit code, so that the sums stand last.
    pub fn run(&self) -> Result<ExitCode> {
        let unknown = self.names.iter().find(|name| !CHECKS.iter().any(|check| check.name == *name));
        match unknown {
            Some(name) => Err(Error::new(format!("unknown check {name:?}, one of: {}", names()))),
            None if self.list => {
                list();
                Ok(ExitCode::SUCCESS)
            }
            None => Ok(self.run_checks()),
        }
    }

    fn run_checks(&self) -> ExitCode {
        let wanted =
            |check: &&Check| self.names.is_empty() || self.names.iter().any(|name| name == check.name);
        let mut tests = None;
        let rows: Vec<_> = CHECKS.iter().filter(wanted).map(|check| Row::of(check, &mut tests)).collect();
        println!("\n{}", rows.iter().map(Row::to_string).collect::<Vec<_>>().join("\n"));
        let failed = rows.iter().filter(|row| row.outcome.is_err()).count();
        println!("{failed} of {} checks failed", rows.len());
        if let Some(totals) = tests {
            println!("\n{totals}");
        }
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// A check that has run.
struct Row {
    name: &'static str,
    outcome: Result<Verdict>,
    time: Duration,
}

impl Row {
    fn of(check: &Check, tests: &mut Tests) -> Self {
        println!("\n== {}: {}", check.name, check.about);
        let start = Instant::now();
        let outcome = (check.run)(tests);
        let row = Self { name: check.name, outcome, time: start.elapsed() };
        println!("== {row}");
        row
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:<8} {:>7.1}s  ", self.name, self.time.as_secs_f64())?;
        match &self.outcome {
            Ok(Verdict::Passed) => formatter.write_str("ok"),
            Ok(Verdict::Skipped(reason)) => write!(formatter, "skipped: {reason}"),
            Err(error) => write!(formatter, "FAILED: {error}"),
        }
    }
}

fn list() {
    for check in &CHECKS {
        println!("{:<8}  {}", check.name, check.about);
    }
}

fn names() -> String {
    CHECKS.map(|check| check.name).join(", ")
}
