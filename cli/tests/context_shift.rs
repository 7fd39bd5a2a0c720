//! Models that are described as MLC describes them: what is recommended, what ends an answer, and conversations that
//! outgrow the context.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use std::fs;
use std::path::PathBuf;

use program::Program;
use serde_json::{Value, json};

const MODEL: &str = "models/tiny/genai-qwen3-fp32";
/// What every prompt begins with: a token, the system text, an example.
const FRONT: &str = "<|im_start|>Be brief.\nA: Hi\nB: Hm.\n";
const SCRIPT: &str = "one question\ntwo questions\nthree questions\nfour questions\nfive questions\n";

/// A copy of a model without its template, described as MLC describes one.
fn described(program: &Program, description: &Value) -> Option<PathBuf> {
    let model = shared::find(MODEL)?;
    let copy = program.path("model");
    fs::create_dir(&copy).unwrap();
    for file in fs::read_dir(model).unwrap().map(|file| file.unwrap().path()) {
        let name = file.file_name().unwrap().to_owned();
        if name != "chat_template.jinja" {
            fs::copy(&file, copy.join(name)).unwrap();
        }
    }
    fs::write(copy.join("mlc-chat-config.json"), description.to_string()).unwrap();
    Some(copy)
}

fn legacy() -> Value {
    let config = json!({"system": "Be brief.", "roles": ["A", "B"], "seps": ["\n"], "stop_str": "A:",
        "messages": [["A", "Hi"], ["B", "Hm."]], "prefix_tokens": [4]});
    json!({"conv_config": config, "max_window_size": 150, "mean_gen_len": 16, "shift_fill_factor": 0.4})
}

fn current() -> Value {
    let roles = json!({"user": "A", "assistant": "B"});
    let template = json!({"system_message": "Be brief.\n", "roles": roles, "seps": ["\n"], "role_content_sep": ": ",
        "role_empty_sep": ":", "stop_str": ["A:"]});
    json!({"conv_template": template, "context_window_size": 128})
}

/// How many messages each answer went without.
fn dropped(program: &Program, arguments: &[&str]) -> Vec<u64> {
    let sampled = ["chat", "--json", "--max-tokens", "12", "--temperature", "0"];
    let ran = program.run_with(&[&sampled[..], arguments].concat(), SCRIPT).ok();
    let events = ran.events();
    let done = events.iter().filter(|event| event["event"] == "done");
    done.map(|done| {
        let degradations = done["degradations"].as_array().unwrap();
        degradations.iter().find_map(|one| one["history_shifted"]["dropped"].as_u64()).unwrap_or(0)
    })
    .collect()
}

#[test]
fn a_description_of_the_time_turns_it_on() {
    let program = Program::new();
    let Some(model) = described(&program, &legacy()) else { return };
    let model = ["--model", model.to_str().unwrap()];
    let shown = program.run(&["config", "show", "--json", model[0], model[1]]).ok().events().remove(0);
    assert_eq!(shown["settings"]["context-shift"], json!({"value": "on", "origin": "model"}));
    assert_eq!(shown["settings"]["template"]["value"], "mlc-chat-config.json");

    let shifted = dropped(&program, &model);
    assert!(shifted.is_sorted() && shifted[0] == 0 && shifted[4] > 0, "{shifted:?}");
    assert_eq!(dropped(&program, &[model[0], model[1], "--context-shift", "off"]), [0; 5]);
    let rendered = |more: &[&str]| program.run(&[&["render", "-c"], &model[..], more].concat()).ok().out;
    assert!(rendered(&["--context-shift", "off"]).starts_with(&format!("{FRONT}A: one question\nB: ")));
}

#[test]
fn a_description_of_today_leaves_it_to_the_flag() {
    let program = Program::new();
    let Some(model) = described(&program, &current()) else { return };
    let model = ["--model", model.to_str().unwrap()];
    let shown = program.run(&["config", "show", "--json", model[0], model[1]]).ok().events().remove(0);
    assert_eq!(shown["settings"]["context-shift"], json!({"value": "off", "origin": "default"}));
    assert_eq!(dropped(&program, &model), [0; 5]);

    let ran = program.run(&["render", model[0], model[1], "Hello"]).ok();
    assert_eq!(ran.out, "Be brief.\nA: Hello\nB:");
}

