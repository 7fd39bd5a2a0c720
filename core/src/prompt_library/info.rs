//! What is known of a prompt without filling it in.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{PromptName, VersionNumber};
use crate::media::Digest;
use crate::sampling::SamplingOptions;

/// What is known of a prompt without filling it in.
///
/// [`PromptLibrary`](super::PromptLibrary) has an example.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PromptInfo {
    /// Its name, without a version.
    pub name: PromptName,
    /// Its version, if the library has versions.
    pub version: Option<VersionNumber>,
    /// The arm of the experiment that chose this version.
    pub arm: Option<String>,
    /// The digest of everything that decides what it renders to.
    pub digest: Digest,
    /// The texts of its messages, as the author wrote them.
    pub texts: Vec<String>,
    /// The names of the values that it reads.
    pub variables: BTreeSet<String>,
    /// The names of the values that it needs.
    pub required: BTreeSet<String>,
    /// The values that the author gave for names without one.
    pub defaults: Map<String, Value>,
    /// The JSON Schema of the values.
    pub input: Option<Value>,
    /// The model that the author recommends. Who sends the prompt decides whether to follow it.
    pub model: Option<String>,
    /// The sampling that the author recommends. Who sends the prompt decides whether to follow it.
    pub sampling: SamplingOptions,
    /// The author's notes.
    pub metadata: Map<String, Value>,
}

impl PromptInfo {
    /// Creates the facts of a prompt that has a name and a digest only.
    pub fn new(name: PromptName, digest: Digest) -> Self {
        Self {
            name,
            version: None,
            arm: None,
            digest,
            texts: Vec::new(),
            variables: BTreeSet::new(),
            required: BTreeSet::new(),
            defaults: Map::new(),
            input: None,
            model: None,
            sampling: SamplingOptions::default(),
            metadata: Map::new(),
        }
    }
}
