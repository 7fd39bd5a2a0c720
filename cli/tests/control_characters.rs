//! Whatever comes from elsewhere and is shown: no control character of it reaches a terminal, or a pipe that leads to one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;
#[cfg(unix)]
mod terminal;

use program::Program;
use serde_json::{Value, json};

/// A title, a copy to the clipboard, a colour and a cursor by way of ESC, of C1, of DEL and of backspaces, and text turned round.
const HOSTILE: &str = "a\u{1b}]52;c;QUFB\u{7}b\u{9b}31mc\u{7f}d\u{8}e\u{85}f\u{202e}g\u{2066}h\u{90}i";

/// The same in a name of a file.
const NAME: &str = "x\u{1b}]52;c;QUFB\u{7}y\u{9b}31mz\u{7f}w\u{202e}v";

/// Says whether a text has nothing that a terminal would obey.
fn is_clean(text: &str) -> bool {
    let is_turning = |character: char| matches!(character, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    has_no_controls(text) && !text.contains(is_turning)
}

/// The same of a document, whose texts may turn their direction.
fn has_no_controls(text: &str) -> bool {
    let is_control = |character: char| character.is_control() && !"\n\t".contains(character);
    !text.replace("\r\n", "\n").contains(is_control)
}

/// A conversation of hostile texts, and a program that has it.
fn program() -> Program {
    let program = Program::new();
    let arguments = json!({HOSTILE: HOSTILE}).to_string();
    let messages = json!({"messages": [
        {"role": "system", "content": HOSTILE},
        {"role": "user", "content": HOSTILE},
        {"role": "assistant", "content": HOSTILE, "reasoning_content": HOSTILE, "tool_calls": [
            {"id": HOSTILE, "type": "function", "function": {"name": HOSTILE, "arguments": arguments}}]},
        {"role": "tool", "tool_call_id": HOSTILE, "name": HOSTILE, "content": HOSTILE},
        {"role": "user", "content": format!("tea {HOSTILE}")},
        {"role": "assistant", "content": HOSTILE},
    ]});
    program.write("talk.jsonl", &format!("{messages}\n"));
    program.run(&["import", "talk.jsonl", "--from", "openai"]).ok();
    program.run(&["label", "0", HOSTILE]).ok();
    assert_eq!(program.run(&["bookmark", HOSTILE, "0"]).code, Some(1), "it is no name");
    // Its title is hostile too, and so is a bookmark of an older version.
    let id =
        program.run(&["conversations", "--json"]).ok().events().remove(0)["conversations"][0]["id"].clone();
    let exported = program.run(&["export", id.as_str().unwrap()]).ok().out;
    let mut archive: Value = serde_json::from_str(&exported).unwrap();
    rename(&mut archive);
    let head = archive["record"]["head"].clone();
    archive["record"]["metadata"]["alloquy"]["bookmarks"] = json!({ HOSTILE: head });
    program.write("titled.json", &archive.to_string());
    program.run(&["import", "titled.json"]).ok();
    let listed = program.run(&["bookmark", "--conversation", "titled", "--json"]).ok().events().remove(0);
    assert_eq!(listed["bookmarks"][0]["name"], HOSTILE);
    program
}

/// Gives whatever has metadata a hostile title, and the conversation another name.
fn rename(archive: &mut Value) {
    if let Some(fields) = archive.as_object_mut() {
        for (name, value) in fields.iter_mut() {
            match name.as_str() {
                "metadata" if value.is_object() => value["title"] = HOSTILE.into(),
                "id" if value.as_str().is_some_and(|id| id.starts_with("import-")) => {
                    *value = "titled".into();
                }
                _ => rename(value),
            }
        }
    }
}

/// Every command that shows what others wrote, or quotes what it refuses.
#[allow(clippy::too_many_lines)] // a list
fn commands(program: &Program) -> Vec<Vec<String>> {
    program.write("bad.jinja", &format!("{{{{ raise_exception({}) }}}}", json!(HOSTILE)));
    program.write("bad.json", &json!({"type": HOSTILE}).to_string());
    program.write("bad.toml", &format!("{} = 1\n", json!(HOSTILE)));
    program.write("bad2.toml", &format!("model = {}\n", json!(HOSTILE)));
    program.write("bad3.toml", &format!("temperature = {}\n", json!(HOSTILE)));
    program.write("prices.json", &json!({HOSTILE: HOSTILE}).to_string());
    program.write("broken.json", &format!("{{{HOSTILE}"));
    let of = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut commands: Vec<_> = [
        &["tree"][..],
        &["conversations"],
        &["branches"],
        &["bookmark"],
        &["search", "tea"],
        &["diff", "0", "0.0"],
        &["cost"],
        &["tree", "--json"],
        &["conversations", "--json"],
        &["search", "tea", "--json"],
        &["cost", "--prices", "prices.json"],
        &["goto", "0.0"],
        &["goto", HOSTILE],
        &["label", "0", HOSTILE],
        &["bookmark", HOSTILE],
        &["bookmark", HOSTILE, "--remove"],
        &["fork", "--name", HOSTILE],
        &["merge", HOSTILE],
        &["tree", "--conversation", HOSTILE],
        &["tree", "--conversation", "no\u{202e}where"],
        &["tree", "--owner", HOSTILE],
        &["tree", "--store", HOSTILE],
        &["tree", HOSTILE],
        &[HOSTILE],
        &["--nothing\u{1b}]52;c;QUFB\u{7}"],
        &["ask", "--top-k", HOSTILE],
        &["ask", "--approve", HOSTILE],
        &["ask", "--channel", HOSTILE, "hi"],
        &["ask", "--logit-bias", HOSTILE, "hi"],
        &["ask", "--image", NAME, "hi"],
        &["ask", "--json-schema", NAME, "hi"],
        &["ask", "--lark", NAME, "hi"],
        &["ask", "--regex", "a[\u{1b}]52;c;QUFB\u{7}", "hi"],
        &["ask", "--json-schema", "bad.json", "hi"],
        &["ask", "--template", "bad.jinja", "hi"],
        &["ask", "--json", "--template", "bad.jinja", "hi"],
        &["ask", "--template", HOSTILE, "hi"],
        &["ask", "--family", HOSTILE, "hi"],
        &["ask", "--provider", HOSTILE, "hi"],
        &["ask", "--model", NAME, "hi"],
        &["ask", "--adapter", NAME, "hi"],
        &["ask", "--allow-control-tokens", HOSTILE, "--max-tokens", "1", "hi"],
        &["doctor", "--model", NAME],
        &["models", NAME],
        &["models", "."],
        &["config", "show", "--system", HOSTILE, "--model", NAME],
        &["config", "show", "--json", "--system", HOSTILE],
        &["--config", "bad.toml", "config", "show"],
        &["--config", "bad2.toml", "ask", "hi"],
        &["--config", "bad3.toml", "ask", "hi"],
        &["--config", NAME, "ask", "hi"],
        &["import", NAME],
        &["import", "broken.json"],
        &["import", "broken.json", "--from", "openai"],
        &["import", "talk.jsonl", "--from", "openai"],
        &["convert", NAME, "--from", "openai", "--to", "gemini"],
        &["convert", "broken.json", "--from", "openai", "--to", "gemini"],
        &["convert", "broken.json", "--from", HOSTILE, "--to", "gemini"],
        &["export", HOSTILE],
        &["conversations", "--where", HOSTILE],
        &["conversations", "--after", HOSTILE],
        &["cost", "--prices", NAME],
        &["tools", "--mcp", HOSTILE],
        &["tools", "--mcp-url", HOSTILE],
        &["-vv", "tree", "--conversation", "nowhere"],
    ]
    .iter()
    .map(|words| of(words))
    .collect();
    // A folder that looks like a model, and is none.
    std::fs::create_dir_all(program.path(NAME)).unwrap();
    for name in ["model.onnx", "tokenizer.json", "config.json"] {
        std::fs::write(program.path(NAME).join(name), HOSTILE).unwrap();
    }
    commands.push(of(&["ask", "--model", NAME, "--json", "hi"]));
    commands
}

#[test]
fn nothing_hostile_reaches_a_pipe() {
    let program = program();
    for arguments in commands(&program) {
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let ran = program.run(&arguments);
        assert!(is_clean(&ran.err), "{arguments:?}: {:?}", ran.err);
        assert!(is_clean(&ran.out), "{arguments:?}: {:?}", ran.out);
        assert!(ran.code != Some(101) && !ran.err.contains("panicked"), "{arguments:?}: {ran:?}");
    }
}

#[cfg(unix)]
#[test]
fn nothing_hostile_reaches_a_terminal() {
    let program = program();
    let mut all = commands(&program);
    let ids = program.run(&["conversations", "--json"]).ok().events().remove(0);
    let id = ids["conversations"][0]["id"].as_str().unwrap().to_owned();
    // What a file gets byte for byte a terminal does not.
    for to in ["markdown", "openai", "alloquy"] {
        all.push(["export", &id, "--to", to].map(str::to_owned).to_vec());
    }
    all.push(["render", "--conversation", &id].map(str::to_owned).to_vec());
    for arguments in all {
        let words: Vec<_> = arguments.iter().map(String::as_str).collect();
        let mut terminal = terminal::Terminal::start(program.command(&words));
        terminal.end();
        let shown = String::from_utf8_lossy(&terminal.bytes()).into_owned();
        // A spinner moves the cursor within its line.
        let shown = terminal::without_sequences(&without_spinner(&shown));
        let is_document = ["export", "render"].contains(&words[0]);
        let is_right = if is_document { has_no_controls(&shown) } else { is_clean(&shown) };
        assert!(is_right, "{words:?}: {shown:?}");
    }
}

/// Takes the sequences out that a spinner writes, and none beside: whatever remains was not ours.
fn without_spinner(shown: &str) -> String {
    let ours = [
        "\u{1b}[2K",
        "\u{1b}[1A",
        "\u{1b}[1B",
        "\u{1b}[?25l",
        "\u{1b}[?25h",
        "\u{1b}[?2004h",
        "\u{1b}[?2004l",
    ];
    let shown = ours.iter().fold(shown.to_owned(), |shown, sequence| shown.replace(sequence, ""));
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    shown
}

#[cfg(all(unix, feature = "pocket"))]
#[test]
fn a_chat_shows_nothing_hostile() {
    let program = program();
    let mut terminal =
        terminal::Terminal::start(program.command(&["chat", "-c", "--no-history", "--max-tokens", "2"]));
    terminal.wait_for(1, "> ");
    terminal.type_in("/history\r/tree\r/switch 0\r/image \u{9b}31m.png\r/bark\u{9b}\r/exit\r");
    terminal.end();
    let bytes = terminal.bytes();
    let shown = String::from_utf8_lossy(&bytes);
    for sequence in ["\u{1b}]", "\u{7}", "\u{9b}", "\u{90}", "\u{7f}", "\u{85}"] {
        assert!(!shown.contains(sequence), "{sequence:?} in {shown:?}");
    }
}

#[test]
fn a_refused_name_is_quoted_at_a_length_that_somebody_reads() {
    let program = Program::new();
    let long = "é".repeat(50_000);
    for arguments in [
        vec!["tree", "--conversation", &long],
        vec!["--config", &long, "tree"],
        vec!["tree", "--store", &long],
        vec!["ask", "--approve", &long],
    ] {
        let ran = program.run(&arguments);
        assert_ne!(ran.code, Some(0));
        assert!(ran.err.chars().count() < 5000, "{}: {} characters", arguments[0], ran.err.len());
        assert!(
            ran.err.contains("characters more…]"),
            "{}: {}",
            arguments[0],
            ran.err.get(..200).unwrap_or(&ran.err)
        );
    }
}

/// What was mended is said as shortly, however long a name in a document is.
#[test]
fn a_name_in_a_document_is_quoted_at_a_length_that_somebody_reads() {
    let program = Program::new();
    let long = "x".repeat(400_000);
    let message = json!({"role": "user", "content": "Hi"});
    let nodes = json!([{"node_id": "", "message": message}, {"node_id": long, "message": message}]);
    let edges = json!([["", long], [long, "nowhere"]]);
    let state =
        json!({"conversation_id": "tea", "nodes": nodes, "edges": edges, "current_node_id": "nowhere"});
    program.write("state.json", &state.to_string());
    let ran = program.run(&["import", "state.json", "--from", "dataknobs"]).ok();
    assert!(ran.err.contains("xxx") && ran.err.chars().count() < 20_000, "{} characters", ran.err.len());
}

/// Documents are data: a pipe gets what was written, to the last byte.
#[test]
fn a_document_in_a_pipe_is_exact() {
    let program = Program::new();
    let text = json!([{"role": "user", "content": HOSTILE}]).to_string();
    program.write("talk.json", &text);
    let ran = program.run(&["convert", "talk.json", "--from", "openai", "--to", "chatml"]).ok();
    assert_eq!(ran.out, format!("<|im_start|>user\n{HOSTILE}<|im_end|>\n"));
}
