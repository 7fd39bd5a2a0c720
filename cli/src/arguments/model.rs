//! Which model answers. Loads none.

use std::path::PathBuf;

use alloquy_templates::Dialect;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// Which model answers, and how it runs.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArguments {
    /// The model's folder
    #[arg(short, long, value_name = "DIR", env = "ALLOQUY_MODEL")]
    pub(crate) model: Option<PathBuf>,

    /// A chat template in place of the model's: a Jinja file, or the name of a known one
    #[arg(long, value_name = "FILE|NAME", env = "ALLOQUY_TEMPLATE")]
    pub(crate) template: Option<String>,

    /// Whose prompts a Jinja template's are to be equal to: hf5 (transformers 5), hf4 (transformers 4) or litert
    /// (LiteRT-LM); hf5 unless set
    #[arg(
        long,
        value_enum,
        value_name = "DIALECT",
        env = "ALLOQUY_TEMPLATE_DIALECT",
        hide_possible_values = true
    )]
    pub(crate) template_dialect: Option<TemplateDialect>,

    /// The model's family, where it is not recognised
    #[arg(long, value_name = "NAME", env = "ALLOQUY_FAMILY")]
    pub(crate) family: Option<String>,

    /// What computes: cpu, cuda, coreml, …
    #[arg(long, value_name = "NAME", env = "ALLOQUY_PROVIDER")]
    pub(crate) provider: Option<String>,

    /// How many threads compute
    #[arg(long, value_name = "N", env = "ALLOQUY_THREADS")]
    pub(crate) threads: Option<usize>,
}

/// Whose prompts a Jinja template's are to be equal to.
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
