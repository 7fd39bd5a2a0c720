//! The commands of a chat in a script: what they do, what they print as events, and what they refuse.
#![cfg(feature = "pocket")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use program::{Program, Ran};
use serde_json::{Value, json};

/// Answers that are short and the same each time.
const SHORT: [&str; 5] = ["chat", "--model", "pocket", "--max-tokens", "4"];

fn chat(program: &Program, script: &str) -> Ran {
    program.run_with(&SHORT, script)
}

fn events(program: &Program, script: &str) -> Vec<Value> {
    program.run_with(&[&SHORT[..], &["--json"]].concat(), script).ok().events()
}

fn named<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["event"] == name).collect()
}

/// The questions of every conversation, the last updated conversation first.
fn asked(program: &Program) -> Vec<Vec<String>> {
    let listed = program.run(&["conversations", "--json"]).ok().events().remove(0);
    let mut asked = Vec::new();
    for conversation in listed["conversations"].as_array().unwrap() {
        let id = conversation["id"].as_str().unwrap();
        let tree = program.run(&["tree", "--json", "--conversation", id]).ok().events().remove(0);
        let nodes = tree["nodes"].as_array().unwrap().clone();
        let questions = nodes.iter().filter(|node| node["message"]["role"] == "user");
        let text = |node: &Value| node["message"]["parts"][0]["text"].as_str().unwrap().to_owned();
        asked.push(questions.map(text).collect());
    }
    asked
}

#[test]
fn words_that_leave_leave_and_can_be_said() {
    for word in ["exit", "quit", "/quit", "/bye", "/exit"] {
        let program = Program::new();
        let ran = chat(&program, &format!("Hello\n{word}\nnever asked\n")).ok();
        assert_eq!(asked(&program), [["Hello"]], "{word}: {ran:?}");
    }
    let program = Program::new();
    chat(&program, "\"\"\"exit\"\"\"\n//quit\nexit the room\n").ok();
    assert_eq!(asked(&program), [["exit", "/quit", "exit the room"]]);
}

#[test]
fn marks_begin_and_end_a_message_of_several_lines() {
    let program = Program::new();
    let script = "\"\"\"\nOne\n/undo\n\n  Two\n\"\"\"\n/edit \"\"\"Three\nFour\"\"\"\n/system \"\"\"Be\nbrief.\"\"\"\n/system\n";
    let ran = chat(&program, script).ok();
    assert_eq!(asked(&program), [["One\n/undo\n\n  Two", "Three\nFour"]]);
    assert!(ran.out.ends_with("Be\nbrief.\n"), "{ran:?}");
    let open = chat(&Program::new(), "\"\"\"\nOne\n");
    assert_eq!((open.code, open.errors().len()), (Some(1), 1), "{open:?}");
    assert!(open.err.contains("has no end"), "{open:?}");
}

#[test]
fn a_new_conversation_leaves_the_former_one() {
    let program = Program::new();
    let script = "/new\nOne\n/new\nTwo\n/clear\n/system Be brief.\nThree\n/system Be long.\nFour\n/new\n/system\n/system \"\"\n/system\n";
    let events = events(&program, script);
    let mut conversations = asked(&program);
    conversations.sort();
    assert_eq!(conversations, [["Four"], ["One"], ["Three"], ["Two"]]);
    let begun = named(&events, "new");
    assert_eq!(begun.len(), 5, "{begun:?}");
    assert_eq!(begun[0]["former"], Value::Null);
    assert!(begun[1]["former"].is_string());
    let prompts: Vec<_> = named(&events, "system").into_iter().map(|event| event["text"].clone()).collect();
    assert_eq!(prompts, [json!("Be brief."), json!("Be long."), json!("Be long."), Value::Null, Value::Null]);
}

#[test]
fn a_file_has_the_instructions() {
    let program = Program::new();
    program.write("brief.txt", "Be brief.\n\n");
    let script = "/system @brief.txt\n/system\n/system @@home\n/system\n/system @nowhere.txt\n";
    let ran = chat(&program, script);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), "Be brief.\n@home\n"), "{ran:?}");
    assert!(ran.err.contains("the instructions \"nowhere.txt\" cannot be read; write @@"), "{ran:?}");
}

#[test]
fn settings_are_those_of_the_flags() {
    let program = Program::new();
    let events = events(
        &program,
        "/set max_tokens 2\nHello\n/set temperature 0.5\n/set seed 7\n/set seed default\n/set\n",
    );
    let set: Vec<_> =
        named(&events, "set").into_iter().map(|event| json!([event["name"], event["value"]])).collect();
    assert_eq!(
        set,
        [json!(["max-tokens", 2]), json!(["temperature", 0.5]), json!(["seed", 7]), json!(["seed", null])]
    );
    assert_eq!(named(&events, "done")[0]["usage"]["generated"], 2);
    let listed = &named(&events, "settings")[0]["settings"];
    assert_eq!(listed["temperature"], json!({"value": 0.5, "origin": "chat"}));
    for (script, expected) in [
        ("/set temprature 1", "did you mean temperature"),
        ("/set temperature hot", "temperature cannot be \"hot\", expected a number from 0 to 1000"),
        ("/set thinking maybe", "expected one of: on, off"),
        ("/set system Be brief.", "use /system TEXT"),
        ("/set seed", "usage: /set [NAME VALUE]"),
    ] {
        let ran = chat(&Program::new(), script);
        assert!(ran.code == Some(1) && ran.err.contains(expected), "{script}: {ran:?}");
    }
}

