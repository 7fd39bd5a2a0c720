//! Lists and runs every check of CI, in their order, and sums up the results. Each check is a function in `ci/`.

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

/// A check: its name, its purpose and its function.
struct Check {
    name: &'static str,
    about: &'static str,
    run: fn(&mut Tests) -> Result<Verdict>,
}

/// Every check: those that are quick or fail often come first, those with results to read come last.
const CHECKS: [Check; 21] = [
    Check { name: "fmt", about: "the code is formatted", run: checks::fmt },
    Check { name: "tidy", about: "house rules that no compiler checks", run: checks::tidy },
    Check { name: "links", about: "links inside the documentation lead somewhere", run: checks::links },
    Check {
        name: "style",
        about: "words, sentences and constructs that make reading hard",
        run: checks::style,
    },
    Check { name: "layers", about: "no crate imports what it must not", run: checks::layers },
    Check { name: "codegen", about: "generated pages are up to date", run: checks::codegen },
    Check { name: "deny", about: "licences, sources and duplicates of dependencies", run: deny::deny },
    Check {
        name: "package",
        about: "packages can be packed, and have the files that users need",
        run: checks::package,
    },
    Check {
        name: "web",
        about: "the page: its lints and tests, and what is committed is what web/ gives",
        run: checks::web,
    },
    Check { name: "clippy", about: "lints, warnings denied", run: checks::clippy },
    Check { name: "features", about: "each feature builds alone, warnings denied", run: features::features },
    Check {
        name: "docs",
        about: "the documentation builds with all features and with none, warnings denied",
        run: checks::docs,
    },
    Check { name: "docs-rs", about: "docs.rs can build the documentation", run: checks::docs_rs },
    Check { name: "api", about: "the listings of the public API are up to date", run: checks::api },
    Check {
        name: "book",
        about: "the book of docs/ builds, and its links lead somewhere",
        run: checks::book,
    },
    Check { name: "setup", about: "ONNX Runtime is there or can be fetched", run: checks::setup },
    Check { name: "run", about: "the README's run command prints something", run: checks::run },
    Check { name: "examples", about: "each example runs and prints something", run: examples::examples },
    Check {
        name: "doctests",
        about: "examples in the documentation, where the tests leave them out",
        run: checks::doctests,
    },
    Check {
        name: "without-mcp",
        about: "the command line without its default feature for tools of servers",
        run: checks::without_mcp,
    },
    Check { name: "tests", about: "the README's test command", run: checks::tests },
];

impl Ci {
    /// Runs the checks and prints a table of their results.
    ///
    /// # Errors
    /// When a name is unknown. A failed check is not an error but an exit code, so that the totals are printed last.
    pub fn run(&self) -> Result<ExitCode> {
        let unknown = self.names.iter().find(|name| !CHECKS.iter().any(|check| check.name == *name));
        if let Some(name) = unknown {
            return Err(Error::new(format!("unknown check {name:?}, one of: {}", names())));
        }
        if self.list {
            list();
            return Ok(ExitCode::SUCCESS);
        }
        Ok(self.run_checks())
    }

    fn run_checks(&self) -> ExitCode {
        let mut tests = None;
        let mut rows = Vec::new();
        for check in &CHECKS {
            if self.names.is_empty() || self.names.iter().any(|name| name == check.name) {
                rows.push(Row::of(check, &mut tests));
            }
        }
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
