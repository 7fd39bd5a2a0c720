//! The prompts of a library, compiled, with their versions and what is wrong with them.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::prompt_library::{
    Prompt, PromptLabel, PromptName, PromptProblem, PromptVersion, VersionNumber,
};
use alloquy_core::{Error, ErrorKind, Result};

use crate::compiled::{Compiled, Records, compile};
use crate::history::PromptHistory;

/// How many names an error lists.
const LISTED: usize = 8;

/// The prompts of a library. A name without a version means the current version.
#[derive(Debug)]
pub(crate) struct Table {
    compiled: Compiled,
    labels: BTreeMap<PromptName, BTreeMap<PromptLabel, VersionNumber>>,
    /// The versions that names without one mean; a prompt without versions is not here.
    current: BTreeMap<PromptName, Option<VersionNumber>>,
    problems: Vec<PromptProblem>,
    digest: Digest,
}

impl Default for Table {
    fn default() -> Self {
        Self::new(Entries::default())
    }
}

/// What is put into a table.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    /// Prompts without versions.
    pub(crate) records: Records,
    /// Where each of them is written.
    pub(crate) places: BTreeMap<PromptName, String>,
    /// Prompts with versions.
    pub(crate) histories: BTreeMap<PromptName, PromptHistory>,
    /// Prompts that cannot be read, and why.
    pub(crate) broken: BTreeMap<PromptName, Error>,
    /// What is wrong so far.
    pub(crate) problems: Vec<PromptProblem>,
}

impl Entries {
    /// Notes what is wrong with a place.
    pub(crate) fn problem(&mut self, place: &str, line: Option<usize>, message: impl Into<String>) {
        self.problems.push(PromptProblem { place: place.to_owned(), line, message: message.into() });
    }

    /// Returns where a prompt is written.
    fn place(&self, name: &PromptName) -> String {
        self.places.get(name).cloned().unwrap_or_else(|| name.to_string())
    }
}

impl Table {
    /// Compiles prompts.
    pub(crate) fn new(mut entries: Entries) -> Self {
        let mut records = std::mem::take(&mut entries.records);
        let mut labels = BTreeMap::new();
        let mut current = BTreeMap::new();
        for (name, history) in &entries.histories {
            for (number, version) in history.versions() {
                let name = name.clone().at(PromptVersion::Number(number));
                records.insert(name, version.prompt.clone());
            }
            let number = history.current();
            // Prompts that refer to this one, or extend it, mean its current version.
            if let Some(version) = number.and_then(|number| history.version(number)) {
                records.insert(name.clone(), version.prompt.clone());
            }
            current.insert(name.clone(), number);
            labels.insert(name.clone(), history.labels().clone());
        }
        let mut compiled = compile(&records);
        for (name, outcome) in &compiled {
            if let Err(error) = outcome {
                let place = entries.place(name);
                entries.problem(&place, None, error.to_string());
            }
        }
        for (name, error) in std::mem::take(&mut entries.broken) {
            compiled.insert(name, Err(error));
        }
        let mut problems = entries.problems;
        problems.sort_by(|one, other| (&one.place, one.line).cmp(&(&other.place, other.line)));
        problems.dedup();
        let digest = digest(&compiled, &labels);
        Self { compiled, labels, current, problems, digest }
    }

    /// Finds a prompt.
    pub(crate) fn prompt(&self, name: &PromptName) -> Result<Arc<dyn Prompt>> {
        let plain = PromptName::new(name.kind, name.name.clone());
        let number = match (&name.version, self.current.get(&plain)) {
            (None, None) => None,
            (Some(PromptVersion::Number(number)), Some(_)) => Some(*number),
            (None, Some(current)) => Some(current.ok_or_else(|| self.no_current(&plain))?),
            (Some(PromptVersion::Label(label)), Some(_)) => {
                let labels = self.labels.get(&plain);
                let number = labels.and_then(|labels| labels.get(label)).copied();
                Some(number.ok_or_else(|| self.no_label(&plain, label))?)
            }
            (Some(version), None) if self.compiled.contains_key(&plain) => {
                let message = format!(
                    "prompt {plain} has no versions, so version {version} does not exist; leave it out"
                );
                return Err(Error::new(ErrorKind::NotFound, message));
            }
            (Some(_), None) => None,
        };
        let full = match number {
            Some(number) => plain.at(PromptVersion::Number(number)),
            None => plain,
        };
        match self.compiled.get(&full) {
            Some(Ok(prompt)) => Ok(Arc::clone(prompt) as Arc<dyn Prompt>),
            Some(Err(error)) => Err(error.clone()),
            None => Err(self.not_found(&full)),
        }
    }

    fn not_found(&self, name: &PromptName) -> Error {
        let mut names: Vec<_> = self
            .names()
            .into_iter()
            .filter(|other| other.kind == name.kind)
            .map(|name| name.to_string())
            .collect();
        let more = names.len().saturating_sub(LISTED);
        names.truncate(LISTED);
        if more > 0 {
            names.push(format!("{more} more"));
        }
        let known = if names.is_empty() { format!("no {} prompt", name.kind) } else { names.join(", ") };
        Error::new(ErrorKind::NotFound, format!("prompt {name} does not exist; the library has {known}"))
    }

    fn no_current(&self, name: &PromptName) -> Error {
        let message = format!(
            "prompt {name} has no version in use; move the label production to one, or name one of its versions"
        );
        Error::new(ErrorKind::NotFound, message)
    }

    fn no_label(&self, name: &PromptName, label: &PromptLabel) -> Error {
        let labels: Vec<_> =
            self.labels.get(name).into_iter().flat_map(BTreeMap::keys).map(PromptLabel::as_str).collect();
        let known = if labels.is_empty() { "none".to_owned() } else { labels.join(", ") };
        let message = format!("prompt {name} has no label {label}; its labels are: {known}");
        Error::new(ErrorKind::NotFound, message)
    }

    /// Returns the names of the prompts that can be filled in, sorted; each version is one.
    pub(crate) fn names(&self) -> Vec<PromptName> {
        let mut names = Vec::new();
        for (name, outcome) in &self.compiled {
            let is_alias = name.version.is_none() && self.current.contains_key(name);
            if outcome.is_ok() && !is_alias {
                names.push(name.clone());
            }
        }
        names
    }

    pub(crate) fn problems(&self) -> &[PromptProblem] {
        &self.problems
    }

    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }
}

/// Returns a digest that changes with a prompt, a version and a label.
fn digest(
    compiled: &Compiled,
    labels: &BTreeMap<PromptName, BTreeMap<PromptLabel, VersionNumber>>,
) -> Digest {
    let mut text = String::new();
    for (name, outcome) in compiled {
        match outcome {
            Ok(prompt) => text.push_str(&format!("{name} {}\n", prompt.info().digest)),
            Err(error) => text.push_str(&format!("{name} {error}\n")),
        }
    }
    for (name, labels) in labels {
        for (label, number) in labels {
            text.push_str(&format!("{name} {label} {number}\n"));
        }
    }
    Digest::of(text.as_bytes())
}
