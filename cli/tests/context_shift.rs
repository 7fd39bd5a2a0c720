//! Models that are described as MLC describes them: what is recommended, what ends an answer, and conversations that
//! outgrow the context, under each of the policies for it.
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
        let warnings = done["warnings"].as_array().unwrap();
        warnings.iter().find_map(|one| one["history_shifted"]["dropped"].as_u64()).unwrap_or(0)
    })
    .collect()
}

#[test]
fn a_description_of_the_time_turns_it_on() {
    let program = Program::new();
    let Some(model) = described(&program, &legacy()) else { return };
    let model = ["--model", model.to_str().unwrap()];
    let shown = program.run(&["config", "show", "--json", model[0], model[1]]).ok().events().remove(0);
    assert_eq!(shown["settings"]["context-policy"], json!({"value": "shift", "origin": "model"}));
    assert_eq!(shown["settings"]["template"]["value"], "mlc-chat-config.json");

    let shifted = dropped(&program, &model);
    assert!(shifted.is_sorted() && shifted[0] == 0 && shifted[4] > 0, "{shifted:?}");
    assert_eq!(dropped(&program, &[model[0], model[1], "--context-policy", "error"]), [0; 5]);
    let rendered = |more: &[&str]| program.run(&[&["render", "-c"], &model[..], more].concat()).ok().out;
    assert!(rendered(&["--context-policy", "error"]).starts_with(&format!("{FRONT}A: one question\nB: ")));
}

