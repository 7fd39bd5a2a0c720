//! Cases of conversation templates that lie outside the repository: comparing, counting, and the deviations that are
//! meant, which `deviations.json` names.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use alloquy_core::media::Digest;
use serde_json::Value;

/// Reads a file of a suite: from the folder that `ALLOQUY_CASES` names, or from the shared one's `cases/SUITE`.
pub(crate) fn golden(suite: &str, file: &str) -> Option<Value> {
    let shared = || {
        let shared = std::env::var_os("ALLOQUY_SHARED").map(PathBuf::from);
        let shared =
            shared.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared")));
        shared.join("cases").join(suite)
    };
    let path = std::env::var_os("ALLOQUY_CASES").map_or_else(shared, PathBuf::from).join(file);
    if !path.exists() {
        eprintln!("Skipping: {} does not exist, set ALLOQUY_CASES or ALLOQUY_SHARED", path.display());
        return None;
    }
    Some(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
}

/// A deviation that is meant.
#[derive(Debug, serde::Deserialize)]
struct Deviation {
    reason: String,
    /// The cases that may deviate so; without any, each whose runner finds what it expects instead.
    #[serde(default)]
    only: Vec<String>,
}

/// A run over cases: what passed, what failed, and what deviates as `deviations.json` says.
#[derive(Debug)]
pub(crate) struct Cases {
    meant: BTreeMap<String, Deviation>,
    deviations: BTreeMap<String, usize>,
    passed: usize,
    failed: usize,
}

impl Cases {
    pub(crate) fn new() -> Self {
        let meant = serde_json::from_str(include_str!("deviations.json")).unwrap();
        Self { meant, deviations: BTreeMap::new(), passed: 0, failed: 0 }
    }

    /// Counts a case, and prints the difference where there is one.
    pub(crate) fn compare(&mut self, case: &str, expected: &Value, found: &Value) {
        if matches(expected, found) { self.passed += 1 } else { self.fail(case, expected, found) }
    }

    /// Counts a case that may differ from what is expected in one way that is meant: `instead` says what it must be
    /// then.
    pub(crate) fn compare_or(
        &mut self,
        case: &str,
        [expected, instead]: [&Value; 2],
        found: &Value,
        deviation: &str,
    ) {
        if matches(expected, found) {
            self.passed += 1;
        } else if self.may(deviation, case) && matches(instead, found) {
            self.passed += 1;
            *self.deviations.entry(deviation.to_owned()).or_default() += 1;
        } else {
            self.fail(case, expected, found);
        }
    }

    fn may(&self, deviation: &str, case: &str) -> bool {
        let only = self.meant.get(deviation).map(|deviation| deviation.only.as_slice());
        only.is_some_and(|only| only.is_empty() || only.iter().any(|only| only == case))
    }

    pub(crate) fn fail(&mut self, case: &str, expected: &Value, found: &Value) {
        self.failed += 1;
        eprintln!("{case}\n{}", difference(expected, found));
    }

    /// Prints the sums, and fails where a case did.
    pub(crate) fn finish(self) {
        for (deviation, count) in &self.deviations {
            eprintln!("{count} deviate by {deviation}: {}", self.meant[deviation].reason);
        }
        eprintln!("{} passed, {} failed", self.passed, self.failed);
        assert_eq!(self.failed, 0);
        assert!(self.passed > 0);
    }
}

/// Says whether `found` is what is expected, where a text may be given as `sha256:…`.
pub(crate) fn matches(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::String(expected), Value::String(found)) => match expected.strip_prefix("sha256:") {
            Some(digest) => Digest::from_str(digest).unwrap() == Digest::of(found.as_bytes()),
            None => expected == found,
        },
        (Value::Array(expected), Value::Array(found)) => {
            expected.len() == found.len() && expected.iter().zip(found).all(|(a, b)| matches(a, b))
        }
        (Value::Object(expected), Value::Object(found)) => {
            expected.len() == found.len()
                && expected.iter().all(|(name, a)| found.get(name).is_some_and(|b| matches(a, b)))
        }
        _ => expected == found,
    }
}

/// Both values, or of two texts what is around the first place where they differ.
fn difference(expected: &Value, found: &Value) -> String {
    let (Some(a), Some(b)) = (expected.as_str(), found.as_str()) else {
        return format!("  expected {expected}\n  found    {found}");
    };
    if a.starts_with("sha256:") {
        return format!("  expected {a}\n  found    sha256:{} {b:?}", Digest::of(b.as_bytes()));
    }
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| -> String { text.chars().skip(same.saturating_sub(40)).take(120).collect() };
    format!("  from character {same}\n  expected {:?}\n  found    {:?}", around(a), around(b))
}
