//! Checks registries: a family is a file, a `mod` line and a line in the table.

use crate::{File, Finding, Tree};

const FAMILIES: &str = "processors/src/families";

/// Finds families without their lines, and lines that are out of order.
pub(super) fn families(tree: &Tree) -> Vec<Finding> {
    let names: Vec<_> = tree.stems(FAMILIES, "rs").filter(|name| *name != "mod").collect();
    let tables = [format!("{FAMILIES}/mod.rs"), format!("{FAMILIES}.rs")];
    let Some(table) = tables.iter().find_map(|path| tree.get(path)) else {
        if names.is_empty() {
            return Vec::new();
        }
        return vec![Finding::new(FAMILIES, 1, "the folder of families has no table beside it")];
    };
    let modules = modules(table);
    let rows = rows(table);
    let mut findings = unlisted(table, &names, &modules, "mod NAME;");
    findings.extend(unlisted(table, &names, &rows, "&NAME::FAMILY,"));
    findings.extend(unsorted(table, &modules, "mod"));
    findings.extend(unsorted(table, &rows, "table"));
    findings
}

type Entry<'a> = (usize, &'a str);

fn modules(table: &File) -> Vec<Entry<'_>> {
    let named = table
        .lines()
        .filter_map(|(number, line)| Some((number, line.strip_prefix("mod ")?.strip_suffix(';')?)));
    named.collect()
}

/// Returns the names between `&` and `::FAMILY`. A short table is one line.
fn rows(table: &File) -> Vec<Entry<'_>> {
    let parts =
        table.lines().flat_map(|(number, line)| line.split('&').skip(1).map(move |part| (number, part)));
    parts.filter_map(|(number, part)| Some((number, part.split_once("::FAMILY")?.0))).collect()
}

fn unlisted(table: &File, names: &[&str], entries: &[Entry<'_>], line: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in names {
        if !entries.iter().any(|(_, entry)| entry == name) {
            let line = line.replace("NAME", name);
            let sentence = format!("{FAMILIES}/{name}.rs has no line `{line}`");
            findings.push(Finding::new(&table.path, 1, sentence));
        }
    }
    findings
}

fn unsorted(table: &File, entries: &[Entry<'_>], what: &str) -> Vec<Finding> {
    let pairs = entries.iter().zip(entries.iter().skip(1));
    let wrong = pairs.filter(|((_, before), (_, after))| before > after);
    wrong
        .map(|((_, before), (number, after))| {
            let sentence =
                format!("`{after}` is below `{before}` in the {what} lines; they are sorted by name");
            Finding::new(&table.path, *number, sentence)
        })
        .collect()
}
