//! The patterns that split a text into words, which a file of tiktoken does not have.
//!
//! A model's code has them, so they are found by what its files name: the encoding, the tokenizer's class or the model's type.

use std::ops::Range;

use alloquy_core::tokenizer::SpecialToken;
use alloquy_core::{Error, ErrorKind, Result};
use fancy_regex::Regex;

/// How a family of models splits text, and its control tokens.
#[derive(Debug)]
pub(in super::super) struct Pattern {
    /// The encoding's name; a file of this name has it: `cl100k_base.tiktoken`.
    name: &'static str,
    /// The alternatives of the regular expression, in order.
    alternatives: &'static [&'static str],
    /// Classes in `tokenizer_config.json`.
    classes: &'static [&'static str],
    /// Types of models in `config.json`, whose file has a name that says nothing.
    types: &'static [&'static str],
    /// Whether texts are normalized to NFC before they are split.
    pub(super) is_composed: bool,
    /// Control tokens with their ids.
    controls: &'static [(&'static str, u32)],
    /// Control tokens that follow the last rank.
    following: &'static [&'static str],
    /// How many numbered ones follow these, such as `<|extra_0|>`.
    numbered: (&'static str, usize),
}

/// What a model's files say about its pattern.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct PatternHints<'a> {
    /// The file's name.
    pub(in super::super) file: &'a str,
    pub(in super::super) class: Option<&'a str>,
    pub(in super::super) encoding: Option<&'a str>,
    pub(in super::super) model_type: Option<&'a str>,
}

/// Names of files that every model may have: `tokenizer.model`, `tiktoken.model`. Other names are those of encodings.
const PLAIN_NAMES: [&str; 2] = ["tokenizer", "tiktoken"];

const NOTHING: Pattern = Pattern {
    name: "",
    alternatives: &[],
    classes: &[],
    types: &[],
    is_composed: false,
    controls: &[],
    following: &[],
    numbered: ("", 0),
};

/// `openai_public.py` of tiktoken, `tokenization_qwen.py` of Qwen/Qwen-7B, `tokenizer.py` of meta-llama/llama3,
/// `tokenization_chatglm.py` of THUDM/glm-4-9b-chat, `tokenization_kimi.py` of moonshotai/Kimi-K2-Instruct.
const PATTERNS: &[Pattern] = &[
    Pattern { name: "r50k_base", alternatives: R50K, controls: &[("<|endoftext|>", 50_256)], ..NOTHING },
    Pattern { name: "p50k_base", alternatives: R50K, controls: &[("<|endoftext|>", 50_256)], ..NOTHING },
    Pattern {
        name: "cl100k_base",
        alternatives: CL100K,
        controls: &[
            ("<|endoftext|>", 100_257),
            ("<|fim_prefix|>", 100_258),
            ("<|fim_middle|>", 100_259),
            ("<|fim_suffix|>", 100_260),
            ("<|endofprompt|>", 100_276),
        ],
        ..NOTHING
    },
    Pattern {
        name: "o200k_base",
        alternatives: O200K,
        controls: &[("<|endoftext|>", 199_999), ("<|endofprompt|>", 200_018)],
        ..NOTHING
    },
    Pattern {
        name: "o200k_harmony",
        alternatives: O200K,
        types: &["gpt_oss"],
        controls: &[
            ("<|startoftext|>", 199_998),
            ("<|endoftext|>", 199_999),
            ("<|return|>", 200_002),
            ("<|constrain|>", 200_003),
            ("<|channel|>", 200_005),
            ("<|start|>", 200_006),
            ("<|end|>", 200_007),
            ("<|message|>", 200_008),
            ("<|call|>", 200_012),
            ("<|endofprompt|>", 200_018),
        ],
        ..NOTHING
    },
    Pattern {
        name: "qwen",
        alternatives: QWEN,
        classes: &["QWenTokenizer"],
        types: &["qwen"],
        is_composed: true,
        following: &["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        numbered: ("extra_", 205),
        ..NOTHING
    },
    Pattern {
        name: "llama3",
        alternatives: LLAMA3,
        types: &["llama"],
        following: &[
            "<|begin_of_text|>",
            "<|end_of_text|>",
            "<|reserved_special_token_0|>",
            "<|reserved_special_token_1|>",
            "<|reserved_special_token_2|>",
            "<|reserved_special_token_3|>",
            "<|start_header_id|>",
            "<|end_header_id|>",
            "<|reserved_special_token_4|>",
            "<|eot_id|>",
        ],
        ..NOTHING
    },
    Pattern {
        name: "glm4",
        alternatives: LLAMA3,
        classes: &["ChatGLM4Tokenizer"],
        types: &["chatglm"],
        ..NOTHING
    },
    Pattern {
        name: "kimi",
        alternatives: KIMI,
        classes: &["TikTokenTokenizer"],
        types: &["kimi_k2", "kimi_linear"],
        ..NOTHING
    },
];

const R50K: &[&str] = &[
    "'(?:[sdmt]|ll|ve|re)",
    r" ?\p{L}++",
    r" ?\p{N}++",
    r" ?[^\s\p{L}\p{N}]++",
    r"\s++$",
    r"\s+(?!\S)",
    r"\s",
];

const CL100K: &[&str] = &[
    "'(?i:[sdmt]|ll|ve|re)",
    r"[^\r\n\p{L}\p{N}]?+\p{L}++",
    r"\p{N}{1,3}+",
    r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
    r"\s++$",
    r"\s*[\r\n]",
    r"\s+(?!\S)",
    r"\s",
];

const O200K: &[&str] = &[
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r"\s*[\r\n]+",
    r"\s+(?!\S)",
    r"\s+",
];

const LLAMA3: &[&str] = &[
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)",
    r"[^\r\n\p{L}\p{N}]?\p{L}+",
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*",
    r"\s*[\r\n]+",
    r"\s+(?!\S)",
    r"\s+",
];

