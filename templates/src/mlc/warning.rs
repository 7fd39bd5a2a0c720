//! What reading a template or a configuration found and did not obey or cannot promise. Knows no I/O and no log.

use std::fmt;

use serde_json::Value;

use super::generation::Generation;

/// Something a reader should know about a template or a configuration that was accepted.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// A field that neither MLC nor anything here knows; it is ignored.
    UnknownField {
        /// The object it stands in, such as `conv_template`.
        object: &'static str,
        /// Its name.
        field: String,
    },
    /// A field that is known and cannot be obeyed; its value is kept.
    NotApplied {
        /// Its name.
        field: String,
        /// Its value.
        value: Value,
        /// Why.
        reason: &'static str,
    },
    /// Every prompt ends in a space. Most tokenizers join a space to the word behind it, so the ids differ from
    /// those of a prompt without it, and replies begin otherwise.
    TrailingSpace {
        /// The header of the assistant's reply.
        header: String,
    },
    /// A field lacks the placeholder of a text, which is therefore never printed.
    MissingPlaceholder {
        /// The field.
        field: String,
        /// What it lacks.
        placeholder: String,
    },
    /// A field has something in braces that nothing fills in; it is printed as it stands.
    UnknownPlaceholder {
        /// The field.
        field: String,
        /// What it has.
        placeholder: String,
    },
    /// An earlier message speaks under a name that is neither role's; it is printed all the same.
    UnknownSpeaker {
        /// Its position in `messages`.
        position: usize,
        /// The name.
        name: String,
    },
    /// A built-in template that is known to be flawed and is kept as MLC has it.
    KnownDefect {
        /// The template.
        name: &'static str,
        /// What is wrong.
        sentence: &'static str,
    },
    /// The text has comments, or commas behind a last item, and is no JSON; it was read without them. MLC refuses
    /// such a file, though its documentation shows some.
    RelaxedJson,
    /// Both generations know the name.
    NameInBoth {
        /// The name.
        name: String,
        /// The generation whose template was taken.
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
                    "nothing fills in {placeholder:?} of field {field:?}: it is printed as it stands"
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
            Self::RelaxedJson => formatter
                .write_str("comments and commas behind a last item were passed over: JSON has neither"),
            Self::NameInBoth { name, taken } => {
                write!(
                    formatter,
                    "both generations know conversation template {name:?}, the {taken} one is taken"
                )
            }
        }
    }
}
