//! What a person should know of a model that was opened.

use std::fmt;

use alloquy_core::report::Degradation;
#[cfg(feature = "onnx")]
use alloquy_onnx::GraphCacheUse;
use alloquy_templates::mlc;

/// What was not found, is ignored, or was replaced when a model was opened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ModelWarning {
    /// What the model's makers recommend and has no effect here.
    RecommendationIgnored {
        /// Where they do, such as `generation_config.json /num_beams`.
        place: String,
        /// What they recommend.
        value: serde_json::Value,
    },
    /// What the file of the template says and has no effect, or not the expected one.
    Template {
        /// Where the template is from.
        origin: String,
        /// What it is.
        warning: mlc::Warning,
    },
    /// A dialect was asked for, and the template is no Jinja template.
    DialectIgnored {
        /// Where the template is from.
        origin: String,
    },
    /// The template prints no messages: every prompt is the same text.
    NoMessages {
        /// Where the template is from.
        origin: String,
    },
    /// The model brings no chat template and none was named: it continues texts, it does not answer.
    NoTemplate,
    /// No family claims the model and none was named: its replies are read as plain text.
    NoFamily,
    /// What the engine did otherwise than asked, such as another provider; each reply says so too.
    Degraded(Degradation),
    /// What became of the graph cache, where the graph was not read from there.
    #[cfg(feature = "onnx")]
    GraphCache(GraphCacheUse),
}

impl fmt::Display for ModelWarning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RecommendationIgnored { place, value } => {
                write!(formatter, "{place} is {value}, which has no effect")
            }
            Self::Template { origin, warning } => write!(formatter, "{origin}: {warning}"),
            Self::DialectIgnored { origin } => {
                write!(formatter, "{origin}: no Jinja template, so a dialect of templates has no effect")
            }
            Self::NoMessages { origin } => {
                write!(
                    formatter,
                    "{origin}: the template reads no messages, so that every prompt is the same text"
                )
            }
            Self::NoTemplate => formatter.write_str(
                "this model brings no chat template: it goes on with your text, it does not answer",
            ),
            Self::NoFamily => {
                formatter.write_str("no family claims this model: its replies are read as plain text")
            }
            Self::Degraded(degradation) => write!(formatter, "{degradation:?}"),
            #[cfg(feature = "onnx")]
            Self::GraphCache(told) => write!(formatter, "{told}"),
        }
    }
}
