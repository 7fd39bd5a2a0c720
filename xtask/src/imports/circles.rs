//! Files that import each other, directly or by way of others.

use std::collections::{BTreeMap, BTreeSet};

use super::Imports;
use crate::{Error, Result};

/// Circles that stay, with the reason: what one of the files defines is what the other one is about.
const ACCEPTED: [(&[&str], &str); 0] = [];

/// The most files that a circle may have.
const LARGEST: usize = 4;

/// Files that all lead to each other, sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circle {
    /// Paths relative to the root of the workspace.
    pub files: Vec<String>,
}

/// Returns all circles, each as large as it gets, sorted.
pub fn circles(imports: &Imports) -> Vec<Circle> {
    let mut leads_to: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in imports.keys() {
        leads_to.insert(file, reached(imports, file));
    }
    let mut circles = Vec::new();
    let mut seen = BTreeSet::new();
    for (file, reached) in &leads_to {
        if !reached.contains(file) || seen.contains(file) {
            continue;
        }
        let mut files = Vec::new();
        for other in reached {
            if leads_to.get(other).is_some_and(|others| others.contains(file)) {
                seen.insert(*other);
                files.push((*other).to_owned());
            }
        }
        circles.push(Circle { files });
    }
    circles
}

/// Returns every file that `file` imports, directly or indirectly; `file` itself only if it is part of a circle.
fn reached<'a>(imports: &'a Imports, file: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut pending = vec![file];
    while let Some(file) = pending.pop() {
        for next in imports.get(file).into_iter().flat_map(BTreeMap::keys) {
            if found.insert(next.as_str()) {
                pending.push(next);
            }
        }
    }
    found
}

/// Prints every circle with the names that tie it.
///
/// # Errors
/// When there is one that is not accepted, or too large.
pub fn report_circles(imports: &Imports) -> Result {
    let circles = circles(imports);
    let mut refused = 0;
    for circle in &circles {
        let accepted = ACCEPTED.iter().find(|(files, _)| *files == circle.files);
        match accepted {
            Some((_, reason)) if circle.files.len() <= LARGEST => {
                println!("{}: {reason}", circle.files.join(", "));
            }
            _ => {
                refused += 1;
                println!("{} files import each other in a circle:", circle.files.len());
            }
        }
        for (from, to, names) in ties(imports, circle) {
            println!("    {from} -> {to}: {names}");
        }
    }
    if refused > 0 {
        return Err(Error::new(format!("layers: {refused} circles of files are not accepted")));
    }
    println!("layers: {} circles of files, all accepted", circles.len());
    Ok(())
}

/// The imports inside a circle.
fn ties<'a>(imports: &'a Imports, circle: &Circle) -> Vec<(&'a str, &'a str, String)> {
    let mut ties = Vec::new();
    for (from, targets) in imports.iter().filter(|(from, _)| circle.files.contains(from)) {
        for (to, names) in targets.iter().filter(|(to, _)| circle.files.contains(to)) {
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            ties.push((from.as_str(), to.as_str(), names.join(", ")));
        }
    }
    ties
}
