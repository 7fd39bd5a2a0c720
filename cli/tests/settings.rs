//! Which value wins, and what `config show`, `doctor` and `models` say of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod program;
mod shared;

use program::Program;
use serde_json::json;

const MODEL: &str = "models/tiny/genai-qwen3-fp32";

#[test]
fn flags_win_over_variables_over_the_file_over_the_model() {
    let Some(model) = shared::find(MODEL) else { return };
    let program = Program::new().variable("ALLOQUY_TOP_K", "40").variable("ALLOQUY_MODEL", model);
    let file = program.write("config.toml", "top-k = 10\ntop-p = 0.5\nseed = 3\nstop = [\"USER:\"]\n");
    let arguments = ["config", "show", "--config", file.to_str().unwrap(), "--top-p", "0.9"];
    let text = program.run(&[&arguments[..], &["--all"]].concat()).ok().out;
    insta::assert_snapshot!(program.redacted(&text));
    let set = program.run(&arguments).ok().out;
    assert!(text.contains("\nresume-quota ") && !set.contains("\nresume-quota "), "{set}");
    assert!(set.contains("others have their defaults; --all shows them"), "{set}");
    let shown = program.run(&[&arguments[..], &["--json"]].concat()).ok().events().remove(0);
    let of = |name: &str| shown["settings"][name].clone();
    assert_eq!(of("top-p"), json!({"value": 0.9, "origin": "flag"}));
    assert_eq!(of("top-k"), json!({"value": 40, "origin": "environment"}));
    assert_eq!(of("seed"), json!({"value": 3, "origin": "file"}));
    assert_eq!(of("temperature")["origin"], "model");
    assert_eq!(of("max-tokens"), json!({"value": null, "origin": "default"}));
}

#[test]
fn switches_are_variables_as_people_write_them() {
    for name in ["ALLOQUY_JSON", "ALLOQUY_QUIET", "ALLOQUY_VERBOSE", "ALLOQUY_NO_HISTORY"] {
        for value in ["0", "1"] {
            let ran = Program::new().variable(name, value).run(&["config", "show"]).ok();
            assert_eq!(ran.out.starts_with('{'), (name, value) == ("ALLOQUY_JSON", "1"), "{name}={value}");
        }
    }
}

#[test]
fn settings_are_shown_where_they_are_wrong_too() {
    let program = Program::new();
    program.write(
        "config.toml",
        "model = \"/nope\"\ntemperature = 0.5\ntop-k = \"many\"\ntemprature = 1\n[aliases]\nx = 3\nmine = \"/models/a\"\n",
    );
    let arguments = ["--config", "config.toml", "config", "show"];
    let ran = program.run(&arguments);
    assert_eq!(ran.code, Some(1));
    insta::assert_snapshot!(program.redacted(&ran.out));
    let shown = program.run(&[&arguments[..], &["--json"]].concat()).events().remove(0);
    assert_eq!(shown["problem"], "model folder \"/nope\" does not exist");
    assert_eq!(shown["problems"].as_array().unwrap().len(), 4, "{shown}");
    assert_eq!(shown["aliases"], json!({"mine": "/models/a"}));
    // A file that is no TOML is wrong as a whole, and what flags and variables set is still shown.
    program.write("config.toml", "model = \n");
    let ran = program.run(&[&arguments[..], &["--top-k", "3"]].concat());
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.out.contains("→ line 1: ") && ran.out.contains("top-k                flag        3\n"),
        "{}",
        ran.out
    );
    let doctor = program.run(&["doctor", "--config", "config.toml"]);
    assert!(doctor.code == Some(1) && doctor.out.starts_with("problem  configuration "), "{}", doctor.out);
    assert_eq!(program.run(&["config", "show", "--json"]).ok().events().remove(0)["problems"], json!([]));
    // The built-in model has values of its own, by its name and without one.
    if cfg!(feature = "pocket") {
        for arguments in
            [&["config", "show", "--json"][..], &["config", "show", "--json", "--model", "pocket"]]
        {
            let shown = program.run(arguments).ok().events().remove(0);
            assert_eq!(shown["settings"]["family"]["origin"], "model");
        }
    }
}

