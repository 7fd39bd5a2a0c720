//! What protocols share of a turn and its options: their checks, and the places of their errors.

use std::collections::BTreeMap;

use alloquy_core::{Error, Message, Role, SamplingOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::{ApiError, ApiResult};

/// How many pairs of metadata an object has at most.
const METADATA_PAIRS: usize = 16;
/// How many characters the name of such a pair has at most.
const NAME_LENGTH: usize = 64;
/// How many characters its value has at most.
const VALUE_LENGTH: usize = 512;

/// The metadata of an object.
pub(crate) type Metadata = BTreeMap<String, String>;

/// One stop text, or several.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
pub(crate) enum Stops {
    One(String),
    Several(Vec<String>),
}

impl Stops {
    /// Returns the texts.
    pub(crate) fn texts(&self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text.clone()],
            Self::Several(texts) => texts.clone(),
        }
    }
}

/// Replaces the metadata of an object.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MetadataChange {
    metadata: Option<Metadata>,
}

impl MetadataChange {
    /// Returns the new metadata.
    ///
    /// # Errors
    /// For metadata that is too long.
    pub(crate) fn metadata(self) -> ApiResult<Metadata> {
        let metadata = self.metadata.unwrap_or_default();
        check_metadata(&metadata)?;
        Ok(metadata)
    }
}

/// Checks how long metadata is.
///
/// # Errors
/// 400 for more pairs, and for longer names and values, than OpenAI's API has.
pub(crate) fn check_metadata(metadata: &Metadata) -> ApiResult<()> {
    if metadata.len() > METADATA_PAIRS {
        let message = format!("metadata has {} pairs, expected at most {METADATA_PAIRS}", metadata.len());
        return Err(ApiError::invalid("metadata", message));
    }
    for (name, value) in metadata {
        if name.chars().count() > NAME_LENGTH || value.chars().count() > VALUE_LENGTH {
            let message = format!(
                "metadata.{name}: a name has at most {NAME_LENGTH} characters, and a value at most {VALUE_LENGTH}"
            );
            return Err(ApiError::invalid("metadata", message));
        }
    }
    Ok(())
}

/// Checks that messages end with one that can be answered.
///
/// # Errors
/// 400 for no message, and where the last one is a reply.
pub(crate) fn must_ask(messages: &[Message]) -> ApiResult<()> {
    if messages.last().is_none_or(|last| last.role == Role::Assistant) {
        let message =
            "messages: the last message is not of the user, a tool or the system, so nothing is asked";
        return Err(ApiError::invalid("messages", message));
    }
    Ok(())
}

/// Checks that a field has one of its possible values.
pub(crate) fn only(field: &'static str, given: Option<&str>, possible: &[&str]) -> ApiResult<()> {
    match given.filter(|given| !possible.contains(given)) {
        Some(given) => {
            let message = format!("{field} is {given:?}, expected one of {}", json!(possible));
            Err(ApiError::unsupported(field, message))
        }
        None => Ok(()),
    }
}

/// Checks sampling options, and names the field of what is wrong.
pub(crate) fn validated(sampling: SamplingOptions) -> ApiResult<SamplingOptions> {
    match sampling.validate() {
        Ok(()) => Ok(sampling),
        Err(error) => Err(sampling_error(error)),
    }
}

/// Adds the field to an error of a sampling option, with whose name the sentence begins.
fn sampling_error(error: Error) -> ApiError {
    let message = error.to_string();
    let fields = [
        ("temperature", "temperature"),
        ("top-p", "top_p"),
        ("min-p", "min_p"),
        ("repetition penalty", "repetition_penalty"),
        ("presence penalty", "presence_penalty"),
        ("frequency penalty", "frequency_penalty"),
        ("logit bias", "logit_bias"),
        ("a stop text", "stop"),
    ];
    let field = fields.iter().find(|(words, _)| message.starts_with(words));
    match field {
        Some((_, field)) => ApiError::from(error).param(*field),
        None => error.into(),
    }
}

/// Creates the error of a value that was written in another form, whose place has another name there: `messages[2].content` is
/// `input[2].content`.
pub(crate) fn renamed(error: &Error, former: &str, place: &str) -> ApiError {
    let message = format!("{error:#}");
    let message = match message.strip_prefix(former) {
        Some(rest) => format!("{place}{rest}"),
        None => message,
    };
    Error::new(error.kind(), message).into()
}
