//! The parameters of addresses as the document of OpenAPI has them, and small answers.

use schemars::JsonSchema;
use serde::Serialize;

/// What the answer to a request for a stored response contains.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it describes the parameters, which are read one by one")]
pub(super) struct ResponseParameters {
    /// Whether its events are sent.
    stream: Option<bool>,
    /// The `sequence_number` of the last event that was received.
    starting_after: Option<u64>,
    /// Further fields of the answer.
    include: Option<Vec<String>>,
    /// Always `false`.
    include_obfuscation: Option<bool>,
}

/// Which page of a list of items is requested.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it describes the parameters, which are read one by one")]
pub(crate) struct ItemListParameters {
    /// The id of the item before the first one.
    after: Option<String>,
    /// At most so many: 20 unless it is given, and no more than 100.
    limit: Option<usize>,
    /// `desc` unless it is given, or `asc`.
    order: Option<String>,
    /// Further fields of the items.
    include: Option<Vec<String>>,
}

/// What items contain.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it describes the parameters, which are read one by one")]
pub(crate) struct IncludeParameters {
    /// Further fields of the items.
    include: Option<Vec<String>>,
}

/// How many tokens a prompt has.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct InputTokens {
    pub(super) object: &'static str,
    pub(super) input_tokens: usize,
}
