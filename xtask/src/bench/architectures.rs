//! Exports a tiny model of every architecture that an exporter knows, and compares what Alloquy says with its reference.
//!
//! What came out is merged into docs/architectures.json, of which `cargo xtask codegen` makes tables.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

use super::python::{self, printed};
use crate::{Error, Result, command, root};

/// The name of this benchmark.
pub(super) const NAME: &str = "architectures";
/// Where the outcomes are kept.
const OUTCOMES: &str = "docs/architectures.json";
/// The test that compares an export with its golden.
const TEST: &str = "every_export_says_what_its_reference_says";
/// What of a line is kept.
const KEPT: [&str; 8] =
    ["architecture", "exporter", "precision", "outcome", "detail", "by", "reference", "margin"];
/// The exporters: the packages of each, and the variable that names another Python.
const EXPORTERS: [(&str, &str, &str); 2] = [
    ("genai", "requirements.txt", "ALLOQUY_GENAI_PYTHON"),
    ("optimum", "requirements-optimum.txt", "ALLOQUY_OPTIMUM_PYTHON"),
];

/// Options of the benchmark `architectures`.
#[derive(Debug, clap::Args)]
pub(super) struct Architectures {
    /// Exporters: genai, optimum.
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_values = ["genai", "optimum"])]
    exporters: Vec<String>,
    /// Precisions: fp32, fp16, int8, int4; without this, all that an exporter has.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    precisions: Vec<String>,
    /// Architectures, by the names of their classes; without this, all.
    #[arg(long, value_name = "CLASS", value_delimiter = ';')]
    only: Vec<String>,
    /// Seconds that all exports of one architecture may take.
    #[arg(long, value_name = "N", default_value_t = 300)]
    export_seconds: u64,
}

impl Architectures {
    pub(super) fn run(&self) -> Result {
        let folder = root().join("target/architectures");
        let exports = folder.join("exports");
        fs::create_dir_all(&exports)?;
        let mut outcomes = Vec::new();
        for name in &self.exporters {
            let python = python_of(&folder, name)?;
            let library = python::library(&python)?;
            for line in printed(&mut self.make(&python, &exports, name))?.lines() {
                let made: Value = serde_json::from_str(line)
                    .map_err(|error| Error::new(format!("{line:?} is not an outcome of make.py: {error}")))?;
                outcomes.push(outcome(&made, &exports, &library)?);
            }
        }
        let file = root().join(OUTCOMES);
        let known = fs::read_to_string(&file).unwrap_or_default();
        fs::write(&file, merged_architectures(&known, &outcomes)?)?;
        println!("{OUTCOMES} is written; `cargo xtask codegen` makes tables of it");
        judge(&outcomes)
    }

    /// Returns the call that exports everything and prints a line for each.
    fn make(&self, python: &Path, exports: &Path, exporter: &str) -> Command {
        let mut make = Command::new(python);
        // Compiled scripts are not left in the repository.
        make.env("PYTHONDONTWRITEBYTECODE", "1");
        make.arg(scripts().join("make.py")).arg(exports).arg(exporter);
        make.args(["--timeout", &self.export_seconds.to_string()]);
        if !self.precisions.is_empty() {
            make.args(["--precisions", &self.precisions.join(",")]);
        }
        if !self.only.is_empty() {
            make.args(["--only", &self.only.join(";")]);
        }
        make
    }
}

fn scripts() -> PathBuf {
    root().join("xtask/architectures")
}

fn python_of(folder: &Path, exporter: &str) -> Result<PathBuf> {
    let Some((name, requirements, variable)) = EXPORTERS.iter().find(|(name, ..)| *name == exporter) else {
        let known = EXPORTERS.map(|(name, ..)| name).join(", ");
        return Err(Error::new(format!("unknown exporter {exporter:?}, one of: {known}")));
    };
    python::environment(&folder.join(name), &scripts(), &[requirements], variable)
}

