//! Notes on the command line: stored by one run, found by another, shown to a model with `--memory`, and left out of lists.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
#[allow(dead_code)] // each test file uses its part
mod shared;

use program::Program;
use serde_json::Value;
#[cfg(feature = "pocket")]
use serde_json::json;

/// Adds a note and returns its id.
fn add(program: &Program, arguments: &[&str]) -> String {
    program.run(&[&["note", "add"], arguments].concat()).ok().out.trim_end().to_owned()
}

fn texts(program: &Program, arguments: &[&str]) -> Vec<String> {
    let listed: Value = program.run(&[&["note"], arguments, &["--json"]].concat()).ok().events().remove(0);
    let notes = listed["notes"].as_array().unwrap();
    notes.iter().map(|note| note["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn notes_of_one_run_are_found_replaced_and_forgotten_by_others() {
    let program = Program::new();
    let oslo = add(&program, &["I", "live", "in", "Oslo"]);
    let tea = add(&program, &["I drink tea"]);
    let listed = program.run(&["note", "list"]).ok().out;
    let first: Vec<_> = listed.lines().next().unwrap().split('\t').collect();
    assert_eq!((first[0], first[1].len(), first[2]), (tea.as_str(), 20, "I drink tea"), "{listed}");
    assert_eq!(texts(&program, &["search", "where", "do", "I", "live"])[0], "I live in Oslo");
    assert_eq!(texts(&program, &["search", "--limit", "1", "tea live"]).len(), 1);

    let end = &oslo[28..];
    add(&program, &["--replace", end, "I live in Rome"]);
    assert_eq!(texts(&program, &["list"]), ["I live in Rome", "I drink tea"]);
    let forgotten = program.run(&["note", "forget", &tea, &tea[28..]]).ok().out;
    assert_eq!(forgotten, format!("{tea}\n"));
    assert_eq!(texts(&program, &["list"]), ["I live in Rome"]);
    program.run(&["note", "forget", end]).ok();
    let empty = program.run(&["note", "list"]).ok();
    assert!(empty.out.is_empty() && empty.err.contains("alloquy note add TEXT"), "{empty:?}");
}

#[test]
fn what_goes_wrong_says_what_to_do_and_changes_nothing() {
    let program = Program::new();
    let id = add(&program, &["I live in Oslo"]);
    let long = "x".repeat(5000);
    let cases: [(&[&str], i32, &str); 6] = [
        (&["add", " "], 2, "note \" \" is empty"),
        (&["add", &long], 2, "at most 4000"),
        (&["add"], 2, "TEXT"),
        (&["forget", &id, "zzzzzz"], 1, "nothing was forgotten: there is no note \"zzzzzz\""),
        (&["forget", "a"], 1, "at least 4 characters"),
        (&["add", "--replace", "zzzzzz", "Rome"], 1, "there is no note \"zzzzzz\""),
    ];
    for (arguments, code, text) in cases {
        let ran = program.run(&[&["note"], arguments].concat());
        assert_eq!(ran.code, Some(code), "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(text), "{arguments:?}: {}", ran.err);
    }
    assert_eq!(texts(&program, &["list"]), ["I live in Oslo"]);
    assert_eq!(texts(&program, &["list", "--owner", "ann"]), Vec::<String>::new());
    let hostile = add(&program, &["Tea\u{1b}]0;title\u{7}"]);
    let listed = program.run(&["note", "list"]).ok().out;
    assert!(!listed.contains('\u{1b}') && listed.contains(&hostile), "{listed}");
}

#[cfg(feature = "pocket")]
#[test]
fn notes_are_in_no_list_of_conversations_and_can_be_named() {
    let program = Program::new();
    program.run(&["ask", "--conversation", "tea", "--max-tokens", "4", "Which tea?"]).ok();
    add(&program, &["I drink green tea"]);
    assert_eq!(program.run(&["conversations"]).ok().out.lines().count(), 1);
    assert_eq!(program.run(&["search", "tea"]).ok().out.lines().count(), 1);
    assert_eq!(program.run(&["search", "green"]).ok().out, "");
    assert_eq!(
        program.run(&["search", "green", "--conversation", "alloquy.notes"]).ok().out.lines().count(),
        1
    );
    let continued = program.run(&["ask", "-c", "--max-tokens", "4", "And now?"]).ok();
    assert!(continued.err.contains("continuing conversation tea"), "{}", continued.err);
    assert!(program.run(&["history"]).ok().out.contains("Which tea?"));
    let similar = program.run(&["delete", "alloquy"]);
    assert!(!similar.err.contains("did you mean"), "{}", similar.err);
    let doctor = program.run(&["doctor"]);
    assert!((doctor.out + &doctor.err).contains("1 conversation"));

    // Named explicitly, it is a conversation as others are, except that nobody talks with it.
    program.run(&["history", "--conversation", "alloquy.notes"]).ok();
    let exported = program.run(&["export", "alloquy.notes"]).ok().out;
    assert!(exported.contains("I drink green tea"), "{exported}");
    program.write("hello.yaml", "name: hello\nstates:\n  hello: {say: Hello!}\n");
    let commands: [&[&str]; 3] = [
        &["ask", "--conversation", "alloquy.notes", "Hi"],
        &["chat", "--conversation", "alloquy.notes", "-q"],
        &["flow", "run", "hello.yaml", "alloquy.notes"],
    ];
    for arguments in commands {
        let ran = program.run(arguments);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains("alloquy note"), "{}", ran.err);
    }
    // A condition means conversations.
    program.run(&["delete", "--containing", "tea", "--yes"]).ok();
    assert_eq!(texts(&program, &["list"]), ["I drink green tea"]);
}

#[cfg(feature = "pocket")]
#[test]
fn a_model_is_reminded_where_that_is_wanted() {
    let program = Program::new();
    add(&program, &["I live in Oslo"]);
    add(&program, &["I live in a house"]);
    let ask = |more: &[&str]| {
        let arguments =
            [&["ask", "--json", "--max-tokens", "4"], more, &["Where do I live? In Oslo?"]].concat();
        program.run(&arguments).ok().events().pop().unwrap()
    };
    assert_eq!(ask(&[])["facts"], Value::Null);
    let memory = &ask(&["--memory"])["facts"]["memory"][0];
    assert_eq!((memory["shown"].as_array().unwrap().len(), &memory["left_out"]), (2, &json!(0)));
    let one = ask(&["--memory", "--memory-notes", "1"]);
    assert_eq!(one["facts"]["memory"][0]["left_out"], 1);
    let few = ask(&["--memory", "--memory-tokens", "1"]);
    assert_eq!(few["facts"]["memory"][0]["shown"], json!([]));
    assert_eq!(ask(&["--memory", "--owner", "ann"])["facts"], Value::Null);
    let kept = ask(&["--memory", "--conversation", "home"]);
    assert_eq!(kept["facts"]["memory"][0]["shown"].as_array().unwrap().len(), 2);

    let arguments = ["ask", "--memory", "--memory-notes", "1", "--max-tokens", "4", "Do I live in Oslo?"];
    let said = program.run(&arguments).ok().err;
    assert!(said.contains("(the model does not see 1 more notes from memory"), "{said}");
    let rendered = program.run(&["render", "--memory", "Do I live in Oslo?"]).ok().out;
    assert!(rendered.contains("- I live in Oslo\n"), "{rendered}");
    program.write("config.toml", "memory = true\nmemory-notes = 1\n");
    let configured = ask(&["--config", "config.toml"]);
    assert_eq!(configured["facts"]["memory"][0]["left_out"], 1);
    for (name, value, text) in
        [("ALLOQUY_MEMORY_NOTES", "0", "from 1 to 1000"), ("ALLOQUY_MEMORY_TOKENS", "x", "a whole number")]
    {
        let ran = Program::new().variable(name, value).run(&["ask", "Hi"]);
        assert!(ran.code == Some(2) && ran.err.contains(text), "{name}: {}", ran.err);
    }
}

#[cfg(feature = "pocket")]
#[test]
fn a_chat_remembers_lists_and_forgets() {
    let program = Program::new();
    let lines = "/remember I live in Oslo\nHello\n/remember \"\"\"I drink tea\"\"\"\n/notes\n";
    let chatted = program.run_with(&["chat", "--conversation", "home", "--max-tokens", "4"], lines).ok();
    assert!(chatted.err.contains("remembered as ") && chatted.err.contains("--memory"), "{}", chatted.err);
    let listed: Value = program.run(&["note", "list", "--json"]).ok().events().remove(0);
    let notes = listed["notes"].as_array().unwrap();
    assert_eq!(
        (&notes[0]["text"], &notes[0]["source"]["conversation"]),
        (&json!("I drink tea"), &json!("home"))
    );
    assert_eq!((&notes[1]["text"], &notes[1]["source"]), (&json!("I live in Oslo"), &Value::Null));
    assert!(chatted.out.contains(notes[0]["id"].as_str().unwrap()), "{}", chatted.out);

    let id = notes[0]["id"].as_str().unwrap();
    let lines = format!("/forget {}\n/notes\n", &id[28..]);
    let chatted = program.run_with(&["chat", "--memory", "--json"], &lines).ok();
    let events = chatted.events();
    assert_eq!((&events[0]["event"], &events[0]["id"]), (&json!("forgotten"), &json!(id)));
    assert_eq!((&events[1]["event"], events[1]["notes"].as_array().unwrap().len()), (&json!("notes"), 1));
    let wrong = program.run_with(&["chat"], "/forget zzzzzz\n");
    assert!(wrong.code == Some(1) && wrong.err.contains("\"zzzzzz\""), "{}", wrong.err);
    for line in ["/remember\n", "/forget\n", "/notes all\n"] {
        assert_eq!(program.run_with(&["chat"], line).code, Some(1), "{line}");
    }
}
