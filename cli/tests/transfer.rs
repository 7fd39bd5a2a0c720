//! `alloquy import` and `alloquy export`: what comes in, what is said, what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use std::fs;

use program::Program;
use serde_json::{Value, json};

const MARKDOWN: &str = "# Tea\n\n## User\n\nGreen or black?\n\n## Assistant\n\nGreen.\n\n";

fn state() -> Value {
    json!({"schema_version": "1.1.0", "conversation_id": "tea", "current_node_id": "0", "metadata": {"user": "ann"},
        "created_at": "2025-03-04T05:06:07", "updated_at": "2025-03-04T05:06:08", "edges": [["", "0"], ["", "7"]],
        "nodes": [{"node_id": "", "message": {"role": "user", "content": "Green or black?"},
            "timestamp": "2025-03-04T05:06:07.000123", "prompt_name": null, "branch_name": null, "metadata": {}},
          {"node_id": "0", "message": {"role": "assistant", "content": "Green."},
            "timestamp": "2025-03-04T05:06:08", "prompt_name": null, "branch_name": "main", "metadata": {}}]})
}

#[test]
fn a_state_comes_in_says_what_was_mended_and_goes_out_again() {
    let program = Program::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.json");
    fs::write(&file, state().to_string()).unwrap();
    let file = file.to_str().unwrap();
    let imported = program.run(&["import", file]).ok();
    assert_eq!(imported.out, "tea\n");
    insta::assert_snapshot!(imported.err);
    let again = program.run(&["import", file]);
    assert_eq!((again.code, again.out.as_str()), (Some(1), ""));
    let exported = program.run(&["export", "tea", "--to", "dataknobs"]).ok().out;
    let mut wanted = state();
    wanted["edges"] = json!([["", "0"]]);
    assert_eq!(serde_json::from_str::<Value>(&exported).unwrap(), wanted);
    let whole = program.run(&["export", "tea"]).ok().out;
    fs::write(file, &whole).unwrap();
    assert_eq!(program.run(&["import", file, "--owner", "ann"]).ok().out, "tea\n");
    assert_eq!(program.run(&["export", "tea", "--owner", "ann"]).ok().out, whole);
    assert_eq!(program.run(&["export", "coffee"]).code, Some(1));
}

#[test]
fn what_replies_took_elsewhere_is_counted_and_branches_keep_their_names() {
    let program = Program::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.json");
    let mut state = state();
    state["nodes"][1]["metadata"] = json!({"model": "gpt-4", "finish_reason": "stop", "cost_usd": 0.00042,
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}});
    fs::write(&file, state.to_string()).unwrap();
    program.run(&["import", file.to_str().unwrap()]).ok();
    let prices = folder.path().join("prices.json");
    let price = json!({"models": ["gpt-4"], "input": "30", "output": "60"});
    fs::write(&prices, json!({"currency": "USD", "prices": [price]}).to_string()).unwrap();
    insta::assert_snapshot!(
        program.run(&["cost", "--conversation", "tea", "--prices", prices.to_str().unwrap()]).ok().out
    );
    let drawn = program.run(&["tree", "--conversation", "tea"]).ok().out;
    assert!(drawn.contains("“main”"), "{drawn}");
    program.run(&["label", "0.0", "short", "--conversation", "tea"]).ok();
    let exported = program.run(&["export", "tea", "--to", "dataknobs"]).ok().out;
    let exported: Value = serde_json::from_str(&exported).unwrap();
    assert_eq!(exported["nodes"][1]["branch_name"], "short");
    assert_eq!(exported["nodes"][1]["metadata"], state["nodes"][1]["metadata"]);
}

#[test]
fn a_text_to_read_comes_in_and_says_what_it_leaves_out() {
    let program = Program::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tea.md");
    fs::write(&file, MARKDOWN).unwrap();
    let id = program.run(&["import", file.to_str().unwrap()]).ok().out;
    let exported = program.run(&["export", id.trim(), "--to", "markdown"]).ok();
    assert_eq!((exported.out.as_str(), exported.err.as_str()), (MARKDOWN, "metadata is left out\n"));
    assert_eq!(program.run(&["export", "--to", "markdown"]).ok().out, MARKDOWN, "the last conversation");
    let by_variable = program.variable("ALLOQUY_TO", "chatml").run(&["export", id.trim()]).ok().out;
    assert!(by_variable.starts_with("<|im_start|>user\nGreen or black?"), "{by_variable}");
}