/// Runs an export, if it was made, and returns its line with the outcome.
fn outcome(made: &Value, exports: &Path, library: &str) -> Result<Value> {
    let mut line = made.clone();
    let result = match made.get("export").and_then(Value::as_str) {
        Some(export) => compared(&exports.join(export), library)?,
        None => json!({"outcome": "not made", "detail": made.get("reason")}),
    };
    for field in ["outcome", "detail"] {
        if let (Some(line), Some(value)) = (line.as_object_mut(), result.get(field)) {
            line.insert(field.to_owned(), value.clone());
        }
    }
    Ok(line)
}

/// Compares an export with its golden, in a process of its own: a library that ends it does not end this one.
fn compared(export: &Path, library: &str) -> Result<Value> {
    let results = export.join("results.jsonl");
    if results.exists() {
        fs::remove_file(&results)?;
    }
    let mut test = command::cargo(&["test", "--quiet", "--workspace", "--test", "decoders", TEST]);
    test.env("ALLOQUY_CASES", export).env("ALLOQUY_RESULTS", &results).env("ORT_DYLIB_PATH", library);
    let (_printed, ended) = command::tee(&mut test)?;
    let written = fs::read_to_string(&results).unwrap_or_default();
    // A message may name the folder of the export, which is on this machine alone.
    let folder = export.display().to_string();
    let written = written.replace(&format!("{folder}/"), "").replace(&folder, "the export");
    match (written.lines().next(), ended) {
        (Some(line), _) => Ok(serde_json::from_str(line)?),
        (None, Err(error)) => Ok(json!({"outcome": "wrong", "detail": error.to_string()})),
        (None, Ok(())) => Err(Error::new(format!("{} was not compared with its golden", export.display()))),
    }
}

/// Merges outcomes into those that were known, sorted by architecture, exporter and precision. A new one replaces that of an earlier run.
///
/// # Errors
/// When the known text is not JSON, or a line does not say which export it is about.
pub fn merged_architectures(known: &str, outcomes: &[Value]) -> Result<String> {
    let known: Value = if known.is_empty() { json!({}) } else { serde_json::from_str(known)? };
    let earlier = known.get("exports").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut exports = BTreeMap::new();
    for line in earlier.iter().chain(outcomes) {
        let key = [text(line, "architecture")?, text(line, "exporter")?, text(line, "precision")?];
        exports.insert(key, kept(line));
    }
    let lines: Vec<_> = exports.values().map(|line| format!("  {line}")).collect();
    Ok(format!("{{\n \"exports\": [\n{}\n ]\n}}\n", lines.join(",\n")))
}

fn text<'a>(line: &'a Value, field: &str) -> Result<&'a str> {
    let found = line.get(field).and_then(Value::as_str);
    found.ok_or_else(|| Error::new(format!("an outcome has no {field:?}: {line}")))
}

/// Returns the fields of a line that are worth keeping, without empty ones.
fn kept(line: &Value) -> Value {
    let mut kept = Map::new();
    for field in KEPT {
        match line.get(field) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) if text.is_empty() => {}
            Some(value) => {
                kept.insert(field.to_owned(), value.clone());
            }
        }
    }
    Value::Object(kept)
}

/// Counts the outcomes, and returns an error if a reply was wrong.
fn judge(outcomes: &[Value]) -> Result {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for line in outcomes {
        let outcome = text(line, "outcome")?;
        *counts.entry(outcome).or_default() += 1;
        if outcome == "wrong" {
            let [architecture, exporter, precision] =
                [text(line, "architecture")?, text(line, "exporter")?, text(line, "precision")?];
            wrong.push(format!("{architecture} by {exporter} in {precision}"));
        }
    }
    for (outcome, count) in counts {
        println!("{outcome}: {count}");
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Error::new(format!("other replies than those of the reference: {}", wrong.join("; "))))
}
