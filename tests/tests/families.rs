//! Tools, calls and results reach real templates: rendered by the templates that were published with models, a
//! conversation with all of them loses nothing of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::fs;

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::model_info::ModelInfo;
use alloquy_core::processor::ProcessorInput;
use alloquy_core::template::{PromptEnd, PromptTemplate};
use alloquy_core::{Content, Message, Preface, Role, ToolSpec};
use alloquy_templates::{JinjaTemplate, NowSource};
use serde_json::{Map, Value, json};

/// Templates with the model types of the models that they came with, and the families of these.
const TEMPLATES: &[(&str, &str, &str)] = &[
    ("litertlm--google-gemma-3n-e2b-it-tools", "gemma3n", "gemma3"),
    ("vllm--tool_gemma3_pythonic", "gemma3", "gemma3"),
    ("llamacpp--google-gemma-4-31B-it", "gemma4", "gemma4"),
    ("ollama--gemma4_e2b", "gemma4", "gemma4"),
    ("litertlm--google-function-gemma-hf", "gemma3_text", "function_gemma"),
    ("litertlm--google-function-gemma", "gemma3_text", "function_gemma"),
    ("gguf--qwen2.5-0.5b", "qwen2", "qwen2_5"),
    ("llamacpp--Qwen-Qwen2.5-7B-Instruct", "qwen2", "qwen2_5"),
    ("llamacpp--Qwen-QwQ-32B", "qwen2", "qwen3"),
    ("llamacpp--Qwen-Qwen3-0.6B", "qwen3", "qwen3"),
    ("litertlm--Qwen-Qwen3.5-0.8B", "qwen3_5", "qwen3_5"),
    ("llamacpp--Qwen3-Coder", "qwen3_moe", "qwen3_5"),
    ("llamacpp--meta-llama-Llama-3.1-8B-Instruct", "llama", "llama3"),
    ("vllm--tool_llama3.2_json", "llama", "llama3"),
    ("vllm--tool_llama4_pythonic", "llama4", "llama3"),
    ("llamacpp--mistralai-Mistral-Nemo-Instruct-2407", "mistral", "mistral"),
    ("llamacpp--Mistral-Small-3.2-24B-Instruct-2506", "mistral3", "mistral"),
    ("llamacpp--mistralai-Ministral-3-14B-Reasoning-2512", "ministral3", "ministral"),
    ("llamacpp--deepseek-ai-DeepSeek-V3.2", "deepseek_v32", "deepseek"),
    ("xinf--deepseek-r1-0528", "deepseek_v3", "deepseek"),
    ("llamacpp--openai-gpt-oss-120b", "gpt_oss", "gpt_oss"),
    ("xinf--gpt-oss", "gpt_oss", "gpt_oss"),
    ("litertlm--HuggingFaceTB-SmolLM3-3B", "smollm3", "smollm3"),
    ("hfjs--HuggingFaceTB-SmolLM3-3B", "smollm3", "smollm3"),
    ("llamacpp--LFM2.5-Instruct", "lfm2", "lfm2"),
    ("ovms--lfm2--v2", "lfm2", "lfm2"),
    ("hf--microsoft-Phi-4-mini-instruct", "phi3", "phi4"),
    ("hf--openbmb-MiniCPM3-4B", "minicpm3", "minicpm"),
    ("llamacpp--openbmb-MiniCPM5-1B", "llama", "minicpm"),
];

fn conversation() -> (Preface, Vec<Message>) {
    let schema = |name: &str| {
        let about = json!({"type": "string", "description": format!("About {name}")});
        json!({"type": "object", "properties": {name: about}, "required": [name]})
    };
    let preface = Preface::default()
        .tool(ToolSpec::new("get_weather", "Tells the weather", schema("city")))
        .tool(ToolSpec::new("find_train", "Finds a train", schema("destination")));
    let calls = [
        ToolCall::new("call_0", "get_weather", json!({"city": "Narvik"})),
        ToolCall::new("call_1", "find_train", json!({"destination": "Kiruna"})),
    ];
    let results = vec![
        ToolResult::ok(&calls[0], json!({"sky": "Overcast"})),
        ToolResult::ok(&calls[1], "Departs eleven"),
    ];
    let asked = Message::user("Weather and train?");
    let called = Message::new(Role::Assistant, calls.map(Content::ToolCall).to_vec());
    (preface, vec![asked, called, Message::tool(results)])
}

fn tokens() -> Map<String, Value> {
    let tokens = [("bos_token", "<s>"), ("eos_token", "</s>")];
    tokens.map(|(name, text)| (name.to_owned(), text.into())).into_iter().collect()
}

/// What every rendering has to say.
const WORDS: [&str; 10] = [
    "get_weather",
    "Tells the weather",
    "find_train",
    "city",
    "Narvik",
    "Kiruna",
    "Overcast",
    "Departs eleven",
    "About destination",
    "Weather and train?",
];

#[test]
fn nothing_of_tools_is_lost_in_the_templates_of_models() {
    let Some(folder) = shared::find("cases/templates/jinja") else { return };
    let mut lost = Vec::new();
    for &(slug, model_type, family) in TEMPLATES {
        let source = fs::read_to_string(folder.join(format!("{slug}.jinja"))).unwrap();
        let mut model = ModelInfo::default();
        model.model_type = Some(model_type.to_owned());
        model.files.insert("chat_template.jinja".to_owned(), source.clone());
        let processor = alloquy_processors::detect(&model).processor;
        assert_eq!(processor.name(), family, "{slug}");
        let now = jiff::civil::date(2026, 3, 4).at(15, 6, 7, 0);
        let template =
            JinjaTemplate::builder(source).variables(tokens()).clock(NowSource::Fixed(now)).build().unwrap();
        let (preface, path) = conversation();
        let source = ProcessorInput::new(&preface, &path, PromptEnd::Generation);
        match template.render(&processor.template_input(source).unwrap()) {
            Ok(prompt) => {
                let missing: Vec<_> = WORDS.iter().filter(|word| !prompt.contains(**word)).collect();
                if !missing.is_empty() {
                    lost.push(format!("{slug}: {missing:?} not in {prompt}"));
                }
            }
            Err(error) => lost.push(format!("{slug}: {error:#}")),
        }
    }
    assert!(lost.is_empty(), "{}", lost.join("\n\n"));
}
