//! `alloquy chat --resume`: a stored conversation continues after a restart without computing its prompt again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use std::path::PathBuf;

use program::{Program, Ran};

/// One that writes into its cache, and one that gives it anew.
const MODELS: [&str; 2] = ["models/tiny/genai-qwen3-fp32", "models/tiny/optimum-qwen3"];

/// What a model of random weights says is no text otherwise, and the template would write it anew.
const WORD: &str = "[a-z]{12}";

/// A program whose model answers the same everywhere.
fn program() -> Option<Program> {
    Some(Program::new().variable("ALLOQUY_MODEL", shared::find(MODELS[0])?))
}

fn chat(program: &Program, arguments: &[&str], script: &str) -> Ran {
    let drawn =
        ["--temperature", "1", "--seed", "11", "--max-tokens", "12", "--threads", "1", "--regex", WORD, "-v"];
    program.run_with(&[&["chat"], arguments, &drawn[..]].concat(), script).ok()
}

/// The only file of what was computed.
fn snapshot(program: &Program) -> Option<PathBuf> {
    let entries = std::fs::read_dir(program.path("store.db.snapshots")).ok()?;
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() <= 1, "{files:?}");
    files.pop()
}

#[test]
fn a_chat_resumes() {
    let Some(program) = program() else { return };
    let first = chat(&program, &["--resume"], "What is a noun?\n");
    assert!(first.err.contains("\nkept "), "{first:?}");
    let second = chat(&program, &["-c", "--resume"], "And a verb?\nReally?\n");
    insta::assert_snapshot!(program.redacted(&format!("{}\n--- standard error\n{}", second.out, second.err)));
    let without = Program::new().variable("ALLOQUY_MODEL", shared::find(MODELS[0]).unwrap());
    let whole = chat(&without, &[], "What is a noun?\nAnd a verb?\nReally?\n");
    assert_eq!(format!("{}{}", first.out, second.out), whole.out);
    assert!(snapshot(&without).is_none(), "nothing is kept unasked");
}

#[test]
fn what_cannot_be_restored_is_told_and_computed() {
    let Some(program) = program() else { return };
    let program = program.variable("ALLOQUY_RESUME", "true");
    chat(&program, &["--conversation", "tea"], "What is a noun?\n");
    let file = snapshot(&program).unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let ran = chat(&program, &["-c"], "And a verb?\n");
    let reason = "computing the prompt again: its bytes are not those that were written";
    assert!(ran.err.contains(reason) && ran.err.contains(" 0 reused "), "{ran:?}");
    let other = shared::find(MODELS[1]).unwrap();
    let ran = chat(&program, &["-c", "--model", other.to_str().unwrap()], "Really?\n");
    assert!(ran.err.contains("of another model") && ran.err.contains(" 0 reused "), "{ran:?}");
    std::fs::remove_file(&file).unwrap();
    let ran = chat(&program, &["-c"], "Is it?\n");
    assert!(ran.err.contains("nothing was kept of this conversation"), "{ran:?}");
}

#[test]
fn a_quota_is_kept_and_what_is_pruned_is_kept_nowhere() {
    let Some(program) = program() else { return };
    let ran = chat(&program, &["--resume", "--resume-quota", "0"], "What is a noun?\n");
    assert!(ran.err.contains("more than --resume-quota allows, 0.0 MB"), "{ran:?}");
    assert!(snapshot(&program).is_none());
    chat(&program, &["-c", "--resume"], "/retry\n");
    assert!(snapshot(&program).is_some());
    program.run(&["prune", "0.0"]).ok();
    assert!(snapshot(&program).is_none());
}
