//! Counts cases, tells those that differ from those that are known to, and sums up.

use std::collections::BTreeMap;
use std::process::ExitCode;

/// A case that is known to differ.
#[derive(Debug)]
struct Deviation {
    suite: String,
    /// The case, or the beginning of the cases.
    case: String,
    reason: String,
}

#[derive(Debug, Default)]
struct Score {
    passed: usize,
    failed: usize,
    known: usize,
}

#[derive(Debug)]
pub(crate) struct Report {
    deviations: Vec<Deviation>,
    scores: BTreeMap<&'static str, Score>,
}

impl Default for Report {
    fn default() -> Self {
        let deviations: serde_json::Value = serde_json::from_str(include_str!("deviations.json")).unwrap();
        let text = |entry: &serde_json::Value, name: &str| entry[name].as_str().unwrap().to_owned();
        let deviations = deviations.as_array().unwrap().iter().map(|entry| Deviation {
            suite: text(entry, "suite"),
            case: text(entry, "case"),
            reason: text(entry, "reason"),
        });
        Self { deviations: deviations.collect(), scores: BTreeMap::new() }
    }
}

impl Report {
    /// Counts a case; a deviation that no longer deviates is a failure, too.
    pub(crate) fn count(&mut self, suite: &'static str, case: &str, found: Result<(), String>) {
        let known = self.deviations.iter().find(|known| known.suite == suite && known.case == case);
        let score = self.scores.entry(suite).or_default();
        match (found, known) {
            (Ok(()), None) => score.passed += 1,
            (Err(_), Some(known)) => {
                score.known += 1;
                println!("known to differ: {suite}: {case:?}: {}", known.reason);
            }
            (Ok(()), Some(_)) => {
                score.failed += 1;
                println!("FAILED {suite}: {case:?}\n      agrees, but stands in deviations.json");
            }
            (Err(difference), None) => {
                score.failed += 1;
                println!("FAILED {suite}: {case:?}\n      {difference}");
            }
        }
    }

    /// Prints the sums.
    pub(crate) fn finish(self) -> ExitCode {
        let mut total = Score::default();
        for (suite, score) in &self.scores {
            println!(
                "{suite}: {} passed, {} known to differ, {} failed",
                score.passed, score.known, score.failed
            );
            total.passed += score.passed;
            total.failed += score.failed;
        }
        println!("{} passed, {} failed", total.passed, total.failed);
        if total.failed == 0 && total.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
