//! A chat at a terminal: Tab, messages of several lines, and what a newcomer reads.
#![cfg(all(unix, feature = "pocket"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;
mod terminal;

use program::Program;
use terminal::Terminal;

const CHAT: [&str; 6] = ["chat", "--model", "pocket", "--no-history", "--max-tokens", "4"];

/// A chat that shows its first prompt.
fn chat(program: &Program) -> Terminal {
    let mut terminal = Terminal::start(program.command(&CHAT));
    terminal.wait_for(1, "> ");
    terminal
}

/// Leaves a chat and returns everything that was shown.
fn left(mut terminal: Terminal) -> String {
    terminal.type_in("/exit\r");
    assert_eq!(terminal.end().code(), Some(0), "{}", terminal.text());
    terminal.text()
}

/// The questions of the last conversation.
fn asked(program: &Program) -> Vec<String> {
    let tree = program.run(&["tree", "--json"]).ok().events().remove(0);
    let nodes = tree["nodes"].as_array().unwrap().clone();
    let questions = nodes.iter().filter(|node| node["message"]["role"] == "user");
    questions.map(|node| node["message"]["parts"][0]["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_first_line_says_how_to_get_help() {
    let program = Program::new();
    let shown = left(chat(&program));
    assert!(shown.contains("pocket is ready; /help lists the commands, /exit leaves"), "{shown}");
    assert!(!shown.contains("family"), "{shown}");
}

#[test]
fn tab_completes_commands_and_what_follows_them() {
    let program = Program::new();
    program.write("cat.gif", "GIF89a");
    program.write("car.gif", "GIF89a");
    let mut terminal = chat(&program);
    terminal.type_in("Hello\r");
    terminal.wait_for(2, "> ");
    terminal.type_in("/bookm\there\r");
    terminal.wait_for(1, "bookmark \"here\" is at [0.0]");
    // One candidate is completed.
    terminal.type_in("/undo\r");
    terminal.wait_for(1, "back at the start");
    terminal.type_in("/got\the\t\r");
    terminal.wait_for(1, "now at [0.0] assistant");
    // Of several, the common part is completed and all are listed.
    terminal.type_in("/image ca\t");
    terminal.wait_for(1, "car.gif");
    terminal.wait_for(1, "cat.gif");
    terminal.type_in("\u{3}/goto 0\t");
    terminal.wait_for(1, "0.0 assistant:");
    terminal.wait_for(1, "0 user: Hello");
    terminal.type_in("\u{3}/set think\t");
    terminal.wait_for(1, "thinking-budget");
    terminal.type_in("\u{3}/set temperat\t0.5\r");
    terminal.wait_for(1, "temperature is 0.5 from here on");
    terminal.type_in("/model poc\t\r");
    terminal.wait_for(1, "pocket answers from here on; it reads the whole conversation");
    // In a message a tab is a tab, also one that follows a slash.
    terminal.type_in("a\tb\r");
    terminal.wait_for(1, "a\tb");
    left(terminal);
    assert_eq!(asked(&program), ["Hello", "a\tb"]);
}

#[test]
fn marks_continue_a_message_and_ctrl_c_drops_it() {
    let program = Program::new();
    let mut terminal = chat(&program);
    terminal.type_in("\"\"\"\rOne\r");
    terminal.wait_for(2, "... ");
    terminal.type_in("\u{3}");
    terminal.wait_for(1, "the message is dropped");
    terminal.type_in("\"\"\"Two\r/undo\r\"\"\"\r");
    terminal.type_in("\"\"\"exit\"\"\"\r");
    left(terminal);
    assert_eq!(asked(&program), ["Two\n/undo", "exit"]);
}

#[test]
fn an_image_that_is_refused_takes_no_question_with_it() {
    let program = Program::new();
    program.write("cat.gif", "GIF89a and so on");
    let mut terminal = chat(&program);
    terminal.type_in("/image cat.gif\rHello\r");
    terminal.wait_for(1, "takes no image");
    left(terminal);
    assert_eq!(asked(&program), ["Hello"]);
}

#[test]
fn the_same_answer_is_announced_only_where_it_will_be_the_same() {
    let program = Program::new();
    let mut terminal = chat(&program);
    let notice = "the same answer will come, because the temperature is 0";
    terminal.type_in("Hello\r/retry\r");
    terminal.wait_for(1, notice);
    terminal.type_in("/set temperature 0.7\r/retry\r/retry\r/set seed 5\r/retry\r/retry\r");
    terminal.wait_for(1, "the same answer will come, because the seed is 5");
    let shown = left(terminal);
    assert_eq!(shown.matches("the same answer will come").count(), 2, "{shown}");
}

#[test]
fn a_conversation_is_deleted_after_a_yes() {
    let program = Program::new();
    let mut terminal = chat(&program);
    terminal.type_in("One\r/delete\r");
    terminal.wait_for(1, "messages? [y/N]");
    terminal.type_in("\r");
    terminal.wait_for(1, "it is not deleted");
    terminal.type_in("/delete\r");
    terminal.wait_for(2, "messages? [y/N]");
    terminal.type_in("y\r");
    terminal.wait_for(1, "deleted conversation");
    terminal.type_in("Two\r");
    left(terminal);
    assert_eq!(asked(&program), ["Two"]);
    let listed = program.run(&["conversations", "--json"]).ok().events().remove(0);
    assert_eq!(listed["conversations"].as_array().unwrap().len(), 1);
}

#[test]
fn an_unknown_command_names_the_nearest_one_and_the_chat_continues() {
    let program = Program::new();
    let mut terminal = chat(&program);
    terminal.type_in("/hsitory\r");
    terminal.wait_for(1, "unknown command \"/hsitory\", did you mean /history?");
    terminal.type_in("Hello\rquit\r");
    assert_eq!(terminal.end().code(), Some(0));
    assert_eq!(asked(&program), ["Hello"]);
}
