//! Rust files: what they open with, how long they are, and that libraries do not print.

use crate::{File, Finding, Tree};

/// A file is a noun; one longer than this needs a reason.
const LIMIT: usize = 500;

/// Files that may be longer than [`LIMIT`], and why.
const LONG_FILES: &[(&str, &str)] = &[];

/// Folders of library crates; those print nothing.
const LIBRARIES: [&str; 8] =
    ["backends/", "core/", "inference/", "media/", "model-files/", "processors/", "storage/", "templates/"];

const PRINTS: [&str; 5] = ["println!(", "eprintln!(", "print!(", "eprint!(", "dbg!("];

/// Finds files that do not open by saying what they are.
pub(super) fn headers(tree: &Tree) -> Vec<Finding> {
    rust(tree)
        .filter(|file| !file.text.starts_with("//!"))
        .map(|file| Finding::new(&file.path, 1, "the file does not begin with `//!`: say what it is"))
        .collect()
}

/// Finds files over [`LIMIT`] lines, their tests aside, that are not in [`LONG_FILES`], and entries there that are
/// no longer true.
pub(super) fn long_files(tree: &Tree) -> Vec<Finding> {
    let allowed = |path: &str| LONG_FILES.iter().any(|(allowed, _)| *allowed == path);
    let length = |file: &File| without_tests(file).count();
    let long = rust(tree).filter(|file| !is_test(file) && length(file) > LIMIT && !allowed(&file.path));
    let mut findings: Vec<_> = long
        .map(|file| {
            let sentence =
                format!("{} lines; split it, or say why in tidy's list of long files", length(file));
            Finding::new(&file.path, 1, sentence)
        })
        .collect();
    let here = tree.get("xtask/src/tidy/sources.rs");
    let stale = LONG_FILES
        .iter()
        .filter(|(path, _)| here.is_some() && tree.get(path).is_none_or(|file| length(file) <= LIMIT));
    findings
        .extend(stale.map(|(path, _)| Finding::new(*path, 1, "no longer a long file: take it off the list")));
    findings
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

/// Says whether `line` has `words`, and not as the end of a longer name.
pub(super) fn has_words(line: &str, words: &str) -> bool {
    let is_of_a_name = |character: char| character.is_alphanumeric() || character == '_';
    let is_whole = |place: usize| !words.starts_with(is_of_a_name) || !line[..place].ends_with(is_of_a_name);
    line.match_indices(words).any(|(place, _)| is_whole(place))
}

fn rust(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.files.iter().filter(|file| file.is_a(&["rs"]))
}

fn is_test(file: &File) -> bool {
    ["tests", "examples", "benches"].iter().any(|folder| file.is_below(folder))
        || file.path.ends_with("/tests.rs")
}

/// The lines that are neither a comment nor a test.
pub(super) fn code(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let is_test = is_test(file);
    without_tests(file).filter(move |(_, line)| !is_test && !line.trim_start().starts_with("//"))
}

/// The lines above the module of tests, which stands last.
fn without_tests(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let tests = "\n#[cfg(test)]\nmod ";
    let end = file.text.match_indices(tests).find(|(place, _)| {
        let module = file.text[place + tests.len()..].lines().next();
        module.is_some_and(|module| module.ends_with('{'))
    });
    let end = end.map_or(usize::MAX, |(place, _)| file.text[..place].lines().count());
    file.lines().take(end)
}