#[test]
fn everything_is_exported_for_another_store() {
    let program = Program::new();
    let talks =
        ["Green?", "Black?"].map(|text| format!(r#"{{"messages":[{{"role":"user","content":"{text}"}}]}}"#));
    program.write("talks.jsonl", &talks.join("\n"));
    let imported = program.run(&["import", "talks.jsonl"]).ok().out;
    for format in ["alloquy", "dataknobs"] {
        let all = program.run(&["export", "--all", "--to", format]).ok().out;
        let other = Program::new();
        other.write("all", &all);
        let mut names: Vec<_> = imported.lines().collect();
        let back = other.run(&["import", "all"]).ok().out;
        let mut found: Vec<_> = back.lines().collect();
        names.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, names, "{format}");
    }
    assert_eq!(program.run(&["export", "--all", "--to", "openai"]).ok().out.lines().count(), 2);
    let lines = program.run(&["export", "--all", "--json"]).ok().events();
    assert_eq!((lines.len(), lines[0]["format"].as_str()), (2, Some("alloquy")));
    let refused = program.run(&["export", "--all", "--to", "markdown"]);
    assert!(refused.code == Some(2) && refused.err.contains("holds one conversation"), "{refused:?}");
}

#[test]
fn thinking_is_readable_in_markdown_and_comes_back() {
    let program = Program::new();
    let talk = r#"{"messages": [{"role": "user", "content": "Windy?"},
        {"role": "assistant", "content": "Yes.", "reasoning_content": "The sea\n```\nis rough."}]}"#;
    program.write("talk.jsonl", &talk.replace('\n', " "));
    program.run(&["import", "talk.jsonl", "--from", "openai"]).ok();
    let text = program.run(&["export", "--to", "markdown"]).ok().out;
    assert!(text.contains("## Assistant\n\n````thinking\nThe sea\n```\nis rough.\n````\n\nYes.\n"), "{text}");
    program.write("talk.md", &text);
    let id = program.run(&["import", "talk.md"]).ok().out;
    assert_eq!(program.run(&["export", id.trim(), "--to", "markdown"]).ok().out, text);
}

#[test]
fn what_cannot_be_read_is_refused_and_the_others_come_in() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("talks.jsonl");
    fs::write(
        &file,
        "{\"messages\":[{\"role\":\"bot\"}]}\n{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}\n",
    )
    .unwrap();
    let program = Program::new();
    let ran = program.run(&["import", file.to_str().unwrap(), "--json"]);
    assert_eq!(ran.code, Some(1));
    let printed: Value = serde_json::from_str(ran.out.lines().next().unwrap()).unwrap();
    assert_eq!(printed["imported"].as_array().unwrap().len(), 1);
    assert_eq!(printed["refused"].as_array().unwrap().len(), 1);
    fs::write(&file, "Dear diary").unwrap();
    assert_eq!(program.run(&["import", file.to_str().unwrap()]).code, Some(1));
    assert_eq!(program.variable("ALLOQUY_FROM", "word").run(&["import", "x"]).code, Some(2));
}

#[test]
fn an_empty_document_is_refused_and_one_nested_too_deep_says_so() {
    let program = Program::new();
    program.write("empty", "");
    program.write("blank", " \n\n");
    program.write("deep.json", &["[".repeat(100_000), "]".repeat(100_000)].concat());
    let formats = ["alloquy", "dataknobs", "openai", "chatml", "markdown"].map(|format| ["--from", format]);
    for file in ["empty", "blank"] {
        for from in formats.iter().map(|from| &from[..]).chain([&[][..]]) {
            let ran = program.run(&[&["import", file], from].concat());
            assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{ran:?}");
            assert!(ran.err.contains("it is empty"), "{}", ran.err);
        }
    }
    for from in [&["--from", "openai"][..], &[]] {
        let ran = program.run(&[&["import", "deep.json"], from].concat());
        assert_eq!(ran.code, Some(1));
        assert!(ran.err.contains("recursion limit exceeded"), "{}", ran.err);
        assert!(!ran.err.contains("no known format"), "{}", ran.err);
    }
    assert!(!program.run(&["conversations"]).out.contains("import-"));
}

