//! `mlc-chat-config.json` files of all ages: each fixture is read whole.

// Helpers of tests count as tests.
#![allow(clippy::unwrap_used)]

use alloquy_core::model_info::ModelInfo;
use alloquy_core::template::{PromptTemplate, TemplateInput};
use alloquy_core::tokenizer::SpecialToken;
use alloquy_templates::mlc::{ChatConfig, MLC_CHAT_CONFIG};
use serde_json::json;

#[test]
fn fixtures() {
    insta::glob!("fixtures/mlc/*.json", |path| {
        let json = std::fs::read_to_string(path).unwrap();
        insta::assert_snapshot!(match ChatConfig::from_json(&json) {
            Ok(config) => described(config),
            Err(error) => format!("{:?}: {error}", error.kind()),
        });
    });
}

/// What a file says, its template by the prompt it gives.
fn described(mut config: ChatConfig) -> String {
    let warnings: Vec<_> = config.warnings.drain(..).map(|warning| format!("warning: {warning}\n")).collect();
    let prompt = config.template.take().map(|template| {
        let template = template.with_prefix("").with_bos("");
        let mut input = TemplateInput::default();
        input.messages.push(json!({"role": "user", "content": "Hello"}));
        format!(
            "{} template {:?}, stops at {:?}: {:?}\n",
            template.generation(),
            template.name(),
            template.stop_tokens(),
            template.render(&input).unwrap()
        )
    });
    format!("{}{}{config:#?}", warnings.concat(), prompt.unwrap_or_default())
}

#[test]
fn a_model_may_bring_the_file() {
    let mut model = ModelInfo::default();
    assert_eq!(ChatConfig::of(&model).unwrap(), None);
    model.files.insert(MLC_CHAT_CONFIG.to_owned(), r#"{"conv_template": "vicuna_v1.1"}"#.to_owned());
    insta::assert_snapshot!(ChatConfig::of(&model).unwrap_err(), @r#"conversation template "vicuna_v1.1" needs a BOS, which the model does not have"#);
    model.bos = Some(SpecialToken { id: 1, text: "<s>".to_owned() });
    let template = ChatConfig::of(&model).unwrap().unwrap().template.unwrap();
    assert!(template.render(&TemplateInput::default()).unwrap().starts_with("<s>A chat"));
}
