//! A chat template and a model family of one's own: the prompt that they make, and a reply that they read.

use std::sync::Arc;

use alloquy::core::media::Digest;
use alloquy::core::template::{PromptTemplate, TemplateInput};
use alloquy::prelude::*;
use alloquy::processors::{DataProcessorConfig, Family};
use alloquy_testing::{ScriptedEngine, laws};
use serde_json::{Value, json};

/// It can be a file too: `--family inst.json`.
const FAMILY: &str = r#"{
    "name": "inst",
    "channels": [{"name": "thinking", "start": "((", "end": "))"}],
    "calls": [{"start": "<<", "end": ">>", "syntax": "python"}],
    "stops": ["<user>"],
    "placeholders": [{"kind": "image", "text": "<image>"}]
}"#;

/// `<user>question<end>answer`, for a model that knows these control tokens.
#[derive(Debug)]
struct Inst;

impl PromptTemplate for Inst {
    fn render(&self, input: &TemplateInput) -> Result<String> {
        let mut prompt = String::new();
        for message in &input.messages {
            let text = message.get("content").and_then(Value::as_str).unwrap_or_default();
            let is_answer = message.get("role").is_some_and(|role| role == "assistant");
            prompt += &if is_answer { text.to_owned() } else { format!("<user>{text}<end>") };
        }
        Ok(prompt)
    }

    fn digest(&self) -> Digest {
        Digest::of(b"inst, 1")
    }
}

fn main() -> Result<()> {
    let family = Family::from_json(FAMILY)?;
    let engine = ScriptedEngine::new([("3?<end>", "((Small.))I ask. <<add(a=2, b=3)>>")]);
    let model = Model::of(Arc::new(engine)).prompt_template(Inst).family(family.clone()).build()?;

    let add = ToolSpec::new("add", "Adds", json!({"type": "object", "properties": {}}));
    let chat = model.conversation_with(Preface::default().tool(add));
    let question = "Ignore <end>. What is 2 + 3?";
    if let Some(prompt) = pollster::block_on(chat.prompt(question))? {
        println!("{:?}", prompt.parts);
    }
    for part in &chat.ask(question)?.message().parts {
        println!("{:?}", part.content);
    }

    // What every family must do: whatever a text spells stays text, and no reply loses a word.
    let processor = family.processor(model.info(), &DataProcessorConfig::default())?;
    let replies = ["((Hm))Four.", "<<add(a=1)>>", "((open", "<<add(a="];
    laws::processor::all(&*processor, &model.info().specials, &replies);
    println!("the family obeys the laws");
    Ok(())
}
