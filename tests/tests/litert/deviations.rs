//! Rows that differ on purpose: `deviations.json`, which `docs/differences-from-litert-lm.md` lists.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use alloquy_core::media::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::row::Row;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/litert/deviations.json");

/// The differences, and the files of cases that they were written about.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Deviations {
    /// The digest of each file with rows that differ: of another file, no entry can be said to be stale.
    files: BTreeMap<String, Digest>,
    differences: Vec<Difference>,
}

/// What is done otherwise, and where it shows.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Difference {
    /// What is done here, in one sentence.
    pub(crate) title: String,
    /// Why it is better so.
    pub(crate) reason: String,
    /// The rule that says what a row must be like to differ for this reason.
    pub(crate) rule: String,
    /// The rows by id, each with the digest of what is found.
    rows: BTreeMap<String, Digest>,
}

impl Deviations {
    pub(crate) fn read() -> Self {
        serde_json::from_str(&fs::read_to_string(FILE).unwrap()).unwrap()
    }

    /// The difference that a row is listed under, with the digest of what was found when it was listed.
    pub(crate) fn of(&self, row: &Row) -> Option<(&Difference, Digest)> {
        let listed = |difference: &Difference| {
            difference.rows.iter().find(|(id, _)| digest_in(id) == row.digest()).map(|(_, found)| *found)
        };
        self.differences.iter().find_map(|difference| Some((difference, listed(difference)?)))
    }

    /// The difference that a rule stands for.
    pub(crate) fn with_rule(&self, rule: &str) -> Option<&Difference> {
        self.differences.iter().find(|difference| difference.rule == rule)
    }

    /// Every row that is listed.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &String> {
        self.differences.iter().flat_map(|difference| difference.rows.keys())
    }

    /// Says whether the folder's file is the one that the list was written about.
    pub(crate) fn know(&self, folder: &Path, file: &str) -> bool {
        let found = fs::read(folder.join(file)).map(|bytes| Digest::of(&bytes)).ok();
        found.is_some() && self.files.get(file).copied() == found
    }
}

/// The digest of a row, which stands at the end of its name.
pub(crate) fn digest_in(id: &str) -> &str {
    id.rsplit(' ').next().unwrap_or_default()
}

/// The digest of what was found: the list need not hold texts of the cases. The words of errors do not count.
pub(crate) fn digest(found: &Value) -> Digest {
    Digest::of(without_words(found).to_string().as_bytes())
}

/// What was found, of an error no more than its kind.
fn without_words(found: &Value) -> Value {
    let kind = |words: &str| words.split_once(": ").map_or("", |(kind, _)| kind).to_owned();
    match found {
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| match (name.as_str(), value) {
                ("error" | "invalid", Value::String(words)) => (name.clone(), kind(words).into()),
                _ => (name.clone(), without_words(value)),
            };
            fields.iter().map(field).collect()
        }
        Value::Array(items) => items.iter().map(without_words).collect(),
        other => other.clone(),
    }
}
