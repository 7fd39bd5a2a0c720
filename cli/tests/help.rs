//! What help teaches, word for word.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use program::Program;

#[test]
fn every_command_explains_itself() {
    let program = Program::new();
    for command in [
        "",
        "chat",
        "ask",
        "complete",
        "render",
        "tree",
        "conversations",
        "search",
        "branches",
        "goto",
        "fork",
        "merge",
        "prune",
        "label",
        "bookmark",
        "diff",
        "cost",
        "convert",
        "import",
        "export",
        "models",
        "bench",
        "tools",
        "doctor",
        "config show",
    ] {
        let words: Vec<_> = command.split_whitespace().chain(["--help"]).collect();
        let help = program.run(&words).ok().out;
        let name = if command.is_empty() { "alloquy".to_owned() } else { command.replace(' ', "_") };
        insta::assert_snapshot!(name, help);
    }
}

/// Returns the flags that a help text lists.
fn flags(help: &str) -> usize {
    let is_flag = |line: &&str| line.trim_start().starts_with('-') && line.starts_with("  ");
    help.lines().filter(is_flag).count()
}

#[test]
fn short_help_shows_the_common_flags() {
    let program = Program::new();
    for command in ["ask", "chat", "render"] {
        let short = program.run(&[command, "-h"]).ok().out;
        let long = program.run(&[command, "--help"]).ok().out;
        assert!(flags(&short) <= 25 && flags(&long) > 40, "{command}: {} of {}", flags(&short), flags(&long));
        assert!(short.contains("--model") && !short.contains("--penalty-window"), "{short}");
        assert!(short.contains("(see more with '--help')"), "{short}");
    }
    let few = [["tree", "-h"], ["tree", "--help"]].map(|arguments| flags(&program.run(&arguments).ok().out));
    assert_eq!(few[0], few[1]);
}

#[test]
fn wrong_arguments_end_with_2() {
    let program = Program::new();
    for arguments in
        [&["bark"][..], &[], &["ask", "--top-k", "many", "Hello"], &["chat", "-c", "--conversation", "a"]]
    {
        assert_eq!(program.run(arguments).code, Some(2), "{arguments:?}");
    }
}
