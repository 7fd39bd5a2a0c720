//! Which documents an answer is based on, and where their index is.

use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser as Switch;
use serde::{Deserialize, Serialize};

use crate::limits::count;

/// The index of documents.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Documents and memory")]
pub(crate) struct IndexArguments {
    /// The folder of the index of documents; the folder `index` beside the store unless set
    #[arg(long, value_name = "DIR", env = "ALLOQUY_INDEX")]
    pub(crate) index: Option<PathBuf>,

    /// What computes the vectors of passages: the folder of a model, ngrams, or none; ngrams unless set, and for an index that exists what
    /// it was made with
    #[arg(long, value_name = "NAME", env = "ALLOQUY_EMBEDDER")]
    pub(crate) embedder: Option<String>,
}

/// Which documents a model is shown.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Documents and memory")]
pub(crate) struct DocumentsArguments {
    /// Show the model passages of the index of documents, which it can cite
    ///
    /// The index is that of `alloquy index add`. With --index, this flag can be left out.
    #[arg(long, env = "ALLOQUY_DOCUMENTS", value_parser = Switch::new())]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) documents: bool,

    /// Show at most N passages of documents; 5 unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_PASSAGES", value_parser = count::<usize>("passages"))]
    pub(crate) passages: Option<usize>,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) index: IndexArguments,
}