#[test]
fn another_model_continues_the_conversation_or_the_former_one_stays() {
    let Some(other) = shared::find("models/tiny/genai-qwen3-fp32") else { return };
    let program = Program::new();
    let script = format!("Hello\n/model {}\nAgain\n/model pocket\nAnd again\n/model\n", other.display());
    let events = events(&program, &script);
    assert_eq!(asked(&program), [["Hello", "Again", "And again"]]);
    let models: Vec<_> = named(&events, "model").into_iter().map(|event| event["name"].clone()).collect();
    assert_eq!(models, ["genai-qwen3-fp32", "pocket", "pocket"]);
    let answers: Vec<_> = named(&events, "node")
        .into_iter()
        .filter_map(|event| event["node"]["reply"]["model"].as_str())
        .collect();
    assert_eq!(answers[1], "genai-qwen3-fp32");
    assert_eq!(answers[0], answers[2]);
    let missing = chat(&program, "Hello\n/model nowhere\n");
    assert_eq!(missing.code, Some(1));
    assert!(missing.err.contains("the model stays as it is: model folder"), "{missing:?}");
    assert!(missing.err.contains("nowhere\" does not exist"), "{missing:?}");
}

#[test]
fn a_conversation_is_saved_by_extension_and_nothing_is_replaced() {
    let program = Program::new();
    program.write("mine.md", "mine");
    let events = events(
        &program,
        "Hello\n/save tea.json\n/save tea.md\nAgain\n/save tea.md\n/save tea.txt chatml\n/export tea.jsonl\n",
    );
    let formats: Vec<_> = named(&events, "saved").into_iter().map(|event| event["format"].clone()).collect();
    assert_eq!(formats, ["alloquy", "markdown", "markdown", "chatml", "openai"]);
    let read = |name: &str| std::fs::read_to_string(program.path(name)).unwrap();
    assert!(read("tea.md").contains("Again") && !read("tea.json").contains("Again"));
    assert!(read("tea.txt").starts_with("<|im_start|>"));
    let empty = Program::new();
    std::fs::copy(program.path("tea.json"), empty.path("tea.json")).unwrap();
    empty.run(&["import", "tea.json"]).ok();
    assert_eq!(asked(&empty), [["Hello"]]);
    for (script, expected) in [
        ("Hi\n/save mine.md\n", "exists and is not replaced"),
        ("Hi\n/save tea\n", "names no format"),
        ("Hi\n/save nowhere/tea.md\n", "cannot be written"),
        ("/save tea.md\n", "nothing was said yet"),
    ] {
        let ran = chat(&program, script);
        assert!(ran.code == Some(1) && ran.err.contains(expected), "{script}: {ran:?}");
    }
    assert_eq!(read("mine.md"), "mine");
}

#[test]
fn a_conversation_is_deleted_where_that_is_clearly_wanted() {
    let program = Program::new();
    let refused = chat(&program, "One\n/delete\n");
    assert!(refused.err.contains("write /delete yes"), "{refused:?}");
    assert_eq!(asked(&program), [["One"]]);
    let events = events(&program, "Two\n/delete yes\nThree\n");
    assert_eq!(named(&events, "deleted").len(), 1);
    assert_eq!(asked(&program), [["Three"], ["One"]]);
}

#[test]
fn the_words_of_the_shell_are_known() {
    let program = Program::new();
    let script = "Hello\n/label 0 first try\n/bookmark here\n/undo\nBye\n/goto here\n/switch 1\n/bookmark\n/branches\n/diff 0 1\n/fork tea\n/history\n";
    let events = events(&program, script);
    assert_eq!(named(&events, "head").len(), 4);
    assert_eq!(named(&events, "bookmarks")[0]["bookmarks"][0]["name"], "here");
    assert_eq!(named(&events, "branches")[0]["branches"].as_array().unwrap().len(), 2);
    assert_eq!(named(&events, "diff")[0]["common"], json!([]));
    assert_eq!(named(&events, "head")[3]["conversation"], "tea");
    assert_eq!(named(&events, "history")[0]["nodes"].as_array().unwrap().len(), 1, "of the copy");
    let wrong = chat(&program, "Hello\n/goto\n");
    assert_eq!(wrong.errors(), ["error: usage: /goto ADDRESS"]);
    let wrong = program.run_with(&[&SHORT[..], &["--json"]].concat(), "/hist\n");
    let error = wrong.events().pop().unwrap();
    assert_eq!(
        error["message"],
        "unknown command \"/hist\", did you mean /history? /help lists all commands"
    );
}
