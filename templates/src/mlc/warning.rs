//! Warnings about templates and configurations that were accepted.

use std::fmt;

use serde_json::Value;

use super::generation::Generation;

/// A warning about a template or a configuration that was accepted.
///
/// ```
/// use alloquy_templates::mlc::{ChatConfig, Warning};
///
/// let config = ChatConfig::from_json(r#"{"tempo": 3}"#)?;
/// assert!(matches!(config.warnings[..], [Warning::UnknownField { .. }]));
/// assert_eq!(config.warnings[0].to_string(), r#"field "tempo" of mlc-chat-config.json is unknown and ignored"#);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// A field is unknown, in MLC and here; it is ignored.
    UnknownField {
        /// The object that contains it, such as `conv_template`.
        object: &'static str,
        /// Its name.
        field: String,
    },
    /// A field is known but has no effect; its value is kept.
    NotApplied {
        /// Its name.
        field: String,
        /// Its value.
        value: Value,
        /// Why it has no effect.
        reason: &'static str,
    },
    /// Every prompt ends with a space. Most tokenizers join a space with the word after it, so the token ids differ from those
    /// of a prompt without it, and so do the replies.
    TrailingSpace {
        /// The header of the assistant's reply.
        header: String,
    },
    /// A field does not contain the placeholder of a text, which is therefore never printed.
    MissingPlaceholder {
        /// The field.
        field: String,
        /// The missing placeholder.
        placeholder: String,
    },
    /// A field contains a name in braces that is not a placeholder; it is printed unchanged.
    UnknownPlaceholder {
        /// The field.
        field: String,
        /// The name in braces.
        placeholder: String,
    },
    /// An earlier message has a name that is not one of the roles; it is printed anyway.
    UnknownSpeaker {
        /// Its position in `messages`.
        position: usize,
        /// The name.
        name: String,
    },
    /// A built-in template has a known defect, which is kept as in MLC.
    KnownDefect {
        /// The template.
        name: &'static str,
        /// The defect, as the rest of a sentence.
        sentence: &'static str,
    },
    /// The text has comments or trailing commas and is not JSON. They were ignored. MLC refuses such a file, although its
    /// documentation shows some.
    RelaxedJson,
    /// Both generations have a template of the name.
    NameInBoth {
        /// The name.
        name: String,
        /// The generation whose template is used.
        taken: Generation,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownField { object, field } => {
                write!(formatter, "field {field:?} of {object} is unknown and ignored")
            }
            Self::NotApplied { field, value, reason } => {
                write!(formatter, "field {field:?} with value {value} has no effect: {reason}")
            }
            Self::TrailingSpace { header } => {
                write!(
                    formatter,
                    "prompts end in a space, with {header:?}: the ids differ from those without it"
                )
            }
            Self::MissingPlaceholder { field, placeholder } => {
                write!(formatter, "field {field:?} lacks {placeholder:?}: that text is never printed")
            }
            Self::UnknownPlaceholder { field, placeholder } => {
                write!(
                    formatter,
                    "nothing fills in {placeholder:?} of field {field:?}: it is printed unchanged"
                )
            }
            Self::UnknownSpeaker { position, name } => {
                write!(
                    formatter,
                    "earlier message {position} speaks as {name:?}, which is neither role's name"
                )
            }
            Self::KnownDefect { name, sentence } => {
                write!(formatter, "conversation template {name:?} {sentence}")
            }
            Self::RelaxedJson => {
                formatter.write_str("comments and trailing commas were ignored: JSON has neither")
            }
            Self::NameInBoth { name, taken } => {
                write!(
                    formatter,
                    "both generations know conversation template {name:?}, the {taken} one is taken"
                )
            }
        }
    }
}
