//! `alloquy chat` and `alloquy ask` over exports of random weights: what they say makes no sense, where it goes does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use std::io::{BufRead as _, BufReader};
use std::process::Command;

use program::{Program, Ran};

const MODEL: &str = "models/tiny/genai-qwen3-fp32";
const GREEDY: [&str; 4] = ["--temperature", "0", "--max-tokens", "6"];

/// A program whose model answers the same everywhere.
fn program() -> Option<Program> {
    Some(Program::new().variable("ALLOQUY_MODEL", shared::find(MODEL)?))
}

fn ask(program: &Program, arguments: &[&str]) -> Ran {
    program.run(&[&["ask"], arguments, &GREEDY[..]].concat())
}

fn tree(program: &Program) -> serde_json::Value {
    program.run(&["tree", "--json"]).ok().events().remove(0)
}

#[test]
fn a_scripted_chat_goes_back_and_forth() {
    let Some(program) = program() else { return };
    let script =
        "What is a noun?\nAnd a verb?\n/undo\nAnd an adverb?\n/retry\n/edit And an adjective?\n/tree\n";
    let ran = program.run_with(&[&["chat", "-v"], &GREEDY[..]].concat(), script).ok();
    insta::assert_snapshot!(program.redacted(&format!("{}\n--- standard error\n{}", ran.out, ran.err)));
    let shown = tree(&program);
    assert_eq!(shown["nodes"].as_array().unwrap().len(), 9);
}

#[test]
fn a_chat_in_a_pipe_has_no_prompts_and_no_colours() {
    let Some(program) = program() else { return };
    let ran = program.run_with(&["chat", "--max-tokens", "2"], "Hello\n/help\n").ok();
    assert!(!ran.out.contains('>') && !ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'), "{ran:?}");
    assert!(ran.out.contains("/undo"));
}

#[test]
fn an_unknown_command_ends_a_script_and_says_where_the_known_ones_are() {
    let Some(program) = program() else { return };
    let ran = program.run_with(&["chat", "--max-tokens", "2"], "/bark\nHello\n");
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        ran.errors(),
        [
            "error: unknown command \"/bark\": /help lists all commands, and // begins a message that begins with a slash"
        ]
    );
    assert_eq!(program.run(&["conversations"]).ok().out, "", "looking leaves no trace");
}

