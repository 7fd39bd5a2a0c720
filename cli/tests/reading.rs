//! Stores of other users and backups: what may only be read is read, by every command that only reads.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use program::{Program, Ran};

/// The user without rights.
const NOBODY: u32 = 65_534;

/// Commands that only read.
const READING: [&[&str]; 10] = [
    &["tree"],
    &["history"],
    &["conversations"],
    &["search", "tea"],
    &["export"],
    &["export", "--all"],
    &["branches"],
    &["bookmark"],
    &["cost"],
    &["diff", "0", "0.0"],
];

/// Makes everything below a folder read-only, and readable for all.
fn lock(path: &Path) {
    let is_folder = path.is_dir();
    if is_folder {
        for entry in fs::read_dir(path).unwrap() {
            lock(&entry.unwrap().path());
        }
    }
    fs::set_permissions(path, fs::Permissions::from_mode(if is_folder { 0o555 } else { 0o444 })).unwrap();
}

/// Makes folders writable again, so that they can be removed.
fn unlock(path: &Path) {
    if path.is_dir() {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        for entry in fs::read_dir(path).unwrap() {
            unlock(&entry.unwrap().path());
        }
    }
}

/// Runs the program as a user who may not write; `None` where that user cannot start it.
fn run(program: &Program, arguments: &[&str], store: &str) -> Option<Ran> {
    let mut command = program.command(arguments);
    command.args(["--store", store]);
    if fs::metadata(program.folder()).unwrap().uid() == 0 {
        command.uid(NOBODY);
    }
    match command.output() {
        Ok(output) => Some(Ran::from(output)),
        Err(error) => {
            eprintln!("Skipping: the program cannot be started as another user: {error}");
            None
        }
    }
}

#[test]
fn what_may_only_be_read_is_read() {
    for scheme in ["sqlite", "file"] {
        let program = Program::new();
        let talk = r#"{"messages":[{"role":"user","content":"Tea?"},{"role":"assistant","content":"Yes"}]}"#;
        program.write("talk.jsonl", talk);
        fs::create_dir(program.path("kept")).unwrap();
        let store = format!("{scheme}:{}", program.path("kept").join("store").display());
        program.run(&["import", "talk.jsonl", "--store", &store]).ok();
        lock(program.folder());
        for arguments in READING {
            let Some(ran) = run(&program, arguments, &store) else { break };
            assert_eq!(ran.code, Some(0), "{scheme} {arguments:?}: {ran:?}");
        }
        // What would write says why it cannot.
        if let Some(ran) = run(&program, &["delete", "--yes", "--older-than", "0d"], &store) {
            assert_eq!(ran.code, Some(1), "{ran:?}");
            assert!(ran.errors()[0].contains("read-only") || ran.err.contains("denied"), "{scheme}: {ran:?}");
        }
        unlock(program.folder());
    }
}
