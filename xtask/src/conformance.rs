//! Runs a suite of cases that lies outside the repository. Knows which test runs which suite; not what a case is.

use std::path::{Path, PathBuf};

use crate::{Error, Result, Totals, command};

/// Runs a suite of cases and ends with `N passed, M failed`.
#[derive(Debug, clap::Args)]
pub struct Conformance {
    /// The suite; without one, lists them.
    name: Option<String>,
    /// The folder of its cases.
    #[arg(long, value_name = "DIR", requires = "name")]
    cases: Option<PathBuf>,
}

/// A test that reads its cases from the folder that `ALLOQUY_CASES` names, prints a line for each that fails, and ends
/// with `N passed, M failed`.
struct Suite {
    name: &'static str,
    package: &'static str,
    test: &'static str,
    about: &'static str,
}

/// Every suite, sorted by name.
const SUITES: &[Suite] = &[];

impl Conformance {
    /// Runs the suite.
    ///
    /// # Errors
    /// When the suite is unknown, its folder is missing, or a case failed.
    pub fn run(&self) -> Result {
        let Some(name) = &self.name else {
            list();
            return Ok(());
        };
        let suite = SUITES.iter().find(|suite| suite.name == name);
        let suite =
            suite.ok_or_else(|| Error::new(format!("unknown suite {name:?}, one of: {}", names())))?;
        let cases = self.cases.as_ref().filter(|cases| cases.is_dir());
        let cases = cases.ok_or_else(|| Error::new("name the folder of its cases: --cases DIR"))?;
        suite.run(&std::path::absolute(cases)?)
    }
}

impl Suite {
    fn run(&self, cases: &Path) -> Result {
        let arguments = ["test", "--package", self.package, "--test", self.test, "--", "--nocapture"];
        let (printed, ended) = command::tee(command::cargo(&arguments).env("ALLOQUY_CASES", cases))?;
        let totals = Totals::of_last_line(&printed);
        let totals =
            totals.ok_or_else(|| Error::new(format!("{} gave no line `N passed, M failed`", self.test)))?;
        println!("{totals}");
        match totals {
            Totals { passed: 0, failed: 0 } => {
                Err(Error::new(format!("{cases:?} has no cases of {:?}", self.name)))
            }
            Totals { failed: 0, .. } => ended,
            _ => Err(Error::new(format!("{} of {} cases failed", totals.failed, totals.count()))),
        }
    }
}

fn list() {
    for suite in SUITES {
        println!("{:<10}  {}", suite.name, suite.about);
    }
}

fn names() -> String {
    SUITES.iter().map(|suite| suite.name).collect::<Vec<_>>().join(", ")
}
