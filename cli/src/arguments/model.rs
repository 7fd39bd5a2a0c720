//! The arguments that choose a model. Loads none.

use std::path::PathBuf;
use std::str::FromStr;

use alloquy::core::processor::Channel;
use alloquy::processors::DataProcessorConfig;
use alloquy::templates::Dialect;
use clap::builder::BoolishValueParser as Switch;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use super::{MediaSettings, RemoteArguments};
use crate::limits::count;

/// Which model answers, and how it runs.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArguments {
    /// The model: a folder, or the name of one that was fetched, such as onnx-community/Qwen3-0.6B-ONNX
    #[arg(short, long, value_name = "NAME", env = "ALLOQUY_MODEL")]
    pub(crate) model: Option<PathBuf>,

    /// A chat template in place of the model's: a Jinja file, or the name of a known one
    #[arg(long, value_name = "FILE|NAME", env = "ALLOQUY_TEMPLATE")]
    pub(crate) template: Option<String>,

    /// The program whose prompts a Jinja template reproduces: hf5 (transformers 5), hf4 (transformers 4) or litert
    /// (LiteRT-LM); hf5 unless set
    #[arg(
        long,
        value_enum,
        value_name = "DIALECT",
        env = "ALLOQUY_TEMPLATE_DIALECT",
        hide_possible_values = true
    )]
    pub(crate) template_dialect: Option<TemplateDialect>,

    /// The model's family, where it is not recognized: the name of a known one, or a JSON file
    #[arg(long, value_name = "FILE|NAME", env = "ALLOQUY_FAMILY")]
    pub(crate) family: Option<String>,

    /// Separate the text between START and END in a reply from its answer, under this name; may be repeated. The name
    /// `thinking` is for the model's thinking
    #[arg(long, value_name = "NAME=START,END", env = "ALLOQUY_CHANNEL")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) channel: Vec<ChannelArgument>,

    /// What computes: cpu, cuda, coreml, …; of several, such as cuda,cpu, the first that works; auto is the fastest
    #[arg(long, value_name = "NAME", env = "ALLOQUY_PROVIDER")]
    pub(crate) provider: Option<String>,

    /// A library of a provider that is published apart from ONNX Runtime, such as libonnxruntime_providers_webgpu.so; may be repeated.
    /// --provider names what it has
    #[arg(long, value_name = "FILE", env = "ALLOQUY_PROVIDER_LIBRARY")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) provider_library: Vec<PathBuf>,

    /// How many threads compute
    #[arg(long, value_name = "N", env = "ALLOQUY_THREADS", value_parser = count::<usize>("threads"))]
    pub(crate) threads: Option<usize>,

    /// How threads wait for work: brief (busy for some microseconds, then asleep; the default), spin (busy, at the cost of
    /// other programs; the default of the built-in model) or sleep (slower)
    #[arg(long, value_enum, value_name = "HOW", env = "ALLOQUY_WAITING", hide_possible_values = true)]
    pub(crate) waiting: Option<Waiting>,

    /// A low-rank adapter (LoRA) of the model, an .onnx_adapter file: a name alone is a file in the model's folder
    #[arg(long, value_name = "FILE", env = "ALLOQUY_ADAPTER")]
    pub(crate) adapter: Option<PathBuf>,

    /// A smaller model with the same tokenizer, a folder or a name as of --model: it guesses tokens that the model computes together.
    /// Answers are the same, in less time; where they would take longer, the rest has no guesses, which is reported
    #[arg(long, value_name = "NAME", env = "ALLOQUY_DRAFT")]
    pub(crate) draft: Option<PathBuf>,

    /// How far the model's graph is rewritten when it is loaded: disable, basic, extended or all; all unless set
    #[arg(
        long,
        value_enum,
        value_name = "LEVEL",
        env = "ALLOQUY_GRAPH_OPTIMIZATION",
        hide_possible_values = true
    )]
    pub(crate) graph_optimization: Option<OptimizationLevel>,

    /// Keep the rewritten graph in the cache folder, which takes as much room as the model, and load it from there
    #[arg(long, env = "ALLOQUY_GRAPH_CACHE", value_parser = Switch::new())]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) graph_cache: bool,

    /// The number type of the KV cache: exported (the default) or int8, a quarter of the memory: replies after long prompts
    /// are faster, prompts slower. How much the model changes is measured once and printed
    #[arg(
        long,
        alias = "cache",
        value_enum,
        value_name = "TYPE",
        env = "ALLOQUY_KV_CACHE",
        hide_possible_values = true
    )]
    pub(crate) kv_cache: Option<NumberType>,

    /// The number type of products with weights of 4 or 8 bits: exported (the default) or int8, which is faster where the
    /// export has no accuracy level. How much the model changes is measured once and printed
    #[arg(long, value_enum, value_name = "TYPE", env = "ALLOQUY_MATMUL", hide_possible_values = true)]
    pub(crate) matmul: Option<NumberType>,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) remote: RemoteArguments,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) media: MediaSettings,
}

/// How threads wait for work.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Waiting {
    Brief,
    Spin,
    Sleep,
}

/// A number type that is chosen in place of that of the export.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NumberType {
    Exported,
    Int8,
}

/// How far graphs are rewritten.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OptimizationLevel {
    Disable,
    Basic,
    Extended,
    All,
}

impl ModelArguments {
    /// Returns the settings that differ from those of the model's family.
    pub(crate) fn processor(&self) -> DataProcessorConfig {
        let mut config = DataProcessorConfig::default();
        for ChannelArgument(channel) in &self.channel {
            config = config.channel(channel.clone());
        }
        config
    }
}

/// A channel, written `NAME=START,END`: a name has no equals sign, a start no comma.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct ChannelArgument(Channel);

impl FromStr for ChannelArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((name, markers)) = text.split_once('=')
            && let Some((start, end)) = markers.split_once(',')
        {
            return Ok(Self(Channel::new(name, start, end)));
        }
        Err(format!("{text:?} is no channel: write NAME=START,END"))
    }
}

impl TryFrom<String> for ChannelArgument {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<ChannelArgument> for String {
    fn from(ChannelArgument(Channel { name, start, end }): ChannelArgument) -> Self {
        format!("{name}={start},{end}")
    }
}

/// The program whose prompts a Jinja template reproduces.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TemplateDialect {
    Hf5,
    Hf4,
    Litert,
}

impl From<TemplateDialect> for Dialect {
    fn from(dialect: TemplateDialect) -> Self {
        match dialect {
            TemplateDialect::Hf5 => Self::HuggingFace5,
            TemplateDialect::Hf4 => Self::HuggingFace4,
            TemplateDialect::Litert => Self::LiteRtLm,
        }
    }
}