#[test]
fn a_description_of_today_leaves_it_to_the_flag() {
    let program = Program::new();
    let Some(model) = described(&program, &current()) else { return };
    let model = ["--model", model.to_str().unwrap()];
    let shown = program.run(&["config", "show", "--json", model[0], model[1]]).ok().events().remove(0);
    assert_eq!(shown["settings"]["context-policy"], json!({"value": "error", "origin": "default"}));
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
    let program = Program::new().variable("ALLOQUY_CONTEXT_POLICY", "shift");
    let shown = program.run(&["config", "show", "--json"]).ok().events().remove(0);
    assert_eq!(shown["settings"]["context-policy"], json!({"value": "shift", "origin": "environment"}));
    let ran = program.run(&["config", "show", "--context-policy", "maybe"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("[possible values: error, drop, shift, summarise]"), "{}", ran.err);
}

#[test]
fn a_configuration_file_may_have_the_former_name() {
    let program = Program::new().variable("ALLOQUY_CONFIG", "config.toml");
    for (file, policy) in [
        ("context-shift = \"on\"", "shift"),
        ("context-shift = \"off\"", "error"),
        ("context-shift = \"on\"\ncontext-policy = \"drop\"", "drop"),
    ] {
        program.write("config.toml", file);
        let shown = program.run(&["config", "show", "--json"]).ok().events().remove(0);
        assert_eq!(shown["settings"]["context-policy"], json!({"value": policy, "origin": "file"}), "{file}");
    }
    program.write("config.toml", "context-shift = true");
    let ran = program.run(&["config", "show"]);
    assert!(ran.out.contains("expected \"on\" or \"off\""), "{ran:?}");
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

/// The model with room for a few questions.
fn narrow(program: &Program) -> Option<PathBuf> {
    let model = described(program, &current())?;
    let path = model.join("genai_config.json");
    let mut config: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    config["model"]["context_length"] = json!(400);
    fs::write(path, config.to_string()).unwrap();
    Some(model)
}

/// What the answers say that was left out, in the order in which it was asked.
fn reported(program: &Program, arguments: &[&str]) -> Vec<Value> {
    let sampled = ["chat", "--json", "--max-tokens", "8", "--temperature", "0"];
    let ran = program.run_with(&[&sampled[..], arguments].concat(), &SCRIPT.repeat(4)).ok();
    let events = ran.events();
    let done = events.iter().filter(|event| event["event"] == "done");
    done.flat_map(|done| done["warnings"].as_array().unwrap().clone()).collect()
}

#[test]
fn each_policy_says_what_it_leaves_out() {
    let program = Program::new();
    let Some(model) = narrow(&program) else { return };
    let program = program.variable("ALLOQUY_MODEL", model);
    let dropped = reported(&program, &["--context-policy", "drop"]);
    let tokens = |reported: &Value| reported["history_shifted"]["tokens"].as_u64().unwrap();
    assert!(dropped.len() > 3 && dropped.iter().all(|reported| tokens(reported) > 0), "{dropped:?}");
    assert!(dropped.iter().map(tokens).is_sorted(), "a turn that was dropped comes back: {dropped:?}");
    assert_ne!(reported(&program, &["--context-policy", "shift"]), dropped);

    let summarised = reported(&program, &["--context-policy", "summarise"]);
    let of = |field: &str| {
        let fields = summarised.iter().filter_map(|reported| reported["history_summarized"].get(field));
        fields.filter_map(Value::as_u64).collect::<Vec<_>>()
    };
    assert!(of("summary").iter().all(|summary| *summary > 0) && !of("summary").is_empty(), "{summarised:?}");
    let made =
        summarised.iter().filter(|reported| reported["history_summarized"]["spent"].is_object()).count();
    assert!(made < of("summary").len(), "each answer made a summary of its own: {summarised:?}");
}

#[test]
fn without_a_policy_a_conversation_that_is_too_long_is_an_error_with_its_numbers() {
    let program = Program::new();
    let Some(model) = narrow(&program) else { return };
    let chat = ["chat", "--max-tokens", "8", "--temperature", "0", "--model", model.to_str().unwrap()];
    let ran = program.run_with(&[&chat[..], &["--context-policy", "error"]].concat(), &SCRIPT.repeat(6));
    assert_eq!(ran.code, Some(1));
    assert!(ran.errors()[0].contains("and the model's context 400: no room for a reply"), "{}", ran.err);
    let ran = program.run_with(&[&chat[..], &["--context-policy", "drop"]].concat(), &SCRIPT.repeat(6)).ok();
    assert!(ran.err.contains("a conversation of more than 400 tokens continues without its oldest turns"));
    assert!(ran.err.contains("(the model no longer sees 2 early messages of "), "{}", ran.err);
    let rendered =
        program.run(&["render", "-c", "--model", chat[6], "--context-policy", "drop", "Well?"]).ok();
    assert!(rendered.err.contains("(the model no longer sees "), "{}", rendered.err);
}

#[test]
fn a_flag_wins_over_the_variable() {
    let program = Program::new().variable("ALLOQUY_CONTEXT_POLICY", "drop");
    let shown = |arguments: &[&str]| {
        let shown = program.run(&[&["config", "show", "--json"], arguments].concat()).ok().events().remove(0);
        shown["settings"]["context-policy"].clone()
    };
    let said = |value: &str, origin: &str| json!({"value": value, "origin": origin});
    assert_eq!(shown(&[]), said("drop", "environment"));
    assert_eq!(shown(&["--context-policy", "summarize"]), said("summarise", "flag"));
    let model = narrow(&program);
    let Some(model) = model else { return };
    let chat = ["chat", "--max-tokens", "8", "--temperature", "0", "--model", model.to_str().unwrap()];
    let ran = program.run_with(&[&chat[..], &["--context-policy", "error"]].concat(), &SCRIPT.repeat(6));
    assert_eq!(ran.code, Some(1), "{}", ran.err);
}

#[test]
fn a_verbose_answer_says_how_long_it_took() {
    let program = Program::new();
    let Some(model) = narrow(&program) else { return };
    let ask = ["ask", "--max-tokens", "8", "--temperature", "0", "--model", model.to_str().unwrap(), "Hello"];
    let done = |more: &[&str]| {
        let ran = program.run(&[&ask[..], &["--json"], more].concat()).ok();
        ran.events().pop().unwrap()
    };
    assert!(done(&[]).get("timings").is_none(), "what differs between two runs is asked for");
    let timing = done(&["-v"])["timings"][0].clone();
    assert!(
        timing["prefill_rate"].as_f64().unwrap() > 0.0
            && timing["first_token_seconds"].as_f64().unwrap() > 0.0
    );
    let said = program.run(&[&ask[..], &["-v"]].concat()).ok().err;
    assert!(said.contains("\n(first token after ") && said.contains("/s, decode "), "{said}");
}
