//! What a caller should know of how a model of texts was opened.

use std::fmt;

use alloquy_core::report::Warning;

use super::pooling::Pooling;

/// Something that was assumed of a model of embeddings or a reranker, or that is done otherwise than its files or the caller say.
///
/// [`EmbedderInfo`](crate::EmbedderInfo) has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextModelNote {
    /// The folder has no `modules.json`, so it does not say how vectors are made of tokens.
    PoolingAssumed {
        /// What is assumed.
        pooling: Pooling,
    },
    /// No file says how many tokens the model reads.
    MaxTokensAssumed {
        /// What is assumed.
        tokens: usize,
    },
    /// The graph makes the vectors of texts itself.
    PooledByGraph {
        /// The output with the vectors.
        output: String,
    },
    /// The model makes vectors of any length; they get a length of 1, so that scores are cosines.
    LengthsNormalized,
    /// Another provider computes than the requested one.
    ProviderReplaced {
        /// The provider that cannot compute here.
        asked: String,
        /// The one that computes.
        used: String,
        /// Why the first one cannot.
        reason: String,
    },
    /// The graph quantizes numbers with one scale for all texts of a run, so each text is computed alone.
    ComputedAlone,
}

impl TextModelNote {
    /// Returns notes of the warnings with which a graph was loaded.
    pub(super) fn of_warnings(warnings: Vec<Warning>) -> Vec<Self> {
        let mut notes = Vec::new();
        for warning in warnings {
            if let Warning::ProviderReplaced { asked, used, reason } = warning {
                notes.push(Self::ProviderReplaced { asked, used, reason });
            }
        }
        notes
    }
}

impl fmt::Display for TextModelNote {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PoolingAssumed { pooling } => {
                write!(formatter, "there is no modules.json; the pooling {pooling} is assumed")
            }
            Self::MaxTokensAssumed { tokens } => {
                write!(formatter, "no file says how many tokens the model reads; {tokens} are assumed")
            }
            Self::PooledByGraph { output } => {
                write!(formatter, "the graph makes the vectors itself: {output}")
            }
            Self::LengthsNormalized => {
                formatter.write_str("the model's vectors have any length; here they get a length of 1")
            }
            Self::ProviderReplaced { asked, used, reason } => {
                write!(formatter, "the provider {used} computes instead of {asked}: {reason}")
            }
            Self::ComputedAlone => formatter.write_str(
                "the graph quantizes with one scale for all texts of a run, so each text is computed alone",
            ),
        }
    }
}
