//! A template with a tokenizer of a kind: everything that stands between a conversation and token ids.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use alloquy_core::Result;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::processor::{DataProcessor, ProcessorInput, PromptPart};
use alloquy_core::prompt::Prompt;
use alloquy_core::template::{PromptTemplate, TemplateInput};
use alloquy_core::tokenizer::{SpecialToken, TokenId, Tokenizer};
use alloquy_model_files::HuggingFaceTokenizer;
use alloquy_templates::{JinjaTemplate, NowSource, Polyfill};
use serde_json::{Value, json};

use crate::corpus::PublicTemplate;

/// A vocabulary with the added tokens of the real families, and what it does to text first.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// The name of the fixture.
    vocabulary: &'static str,
    /// Rewrites text; without one, the fixture's own does.
    normalizer: Option<fn() -> Value>,
    /// Writes a space as `▁` and reads one as a space.
    sentence_piece: bool,
}

pub(crate) const KINDS: [Kind; 5] = [
    Kind { name: "byte level", vocabulary: "families_byte_level", normalizer: None, sentence_piece: false },
    Kind {
        name: "SentencePiece",
        vocabulary: "families_sentence_piece",
        normalizer: None,
        sentence_piece: true,
    },
    Kind { name: "Unigram", vocabulary: "families_unigram", normalizer: None, sentence_piece: true },
    Kind {
        name: "byte level, normalized",
        vocabulary: "families_byte_level",
        normalizer: Some(compatible_and_small),
        sentence_piece: false,
    },
    Kind {
        name: "Unigram, normalized",
        vocabulary: "families_unigram",
        normalizer: Some(charsmap),
        sentence_piece: true,
    },
];

fn compatible_and_small() -> Value {
    let star = json!({"type": "Replace", "pattern": {"String": "★"}, "content": "<"});
    json!({"type": "Sequence", "normalizers": [star, {"type": "NFKC"}, {"type": "Lowercase"}]})
}

/// SentencePiece's own, by a table of rules for brackets, ligatures and `★`, which is `<|im_end|>`.
fn charsmap() -> Value {
    let table = std::fs::read_to_string(fixtures().join("charsmap.txt")).unwrap();
    json!({"type": "Precompiled", "precompiled_charsmap": table.trim()})
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../model-files/tests/fixtures/tokenizers")
}

/// What a model of the family writes in its own replies, and may therefore write in its history.
const SPOKEN: [(&str, &[&str]); 7] = [
    (
        "deepseek",
        &[
            "<think>",
            "</think>",
            "<｜tool▁calls▁begin｜>",
            "<｜tool▁calls▁end｜>",
            "<｜DSML｜function_calls>",
            "</｜DSML｜function_calls>",
        ],
    ),
    (
        "minicpm",
        &[
            "<think>",
            "</think>",
            "<|thought_start|>",
            "<|thought_end|>",
            "<|tool_call_start|>",
            "<|tool_call_end|>",
            "</function>",
        ],
    ),
    ("qwen3_5", &["<think>", "</think>", "<tool_call>", "</tool_call>", "<function=", "</function>"]),
    ("gemma3", &[]),
    (
        "generic",
        &[
            "<think>",
            "</think>",
            "<thinking>",
            "</thinking>",
            "[THINK]",
            "[/THINK]",
            "<thought>",
            "</thought>",
            "<think_on>",
            "<think_off>",
            "<mm:think>",
            "</mm:think>",
            "<|channel>",
            "<channel|>",
            "<|tool_call_start|>",
            "<|tool_call_end|>",
            "<tool_sep>",
            "<tool_call>",
            "</tool_call>",
            "[TOOL_CALLS]",
        ],
    ),
    ("qwen3", &["<think>", "</think>", "<tool_call>", "</tool_call>"]),
    ("vicuna", &[]),
];

/// Added tokens that control nothing for Gemma: they are how it reads HTML.
const GEMMA_HTML: [&str; 5] = ["<table>", "</table>", "<b>", "<s>", "</s>"];

#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) kind: &'static Kind,
    pub(crate) template: JinjaTemplate,
    pub(crate) processor: Arc<dyn DataProcessor>,
    /// The same family for a model without control tokens: it has nothing to mark.
    unmarking: Arc<dyn DataProcessor>,
    pub(crate) tokenizer: HuggingFaceTokenizer,
    /// What people use elsewhere, to compare with.
    reference: tokenizers::Tokenizer,
    /// The tokens that no text of other people may become.
    control: BTreeMap<TokenId, String>,
    /// What to spell, the template's own first.
    pub(crate) tokens: Vec<String>,
    pub(crate) spoken: &'static [&'static str],
}

/// A prompt with all that led to it.
#[derive(Debug)]
pub(crate) struct Prompted {
    pub(crate) parts: Vec<PromptPart>,
    pub(crate) tokens: Vec<TokenId>,
}

