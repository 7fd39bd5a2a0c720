//! Warnings about a model that was opened.

use std::fmt;

use alloquy_core::model_info::ModelInfo;
use alloquy_core::report::Warning;
#[cfg(feature = "onnx")]
use alloquy_onnx::{CacheLocation, GraphCacheStatus, ProviderChoice, QuantizationQuality};
use alloquy_templates::mlc;

/// A part of a model or of its settings that was missing, ignored or replaced when the model was opened.
///
/// A [`Model`](crate::Model) lists its warnings; [`Model::of`](crate::Model::of) has an example.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ModelWarning {
    /// A recommendation of the model's authors that has no effect.
    RecommendationIgnored {
        /// The file and the field, such as `generation_config.json /num_beams`.
        place: String,
        /// The recommended value.
        value: serde_json::Value,
    },
    /// A field in the file of the template has no effect, or an unexpected one.
    Template {
        /// The origin of the template.
        origin: String,
        /// The field and its effect.
        warning: mlc::Warning,
    },
    /// A dialect was requested, but the template is not a Jinja template.
    DialectIgnored {
        /// The origin of the template.
        origin: String,
    },
    /// The template prints no messages: every prompt is the same text.
    NoMessages {
        /// The origin of the template.
        origin: String,
    },
    /// The model has no chat template and none was named. It continues texts and does not answer.
    NoTemplate,
    /// No family claims the model and none was named. Its replies are read as plain text.
    NoFamily,
    /// The engine did not do what was requested, such as using another provider. Each reply reports it too.
    Degraded(Warning),
    /// The state of the graph cache, if the graph was not read from it.
    #[cfg(feature = "onnx")]
    GraphCache(GraphCacheStatus),
    /// How much the model changed with the number types that were chosen.
    #[cfg(feature = "onnx")]
    Quantized(QuantizationQuality),
    /// The execution provider that was chosen as the fastest, and why.
    #[cfg(feature = "onnx")]
    ProviderChosen(ProviderChoice),
    /// The caches are in main memory, though a device computes, and why. They go to the device and back with each token.
    #[cfg(feature = "onnx")]
    CachesOffDevice(CacheLocation),
}

impl ModelWarning {
    /// Returns what the files of a model ask for and does not happen.
    pub(super) fn of_files(info: &ModelInfo) -> Vec<Self> {
        let mut warnings: Vec<_> = info.warnings.iter().cloned().map(Self::Degraded).collect();
        for (place, value) in &info.ignored {
            let place = place.clone();
            let value = value.clone();
            warnings.push(Self::RecommendationIgnored { place, value });
        }
        warnings
    }
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
            Self::NoTemplate => formatter
                .write_str("this model has no chat template: it continues your text, it does not answer"),
            Self::NoFamily => {
                formatter.write_str("no family claims this model: its replies are read as plain text")
            }
            Self::Degraded(warning) => write!(formatter, "{warning:?}"),
            #[cfg(feature = "onnx")]
            Self::GraphCache(status) => write!(formatter, "{status}"),
            #[cfg(feature = "onnx")]
            Self::Quantized(quality) => write!(formatter, "with the chosen number types: {quality}"),
            #[cfg(feature = "onnx")]
            Self::ProviderChosen(choice) => write!(formatter, "{choice}"),
            #[cfg(feature = "onnx")]
            Self::CachesOffDevice(location) => {
                write!(formatter, "a device computes with {location}, so replies take longer")
            }
        }
    }
}