#[test]
fn a_model_has_a_short_name_and_can_be_the_default() {
    let Some(model) = shared::find(MODEL) else { return };
    let program = Program::new();
    let folder = program.path("alloquy");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), "# mine\nseed = 3 # fixed\n").unwrap();
    let path = model.to_str().unwrap();
    program.run(&["models", "alias", "tiny", path]).ok();
    program.run(&["models", "alias", "later", "owner/name:q4"]).ok();
    program.run(&["models", "default", "tiny"]).ok();
    let file = std::fs::read_to_string(folder.join("config.toml")).unwrap();
    assert!(file.starts_with("# mine\nseed = 3 # fixed\nmodel = \"tiny\"\n"), "{file}");
    // By default, by its short name, and where a short name is of another model.
    for arguments in [&["render", "Hi"][..], &["render", "--model", "tiny", "Hi"]] {
        assert!(program.run(arguments).ok().out.contains("Hi"), "{arguments:?}");
    }
    let described = |name: &str| program.run(&["models", "show", name, "--json"]).ok().events().remove(0);
    assert_eq!(described("tiny")["path"], path);
    let absent = program.run(&["ask", "--model", "later", "Hi"]);
    assert!(
        absent.code == Some(1) && absent.err.contains("`alloquy pull owner/name:q4` fetches it"),
        "{absent:?}"
    );
    let listed = program.run(&["models", "--json"]).ok().events().remove(0);
    assert_eq!(listed["aliases"], json!({"later": "owner/name:q4", "tiny": path}));
    assert_eq!(listed["default"], "tiny");
    assert_eq!(program.run(&["models", "default"]).ok().out, "tiny\n");
    program.run(&["models", "alias", "later", "--remove"]).ok();
    assert_eq!(program.run(&["models", "alias"]).ok().out, format!("tiny = {path}\n"));
    for (arguments, code) in [
        (&["models", "alias", "a/b", "c"][..], 2),
        (&["models", "alias", "pocket", "c"], 2),
        (&["models", "alias", "new"], 2),
        (&["models", "alias", "later", "--remove"], 1),
    ] {
        assert_eq!(program.run(arguments).code, Some(code), "{arguments:?}");
    }
}

#[test]
fn the_file_at_its_usual_place_is_read() {
    let program = Program::new();
    let folder = program.path("alloquy");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), "system = \"Be brief.\"\n").unwrap();
    let shown = program.run(&["config", "show", "--json"]).ok().events().remove(0);
    assert_eq!(shown["settings"]["system"], json!({"value": "Be brief.", "origin": "file"}));
}

#[test]
fn every_key_of_a_released_configuration_file_is_read() {
    let kept = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/0.1");
    let expected = std::fs::read_to_string(kept.join("config.json")).unwrap();
    let expected: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&expected).unwrap();
    let file = kept.join("config.toml");
    let arguments = ["--config", file.to_str().unwrap(), "config", "show", "--json"];
    // Its keys are to win over nothing that this test sets.
    let shown = Program::new().run_without_a_store(&arguments).events().remove(0);
    // Nothing is wrong but its model, which is not on this machine.
    let problems = shown["problems"].as_array().unwrap();
    assert!(problems.len() == 1 && problems[0]["key"] == "model", "{problems:?}");
    // The former name of context-policy, which the file has too.
    let expected = expected.into_iter().filter(|(key, _)| key != "context-shift");
    for (key, value) in expected {
        assert_eq!(shown["settings"][&key], json!({"value": value, "origin": "file"}), "{key}");
    }
}

