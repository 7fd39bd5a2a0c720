//! Counts rows by kind, tells those that differ on purpose from those that fail, and sums up.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::deviations::{Deviations, Difference, digest, digest_in};
use crate::matching::matches;
use crate::outcome::Outcome;
use crate::row::Row;
use crate::rules;

#[derive(Debug, Default)]
struct Score {
    passed: usize,
    failed: usize,
    /// Differs on purpose.
    differs: usize,
    skipped: usize,
}

/// The rows so far.
#[derive(Debug)]
pub(crate) struct Report {
    folder: PathBuf,
    deviations: Deviations,
    scores: BTreeMap<String, Score>,
    /// Rows that were compared, by digest.
    judged: BTreeSet<String>,
}

impl Report {
    pub(crate) fn of(folder: &Path) -> Self {
        let (scores, judged) = Default::default();
        Self { folder: folder.to_owned(), deviations: Deviations::read(), scores, judged }
    }

    /// Counts a row. One that is listed and agrees is a failure too.
    pub(crate) fn count(&mut self, row: &Row, outcome: Outcome) {
        let id = row.id();
        let score = self.scores.entry(format!("{} {}", row.place.file, row.kind)).or_default();
        if !matches!(outcome, Outcome::Skipped(_)) {
            self.judged.insert(row.digest().to_owned());
        }
        match outcome {
            Outcome::Skipped(reason) => {
                score.skipped += 1;
                println!("skipped: {id}: {reason}");
            }
            Outcome::Compared { expected, found } if matches(&expected, &found) => {
                match self.deviations.of(row) {
                    None => score.passed += 1,
                    Some(_) => fail(score, &id, "agrees, but stands in deviations.json"),
                }
            }
            Outcome::Compared { expected, found } => {
                match judge(&self.deviations, &self.folder, row, &expected, &found) {
                    Ok(difference) => {
                        score.differs += 1;
                        println!("differs on purpose: {id}: {}", difference.title);
                        println!("      expected {expected}\n      found    {found}");
                    }
                    Err(reason) => fail(score, &id, &reason),
                }
            }
        }
    }

    /// Prints the sums; says whether all is well.
    pub(crate) fn finish(mut self) -> bool {
        self.fail_stale();
        let mut total = Score::default();
        for (kind, score) in &self.scores {
            println!("{kind}: {score}");
            total.passed += score.passed;
            total.failed += score.failed;
            total.differs += score.differs;
            total.skipped += score.skipped;
        }
        println!("{} rows differ on purpose and count as skipped", total.differs);
        println!(
            "{} passed, {} failed, {} skipped",
            total.passed,
            total.failed,
            total.skipped + total.differs
        );
        total.failed == 0 && total.passed > 0
    }

    /// An entry whose row was not compared, in a file that the list was written about, is stale.
    fn fail_stale(&mut self) {
        let is_stale = |id: &&String| {
            let file = id.split(' ').next().unwrap();
            !self.judged.contains(digest_in(id)) && self.deviations.know(&self.folder, file)
        };
        for id in self.deviations.rows().filter(is_stale) {
            let score = self.scores.entry("deviations.json".to_owned()).or_default();
            fail(score, id, "stands in deviations.json, but no such row is compared");
        }
    }
}

/// Finds the difference that explains a row: the one it is listed under, or, in other cases than the list was written
/// about, one whose rule explains it. A row that is listed must follow its difference's rule too.
fn judge<'a>(
    deviations: &'a Deviations,
    folder: &Path,
    row: &Row,
    expected: &Value,
    found: &Value,
) -> Result<&'a Difference, String> {
    let rules = rules::explaining(row, expected, found);
    let sides =
        format!("\n      expected {expected}\n      found    {found}\n      digest   {}", digest(found));
    match deviations.of(row) {
        Some((_, listed)) if listed != digest(found) => {
            Err(format!("is listed, but what is found has changed{sides}"))
        }
        Some((difference, _)) if !rules.contains(&difference.rule.as_str()) => {
            Err(format!("is listed, but does not follow the rule {:?}, of {rules:?}{sides}", difference.rule))
        }
        Some((difference, _)) => Ok(difference),
        None if deviations.know(folder, &row.place.file) => Err(format!("differs, by rule {rules:?}{sides}")),
        None => {
            let explained = rules.iter().find_map(|rule| deviations.with_rule(rule));
            explained.ok_or_else(|| format!("differs, and no rule says why{sides}"))
        }
    }
}

fn fail(score: &mut Score, id: &str, reason: &str) {
    score.failed += 1;
    println!("FAILED {id}: {reason}");
}

impl fmt::Display for Score {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, differs, skipped } = self;
        write!(formatter, "{passed} passed, {failed} failed, {differs} differ on purpose, {skipped} skipped")
    }
}