#[test]
fn what_the_description_recommends_is_taken() {
    let program = Program::new();
    let mut description = current();
    description["top_p"] = json!(0.5);
    description["repetition_penalty"] = json!(1.25);
    let Some(model) = described(&program, &description) else { return };
    let model = ["--model", model.to_str().unwrap()];
    let setting = |name: &str| {
        let shown = program.run(&["config", "show", "--json", model[0], model[1]]).ok().events().remove(0);
        shown["settings"][name].clone()
    };
    // The model's own generation_config.json comes first.
    assert_eq!(setting("top-p")["origin"], "default");
    fs::remove_file(program.path("model").join("generation_config.json")).ok();
    fs::write(program.path("model").join("genai_config.json"), without_search(&program)).unwrap();
    assert_eq!(setting("top-p"), json!({"value": 0.5, "origin": "model"}));
    assert_eq!(setting("penalty-scope"), json!({"value": "reply", "origin": "model"}));
}

/// The model's description without what it recommends.
fn without_search(program: &Program) -> String {
    let text = fs::read_to_string(program.path("model").join("genai_config.json")).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    config.as_object_mut().unwrap().remove("search");
    config.to_string()
}

#[test]
fn a_token_of_the_description_ends_an_answer() {
    let program = Program::new();
    let mut description = current();
    let Some(model) = described(&program, &description) else { return };
    let ask = ["ask", "--json", "--temperature", "0", "--max-tokens", "6", "--conversation", "a", "Hello"];
    let answer = || {
        let ran = program.run(&[&ask[..], &["--model", model.to_str().unwrap()]].concat()).ok();
        let tokens =
            ran.events().iter().filter_map(|event| event["node"]["tokens"].as_array().cloned()).next_back();
        (tokens.unwrap_or_default(), ran.events().last().unwrap()["finish"].clone())
    };
    let (tokens, finish) = answer();
    assert_eq!((tokens.len(), finish), (6, "length".into()));
    description["conv_template"]["stop_token_ids"] = json!([tokens[0]]);
    fs::write(model.join("mlc-chat-config.json"), description.to_string()).unwrap();
    assert_eq!(answer(), (vec![], "stop".into()));
}

#[test]
fn the_prompt_that_is_rendered_is_the_one_that_is_sent() {
    let program = Program::new();
    let Some(model) = described(&program, &legacy()) else { return };
    let model = ["--model", model.to_str().unwrap()];
    assert!(dropped(&program, &model)[4] > 0);
    let rendered =
        program.run(&[&["render", "-c"], &model[..], &["And a sixth question?"]].concat()).ok().out;
    assert!(rendered.starts_with(FRONT), "{rendered}");
    assert_eq!(rendered.matches("Be brief.").count(), 1);
    assert!(
        !rendered.contains("one question") && rendered.ends_with("A: And a sixth question?\nB:"),
        "{rendered}"
    );
}

#[test]
fn a_variable_turns_it_on_and_a_wrong_one_says_what_there_is() {
    let program = Program::new().variable("ALLOQUY_CONTEXT_SHIFT", "on");
    let shown = program.run(&["config", "show", "--json"]).ok().events().remove(0);
    assert_eq!(shown["settings"]["context-shift"], json!({"value": "on", "origin": "environment"}));
    let ran = program.run(&["config", "show", "--context-shift", "maybe"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("[possible values: on, off]"), "{}", ran.err);
}

#[test]
fn messages_of_any_dialect_are_rendered() {
    let program = Program::new();
    let Some(model) = described(&program, &current()) else { return };
    let program = program.variable("ALLOQUY_MODEL", model);
    let documents = [
        (
            "gemini",
            r#"{"systemInstruction": {"parts": [{"text": "Obey.\n"}]}, "contents": [{"parts": [{"text": "Hi"}]}]}"#,
        ),
        (
            "litert",
            r#"{"messages": [{"role": "system", "content": "Obey.\n"}, {"role": "user", "content": "Hi"}]}"#,
        ),
        ("openai", r#"[{"role": "developer", "content": "Obey.\n"}, {"role": "user", "content": "Hi"}]"#),
        (
            "aki",
            r#"[{"role": "system", "content": "Obey.\n"}, {"role": "user", "content": [{"text": "Hi"}]}]"#,
        ),
        ("chatml", "<|im_start|>system\nObey.\n<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"),
    ];
    for (dialect, document) in documents {
        let rendered = program.run_with(&["render", "--from", dialect], document).ok().out;
        assert_eq!(rendered, "Obey.\nA: Hi\nB:", "{dialect}");
    }
    assert_eq!(program.run_with(&["render"], documents[2].1).ok().out, "Obey.\nA: Hi\nB:");
}
