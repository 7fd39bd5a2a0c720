//! The commands that CI reads from the README.

#![allow(clippy::unwrap_used)] // a test may panic

mod planted;

use xtask::{Totals, command_named};

#[test]
fn a_readme_without_the_command_says_what_is_missing() {
    for (text, words) in [
        ("# A\n", "no comment `<!-- command: test -->`"),
        ("<!-- command: test -->\nSee below.\n```sh\na\n```\n", "no fenced block"),
        ("<!-- command: test -->\n```sh\n\n```\n", "no command"),
    ] {
        let error = command_named(&planted::tree(&[("README.md", text)]), "test").unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    let error = command_named(&planted::tree(&[]), "test").unwrap_err();
    assert_eq!(error.to_string(), "README.md does not exist");
}

#[test]
fn each_command_is_its_own() {
    let text = "<!-- command: test -->\n\n```console\na \\\n  b\n```\n<!-- command: run -->\n```\nc\n```\n";
    let tree = planted::tree(&[("README.md", text)]);
    assert_eq!(command_named(&tree, "test").unwrap(), "a \\\n  b");
    assert_eq!(command_named(&tree, "run").unwrap(), "c");
}

#[test]
fn totals_are_what_the_runner_says() {
    let printed = "running 3 tests\ntest a ... ok\n\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 \
filtered out; finished in 0.00s\ntest result: FAILED. 5 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out\n";
    assert_eq!(Totals::of_cargo_test(printed), Totals { passed: 7, failed: 3, skipped: None });
    assert_eq!(Totals::of_cargo_test("100 passed; 1 failed"), Totals::default());
}

#[test]
fn the_last_line_of_a_suite_counts() {
    let printed =
        "1 passed, 2 failed\ncase a: wrong\n 12 passed, 0 failed\n\ntest result: ok. 1 passed; 0 failed\n";
    assert_eq!(Totals::of_last_line(printed), Some(Totals { passed: 12, failed: 0, skipped: None }));
    let with_skipped = Totals { passed: 12, failed: 0, skipped: Some(3) };
    assert_eq!(Totals::of_last_line("12 passed, 0 failed, 3 skipped\n"), Some(with_skipped));
    assert_eq!(with_skipped.to_string(), "12 passed, 0 failed, 3 skipped");
    assert_eq!(Totals::of_last_line("ok\n"), None);
}
