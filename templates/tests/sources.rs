//! Which template a model gets, from which of its files.

// Helpers of tests count as tests.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr)]

use std::path::Path;

use alloquy_core::ErrorKind;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::template::{PromptTemplate, TemplateInput};
use alloquy_core::tokenizer::SpecialToken;
use alloquy_templates::sources::find;
use alloquy_templates::{
    Detected, Dialect, JinjaTemplate, JinjaTemplateBuilder, TemplateOrigin, detect, detect_with,
    special_tokens,
};
use serde_json::{Value, json};

fn model(files: &[(&str, &str)]) -> ModelInfo {
    let mut model = ModelInfo::default();
    model.name = "tea".to_owned();
    model.bos = Some(SpecialToken { text: "<s>".to_owned(), id: 1 });
    model.files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    model
}

fn hello() -> TemplateInput {
    TemplateInput { messages: vec![json!({"role": "user", "content": "Hello"})], ..TemplateInput::default() }
}

const JINJA: (&str, &str) = ("chat_template.jinja", "jinja");
const ADDITIONAL: (&str, &str) = ("additional_chat_templates/tool_use.jinja", "additional tools");
const CONFIG: (&str, &str) = ("tokenizer_config.json", r#"{"chat_template": "config"}"#);
const NAMED: (&str, &str) = (
    "tokenizer_config.json",
    r#"{"chat_template": [{"name": "default", "template": "named"}, {"name": "tool_use", "template": "named tools"}, {"name": "rag", "template": "named rag"}]}"#,
);
const PROCESSOR: (&str, &str) = ("chat_template.json", r#"{"chat_template": "processor"}"#);

/// A model from a folder of its files; its tokens are those of Llama.
fn folder(path: &Path) -> ModelInfo {
    let mut model = model(&[]);
    for file in path.read_dir().unwrap().map(|file| file.unwrap().path()) {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        model.files.insert(name, std::fs::read_to_string(file).unwrap());
    }
    model.specials = vec![SpecialToken { text: "<s>".to_owned(), id: 1 }];
    model
}

/// What was found, where, and what a prompt looks like.
fn described(detected: &Detected) -> String {
    let passed_over: Vec<_> = detected.passed_over.iter().map(ToString::to_string).collect();
    let warnings: Vec<_> = detected.warnings.iter().map(ToString::to_string).collect();
    let measured = detected.capabilities.as_ref().map(|can| (can.string_content, can.system));
    format!(
        "from {}\npassed over {passed_over:?}\nstops at {:?}\nwarnings {warnings:#?}\nprints texts, and system messages: {measured:?}\n{:?}",
        detected.origin,
        detected.stop,
        detected.template.render(&hello()).unwrap()
    )
}

#[test]
fn folders_of_models() {
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models");
    let mut folders: Vec<_> = folders.read_dir().unwrap().map(|folder| folder.unwrap().path()).collect();
    folders.sort();
    for path in folders {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let outcome = match detect(&folder(&path)) {
            Ok(detected) => described(&detected),
            Err(error) => format!("{:?}: {error}", error.kind()),
        };
        insta::assert_snapshot!(format!("folder_{name}"), outcome);
    }
}

#[test]
fn a_jinja_template_is_made_as_the_caller_says() {
    let model = model(&[("chat_template.jinja", "{{ none is none }} {{ tools is defined }}"), ADDITIONAL]);
    let litert = |builder: JinjaTemplateBuilder| builder.dialect(Dialect::LiteRtLm);
    let detected = detect_with(&model, litert).unwrap();
    assert_eq!(detected.template.render(&hello()).unwrap(), "false false");
    assert_eq!(detect(&model).unwrap().template.render(&hello()).unwrap(), "True True");
    for builder in [JinjaTemplate::builder_of(&model), JinjaTemplate::builder_named(&model, "default")] {
        let template = litert(builder.unwrap()).build().unwrap();
        assert_eq!(template.render(&hello()).unwrap(), "false false");
    }
}

#[test]
fn the_first_place_that_has_one_counts() {
    for (files, origin, default, tools) in [
        (
            vec![JINJA, ADDITIONAL, CONFIG, PROCESSOR],
            TemplateOrigin::ChatTemplateJinja,
            "jinja",
            "additional tools",
        ),
        (vec![JINJA, CONFIG, PROCESSOR], TemplateOrigin::ChatTemplateJinja, "jinja", "jinja"),
        (vec![NAMED, PROCESSOR], TemplateOrigin::TokenizerConfig, "named", "named tools"),
        (vec![CONFIG, PROCESSOR], TemplateOrigin::TokenizerConfig, "config", "config"),
        (vec![PROCESSOR], TemplateOrigin::ChatTemplateJson, "processor", "processor"),
        (
            vec![("tokenizer_config.json", "{}"), PROCESSOR],
            TemplateOrigin::ChatTemplateJson,
            "processor",
            "processor",
        ),
        (
            vec![("additional_chat_templates/default.jinja", "alone")],
            TemplateOrigin::AdditionalTemplates,
            "alone",
            "alone",
        ),
    ] {
        let detected = detect(&model(&files)).unwrap();
        assert_eq!(detected.origin, origin);
        assert_eq!(detected.template.render(&hello()).unwrap(), default);
        let with_tools = TemplateInput { tools: Some(vec![]), ..hello() };
        assert_eq!(detected.template.render(&with_tools).unwrap(), tools);
    }
}

#[test]
fn all_names_are_told() {
    let source = find(&model(&[NAMED])).unwrap().unwrap();
    assert_eq!(source.names, ["default", "rag", "tool_use"]);
}

#[test]
fn a_template_is_chosen_by_its_name() {
    let model = model(&[NAMED]);
    for (name, expected) in [("rag", "named rag"), ("default", "named"), ("tool_use", "named tools")] {
        assert_eq!(JinjaTemplate::named(&model, name).unwrap().render(&hello()).unwrap(), expected);
    }
    let error = JinjaTemplate::named(&model, "chat").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    insta::assert_snapshot!(error, @r#"no chat template is called "chat", there are ["default", "rag", "tool_use"]"#);
}

#[test]
fn a_model_without_a_template_continues_text() {
    let config = |class: &str| format!(r#"{{"tokenizer_class": "{class}"}}"#);
    for (config, expected) in [
        ("{}".to_owned(), "Hello"),
        (config("LlamaTokenizerFast"), "<s>Hello"),
        (config("GPT2Tokenizer"), "Hello"),
        (r#"{"tokenizer_class": "LlamaTokenizer", "add_bos_token": false}"#.to_owned(), "Hello"),
        (r#"{"tokenizer_class": "GPT2Tokenizer", "add_bos_token": true}"#.to_owned(), "<s>Hello"),
    ] {
        let detected = detect(&model(&[("tokenizer_config.json", &config)])).unwrap();
        assert_eq!(detected.origin, TemplateOrigin::Completion);
        assert_eq!(detected.template.render(&hello()).unwrap(), expected, "{config}");
    }
}

#[test]
fn a_text_model_has_no_place_for_tools() {
    let template = detect(&ModelInfo::default()).unwrap().template;
    let mut input = hello();
    input.messages.push(json!({"role": "assistant", "content": [{"type": "text", "text": ", you"}]}));
    assert_eq!(template.render(&input).unwrap(), "Hello, you");
    input.tools = Some(vec![json!({})]);
    let error = template.render(&input).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    insta::assert_snapshot!(error, @"a plain text prompt has no place for tools");
    let calls = json!({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "now"}}]});
    let input = TemplateInput { messages: vec![calls], ..TemplateInput::default() };
    insta::assert_snapshot!(template.render(&input).unwrap_err(), @"a plain text prompt has no place for tool calls");
}

#[test]
fn files_that_make_no_sense_are_errors() {
    let error = |file, text| detect(&model(&[(file, text)])).unwrap_err();
    insta::assert_snapshot!(JinjaTemplate::of(&model(&[])).unwrap_err(), @r#"model "tea" has no chat template, looked in chat_template.jinja, additional_chat_templates/*.jinja, tokenizer_config.json, chat_template.json"#);
    insta::assert_snapshot!(error("tokenizer_config.json", "{"), @r#"tokenizer_config.json of model "tea" is not valid JSON"#);
    insta::assert_snapshot!(error("tokenizer_config.json", r#"{"chat_template": 1}"#), @"chat_template of tokenizer_config.json holds 1, neither a text nor a list of {name, template}");
    insta::assert_snapshot!(error("tokenizer_config.json", r#"{"chat_template": [{"name": "rag", "template": ""}]}"#), @r#"none of the chat templates in tokenizer_config.json is called "default", there are ["rag"]"#);
    insta::assert_snapshot!(error("additional_chat_templates/rag.jinja", ""), @r#"none of the chat templates in additional_chat_templates/ is called "default", there are ["rag"]"#);
    insta::assert_snapshot!(error("chat_template.jinja", "{% if %}"), @"line 1 of the chat template: syntax error: unexpected end of block");
}

#[test]
fn special_tokens_come_from_the_tokenizers_files() {
    let config = json!({
        "bos_token": {"content": "<bos>", "lstrip": false},
        "eos_token": "<eos>",
        "unk_token": null,
        "image_token": "<image>",
        "add_bos_token": true,
        "extra_special_tokens": {"audio_token": "<audio>"},
    });
    let map = json!({"eos_token": "<other>", "unk_token": "<unk>", "pad_token": {"content": "<pad>"}});
    let files = [("tokenizer_config.json", config.to_string()), ("special_tokens_map.json", map.to_string())];
    let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
    insta::assert_json_snapshot!(Value::from(special_tokens(&model(&files)).unwrap()), @r#"
    {
      "bos_token": "<bos>",
      "eos_token": "<eos>",
      "image_token": "<image>",
      "audio_token": "<audio>",
      "pad_token": "<pad>"
    }
    "#);
    assert_eq!(Value::from(special_tokens(&model(&[])).unwrap()), json!({"bos_token": "<s>"}));
    assert_eq!(Value::from(special_tokens(&model(&[CONFIG])).unwrap()), json!({}));
}

/// `additional_special_tokens` as a template of transformers 4.57 sees it.
#[allow(clippy::needless_pass_by_value, reason = "made for the call")]
fn additional(dialect: Dialect, config: Value, map: Value) -> String {
    let mut config = config;
    config["chat_template"] = "{{ messages[0].content }} {{ additional_special_tokens }}".into();
    let files = [("tokenizer_config.json", config.to_string()), ("special_tokens_map.json", map.to_string())];
    let model = model(&files.each_ref().map(|(name, text)| (*name, text.as_str())));
    let template = JinjaTemplate::builder_of(&model).unwrap().dialect(dialect).build().unwrap();
    template.render(&hello()).unwrap()
}

#[test]
fn special_tokens_without_a_name_are_a_list_in_transformers_4() {
    let listed = json!({"additional_special_tokens": ["<a>", {"content": "<b>"}]});
    let more = json!({"additional_special_tokens": ["<b>", "<c>"]});
    let four = |config: &Value| additional(Dialect::HuggingFace4, config.clone(), more.clone());
    assert_eq!(four(&listed), "Hello ['<a>', '<b>', '<c>']");
    let mut decoded = listed.clone();
    decoded["added_tokens_decoder"] = json!({});
    assert_eq!(four(&decoded), "Hello ['<a>', '<b>']");
    assert_eq!(four(&json!({"additional_special_tokens": null})), "Hello ['<b>', '<c>']");
    assert_eq!(
        additional(Dialect::HuggingFace4, json!({"additional_special_tokens": []}), json!({})),
        "Hello "
    );
    assert_eq!(additional(Dialect::HuggingFace5, listed, more), "Hello ");
}
