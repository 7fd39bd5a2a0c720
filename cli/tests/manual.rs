//! Completions are loaded by the shells they are for, and the pages of the manual have no mistakes.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use std::path::Path;
use std::process::Command;

use program::Program;

/// Returns whether a program can be started; a test without it says so and skips.
fn is_here(name: &str) -> bool {
    let is_here =
        Command::new("sh").args(["-c", &format!("command -v {name}")]).output().unwrap().status.success();
    if !is_here {
        eprintln!("Skipping: there is no {name}");
    }
    is_here
}

/// Writes the completions of a shell into the program's folder.
fn script(program: &Program, shell: &str, name: &str) {
    let script = program.run(&["completions", shell]).ok().out;
    assert!(script.contains("alloquy") && script.len() > 10_000, "{script}");
    program.write(name, &script);
}

/// Runs a shell in the program's folder, with the program in its path, and returns what it prints.
fn printed(program: &Program, shell: &[&str]) -> String {
    let built = Path::new(env!("CARGO_BIN_EXE_alloquy")).parent().unwrap();
    let path = format!("{}:{}", built.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(shell[0]);
    command.args(&shell[1..]).env("PATH", path).env("HOME", program.folder()).current_dir(program.folder());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{shell:?}: {said}");
    assert_eq!(said, "", "{shell:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Each line, what completes it, and what must not.
const LINES: [(&str, &str, &str); 5] = [
    ("alloquy conv", "conversations", "ask"),
    ("alloquy ask --temp", "--temperature", "--model"),
    ("alloquy ask --family qw", "qwen3", "gemma3"),
    ("alloquy convert --to gem", "gemini", "markdown"),
    ("alloquy completions z", "zsh", "bash"),
];

fn check(shell: &str, lines: &[(&str, &str, &str)], complete: impl Fn(&str) -> String) {
    for &(line, expected, other) in lines {
        let found = complete(line);
        let words: Vec<_> = found.split_whitespace().collect();
        assert!(words.contains(&expected), "{shell}: {line:?} gives {found:?}");
        assert!(!words.contains(&other), "{shell}: {line:?} gives {found:?}");
    }
}

#[test]
fn bash_completes_commands_flags_and_values() {
    if !is_here("bash") {
        return;
    }
    let program = Program::new();
    script(&program, "bash", "alloquy.bash");
    check("bash", &LINES, |line| {
        // As the shell does when Tab is pressed at the end of the line.
        let complete = format!(
            "set -e; . ./alloquy.bash; COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _alloquy alloquy \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\" || true; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        printed(&program, &["bash", "--norc", "-c", &complete])
    });
}

#[test]
fn fish_completes_commands_flags_and_values() {
    if !is_here("fish") {
        return;
    }
    let program = Program::new();
    script(&program, "fish", "alloquy.fish");
    // Of arguments without a flag fish completes no values.
    check("fish", &LINES[..4], |line| {
        printed(
            &program,
            &["fish", "--no-config", "-c", &format!("source alloquy.fish; complete -C '{line}'")],
        )
    });
}

/// zsh completes only where lines are edited, so one runs in a terminal of its own.
#[test]
fn zsh_completes_commands_flags_and_values() {
    if !is_here("zsh") {
        return;
    }
    let program = Program::new();
    script(&program, "zsh", "_alloquy");
    program.write("complete.zsh", include_str!("complete.zsh"));
    check("zsh", &LINES, |line| printed(&program, &["zsh", "-f", "complete.zsh", line]));
}

#[test]
fn pages_of_the_manual_have_no_mistakes() {
    let program = Program::new();
    program.run(&["man", "--dir", "pages"]).ok();
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(program.path("pages")).unwrap() {
        pages.push(entry.unwrap().file_name().into_string().unwrap());
    }
    pages.sort();
    for name in ["alloquy.1", "alloquy-ask.1", "alloquy-models-show.1", "alloquy-config-show.1"] {
        assert!(pages.iter().any(|page| page == name), "{pages:?}");
    }
    let ask = program.run(&["man", "ask"]).ok().out;
    for said in
        [".SH EXAMPLES", ".SH SAMPLING", "penalty\\-window", "alloquy ask \"What is the capital of Norway?\""]
    {
        assert!(ask.contains(said), "{said}: {ask}");
    }
    assert_eq!(program.run(&["man", "bark"]).code, Some(2));
    if !is_here("mandoc") {
        return;
    }
    for page in pages {
        let lint = ["mandoc", "-T", "lint", "-W", "warning", &format!("pages/{page}")];
        assert_eq!(printed(&program, &lint), "", "{page}");
    }
}
