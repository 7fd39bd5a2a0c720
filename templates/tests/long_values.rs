//! Whatever a template of 100,000 bytes, or one that says as much, is refused with is a sentence to be read.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use alloquy_core::Result;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::template::{PromptTemplate as _, TemplateInput};
use alloquy_templates::JinjaTemplate;
use serde_json::{Map, json};

fn rendered(source: String) -> Result<String> {
    let template = JinjaTemplate::from_source(source, Map::new())?;
    let messages = vec![json!({"role": "user", "content": "x".repeat(100_000)})];
    template.render(&TemplateInput { messages, ..TemplateInput::default() })
}

#[test]
fn every_refusal_of_a_long_value_is_short() {
    let long = "x".repeat(100_000);
    let mut model = ModelInfo::default();
    model
        .files
        .insert("tokenizer_config.json".to_owned(), json!({"chat_template": {"name": long}}).to_string());
    let errors = [
        rendered(format!("{{{{ raise_exception('{long}') }}}}")).unwrap_err(),
        rendered("{{ raise_exception(messages[0].content) }}".to_owned()).unwrap_err(),
        rendered(format!("{{{{ {long}() }}}}")).unwrap_err(),
        rendered(format!("{{% {long} %}}")).unwrap_err(),
        rendered(format!("{{{{ '' | {long} }}}}")).unwrap_err(),
        rendered(format!("{{% include '{long}' %}}")).unwrap_err(),
        rendered("{{ messages[0].content + 1 }}".to_owned()).unwrap_err(),
        JinjaTemplate::of(&model).unwrap_err(),
        JinjaTemplate::named(&model, &long).unwrap_err(),
    ];
    for error in errors {
        for sentence in [error.to_string(), format!("{error:#}")] {
            assert!(sentence.len() < 2000, "{} bytes: {sentence:.300}", sentence.len());
        }
    }
}
