//! What came of a case, and the sums.

use std::collections::BTreeMap;

use alloquy_core::media::Digest;
use serde::Deserialize;
use serde_json::Value;

const LIST: &str = include_str!("differences.json");

/// What came of a case.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// All of it agrees.
    Agrees,
    /// It does not, in this way; the names of differences that may be the reason. What is done instead was checked.
    Differs { how: String, why: Vec<&'static str> },
    /// It could not be run.
    Skipped(String),
}

/// Something that is done otherwise on purpose.
#[derive(Debug, Deserialize)]
pub(crate) struct Difference {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) reason: String,
    /// The quirks that show it, each with the digest of what was recorded.
    pub(crate) cases: BTreeMap<String, String>,
}

pub(crate) fn differences() -> Vec<Difference> {
    let list: Value = serde_json::from_str(LIST).unwrap();
    serde_json::from_value(list["differences"].clone()).unwrap()
}

/// A case, or a row of one: what it is called and what was recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'a> {
    pub(crate) name: &'a str,
    pub(crate) recorded: &'a Value,
    pub(crate) is_quirk: bool,
}

/// The cases so far.
#[derive(Debug)]
pub(crate) struct Report {
    differences: Vec<Difference>,
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Default for Report {
    fn default() -> Self {
        Self { differences: differences(), passed: 0, failed: 0, skipped: 0 }
    }
}

impl Report {
    /// Counts a case. A quirk may differ, for a reason that is listed, and has to be what it was when that was written.
    pub(crate) fn count(&mut self, case: Named<'_>, outcome: Outcome) {
        let name = case.name;
        if let Some(changed) = self.changed(case) {
            self.failed += 1;
            println!("FAILED {name}: {changed}");
            return;
        }
        let new = match self.pinned(name) {
            Some(_) => String::new(),
            None => format!(" (a quirk not listed: {})", digest(case.recorded)),
        };
        match outcome {
            Outcome::Agrees => self.passed += 1,
            Outcome::Skipped(reason) => {
                self.skipped += 1;
                println!("skipped: {name}: {reason}{}", if case.is_quirk { &new } else { "" });
            }
            Outcome::Differs { how, why } => match self.listed(&why).filter(|_| case.is_quirk) {
                Some(title) => {
                    println!("differs on purpose: {name}: {title}{new}");
                    self.passed += 1;
                }
                None => {
                    self.failed += 1;
                    println!("FAILED {name}: {how}");
                }
            },
        }
    }

    /// Says how a case was listed that is not what it was.
    pub(crate) fn changed(&self, case: Named<'_>) -> Option<String> {
        let pinned = self.pinned(case.name)?;
        let digest = digest(case.recorded);
        (*pinned != digest).then(|| format!("it is listed as the quirk {pinned}, and is {digest} now"))
    }

    fn listed(&self, why: &[&str]) -> Option<&str> {
        let known = |why: &&str| self.differences.iter().find(|difference| difference.name == *why);
        why.iter().find_map(known).map(|difference| difference.title.as_str())
    }

    /// The digest of a quirk when it was listed. One that is not listed may differ for a reason that is.
    fn pinned(&self, name: &str) -> Option<&String> {
        let name = name.split_once(" {").map_or(name, |(name, _)| name);
        self.differences.iter().find_map(|difference| difference.cases.get(name))
    }

    pub(crate) fn print(&self) {
        println!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped);
    }

    pub(crate) fn passes(&self) -> bool {
        self.failed == 0 && self.passed > 0
    }
}

/// The digest of a value, whatever the order of its fields.
fn digest(value: &Value) -> String {
    let mut value = value.clone();
    value.sort_all_objects();
    Digest::of(value.to_string().as_bytes()).to_string()[..16].to_owned()
}
