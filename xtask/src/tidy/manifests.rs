//! Checks manifests: every member has a description and the lints of the workspace, and one compiler is named.

use crate::{File, Finding, Tree};

/// What `[package]` must have.
const KEYS: [&str; 5] = ["description", "license", "edition", "rust-version", "version"];

fn members(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.files.iter().filter(|file| {
        let is_manifest = file.path == "Cargo.toml" || file.path.ends_with("/Cargo.toml");
        is_manifest && !file.is_below("fixtures") && section(file, "package").is_some()
    })
}

/// Finds members whose `[package]` lacks one of [`KEYS`].
pub(super) fn described(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in members(tree) {
        let (line, package) = section(file, "package").unwrap_or((1, Vec::new()));
        for key in KEYS {
            if !package.iter().any(|entry| is_set(entry, key)) {
                findings.push(Finding::new(&file.path, line, format!("`[package]` has no `{key}`")));
            }
        }
    }
    findings
}

/// Finds members without `[lints] workspace = true`.
pub(super) fn lints_inherited(tree: &Tree) -> Vec<Finding> {
    const SENTENCE: &str =
        "the lints of the workspace are not inherited: add `[lints]` with `workspace = true`";
    let mut findings = Vec::new();
    for file in members(tree) {
        let lints = section(file, "lints");
        if !lints.is_some_and(|(_, lints)| lints.contains(&"workspace = true")) {
            findings.push(Finding::new(&file.path, 1, SENTENCE));
        }
    }
    findings
}

/// Finds a `rust-version` older than the compiler of CI, which no check would keep true.
pub(super) fn one_compiler(tree: &Tree) -> Vec<Finding> {
    let (Some(workspace), Some(toolchain)) = (tree.get("Cargo.toml"), tree.get("rust-toolchain.toml")) else {
        return Vec::new();
    };
    let oldest = value(workspace, "rust-version");
    let channel = value(toolchain, "channel");
    let agree = oldest.zip(channel).is_some_and(|(oldest, channel)| channel.starts_with(oldest));
    if agree {
        return Vec::new();
    }
    let sentence = format!("rust-version is {oldest:?}, and CI runs {channel:?} of rust-toolchain.toml");
    vec![Finding::new("Cargo.toml", 1, sentence)]
}

/// Returns the text that the first `key = "…"` of a file sets.
fn value<'a>(file: &'a File, key: &str) -> Option<&'a str> {
    file.text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"'))
}

fn is_set(entry: &str, key: &str) -> bool {
    let end = entry.strip_prefix(key).unwrap_or_default().trim_start();
    end.starts_with('=') || end.starts_with(".workspace")
}

/// Returns the line of a section's heading, and the lines below it.
fn section<'a>(file: &'a File, name: &str) -> Option<(usize, Vec<&'a str>)> {
    let heading = format!("[{name}]");
    let mut lines = file.lines().skip_while(|(_, line)| *line != heading);
    let (number, _) = lines.next()?;
    let entries = lines.map(|(_, line)| line).take_while(|line| !line.starts_with('['));
    Some((number, entries.collect()))
}
