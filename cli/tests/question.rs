//! What a question is made of, and which form its answer has: files, standard input, schemas, code, likely tokens.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use program::Program;
use serde_json::json;

/// A program with the model of texts that every test here needs; `None` where there is none.
fn program() -> Option<Program> {
    let model = shared::find("models/tiny/genai-qwen3-fp32")?;
    Some(Program::new().variable("ALLOQUY_MODEL", model))
}

#[test]
fn files_follow_the_question_and_what_is_piped_in_follows_them() {
    let program = Program::new();
    program.write("sum.txt", "What is 12 + 30?\n");
    for arguments in [&["ask", "-f", "sum.txt"][..], &["ask", "--file", "-"]] {
        let ran = program.run_with(arguments, "What is 12 + 30?\n").ok();
        assert!(ran.out.contains("42"), "{arguments:?}: {}", ran.out);
    }
    let refused = program.run(&["ask", "-f", "nowhere.txt"]);
    assert!(
        refused.code == Some(1) && refused.err.contains("file \"nowhere.txt\" cannot be read"),
        "{refused:?}"
    );
    std::fs::write(program.path("cat.gif"), [0x47, 0x49, 0x46, 0xFF]).unwrap();
    let refused = program.run(&["ask", "-f", "cat.gif", "What is this?"]);
    assert!(refused.err.contains("is not a text in UTF-8; --image and --audio"), "{refused:?}");
    let twice = program.run_with(&["ask", "-f", "-", "-f", "-"], "Hello");
    assert!(twice.err.contains("standard input can be read once only"), "{twice:?}");
    // With a model the whole question can be seen: it is stored.
    let stored = [
        "ask",
        "--conversation",
        "tea",
        "--max-tokens",
        "1",
        "First",
        "-f",
        "sum.txt",
        "-f",
        "-",
        "-f",
        "sum.txt",
    ];
    program.run_with(&stored, "second\n").ok();
    let tree = program.run(&["tree", "--json"]).ok().events().remove(0);
    let text = &tree["nodes"][0]["message"]["parts"][0]["text"];
    assert_eq!(text, "First\n\nWhat is 12 + 30?\n\nsecond\n\nWhat is 12 + 30?");
}

/// As a shell opens one for `-f <(git diff)`.
#[cfg(unix)]
#[test]
fn a_file_may_be_a_pipe() {
    let program = Program::new();
    let command = format!("{} ask -f <(echo 'What is 12 + 30?')", env!("CARGO_BIN_EXE_alloquy"));
    let mut bash = std::process::Command::new("bash");
    let ask = program.command(&[]);
    for (name, value) in ask.get_envs() {
        if let Some(value) = value {
            bash.env(name, value);
        }
    }
    let output = bash.args(["-c", &command]).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim().lines().last(),
        Some("12 + 30 = 42"),
        "{output:?}"
    );
}

#[test]
fn instructions_come_from_a_file() {
    let Some(program) = program() else { return };
    program.write("rules.txt", "Be brief.\nBe kind.\n");
    let system = |text: &str| program.run(&["render", "--system", text, "Hi"]);
    assert!(system("@rules.txt").ok().out.contains("system\nBe brief.\nBe kind.<|im_end|>"));
    assert!(system("@@home").ok().out.contains("system\n@home<|im_end|>"));
    let refused = system("@nowhere.txt");
    assert!(
        refused.code == Some(1) && refused.err.contains("write @@ for a text that begins with @"),
        "{refused:?}"
    );
}

#[test]
fn a_schema_is_a_file_or_json_or_a_list_of_fields() {
    let Some(program) = program() else { return };
    let schema = r#"{"type": "object", "properties": {"name": {"enum": ["Ada"]}}, "required": ["name"], "additionalProperties": false}"#;
    program.write("person.json", schema);
    for form in ["person.json", schema] {
        let answer = program.run(&["ask", "--json-schema", form, "Who?"]).ok().out;
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer, json!({"name": "Ada"}), "{form}");
    }
    let list = ["ask", "--json-schema", "is_old bool, is_new bool", "--max-tokens", "200", "Who?"];
    let answer = program.run(&list).ok().out;
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert!(answer["is_old"].is_boolean() && answer["is_new"].is_boolean(), "{answer}");
    for (form, said) in [
        ("nowhere.json", "file \"nowhere.json\" does not exist"),
        (
            "name, age itn",
            "unknown type \"itn\" at character 11, one of: str, int, float, bool, list, list[int]",
        ),
        ("{\"type\": ", "the JSON Schema is not valid JSON"),
    ] {
        let refused = program.run(&["ask", "--json-schema", form, "Who?"]);
        assert!(refused.code == Some(1) && refused.err.contains(said), "{refused:?}");
    }
}

