//! The chore that runs fuzz tests, on the command line.

#![allow(clippy::unwrap_used)] // a test may panic

use std::process::{Command, Output};

fn fuzz(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask")).arg("fuzz").args(arguments).output().unwrap()
}

#[test]
fn without_a_name_the_fuzz_tests_are_listed() {
    let output = fuzz(&[]);
    let listed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && listed.starts_with("audio "), "{listed}");
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    let output = fuzz(&["injektion", "--messages", "1"]);
    assert!(!output.status.success());
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        words,
        "error: unknown fuzz test \"injektion\", one of: audio, flows, images, injection, prompts, replies, values\n"
    );
}
