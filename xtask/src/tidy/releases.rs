//! Checks that what people install is named as it is in the workspace: workflows, pages, and the manifest of the Debian package.

use std::collections::BTreeSet;

use crate::dist::TARGETS;
use crate::{File, Finding, Tree};

const WORKFLOW: &str = ".github/workflows/release.yml";

const PAGE: &str = "docs/install.md";

const CHORES: &str = "xtask/src/main.rs";

const PACKAGE: &str = "cli/Cargo.toml";

/// Finds machines that only one of the workflow, the page and `cargo xtask dist` has.
pub(super) fn targets(tree: &Tree) -> Vec<Finding> {
    let Some(workflow) = tree.get(WORKFLOW) else { return Vec::new() };
    let mut findings = Vec::new();
    let mut named = BTreeSet::new();
    for (number, line) in workflow.lines() {
        let Some(target) = line.trim().strip_prefix("- target: ") else { continue };
        named.insert(target);
        if !TARGETS.contains(&target) {
            let sentence = format!("{target:?} is not in the list of xtask/src/dist.rs");
            findings.push(Finding::new(WORKFLOW, number, sentence));
        }
    }
    for target in TARGETS {
        if !named.contains(target) {
            findings.push(Finding::new(WORKFLOW, 1, format!("no job has the target {target:?}")));
        }
        if !tree.get(PAGE).is_some_and(|page| page.text.contains(&format!("`alloquy-VERSION-{target}."))) {
            findings.push(Finding::new(PAGE, 1, format!("the archive for {target} is not named")));
        }
    }
    findings
}

/// Finds commands that would fail, or install other versions than the tested ones.
pub(super) fn commands(tree: &Tree) -> Vec<Finding> {
    let features = features(tree);
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.is_a(&["md", "yml"]) && !file.is_below("fixtures")) {
        let is_workflow = file.is_below("workflows");
        for (number, line) in file.lines() {
            let mut sentences = Vec::new();
            if is_workflow {
                sentences.extend(unknown_chore(tree, line));
                sentences.extend(missing_files(tree, line));
            }
            if file.path != "CHANGELOG.md" {
                sentences.extend(unlocked(line));
                sentences.extend(unknown_features(&features, line));
            }
            findings.extend(sentences.into_iter().map(|sentence| Finding::new(&file.path, number, sentence)));
        }
    }
    findings
}

/// Finds files of the Debian package that do not exist. Those in the target folder are built.
pub(super) fn package_files(tree: &Tree) -> Vec<Finding> {
    let Some(manifest) = tree.get(PACKAGE) else { return Vec::new() };
    let assets = manifest.lines().filter_map(|(number, line)| {
        let source = line.trim().strip_prefix("[\"")?.split_once('"')?.0;
        (!source.starts_with("target/")).then_some((number, source))
    });
    let mut findings = Vec::new();
    for (number, source) in assets {
        let path = source.strip_prefix("../").map_or_else(|| format!("cli/{source}"), str::to_owned);
        if tree.get(&path).is_none() {
            findings.push(Finding::new(PACKAGE, number, format!("{path} does not exist")));
        }
    }
    findings
}

/// Finds a task of `cargo xtask` that does not exist.
fn unknown_chore(tree: &Tree, line: &str) -> Option<String> {
    let name = word_after(line, "cargo xtask ")?;
    let variant: String = name.split('-').map(capitalized).collect();
    let is_known = tree.get(CHORES).is_some_and(|file| file.text.contains(&format!("Chore::{variant}")));
    (!is_known).then(|| format!("`cargo xtask {name}` does not exist"))
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Finds files that a workflow names and the tree does not have.
fn missing_files(tree: &Tree, line: &str) -> Vec<String> {
    let words = line.split_whitespace().filter(|word| *word == "Containerfile" || is_script(word));
    let missing = words.filter(|word| tree.get(word).is_none());
    missing.map(|word| format!("{word} does not exist")).collect()
}

fn is_script(word: &str) -> bool {
    ["cli/", ".ci/", "xtask/"].iter().any(|folder| word.starts_with(folder))
}

/// Finds a `cargo install` that takes other versions of dependencies than the tested ones.
fn unlocked(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("cargo install")?;
    let command = rest.split(['`', '|', ';']).next().unwrap_or_default();
    let is_unlocked = command.starts_with(' ') && !command.contains("--locked");
    is_unlocked
        .then(|| "`cargo install` without --locked builds other versions than the tested ones".to_owned())
}

/// Finds features that no package has.
fn unknown_features(features: &BTreeSet<&str>, line: &str) -> Vec<String> {
    let Some(names) = word_after(line, "--features ") else { return Vec::new() };
    let unknown = names.split(',').filter(|name| !name.is_empty() && !features.contains(name));
    unknown.map(|name| format!("no package has the feature {name:?}")).collect()
}

/// Returns the word after `start`; `None` where there is a placeholder instead.
fn word_after<'a>(line: &'a str, start: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(start)?;
    let end = rest.find(|letter: char| !(letter.is_ascii_alphanumeric() || "-_,".contains(letter)));
    let word = rest.get(..end.unwrap_or(rest.len()))?;
    let is_placeholder = word.is_empty() || word.chars().all(|letter| letter.is_ascii_uppercase());
    (!is_placeholder).then_some(word)
}

/// Returns the names of the features of all packages.
fn features(tree: &Tree) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for manifest in tree.files.iter().filter(|file| file.path.ends_with("Cargo.toml")) {
        names.extend(features_of(manifest));
    }
    names
}

fn features_of(manifest: &File) -> Vec<&str> {
    let Some((_, section)) = manifest.text.split_once("\n[features]\n") else { return Vec::new() };
    let lines = section.lines().take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| line.split_once(" = [")).map(|(name, _)| name).collect()
}
