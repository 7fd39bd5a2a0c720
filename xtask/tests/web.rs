//! What differs between the committed page and a built one is named.

#![allow(clippy::unwrap_used)] // a test may panic

use std::fs;
use std::path::Path;

use xtask::page_differences;

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn differences(committed: &[(&str, &str)], built: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, files) in [("committed", committed), ("built", built)] {
        fs::create_dir(folder.path().join(name)).unwrap();
        write(&folder.path().join(name), files);
    }
    let found = page_differences(&folder.path().join("committed"), &folder.path().join("built")).unwrap();
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn the_same_files_do_not_differ() {
    let files = [("index.html", "<p>"), ("assets/main-1.js", "1")];
    assert!(differences(&files, &files).is_empty());
}

#[test]
fn each_file_that_differs_is_named() {
    let committed = [("index.html", "<p>"), ("assets/main-1.js", "1"), ("assets/old-1.js", "")];
    let built = [("index.html", "<p>"), ("assets/main-1.js", "2"), ("assets/new-1.js", "")];
    let found = differences(&committed, &built);
    assert_eq!(found.len(), 3, "{found:?}");
    for (name, words) in
        [("main-1.js", "not what web/ gives"), ("new-1.js", "not committed"), ("old-1.js", "remove it")]
    {
        assert!(found.iter().any(|line| line.contains(name) && line.contains(words)), "{name}: {found:?}");
    }
}

#[test]
fn a_build_that_writes_nothing_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    assert!(page_differences(folder.path(), folder.path()).is_err());
}
