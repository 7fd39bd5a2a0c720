//! Runs a suite of cases from outside the repository.

use std::path::{Path, PathBuf};

use crate::{Error, Result, Totals, command, metadata};

/// Runs a suite of cases and prints `N passed, M failed` at the end, and `, K skipped` if rows were skipped.
#[derive(Debug, clap::Args)]
pub struct Conformance {
    /// The suite; without one, lists them.
    name: Option<String>,
    /// The folder `cases`, which has a folder for each suite, or the suite's own.
    #[arg(long, value_name = "DIR", requires = "name")]
    cases: Option<PathBuf>,
}

/// A test that reads its cases from the folder that `ALLOQUY_CASES` names, or from `cases/NAME` below the one that
/// `ALLOQUY_SHARED` names, and prints each that fails. Where it prints a line `N passed, M failed`, those are its
/// cases; otherwise each test counts as one.
struct Suite {
    name: &'static str,
    /// The folder of its cases, which several suites may share.
    cases: &'static str,
    package: &'static str,
    test: &'static str,
    /// The features that the test needs.
    features: &'static [&'static str],
    /// The variables that make it longer than the plain test, unless the environment sets them.
    settings: &'static [(&'static str, &'static str)],
    about: &'static str,
}

/// Every suite, sorted by name.
const SUITES: &[Suite] = &[
    Suite {
        name: "aki",
        cases: "aki",
        package: "alloquy-formats",
        test: "messages_aki",
        features: &[],
        settings: &[],
        about: "AKI chat contexts, read and written as recorded (aki_cases.json)",
    },
    Suite {
        name: "dataknobs",
        cases: "dataknobs",
        package: "alloquy-tests",
        test: "dataknobs",
        features: &[],
        settings: &[],
        about: "dataknobs: trees, prompts, middleware, queries, and what eight releases stored, read and written",
    },
    Suite {
        name: "decoders",
        cases: "decoders",
        package: "alloquy-onnx",
        test: "decoders",
        features: &[],
        settings: &[],
        about: "folders with an export and a golden: the same tokens, however a session came to them",
    },
    Suite {
        name: "fastchat",
        cases: "fastchat",
        package: "alloquy-templates",
        test: "mlc_fastchat",
        features: &[],
        settings: &[],
        about: "conversation styles of FastChat that MLC has too, compared with what FastChat prints",
    },
    Suite {
        name: "litert",
        cases: "litert",
        package: "alloquy-tests",
        test: "litert",
        features: &[],
        settings: &[],
        about: "LiteRT-LM's tests: calls, replies, prompts, conversations, sampling, grammars",
    },
    Suite {
        name: "media",
        cases: "media",
        package: "alloquy-media",
        test: "media",
        features: &["image", "audio"],
        settings: &[],
        about: "images, audio and video as tensors, compared with what Hugging Face's processors make of them",
    },
    Suite {
        name: "mlc",
        cases: "mlc",
        package: "alloquy-templates",
        test: "mlc_conformance",
        features: &[],
        settings: &[],
        about: "conversation templates of both generations, compared with what MLC prints",
    },
    Suite {
        name: "reuse",
        cases: "templates",
        package: "alloquy-tests",
        test: "reuse",
        features: &[],
        settings: &[("ALLOQUY_REUSE_TURNS", "50")],
        about: "long chats through public chat templates: what was computed is reused, or the report says why not",
    },
    Suite {
        name: "templates",
        cases: "templates",
        package: "alloquy-templates",
        test: "conformance",
        features: &[],
        settings: &[],
        about: "public chat templates and their language, compared with what Hugging Face renders",
    },
];

impl Conformance {
    /// Runs the suite.
    ///
    /// # Errors
    /// When the suite is unknown, its folder is missing, or a case failed.
    pub fn run(&self) -> Result {
        let suites = suites()?;
        let Some(name) = &self.name else {
            list(&suites);
            return Ok(());
        };
        let suite = suites.iter().find(|suite| suite.name == name);
        let suite =
            suite.ok_or_else(|| Error::new(format!("unknown suite {name:?}, one of: {}", names(&suites))))?;
        suite.run(&suite_folder(self.cases.as_deref(), suite.cases)?)
    }
}

impl Suite {
    fn run(&self, folder: &Path) -> Result {
        let Self { package, test, .. } = self;
        let features = self.features.join(",");
        let line = format!(
            "cargo test --package {package} --features '{features}' --test {test} -- --nocapture 2>&1"
        );
        let (printed, ended) = {
            let mut command = command::shell(&line);
            command
                .env("ALLOQUY_CASES", folder)
                .envs(self.settings.iter().filter(|(name, _)| std::env::var_os(name).is_none()).copied())
                .envs(shared_folder(folder).map(|shared| ("ALLOQUY_SHARED", shared)));
            command::tee(&mut command)?
        };
        if let Some(skipped) = printed.lines().find(|line| line.starts_with("Skipping")) {
            return Err(Error::new(format!("cases are missing: {skipped}")));
        }
        let totals = Totals::of_last_line(&printed).unwrap_or_else(|| Totals::of_cargo_test(&printed));
        println!("{totals}");
        match totals {
            Totals { passed: 0, failed: 0, .. } => Err(Error::new("no case was run")),
            Totals { failed: 0, .. } => ended,
            _ => Err(Error::new(format!("{} of {} failed", totals.failed, totals.count()))),
        }
    }
}

/// Returns the shared folder that contains the suite's folder, if it is at the usual place.
fn shared_folder(folder: &Path) -> Option<&Path> {
    folder.parent().filter(|cases| cases.ends_with("cases")).and_then(Path::parent)
}

/// Returns the suites whose test exists.
fn suites() -> Result<Vec<&'static Suite>> {
    let metadata = metadata()?;
    let packages = metadata.workspace_packages();
    let mut suites = Vec::new();
    for suite in SUITES {
        let mut targets = packages
            .iter()
            .filter(|package| package.name == suite.package)
            .flat_map(|package| &package.targets);
        if targets.any(|target| target.is_test() && target.name == suite.test) {
            suites.push(suite);
        }
    }
    Ok(suites)
}

/// Returns the folder of the suite's cases: `DIR/SUITE`, or `DIR` itself.
fn suite_folder(cases: Option<&Path>, suite: &str) -> Result<PathBuf> {
    let cases = cases.ok_or_else(|| Error::new("name the folder of the cases: --cases DIR"))?;
    let cases = std::path::absolute(cases)?;
    match [cases.join(suite), cases.clone()].into_iter().find(|folder| folder.is_dir()) {
        Some(folder) => Ok(folder),
        None => Err(Error::new(format!("{cases:?} is not a folder"))),
    }
}

fn list(suites: &[&Suite]) {
    for suite in suites {
        println!("{:<10}  {}", suite.name, suite.about);
    }
    if suites.is_empty() {
        println!("there is no suite yet");
    }
}

fn names(suites: &[&Suite]) -> String {
    suites.iter().map(|suite| suite.name).collect::<Vec<_>>().join(", ")
}
