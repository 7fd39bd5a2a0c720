//! The model within the program, for whoever names none.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use program::Program;

/// What is said of the model once a run.
const INTRODUCTION: &str = "the built-in model answers, which is tiny and for trying things out";

#[test]
fn it_answers_and_says_once_a_day_what_it_is() {
    let program = Program::new();
    for arguments in [&["doctor"][..], &["render", "Hello"], &["ask", "--quiet", "Hello!"]] {
        assert!(!program.run(arguments).ok().err.contains(INTRODUCTION), "{arguments:?}");
    }
    let asked = program.run(&["ask", "What is 12 + 30?"]).ok();
    assert_eq!(asked.out.trim(), "12 + 30 = 42");
    assert_eq!(asked.err.matches(INTRODUCTION).count(), 1, "{}", asked.err);
    assert!(asked.err.contains("`alloquy help models`"), "{}", asked.err);
    let chatted = program.run_with(&["chat"], "My name is Maro.\nWhat is my name?\n").ok();
    assert!(chatted.out.contains("Your name is Maro."), "{}", chatted.out);
    assert!(!chatted.err.contains(INTRODUCTION), "{}", chatted.err);
    let stamp = std::fs::File::options().write(true).open(program.path("alloquy/notice")).unwrap();
    stamp.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(90_000)).unwrap();
    assert!(program.run(&["ask", "What is 2 + 3?"]).ok().err.contains(INTRODUCTION));
}

/// Systems without a home folder have nowhere to store when it was printed.
#[cfg(unix)]
#[test]
fn without_a_home_folder_it_answers_too() {
    let program = Program::new();
    let program = program.variable("XDG_STATE_HOME", "/dev/null");
    for _ in 0..2 {
        let asked = program.run(&["ask", "What is 12 + 30?"]).ok();
        assert_eq!((asked.out.trim(), asked.err.matches(INTRODUCTION).count()), ("12 + 30 = 42", 1));
    }
}

#[test]
fn it_answers_a_conversation_that_is_piped_in() {
    let program = Program::new();
    let aki = r#"[{"role": "user", "content": "My name is Maro."},
        {"role": "assistant", "content": "I will remember that your name is Maro."},
        {"role": "user", "content": ["What is my name?"]}]"#;
    let asked = program.run_with(&["ask", "--from", "aki"], aki).ok();
    assert_eq!(asked.out.trim(), "Your name is Maro.");
    let ended = r#"[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]"#;
    let refused = program.run_with(&["ask", "--from", "aki"], ended);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("the last message is of the role assistant"), "{}", refused.err);
    let both = program.run_with(&["ask", "--from", "aki", "Hi"], aki);
    assert_eq!(both.code, Some(2), "{}", both.err);
}

/// The model prefers to call a tool after a page of code and after some sentences, and there is none.
#[test]
fn it_calls_no_tool_where_there_is_none() {
    let program = Program::new();
    let diff = include_str!("fixtures/change.diff");
    let diffed = ["ask", "-q", "--max-tokens", "60", "What does this change?"];
    let forbidden = ["ask", "-q", "--max-tokens", "60", "--tool-choice", "none", "What does this change?"];
    let sentences = [
        "Please summarise the following paragraph: Rust is a language focused on safety, speed and concurrency, and it has a \
         strong type system.",
        "My cat number 1 is called Name1 and it likes to eat fish and sleep on the sofa all day long in the sun.",
    ];
    let mut answers = vec![program.run_with(&diffed, diff).ok(), program.run_with(&forbidden, diff).ok()];
    for sentence in sentences {
        answers.push(program.run(&["ask", "-q", "--max-tokens", "60", sentence]).ok());
    }
    for answer in answers {
        assert!(!answer.out.contains("tool_call>"), "{answer:?}");
        assert!(!answer.out.trim().is_empty(), "{answer:?}");
    }
}

/// A bias makes it generate one token for ever.
#[test]
fn an_answer_that_loops_is_ended_and_reported() {
    let program = Program::new();
    let loops = ["--model", "pocket", "--logit-bias", "300=1000", "--max-tokens", "700", "Go on!"];
    let asked = program.run(&[&["ask"], &loops[..]].concat()).ok();
    assert!(asked.err.contains("repeated the same 1 token "), "{}", asked.err);
    assert!(asked.err.contains("--repetition-detection 0"), "{}", asked.err);

    let json = program.run(&[&["ask", "--json"], &loops[..]].concat()).ok().events();
    let reply = json.iter().find(|event| event["finish"] == "repetition").expect("a reply that was ended");
    assert_eq!(reply["warnings"][0]["repetition_stopped"]["period"], 1, "{reply}");

    let free = program.run(&[&["ask", "--json", "--repetition-detection", "0"], &loops[..]].concat()).ok();
    assert!(free.events().iter().any(|event| event["finish"] == "length"), "{free:?}");
    let wrong = program.run(&[&["ask", "--repetition-detection", "1"], &loops[..]].concat());
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(wrong.err.contains("at least 2, or 0"), "{}", wrong.err);
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

/// A board without a battery may say that it is before 1970.
#[cfg(unix)]
#[test]
fn a_clock_that_is_wrong_is_no_reason_to_fail() {
    use std::process::Command;

    if Command::new("faketime").arg("--version").output().is_err() {
        eprintln!("Skipping: there is no faketime");
        return;
    }
    let program = Program::new();
    let times =
        ["@1969-12-31 23:00:00", "@1901-12-14 00:00:00", "@1971-01-01 00:00:00", "@2038-01-20 00:00:00"];
    for (number, time) in times.into_iter().enumerate() {
        let ask = program.command(&["ask", "-q", "--conversation", "tea", "--max-tokens", "2", "Hello!"]);
        let mut command = Command::new("faketime");
        command.args(["-f", time]).arg(ask.get_program()).args(ask.get_args()).current_dir(program.folder());
        for (name, value) in ask.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            } else {
                command.env_remove(name);
            }
        }
        let ran = program::Ran::from(command.output().unwrap()).ok();
        assert!(!ran.err.contains("panicked"), "{time}: {ran:?}");
        let nodes = &program.run(&["tree", "--json"]).ok().events()[0]["nodes"];
        assert_eq!(nodes.as_array().unwrap().len(), 2 * (number + 1), "{time}: nothing is lost");
    }
}
