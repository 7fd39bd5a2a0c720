//! A tree of files in a temporary folder. Knows no rules.

#![allow(dead_code)] // each test program uses a part of it

use std::fs;

use xtask::{Finding, Tree};

/// Writes `files` into a new folder and reads it back as a tree.
pub(crate) fn tree(files: &[(&str, &str)]) -> Tree {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut tree = Tree::read(folder.path()).unwrap();
    // Kept on disk, for links are looked up there.
    tree.root = folder.keep();
    tree
}

/// Asserts that exactly one finding is at `place`, and that its sentence contains `words`.
#[track_caller]
pub(crate) fn assert_found(findings: &[Finding], place: &str, words: &str) {
    let found: Vec<_> = findings.iter().map(Finding::to_string).collect();
    let here =
        found.iter().filter(|finding| finding.starts_with(&format!("{place}: ")) && finding.contains(words));
    assert_eq!(here.count(), 1, "looked for {words:?} at {place} in {found:#?}");
}