#[test]
fn an_error_in_a_pattern_has_its_place_there() {
    let Some(program) = program() else { return };
    let refused = program.run(&["ask", "--regex", "é(a", "Hi"]);
    let said = "the regular expression \"é(a\" is not valid at character 2: unclosed group";
    assert!(refused.code == Some(1) && refused.err.contains(said), "{refused:?}");
}

#[test]
fn code_alone_is_printed_or_everything_where_there_is_none() {
    let Some(program) = program() else { return };
    let answer = "So:\n```sh\nls -l\n```\nThat is all.";
    let code = program.run(&["ask", "-x", "--thinking-budget", "1", "--choice", answer, "List"]).ok();
    assert_eq!(code.out, "ls -l\n", "{code:?}");
    let none = program.run(&["ask", "-x", "--thinking-budget", "1", "--choice", "no code", "List"]).ok();
    assert_eq!(none.out, "no code\n");
    assert!(none.err.contains("the answer has no block of code"), "{}", none.err);
    assert_eq!(program.run(&["ask", "-x", "--json", "List"]).code, Some(2));
}

#[test]
fn likely_tokens_are_texts() {
    let Some(program) = program() else { return };
    let arguments = ["ask", "--logprobs", "2", "--choice", "yes", "Really?"];
    let text = program.run(&arguments).ok();
    let listed: String = text.err.lines().filter(|line| line.contains(" % ")).collect();
    assert!(text.out == "yes\n" && listed.contains(" of ") && listed.contains('"'), "{text:?}");
    let events = program.run(&[&arguments[..], &["--json"]].concat()).ok().events();
    let places = events.last().unwrap()["logprobs"].as_array().unwrap().clone();
    let answer: String = places.iter().map(|place| place["sampled"]["text"].as_str().unwrap()).collect();
    assert!(answer.contains("yes"), "{answer}");
    assert!(
        places[0]["top"][1]["text"].is_string() && places[0]["top"][1]["token"].is_number(),
        "{places:?}"
    );
}

#[test]
fn an_image_comes_from_standard_input() {
    let Some(program) = program() else { return };
    let refused = program.run_with(&["ask", "--image", "-", "What?"], "no image");
    assert!(refused.err.contains("standard input: not an image file of a known format"), "{refused:?}");
    // The bytes arrive: this model accepts none.
    let refused = program.run_with(&["ask", "--image", "-", "What?"], "GIF89a and so on");
    assert!(refused.err.contains("takes no image"), "{refused:?}");
    let chat = program.run_with(&["chat", "--image", "-"], "Hello\n");
    assert!(chat.err.contains("--image - reads standard input, which the questions come from"), "{chat:?}");
}

#[test]
fn a_template_that_reads_no_messages_is_refused_and_mlcs_is_read() {
    let Some(program) = program() else { return };
    program.write("fixed.jinja", "{{ 'the same' }}");
    let refused = program.run(&["render", "--template", "fixed.jinja", "Hi"]);
    assert!(refused.code == Some(1) && refused.err.contains("reads no messages"), "{refused:?}");
    let mlc = json!({
        "name": "mine", "system_template": "{system_message}", "system_message": "",
        "roles": {"user": "U", "assistant": "A"}, "seps": ["|"], "role_content_sep": ": ", "role_empty_sep": ":",
        "stop_str": ["|"], "stop_token_ids": []
    });
    program.write("conv.json", &mlc.to_string());
    assert_eq!(program.run(&["render", "--template", "conv.json", "Hi"]).ok().out, "U: Hi|A:");
}
