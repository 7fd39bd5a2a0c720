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

/// How many cases of a folder came out in which way.
#[derive(Debug, Default)]
struct Sums {
    agree: usize,
    /// Quirks that differ on purpose.
    quirks: usize,
    /// Cases that must agree and differ on purpose.
    differ: usize,
    failed: usize,
    skipped: usize,
}

/// The cases so far.
#[derive(Debug)]
pub(crate) struct Report {
    differences: Vec<Difference>,
    /// By the folder of the case.
    folders: BTreeMap<String, Sums>,
}

impl Default for Report {
    fn default() -> Self {
        Self { differences: differences(), folders: BTreeMap::new() }
    }
}

impl Report {
    /// Counts a case. A quirk may differ, for a reason that is listed, and has to be what it was when that was written.
    pub(crate) fn count(&mut self, case: Named<'_>, outcome: Outcome) {
        let name = case.name;
        if let Some(changed) = self.changed(case) {
            self.sums(name).failed += 1;
            println!("FAILED {name}: {changed}");
            return;
        }
        let new = match self.pinned(name) {
            Some(_) => String::new(),
            None => format!(" (a quirk not listed: {})", digest(case.recorded)),
        };
        match outcome {
            Outcome::Agrees => self.sums(name).agree += 1,
            Outcome::Skipped(reason) => {
                self.sums(name).skipped += 1;
                println!("skipped: {name}: {reason}{}", if case.is_quirk { &new } else { "" });
            }
            Outcome::Differs { how, why } => match self.listed(&why, case) {
                Some(title) => {
                    println!("differs on purpose: {name}: {title}{new}");
                    if case.is_quirk {
                        self.sums(name).quirks += 1;
                    } else {
                        self.sums(name).differ += 1;
                    }
                }
                None => {
                    self.sums(name).failed += 1;
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

    /// The title of the difference that is the reason. A case that must agree has to be listed there itself.
    pub(crate) fn listed(&self, why: &[&str], case: Named<'_>) -> Option<&str> {
        for name in why {
            let known = self.differences.iter().find(|difference| difference.name == *name);
            if let Some(known) = known
                && (case.is_quirk || known.cases.contains_key(listed_name(case.name)))
            {
                return Some(&known.title);
            }
        }
        None
    }

    /// The digest of a quirk when it was listed. One that is not listed may differ for a reason that is.
    fn pinned(&self, name: &str) -> Option<&String> {
        let name = listed_name(name);
        self.differences.iter().find_map(|difference| difference.cases.get(name))
    }

    /// The sums of the folder that a case is in.
    fn sums(&mut self, name: &str) -> &mut Sums {
        let folder = name.split_once('/').map_or("", |(folder, _)| folder);
        self.folders.entry(folder.to_owned()).or_default()
    }

    pub(crate) fn print(&self) {
        println!("folder      agree  quirks that differ  others that differ  failed  skipped");
        for (folder, sums) in &self.folders {
            let Sums { agree, quirks, differ, failed, skipped } = sums;
            println!("{folder:<10} {agree:>6} {quirks:>19} {differ:>19} {failed:>7} {skipped:>8}");
        }
        let skipped: usize = self.folders.values().map(|sums| sums.skipped).sum();
        println!("{} passed, {} failed, {skipped} skipped", self.passed(), self.failed());
    }

    fn passed(&self) -> usize {
        self.folders.values().map(|sums| sums.agree + sums.quirks + sums.differ).sum()
    }

    fn failed(&self) -> usize {
        self.folders.values().map(|sums| sums.failed).sum()
    }

    pub(crate) fn passes(&self) -> bool {
        self.failed() == 0 && self.passed() > 0
    }
}

/// The name by which a case is listed: that of a row is without its arguments.
fn listed_name(name: &str) -> &str {
    name.split_once(" {").map_or(name, |(name, _)| name)
}

/// The digest of a value, whatever the order of its fields.
fn digest(value: &Value) -> String {
    let mut value = value.clone();
    value.sort_all_objects();
    Digest::of(value.to_string().as_bytes()).to_string()[..16].to_owned()
}