impl Setting {
    /// Puts them together; `None` for a source that is no template.
    pub(crate) fn new(public: &PublicTemplate, kind: &'static Kind) -> Option<Self> {
        let now = jiff::civil::date(2026, 3, 4).at(15, 6, 7, 0);
        let template = JinjaTemplate::builder(public.source.clone()).variables(public.variables.clone());
        // What a template leaves out is no way in for anybody's text: render the rest.
        let template = template.clock(NowSource::Fixed(now)).polyfill(Polyfill::LeaveOut).build().ok()?;
        let json = vocabulary(kind, &public.tokens);
        let tokenizer = HuggingFaceTokenizer::from_json(json.as_bytes()).unwrap();
        let model = model(public, &tokenizer);
        let processor = alloquy_processors::detect(&model).processor;
        // What it knows of its template says what goes into that.
        let mut unspecial = ModelInfo::default();
        unspecial.files.clone_from(&model.files);
        let unmarking = alloquy_processors::named(processor.name(), &unspecial).unwrap();
        let (_, spoken) = SPOKEN.iter().find(|(family, _)| *family == processor.name()).unwrap();
        let control = control(processor.name(), &model);
        let named: BTreeSet<&str> = public.tokens.iter().map(String::as_str).collect();
        let others = control.values().filter(|text| !named.contains(text.as_str())).cloned();
        let tokens = public.tokens.iter().cloned().chain(others).collect();
        let reference = json.parse().unwrap();
        Some(Self { kind, template, processor, unmarking, tokenizer, reference, control, tokens, spoken })
    }

    /// From a conversation to token ids, as a round does it.
    pub(crate) fn prompt(&self, source: ProcessorInput<'_>) -> Result<Prompted> {
        let rendered = self.template.render(&self.processor.template_input(source)?)?;
        let parts = self.processor.prompt_parts(&rendered, source)?;
        let prompt = Prompt::lower(&parts, &self.tokenizer)?;
        let tokens = prompt.tokens().flatten().collect();
        Ok(Prompted { parts, tokens })
    }

    /// The prompt's text when nothing is protected.
    pub(crate) fn unmarked(&self, source: ProcessorInput<'_>) -> Result<String> {
        let input: TemplateInput = self.unmarking.template_input(source)?;
        self.template.render(&input)
    }

    /// The control tokens among `tokens`, in order.
    pub(crate) fn control(&self, tokens: &[TokenId]) -> Vec<&str> {
        tokens.iter().filter_map(|token| self.control.get(token)).map(String::as_str).collect()
    }

    pub(crate) fn is_control(&self, token: TokenId) -> bool {
        self.control.contains_key(&token)
    }

    /// What a literal's tokens read.
    pub(crate) fn read_back(&self, literal: &str) -> String {
        let normalizer = self.tokenizer.normalizer();
        let text =
            normalizer.map_or_else(|| literal.to_owned(), |normalizer| normalizer.normalize(literal).text);
        if self.kind.sentence_piece { text.replace('▁', " ") } else { text }
    }

    /// What `tokenizers` itself makes of a text.
    pub(crate) fn reference(&self, text: &str) -> Vec<TokenId> {
        self.reference.encode_fast(text, false).unwrap().get_ids().to_vec()
    }
}

/// The fixture, with the tokens that the template names added to it.
fn vocabulary(kind: &Kind, named: &[String]) -> String {
    let text = std::fs::read_to_string(fixtures().join(format!("{}.json", kind.vocabulary))).unwrap();
    let mut vocabulary: Value = serde_json::from_str(&text).unwrap();
    let added = vocabulary["added_tokens"].as_array_mut().unwrap();
    let mut next = added.iter().filter_map(|token| token["id"].as_u64()).max().unwrap() + 1000;
    for text in named {
        if added.iter().any(|token| token["content"] == text.as_str()) {
            continue;
        }
        let special = text.contains(['|', '｜', '[']);
        added.push(json!({
            "id": next, "content": text, "special": special,
            "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
        }));
        next += 1;
    }
    if let Some(normalizer) = kind.normalizer {
        let mut spelled = BTreeSet::new();
        // Where two tokens are one once they are normalized, chance decides between them: the template's stays.
        added.sort_by_key(|token| !named.iter().any(|text| token["content"] == text.as_str()));
        added.retain(|token| {
            spelled.insert(token["content"].as_str().unwrap().to_lowercase().replace('｜', "|"))
        });
        added.iter_mut().for_each(|token| token["normalized"] = true.into());
        vocabulary["normalizer"] = normalizer();
    }
    vocabulary.to_string()
}

fn model(public: &PublicTemplate, tokenizer: &HuggingFaceTokenizer) -> ModelInfo {
    let mut model = ModelInfo::default();
    let slug = public.slug.to_lowercase();
    let families = [("qwen3", "qwen3"), ("gemma-3", "gemma3"), ("gemma3", "gemma3"), ("vicuna", "llama")];
    let family = families.iter().find(|(part, _)| slug.contains(part));
    model.model_type = family.map(|(_, model_type)| (*model_type).to_owned());
    model.files.insert("chat_template.jinja".to_owned(), public.source.clone());
    let token = |text: &String| tokenizer.token(text).map(|id| SpecialToken { text: text.clone(), id });
    model.specials = tokenizer.specials().to_vec();
    model.normalizer = tokenizer.normalizer();
    model.bos = token(&public.tokens[0]);
    model.stop_tokens = token(&public.tokens[1]).into_iter().map(|special| special.id).collect();
    model
}

/// Added tokens that control: not runs of white space, and not what stands for unknown characters.
fn control(family: &str, model: &ModelInfo) -> BTreeMap<TokenId, String> {
    let blank = |symbol: char| symbol.is_whitespace() || symbol == '▁';
    let ordinary = |special: &SpecialToken| {
        family == "gemma3"
            && GEMMA_HTML.contains(&special.text.as_str())
            && !model.stop_tokens.contains(&special.id)
            && model.bos.as_ref() != Some(special)
    };
    let specials = model
        .specials
        .iter()
        .filter(|special| special.text != "<unk>" && !special.text.chars().all(blank) && !ordinary(special));
    specials.map(|special| (special.id, special.text.clone())).collect()
}
