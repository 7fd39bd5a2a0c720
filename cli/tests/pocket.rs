//! The model within the program, for whoever names none.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use program::Program;

/// What is said of the model once a run.
const INTRODUCTION: &str = "no model is named, so the tiny one within this program answers";

#[test]
fn it_answers_and_says_once_what_it_is() {
    let program = Program::new();
    let asked = program.run(&["ask", "What is 12 + 30?"]).ok();
    assert_eq!(asked.out.trim(), "12 + 30 = 42");
    let chatted = program.run_with(&["chat"], "My name is Maro.\nWhat is my name?\n").ok();
    assert!(chatted.out.contains("Your name is Maro."), "{}", chatted.out);
    for told in [asked.err, chatted.err] {
        assert_eq!(told.matches(INTRODUCTION).count(), 1, "{told}");
        assert!(told.contains("--model DIR"), "{told}");
    }
}

#[test]
fn it_can_be_named_and_then_nothing_is_said_of_it() {
    let program = Program::new();
    let asked = program.run(&["ask", "--model", "pocket", "What is 12 + 30?"]).ok();
    assert_eq!(asked.out.trim(), "12 + 30 = 42");
    assert!(!asked.err.contains(INTRODUCTION), "{}", asked.err);
}

#[test]
fn a_conversation_of_it_is_kept_and_goes_on() {
    let program = Program::new();
    program.run_with(&["chat"], "My name is Maro.\n").ok();
    let went_on = program.run_with(&["chat", "--continue"], "What is my name?\n").ok();
    assert!(went_on.out.contains("Your name is Maro."), "{}", went_on.out);
}

#[test]
fn it_stands_first_among_the_models() {
    let program = Program::new();
    let listed = program.run(&["models", program.folder().to_str().unwrap()]).ok();
    let first = listed.out.lines().nth(1).unwrap();
    assert!(first.starts_with("pocket "), "{}", listed.out);
}
