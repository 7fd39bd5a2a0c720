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

#[test]
fn wrong_arguments_end_with_2() {
    let program = Program::new();
    for arguments in
        [&["bark"][..], &[], &["ask", "--top-k", "many", "Hello"], &["chat", "-c", "--conversation", "a"]]
    {
        assert_eq!(program.run(arguments).code, Some(2), "{arguments:?}");
    }
}
