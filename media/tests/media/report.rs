//! What passed, what failed, and what differs on purpose.

use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct Report {
    passed: usize,
    failures: Vec<String>,
    differences: BTreeMap<String, Vec<String>>,
    notes: Vec<String>,
}

impl Report {
    /// Counts a case.
    pub(crate) fn case(&mut self, name: &str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(reason) => {
                println!("FAILED {name}: {reason}");
                self.failures.push(name.to_owned());
            }
        }
    }

    /// Tells of something that is not as Hugging Face has it, and why.
    pub(crate) fn differs(&mut self, name: &str, reason: &str) {
        self.differences.entry(reason.to_owned()).or_default().push(name.to_owned());
    }

    /// Tells how a part was checked.
    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// The names of the cases that failed, sorted.
    pub(crate) fn failures(&self) -> Vec<&str> {
        let mut failures: Vec<_> = self.failures.iter().map(String::as_str).collect();
        failures.sort_unstable();
        failures
    }

    pub(crate) fn print(&self) {
        for (reason, names) in &self.differences {
            println!("{} differ on purpose: {reason}: {}", names.len(), names.join(", "));
        }
        self.notes.iter().for_each(|note| println!("{note}"));
        println!("{} passed, {} failed", self.passed, self.failures.len());
    }
}
