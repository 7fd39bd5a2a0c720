//! What came of a case, and the sums.

use serde::Deserialize;

const LIST: &str = include_str!("differences.json");

/// What came of a case.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// All of it agrees.
    Agrees,
    /// It does not, in this way; the names of differences that may be the reason.
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
}

pub(crate) fn differences() -> Vec<Difference> {
    serde_json::from_str::<serde_json::Value>(LIST).unwrap()["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|difference| serde_json::from_value(difference.clone()).unwrap())
        .collect()
}

/// The cases so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Report {
    /// Counts a case. A quirk may differ, for a reason that is listed.
    pub(crate) fn count(&mut self, name: &str, quirk: bool, outcome: Outcome) {
        match outcome {
            Outcome::Agrees => self.passed += 1,
            Outcome::Skipped(reason) => {
                self.skipped += 1;
                println!("skipped: {name}: {reason}");
            }
            Outcome::Differs { how, why } => {
                let known = differences();
                let listed =
                    why.iter().find_map(|why| known.iter().find(|difference| difference.name == *why));
                match listed.filter(|_| quirk) {
                    Some(difference) => {
                        self.passed += 1;
                        println!("differs on purpose: {name}: {}", difference.title);
                    }
                    None => {
                        self.failed += 1;
                        println!("FAILED {name}: {how}");
                    }
                }
            }
        }
    }

    pub(crate) fn finish(&self) -> bool {
        println!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped);
        self.failed == 0 && self.passed > 0
    }
}