#[test]
fn marked_text_is_exported_without_what_is_no_text_which_is_said() {
    let program = Program::new();
    let call = r#"[{"id": "1", "type": "function", "function": {"name": "wind", "arguments": "{\"at\": \"sea\"}"}}]"#;
    let talk = format!(
        r#"{{"messages": [{{"role": "user", "content": "Windy?"}}, {{"role": "assistant", "content": "", "tool_calls": {call}}},
        {{"role": "tool", "tool_call_id": "1", "name": "wind", "content": "strong"}},
        {{"role": "assistant", "content": "Yes.", "reasoning_content": "It is strong."}}]}}"#
    );
    program.write("talk.jsonl", &talk.replace('\n', " "));
    let id = program.run(&["import", "talk.jsonl", "--from", "openai"]).ok().out;
    let exported = program.run(&["export", id.trim(), "--to", "chatml"]).ok();
    let start = "<|im_start|>";
    let end = "<|im_end|>\n";
    let expected = ["user\nWindy?", "assistant\n", "tool\nstrong", "assistant\nYes."];
    assert_eq!(exported.out, expected.map(|said| format!("{start}{said}{end}")).concat());
    let said = "of 3 messages whatever is no text is left out, such as thinking and calls\n";
    assert!(exported.err.contains(said), "{}", exported.err);
    // A call's arguments are the object that their text holds.
    let nodes = &program.run(&["tree", "--json"]).ok().events()[0]["nodes"];
    assert_eq!(nodes[1]["message"]["parts"][1]["tool_call"]["arguments"]["at"], "sea", "{nodes}");
}

#[test]
fn a_state_whose_calls_have_their_arguments_as_text_has_objects_here() {
    let state = |parameters: Value| {
        let node = |id: &str, message: Value| {
            serde_json::json!({"node_id": id, "timestamp": "2026-01-01T00:00:00", "prompt_name": null, "branch_name": null,
                "metadata": {}, "message": message})
        };
        let call = serde_json::json!([{"name": "wind", "parameters": parameters, "id": "1"}]);
        let nodes = [
            node("", serde_json::json!({"role": "user", "content": "Windy?"})),
            node("0", serde_json::json!({"role": "assistant", "content": "", "tool_calls": call})),
        ];
        serde_json::json!({"conversation_id": "wind", "nodes": nodes, "edges": [["", "0"]], "current_node_id": "0",
            "metadata": {}, "created_at": "2026-01-01T00:00:00", "updated_at": "2026-01-01T00:00:00", "schema_version": "1.1.0"})
    };
    let arguments = |parameters: Value| {
        let program = Program::new();
        program.write("state.json", &state(parameters).to_string());
        let ran = program.run(&["import", "state.json", "--from", "dataknobs"]).ok();
        let shown = program.run(&["tree", "--json"]).ok().events().remove(0);
        let calls = shown["nodes"][1]["message"]["parts"].as_array().unwrap().clone();
        let call = calls.into_iter().find_map(|part| part.get("tool_call").cloned()).unwrap();
        (call["arguments"].clone(), ran.err)
    };
    let (object, said) = arguments("{\"at\": \"sea\"}".into());
    assert_eq!(object, serde_json::json!({"at": "sea"}));
    assert!(said.contains("the arguments of a call were a text, they are the object in it"), "{said}");
    assert_eq!(arguments("sea".into()).0, "sea");
    assert_eq!(arguments("[1]".into()).0, "[1]");
    let (object, said) = arguments(serde_json::json!({"at": 1}));
    assert_eq!(object, serde_json::json!({"at": 1}));
    assert!(!said.contains("arguments"), "{said}");
}
