//! A public template with its family and a tokenizer that has its control tokens.

use std::path::Path;
use std::sync::Arc;

use alloquy_core::model_info::ModelInfo;
use alloquy_core::processor::DataProcessor;
use alloquy_core::tokenizer::{SpecialToken, Tokenizer};
use alloquy_model_files::HuggingFaceTokenizer;
use alloquy_templates::{JinjaTemplate, NowSource, Polyfill};
use serde_json::{Value, json};

use crate::corpus::PublicTemplate;

/// Templates of different families, with the `model_type` that models of theirs have.
pub(crate) const TEMPLATES: [(&str, &str); 28] = [
    ("llamacpp--Qwen-Qwen3-0.6B", "qwen3"),
    ("llamacpp--Qwen-Qwen2.5-7B-Instruct", "qwen2"),
    ("llamacpp--Qwen3.5-4B", "qwen3_5"),
    ("xinf--QwQ-32B", "qwen2"),
    ("llamacpp--meta-llama-Llama-3.1-8B-Instruct", "llama"),
    ("vllm--tool_llama4_json", "llama4"),
    ("llamacpp--google-gemma-2-2b-it", "gemma2"),
    ("litertlm--google-gemma-3-1b-it", "gemma3"),
    ("llamacpp--google-gemma-4-31B-it", "gemma4"),
    ("vllm--tool_functiongemma", "gemma3_text"),
    ("llamacpp--mistralai-Mistral-Nemo-Instruct-2407", "mistral"),
    ("llamacpp--mistralai-Ministral-3-14B-Reasoning-2512", "ministral3"),
    ("llamacpp--deepseek-ai-DeepSeek-V3.1", "deepseek_v3"),
    ("llamacpp--openai-gpt-oss-120b", "gpt_oss"),
    ("litertlm--microsoft-Phi-4-mini-instruct", "phi3"),
    ("llamacpp--microsoft-Phi-3.5-mini-instruct", "phi3"),
    ("llamacpp--LFM2.5-8B-A1B", "lfm2_moe"),
    ("llamacpp--HuggingFaceTB-SmolLM3-3B", "smollm3"),
    ("llamacpp--openbmb-MiniCPM5-1B", "minicpm5"),
    ("llamacpptest--eachadea-vicuna-13b-1.1", "llama"),
    ("llamacpp--ibm-granite-granite-4.0", "granite"),
    ("llamacpp--GLM-4.6", "glm4_moe"),
    ("llamacpp--Kimi-K2-Instruct", "kimi_k2"),
    ("llamacpp--NVIDIA-Nemotron-Nano-v2", "nemotron_h"),
    ("llamacpp--ByteDance-Seed-OSS", "seed_oss"),
    ("llamacpp--NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "llama"),
    ("hf--allenai-OLMo-7B-0724-Instruct-hf", "olmo"),
    ("chujie--zephyr", "mistral"),
];

/// Vocabularies of three kinds; the templates take turns. The last one cannot write every character.
const VOCABULARIES: [&str; 3] = ["byte_level", "sentence_piece", "unigram"];

#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) slug: String,
    pub(crate) vocabulary: &'static str,
    pub(crate) template: Arc<JinjaTemplate>,
    pub(crate) processor: Arc<dyn DataProcessor>,
    pub(crate) tokenizer: HuggingFaceTokenizer,
    pub(crate) model: ModelInfo,
}

impl Setting {
    pub(crate) fn new(public: &PublicTemplate, model_type: &str, index: usize) -> Self {
        let now = jiff::civil::date(2026, 3, 4).at(15, 6, 7, 0);
        let template = JinjaTemplate::builder(public.source.clone()).variables(public.variables.clone());
        let template = template.clock(NowSource::Fixed(now)).polyfill(Polyfill::LeaveOut).build().unwrap();
        let vocabulary = VOCABULARIES[index % VOCABULARIES.len()];
        let tokenizer = tokenizer(vocabulary, &public.tokens);
        let model = model(public, model_type, &tokenizer);
        let processor = alloquy_processors::detect(&model).processor;
        let slug = public.slug.clone();
        let template = Arc::new(template);
        Self { slug, vocabulary, template, processor, tokenizer, model }
    }
}

/// The vocabulary, with the tokens that the template names added to it.
fn tokenizer(vocabulary: &str, named: &[String]) -> HuggingFaceTokenizer {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model-files/tests/fixtures/tokenizers");
    let text = std::fs::read_to_string(fixtures.join(format!("families_{vocabulary}.json"))).unwrap();
    let mut vocabulary: Value = serde_json::from_str(&text).unwrap();
    let added = vocabulary["added_tokens"].as_array_mut().unwrap();
    let next = added.iter().filter_map(|token| token["id"].as_u64()).max().unwrap() + 1;
    let new = named.iter().filter(|text| added.iter().all(|token| token["content"] != text.as_str()));
    let new: Vec<_> = (next..).zip(new).map(|(id, text)| added_token(id, text)).collect();
    added.extend(new);
    HuggingFaceTokenizer::from_json(vocabulary.to_string().as_bytes()).unwrap()
}

fn added_token(id: u64, text: &str) -> Value {
    json!({
        "id": id, "content": text, "special": text.contains(['|', '｜', '[']),
        "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
    })
}

fn model(public: &PublicTemplate, model_type: &str, tokenizer: &HuggingFaceTokenizer) -> ModelInfo {
    let mut model = ModelInfo::default();
    let token = |text: &String| tokenizer.token(text).map(|id| SpecialToken { text: text.clone(), id });
    model.name = public.slug.clone();
    model.model_type = Some(model_type.to_owned());
    model.files.insert("chat_template.jinja".to_owned(), public.source.clone());
    model.context_length = 1 << 20;
    model.specials = tokenizer.specials().to_vec();
    let largest = model.specials.iter().map(|special| special.id as usize + 1).max().unwrap_or(0);
    model.vocabulary = tokenizer.vocabulary().max(largest);
    model.normalizer = tokenizer.normalizer();
    model.bos = token(&public.tokens[0]);
    model.stop_tokens = token(&public.tokens[1]).into_iter().map(|special| special.id).collect();
    model
}