#[test]
fn settings_reach_the_model() {
    let Some(model) = shared::find(MODEL) else { return };
    let program = Program::new();
    let file = format!("model = {:?}\nsystem = \"Be brief.\"\n", model.display().to_string());
    let program = program.variable("ALLOQUY_CONFIG", "config.toml");
    program.write("config.toml", &file);
    let rendered = program.run(&["render", "Hello"]).ok().out;
    assert_eq!(
        rendered,
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    );
    let messages = r#"[{"role": "user", "content": "<|im_end|>"}, {"role": "assistant", "content": "Hm."}]"#;
    let parts = program.run_with(&["render", "--show", "parts", "--system", "Obey."], messages).ok().out;
    insta::assert_snapshot!(parts);
    let ids = program.run(&["render", "--show", "ids", "Hello"]).ok().out;
    let json = program.run(&["render", "--json", "Hello"]).ok().events().remove(0);
    let numbers: Vec<_> = ids.split_whitespace().map(|id| id.parse::<u64>().unwrap()).collect();
    assert_eq!((json!(numbers), json!(rendered)), (json["ids"].clone(), json["text"].clone()));
}

#[test]
fn a_template_file_stands_in_for_the_models_own() {
    let Some(model) = shared::find(MODEL) else { return };
    let program = Program::new().variable("ALLOQUY_MODEL", model);
    program.write(
        "mine.jinja",
        "{% for message in messages %}<{{ message.role }}> {{ message.content }}\n{% endfor %}",
    );
    let rendered = program.run(&["render", "--template", "mine.jinja", "Hello"]).ok().out;
    assert_eq!(rendered, "<user> Hello\n");
}

#[test]
fn models_are_listed_with_what_they_are() {
    let Some(models) = shared::find("models") else { return };
    let program = Program::new();
    let folders =
        [models.join("stories260k"), models.join("tiny/genai-qwen3-fp32"), models.join("tiny/tjs-qwen3-vl")];
    std::fs::create_dir_all(program.path("broken")).unwrap();
    for name in ["model.onnx", "tokenizer.json", "config.json"] {
        std::fs::write(program.path("broken").join(name), "{").unwrap();
    }
    let mut arguments: Vec<_> = folders.iter().map(|folder| folder.to_str().unwrap()).collect();
    arguments.extend([".", "--json"]);
    arguments.insert(0, "models");
    insta::assert_snapshot!(program.redacted(&program.run(&arguments).ok().out));
}

#[test]
fn a_hugging_face_cache_is_looked_into() {
    let Some(model) = shared::find("models/stories260k") else { return };
    let program = Program::new();
    let repository = program.path("hub").join("models--karpathy--stories260k");
    let snapshot = repository.join("snapshots").join("abc");
    std::fs::create_dir_all(&snapshot).unwrap();
    std::fs::create_dir_all(repository.join("blobs")).unwrap();
    for name in ["config.json", "genai_config.json", "tokenizer.json", "model.onnx"] {
        std::fs::copy(model.join(name), snapshot.join(name)).unwrap();
    }
    let program = program.variable("HF_HUB_CACHE", "hub");
    let shown = program.run(&["models", "--json"]).ok().events().remove(0);
    assert_eq!(shown["models"][1]["name"], "karpathy/stories260k");
}

#[test]
fn the_doctor_finds_everything_in_place_or_says_what_to_do() {
    let Some(model) = shared::find(MODEL) else { return };
    let program = Program::new().variable("ALLOQUY_MODEL", model);
    let well = program.run(&["doctor", "--json"]).ok().events().remove(0);
    let checks = well["checks"].as_array().unwrap();
    assert!(checks.len() == 4 && checks.iter().all(|check| check["ok"] == true), "{well}");
    program.write("text.so", "no library");
    let program =
        program.variable("ORT_DYLIB_PATH", "text.so").variable("ALLOQUY_STORE", "sqlite:text.so/store.db");
    let ill = program.run(&["doctor"]);
    assert_eq!(ill.code, Some(1));
    insta::assert_snapshot!(program.redacted(&ill.out));
}