/// As Llama's, with single digits.
const QWEN: &[&str] = &[
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)",
    r"[^\r\n\p{L}\p{N}]?\p{L}+",
    r"\p{N}",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*",
    r"\s*[\r\n]+",
    r"\s+(?!\S)",
    r"\s+",
];

/// As o200k's, with a word for each run of Chinese characters.
const KIMI: &[&str] = &[
    r"[\p{Han}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*",
    r"\s*[\r\n]+",
    r"\s+(?!\S)",
    r"\s+",
];

impl Pattern {
    /// Returns the pattern that a model's files name.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if none of them is known, since another pattern would give other tokens without a sign of it.
    pub(in super::super) fn of(hints: PatternHints<'_>) -> Result<&'static Self> {
        let stem = hints.file.split('.').next().unwrap_or_default();
        for name in [hints.encoding, Some(stem)].into_iter().flatten() {
            if let Some(pattern) = PATTERNS.iter().find(|pattern| pattern.name == name) {
                return Ok(pattern);
            }
        }
        if let Some(class) = hints.class
            && let Some(pattern) = PATTERNS.iter().find(|pattern| pattern.classes.contains(&class))
        {
            return Ok(pattern);
        }
        if let Some(model_type) = hints.model_type
            && PLAIN_NAMES.contains(&stem)
            && let Some(pattern) = PATTERNS.iter().find(|pattern| pattern.types.contains(&model_type))
        {
            return Ok(pattern);
        }
        Err(unknown(hints))
    }

    /// Returns the control tokens of a vocabulary with this many ranks.
    pub(super) fn controls(&self, ranks: usize) -> Vec<SpecialToken> {
        let mut controls = Vec::new();
        for (text, id) in self.controls {
            controls.push(SpecialToken { text: (*text).to_owned(), id: *id });
        }
        let (name, count) = self.numbered;
        let numbered = (0..count).map(|number| format!("<|{name}{number}|>"));
        let following = self.following.iter().map(|text| (*text).to_owned()).chain(numbered);
        for (text, place) in following.zip(ranks..) {
            if let Ok(id) = u32::try_from(place) {
                controls.push(SpecialToken { text, id });
            }
        }
        controls
    }
}

fn unknown(hints: PatternHints<'_>) -> Error {
    let names: Vec<_> = PATTERNS.iter().map(|pattern| pattern.name).collect();
    let classes: Vec<_> = PATTERNS.iter().flat_map(|pattern| pattern.classes).copied().collect();
    let message = format!(
        "the pattern that splits text into words is not known for {:?} (tokenizer_class {:?}, model_type {:?}), and the file does \
         not have it. Name the file after its encoding, such as cl100k_base.tiktoken (known: {}), or give tokenizer_config.json the \
         class (known: {}); or convert it with transformers: AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)",
        hints.file,
        hints.class.unwrap_or("none"),
        hints.model_type.unwrap_or("none"),
        names.join(", "),
        classes.join(", ")
    );
    Error::new(ErrorKind::Unsupported, message)
}

/// A pattern that is ready to be used.
#[derive(Debug)]
pub(super) struct Compiled {
    regex: Regex,
}

impl Compiled {
    pub(super) fn of(pattern: &Pattern) -> Result<Self> {
        let regex = Regex::new(&pattern.alternatives.join("|")).map_err(|source| {
            Error::new(ErrorKind::Model, format!("the pattern of {} cannot be used", pattern.name))
                .with_source(source)
        })?;
        Ok(Self { regex })
    }

    /// Splits a text into words. What the pattern leaves out is a word too, so that nothing is lost.
    pub(super) fn words(&self, text: &str) -> Result<Vec<Range<usize>>> {
        let mut words = Vec::new();
        let mut end = 0;
        for word in self.regex.find_iter(text) {
            let word = word.map_err(|source| {
                let message = format!("a text of {} bytes cannot be split into words", text.len());
                Error::new(ErrorKind::Tokenize, message).with_source(source)
            })?;
            if end < word.start() {
                words.push(end..word.start());
            }
            words.push(word.range());
            end = word.end();
        }
        if end < text.len() {
            words.push(end..text.len());
        }
        Ok(words)
    }
}
