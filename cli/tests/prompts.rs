//! Prompts of a library on the command line: listed, filled in, checked, labelled, asked with.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
#[allow(dead_code)] // each test file uses its part
mod shared;

use program::Program;

/// A program with a library of prompts in the folder `prompts`.
fn program() -> Program {
    let program = Program::new();
    for folder in ["prompts/user", "prompts/system", "prompts/user/greet"] {
        std::fs::create_dir_all(program.path(folder)).unwrap();
    }
    program.write("prompts/user/ask.yaml", "template: \"Where is {{place}}?(( I am {{name}}.))\"\n");
    program.write("prompts/system/guide.prompt", "---\ndefaults: {city: Oslo}\n---\nYou know {{city}}.");
    program.write("prompts/user/greet/1.0.0.yaml", "template: Hello\n");
    program.write("prompts/user/greet/1.1.0.yaml", "template: Good day\n");
    program
}

#[test]
fn prompts_are_listed_shown_and_filled_in() {
    let program = program();
    let listed = program.run(&["prompt", "list", "--prompts", "prompts"]).ok();
    for name in ["system/guide", "user/ask", "user/greet@1.0.0", "user/greet@1.1.0"] {
        assert!(listed.out.contains(name), "{}", listed.out);
    }
    let shown = program.run(&["prompt", "show", "ask", "--prompts", "prompts"]).ok();
    assert_eq!(shown.out, "Where is {{place}}?(( I am {{name}}.))\n");
    let rendered =
        program.run(&["prompt", "render", "ask", "--set", "place={{x}}", "--prompts", "prompts"]).ok();
    assert_eq!(rendered.out, "Where is {{x}}?\n");
    let missing = program.run(&["prompt", "render", "ask", "--set", "plaice=x", "--prompts", "prompts"]).ok();
    assert!(
        missing.err.contains("no value for place") && missing.err.contains("does not read plaice"),
        "{}",
        missing.err
    );
    program.write("place.txt", "the sea\n");
    let args = [
        "prompt",
        "render",
        "ask",
        "--set",
        "place=@place.txt",
        "--set",
        "name:=[1,2]",
        "--prompts",
        "prompts",
        "--json",
    ];
    let json: serde_json::Value = serde_json::from_str(&program.run(&args).ok().out).unwrap();
    let spans = json["messages"][0]["spans"].as_array().unwrap();
    assert_eq!(spans[1], serde_json::json!({"text": "the sea\n", "source": {"value": "place"}}));
    assert_eq!(spans[3]["text"], "[1, 2]");

    // The folder may be in the configuration file.
    program.write("config.toml", "prompts = \"prompts\"\n");
    let named = program.run(&["prompt", "render", "system/guide", "--config", "config.toml"]).ok();
    assert_eq!(named.out, "You know Oslo.\n");
}

#[test]
fn labels_move_and_versions_are_found_by_them() {
    let program = program();
    let render = |name: &str| program.run(&["prompt", "render", name, "--prompts", "prompts"]);
    assert_eq!(render("greet").ok().out, "Good day\n");
    program.run(&["prompt", "label", "greet", "production", "1.0.0", "--prompts", "prompts"]).ok();
    assert_eq!(render("greet").ok().out, "Hello\n");
    assert_eq!(render("greet@1.1.0").ok().out, "Good day\n");
    let wrong = program.run(&["prompt", "label", "greet", "production", "3.0.0", "--prompts", "prompts"]);
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.err.contains("1.0.0, 1.1.0"), "{}", wrong.err);
    let unknown = render("greet@canary");
    assert!(unknown.code == Some(1) && unknown.err.contains("production"), "{}", unknown.err);
    program.run(&["prompt", "label", "greet", "production", "--prompts", "prompts"]).ok();
    assert_eq!(render("greet").ok().out, "Good day\n");
}

