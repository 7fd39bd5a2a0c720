//! Checks Rust files: their first line, their length, and that libraries do not print.

use crate::{File, Finding, Tree};

/// A file is a noun; one longer than this needs a reason.
const LIMIT: usize = 500;

/// Files that may be longer than [`LIMIT`], and why.
const LONG_FILES: &[(&str, &str)] = &[];

/// Folders of library crates, which print nothing.
const LIBRARIES: [&str; 8] =
    ["backends/", "core/", "inference/", "media/", "model-files/", "processors/", "storage/", "templates/"];

const PRINTS: [&str; 5] = ["println!(", "eprintln!(", "print!(", "eprint!(", "dbg!("];

/// Finds files that do not begin with a description.
pub(super) fn headers(tree: &Tree) -> Vec<Finding> {
    rust(tree)
        .filter(|file| !file.text.starts_with("//!"))
        .map(|file| Finding::new(&file.path, 1, "the file does not begin with `//!`: say what it is"))
        .collect()
}

/// Finds files over [`LIMIT`] lines, their tests aside, that are not in [`LONG_FILES`], and outdated entries of that list.
pub(super) fn long_files(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in rust(tree).filter(|file| !is_test(file)) {
        let length = length(file);
        let is_allowed = LONG_FILES.iter().any(|(path, _)| *path == file.path);
        if length > LIMIT && !is_allowed {
            let sentence = format!("{length} lines; split it, or say why in tidy's list of long files");
            findings.push(Finding::new(&file.path, 1, sentence));
        }
    }
    // A planted tree of a test does not have the files of the list.
    if tree.get("xtask/src/tidy/sources.rs").is_some() {
        for (path, _) in LONG_FILES {
            if tree.get(path).is_none_or(|file| length(file) <= LIMIT) {
                findings.push(Finding::new(*path, 1, "no longer a long file: remove it from the list"));
            }
        }
    }
    findings
}

fn length(file: &File) -> usize {
    without_tests(file).count()
}

/// Finds library code that prints.
pub(super) fn prints(tree: &Tree) -> Vec<Finding> {
    let libraries = rust(tree).filter(|file| {
        let is_library = LIBRARIES.iter().any(|folder| file.path.starts_with(folder));
        is_library && file.is_below("src")
    });
    libraries.flat_map(prints_of).collect()
}

fn prints_of(file: &File) -> Vec<Finding> {
    code(file)
        .filter_map(|(number, line)| {
            let print = PRINTS.into_iter().find(|print| has_words(line, print))?;
            let sentence = format!("`{print}…)` in a library; return it, or use tracing");
            Some(Finding::new(&file.path, number, sentence))
        })
        .collect()
}

/// Returns whether `line` contains `words`, and not as the end of a longer name.
pub(super) fn has_words(line: &str, words: &str) -> bool {
    let begins_as_a_name = words.starts_with(is_of_a_name);
    line.match_indices(words).any(|(place, _)| !begins_as_a_name || !line[..place].ends_with(is_of_a_name))
}

fn is_of_a_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn rust(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.files.iter().filter(|file| file.is_a(&["rs"]))
}

fn is_test(file: &File) -> bool {
    ["tests", "examples", "benches"].iter().any(|folder| file.is_below(folder))
        || file.path.ends_with("/tests.rs")
}

/// Returns the lines that are neither a comment nor a test.
pub(super) fn code(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let is_test = is_test(file);
    without_tests(file).filter(move |(_, line)| !is_test && !line.trim_start().starts_with("//"))
}

/// Returns the lines above the module of tests, which is the last item.
fn without_tests(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let tests = "\n#[cfg(test)]\nmod ";
    let end = file.text.match_indices(tests).find(|(place, _)| {
        let module = file.text[place + tests.len()..].lines().next();
        module.is_some_and(|module| module.ends_with('{'))
    });
    let end = end.map_or(usize::MAX, |(place, _)| file.text[..place].lines().count());
    file.lines().take(end)
}
