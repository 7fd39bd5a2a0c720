//! The facts of a stored reply: its model, why it ended, its usage, and what was not done as requested.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{CacheReport, CutHistory, FinishReason, Usage, Warning};
use crate::media::Digest;

/// The facts of a stored reply, which its [`Node`](crate::Node) holds.
///
/// A fact that is unknown is `None`. Of a reply that was dropped, only the model is known.
///
/// ```
/// use alloquy_core::report::{FinishReason, ReplyFacts};
///
/// let mut facts = ReplyFacts::new("tiny");
/// facts.finish = Some(FinishReason::Stop);
/// let json = serde_json::to_string(&facts)?;
/// assert_eq!(json, r#"{"model":"tiny","finish":"stop"}"#);
/// assert_eq!(serde_json::from_str::<ReplyFacts>(&json)?, facts);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReplyFacts {
    /// The name of the model.
    pub model: String,
    /// Why the reply ended; `None` for a reply that was dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishReason>,
    /// How many tokens it took; `None` where the model does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// How much of the prompt was cached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheReport>,
    /// How many tokens at the start of the reply were given by [`Request::beginning`](crate::Request::beginning).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub begun: usize,
    /// The digest of the template that rendered the prompt; `None` where a server rendered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<Digest>,
    /// The seed of the draw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The stop text that ended the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_string: Option<String>,
    /// What failed midway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The system prompt of this turn alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// What was not done as requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Where the history in the prompt began, if a policy for a full context left some of it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history_cut: Option<CutHistory>,
    /// The facts that middleware adds, such as `alloquy.redaction`; see [`Reply::facts`](crate::Reply::facts).
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub facts: Map<String, Value>,
}

impl ReplyFacts {
    /// Creates the facts of a reply of which only the model is known.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            finish: None,
            usage: None,
            cache: None,
            begun: 0,
            template: None,
            seed: None,
            stop_string: None,
            error: None,
            system_prompt: None,
            warnings: Vec::new(),
            history_cut: None,
            facts: Map::new(),
        }
    }

    /// Moves the facts of a reply out of the metadata in which version 0.1 stored them.
    ///
    /// Returns `None` and changes nothing unless `model` is a text. Every other fact is moved if it parses as its type;
    /// a value that does not parse stays in the metadata.
    ///
    /// ```
    /// use alloquy_core::report::ReplyFacts;
    /// use serde_json::json;
    ///
    /// let mut metadata = json!({"model": "tiny", "seed": 7, "usage": "a lot"}).as_object().cloned().unwrap_or_default();
    /// let facts = ReplyFacts::take_from(&mut metadata).unwrap();
    /// assert_eq!((facts.model.as_str(), facts.seed, facts.usage), ("tiny", Some(7), None));
    /// assert_eq!(metadata.keys().collect::<Vec<_>>(), ["usage"]);
    /// ```
    pub fn take_from(metadata: &mut Map<String, Value>) -> Option<Self> {
        let mut facts = Self::new(take::<String>(metadata, "model")?);
        facts.finish = take(metadata, "finish");
        facts.usage = take(metadata, "usage");
        facts.cache = take(metadata, "cache");
        facts.template = take(metadata, "template");
        facts.seed = take(metadata, "seed");
        facts.stop_string = take(metadata, "stop_string");
        facts.error = take(metadata, "error");
        facts.system_prompt = take(metadata, "system_prompt");
        facts.warnings = take(metadata, "degradations").unwrap_or_default();
        facts.history_cut = take(metadata, "history_cut");
        Some(facts)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes it by reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Removes a value from metadata and returns it, if it parses as `T`.
pub(crate) fn take<T: DeserializeOwned>(metadata: &mut Map<String, Value>, name: &str) -> Option<T> {
    let value = T::deserialize(metadata.get(name)?).ok()?;
    metadata.shift_remove(name);
    Some(value)
}