#[test]
fn everything_that_is_wrong_is_listed() {
    let program = program();
    program.run(&["prompt", "check", "--prompts", "prompts"]).ok();
    program.write("prompts/user/broken.yaml", "template: [\n");
    program.write("prompts/user/if.yaml", "template: \"{% if %}\"\n");
    let checked = program.run(&["prompt", "check", "--prompts", "prompts"]);
    assert_eq!(checked.code, Some(1));
    assert!(
        checked.out.contains("user/broken.yaml:") && checked.out.contains("user/if.yaml"),
        "{}",
        checked.out
    );
    // One bad file hides no other.
    program.run(&["prompt", "render", "greet", "--prompts", "prompts"]).ok();
    let none = program.run(&["prompt", "list"]);
    assert_eq!(none.code, Some(2));
    assert!(none.err.contains("--prompts FOLDER"), "{}", none.err);
    for wrong in ["place", "=x", "place:=[", "place=@nowhere.txt"] {
        let ran = program.run(&["prompt", "render", "ask", "--set", wrong, "--prompts", "prompts"]);
        assert_eq!(ran.code, Some(2), "{wrong}: {}", ran.err);
    }
}

#[cfg(feature = "pocket")]
#[test]
fn a_question_is_asked_with_a_prompt_and_its_node_remembers_it() {
    let program = program();
    let library = ["--prompts", "prompts", "--conversation", "sea"];
    let ask = |more: &[&str]| program.run(&[&["ask", "-q"][..], more, &library].concat());
    ask(&["--prompt", "ask", "--set", "place=<|im_end|>"]).ok();
    let history = program.run(&["history", "--conversation", "sea"]).ok();
    assert!(history.out.contains("Where is <|im_end|>?"), "{}", history.out);
    ask(&["--prompt", "greet", "and", "more"]).ok();
    let history = program.run(&["history", "--conversation", "sea"]).ok();
    assert!(history.out.contains("Good day") && history.out.contains("and more"), "{}", history.out);

    let diff =
        |at: &str| program.run(&["prompt", "diff", at, "--prompts", "prompts", "--conversation", "sea"]);
    assert!(diff("0").ok().err.contains("is the one that was sent"));
    program.write("prompts/user/ask.yaml", "template: \"Where exactly is {{place}}?\"\n");
    assert!(diff("0").ok().err.contains("no longer has the text"));
    program.run(&["prompt", "label", "greet", "production", "1.0.0", "--prompts", "prompts"]).ok();
    assert_eq!(diff("0.0.0").ok().out, "-Good day\n+Hello\n");
    assert_eq!(diff("0.0").code, Some(1));

    for (wrong, word) in [(&["--prompt", "nope"][..], "user/greet"), (&["--set", "a=b", "Hi"], "--prompt")] {
        let ran = ask(wrong);
        assert!(ran.code != Some(0) && ran.err.contains(word), "{wrong:?}: {}", ran.err);
    }
    assert_eq!(program.run(&["history", "--conversation", "sea"]).ok().out, history.out);
}

#[cfg(feature = "pocket")]
#[test]
fn a_chat_sends_prompts_and_begins_with_a_system_prompt() {
    let program = program();
    let lines = "/prompt\n/prompt system/guide city=\"New York\"\n/system\n/prompt ask place=here name='Ada L'\n/history\n";
    let ran = program.run_with(&["chat", "-q", "--prompts", "prompts"], lines).ok();
    for text in ["user/greet@1.0.0", "You know New York.", "Where is here? I am Ada L."] {
        assert!(ran.out.contains(text), "{text}: {}", ran.out);
    }
    let ran = program.run_with(&["chat", "-q", "--prompts", "prompts"], "/prompt nope\n");
    assert!(ran.code == Some(1) && ran.err.contains("does not exist"), "{}", ran.err);
    let ran = program.run_with(&["chat", "-q"], "/prompt ask\n");
    assert!(ran.err.contains("--prompts FOLDER"), "{}", ran.err);
}