#[test]
fn a_second_process_goes_on_where_the_first_stopped() {
    let Some(program) = program() else { return };
    program.run_with(&[&["chat", "--system", "Be brief."], &GREEDY[..]].concat(), "What is a noun?\n").ok();
    ask(&program, &["-c", "And a verb?"]).ok();
    let shown = tree(&program);
    let roles: Vec<_> =
        shown["nodes"].as_array().unwrap().iter().map(|node| &node["message"]["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
    assert_eq!(shown["conversation"]["head"], shown["nodes"][3]["id"]);
    assert_eq!(shown["conversation"]["metadata"]["title"], "What is a noun?");
    let rendered = program.run(&["render", "-c"]).ok().out;
    assert!(rendered.starts_with("<|im_start|>system\nBe brief.<|im_end|>\n"), "{rendered}");
    assert!(rendered.contains("And a verb?"));
}

#[test]
fn a_conversation_can_be_named_and_begun() {
    let Some(program) = program() else { return };
    let begun = ask(&program, &["--conversation", "work/plan", "Hello"]).ok();
    assert!(begun.err.contains("starting conversation work/plan"), "{begun:?}");
    let again = ask(&program, &["--conversation", "work/plan", "Hello again"]).ok();
    assert!(!again.err.contains("starting"), "{again:?}");
    let listed = program.run(&["conversations"]).ok().out;
    let values: Vec<_> = listed.trim_end().split('\t').collect();
    assert_eq!(
        (values[0], values[2..].join(" ").as_str()),
        ("work/plan", "genai-qwen3-fp32 4 Hello"),
        "{listed}"
    );
    // A condition finds the model that answered last.
    assert_eq!(program.run(&["conversations", "--where", "model=genai-qwen3-fp32"]).ok().out, listed);
}

#[test]
fn what_is_asked_without_a_conversation_is_not_kept() {
    let Some(program) = program() else { return };
    ask(&program, &["Hello"]).ok();
    let listed = program.run(&["conversations"]);
    assert!(listed.err.ends_with("does not exist\n"), "not even the store was made: {listed:?}");
}

#[test]
fn what_is_piped_in_follows_the_question() {
    let Some(program) = program() else { return };
    let arguments = [&["ask", "--json", "What does this change?"], &GREEDY[..]].concat();
    let events = program.run_with(&arguments, "+ one line\n").ok().events();
    assert_eq!(events[0]["node"]["message"]["parts"][0]["text"], "What does this change?\n\n+ one line");
}

#[test]
fn two_processes_share_one_conversation_and_lose_nothing() {
    let Some(program) = program() else { return };
    ask(&program, &["--conversation", "shared", "Hello"]).ok();
    let questions = ["One?", "Two?", "Three?"];
    let arguments = |question| [&["ask", "--conversation", "shared", question], &GREEDY[..]].concat();
    let running = questions.map(|question| program.spawn(&arguments(question)));
    for child in running {
        Ran::from(child.wait_with_output().unwrap()).ok();
    }
    let shown = tree(&program);
    let nodes = shown["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 2 + 2 * questions.len());
    for question in questions {
        let asked = nodes.iter().find(|node| node["message"]["parts"][0]["text"] == question).unwrap();
        let answers = nodes
            .iter()
            .filter(|node| node["parent"] == asked["id"] && node["message"]["role"] == "assistant");
        assert_eq!(answers.count(), 1, "the answer hangs on its own question");
    }
}

#[test]
fn a_failure_is_an_event_too() {
    let ran = Program::new().run(&["ask", "--json", "--model", "nowhere", "Hello"]);
    assert_eq!((ran.code, ran.errors().len()), (Some(1), 1));
    let error = ran.events().pop().unwrap();
    assert_eq!((error["event"].as_str(), error["kind"].as_str()), (Some("error"), Some("model")));
    assert!(error["message"].as_str().unwrap().ends_with("nowhere\" does not exist"), "{error}");
    let ran = Program::new().run(&["tree", "--json"]);
    let error = ran.events().pop().unwrap();
    assert_eq!(error["kind"], "not_found");
    assert!(error["message"].as_str().unwrap().ends_with("it does not exist"), "{error}");
}

#[test]
fn events_are_json_one_a_line() {
    let Some(program) = program() else { return };
    let arguments = [&["ask", "--json", "--conversation", "tea", "Hello"], &GREEDY[..]].concat();
    let ran = program.run(&arguments).ok();
    assert!(!ran.events().is_empty());
    insta::assert_snapshot!(program.redacted(&ran.out));
}

/// Sends Ctrl-C to a process.
#[cfg(unix)]
fn interrupt(child: &std::process::Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_answer_and_keeps_what_was_said() {
    let Some(program) = program() else { return };
    // Random weights never end an answer by themselves: left alone it would fill the context of 2048 tokens.
    let arguments = ["ask", "--conversation", "tea", "--json", "--temperature", "0", "Hello"];
    let mut child = program.spawn(&arguments);
    drop(child.stdin.take());
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = out.find(|line| line.as_ref().unwrap().contains("\"event\":\"text\"")).unwrap().unwrap();
    interrupt(&child);
    let last = out.last().unwrap().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let done: serde_json::Value = serde_json::from_str(&last).unwrap();
    assert_eq!((&done["event"], &done["finish"]), (&"done".into(), &"cancelled".into()), "after {first}");
    let shown = tree(&program);
    assert_eq!(shown["nodes"][1]["status"], "interrupted");
    assert_eq!(shown["nodes"][1]["message"]["parts"][0]["text"], done["text"]);
    assert_eq!(shown["conversation"]["head"], shown["nodes"][1]["id"]);
}

#[cfg(unix)]
#[test]
fn an_answer_that_nobody_reads_any_more_is_kept() {
    let Some(program) = program() else { return };
    let mut child = program.spawn(&["ask", "--conversation", "tea", "--quiet", "--json", "Hello"]);
    drop(child.stdin.take());
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut lines = String::new();
    while !lines.contains("\"event\":\"text\"") {
        out.read_line(&mut lines).unwrap();
    }
    drop(out);
    let ended = Ran::from(child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    assert_eq!(tree(&program)["nodes"][1]["status"], "interrupted");
}

/// A pretrained model says the same with and without channels, so that what it says tells where one may begin.
#[test]
fn what_stands_in_a_channel_is_told_from_the_answer() {
    let Some(model) = shared::find("models/stories260k") else { return };
    let program = Program::new().variable("ALLOQUY_MODEL", model);
    let whole = ask(&program, &["Once upon a time"]).ok().out;
    let whole = whole.trim_end();
    let (at, mark) = whole.char_indices().find(|(_, mark)| !mark.is_whitespace() && *mark != ',').unwrap();
    let channel = format!("joke={mark},</joke>");
    let before = &whole[..at];
    let said = &whole[at + mark.len_utf8()..];

    let ran = ask(&program, &["--channel", &channel, "Once upon a time"]).ok();
    assert_eq!(ran.out.trim_end(), before.trim_end());
    assert!(ran.err.contains("(joke) "), "{ran:?}");

    let file = program.write("config.toml", &format!("channel = [{}]\n", serde_json::json!(channel)));
    let events = ask(
        &program,
        &["--config", file.to_str().unwrap(), "--conversation", "joke", "--json", "Once upon a time"],
    )
    .ok()
    .events();
    let joined = |event: &str| -> String {
        let of_kind = events.iter().filter(|one| one["event"] == event);
        of_kind.map(|one| one["text"].as_str().unwrap()).collect()
    };
    assert_eq!((joined("text").as_str(), joined("channel").trim_end()), (before, said));
    assert!(events.iter().filter(|one| one["event"] == "channel").all(|one| one["name"] == "joke"));
    let stored = &tree(&program)["nodes"][1]["message"]["parts"];
    assert!(stored.as_array().unwrap().iter().any(|part| part["channel"]["name"] == "joke"), "{stored}");
}

#[test]
fn a_channel_that_makes_no_sense_is_refused() {
    let Some(program) = program() else { return };
    let refused = |channel: &str| {
        let ran = ask(&program, &["--channel", channel, "Hello"]);
        assert_ne!(ran.code, Some(0));
        ran.err
    };
    assert!(refused("joke").contains("\"joke\" is no channel: write NAME=START,END"));
    assert!(refused("joke=,x").contains("the start of channel \"joke\", \"\", is empty or white space"));
    assert!(refused("joke=<think>,x").contains("is a marker of family \"qwen3\" too"));
}
