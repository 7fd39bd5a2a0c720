//! What finds values for a prompt before it is filled in.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{Prompt, PromptInfo, Values};
use crate::Result;
use crate::annotations;
use crate::media::Digest;
use crate::report::Warning;
use crate::store::{ConversationRecord, ConversationStore, Owner};
use crate::tree::Node;

/// Finds values for prompts of the manager's library just before they are filled in, such as passages of documents.
///
/// `alloquy-retrieval` has one that searches for documents, and `alloquy-memory` one for notes. A value that the caller gave is not
/// replaced.
///
/// ```
/// use alloquy_core::Result;
/// use alloquy_core::prompt_library::{Prompt, PromptPlace, SourcedValues, ValueSource, Values};
///
/// /// The value `owner` is the name of who asks.
/// #[derive(Debug)]
/// struct OwnerName;
///
/// #[async_trait::async_trait]
/// impl ValueSource for OwnerName {
///     async fn values(&self, prompt: &dyn Prompt, _given: &Values, place: &PromptPlace<'_>) -> Result<SourcedValues> {
///         let mut found = SourcedValues::default();
///         if prompt.info().variables.contains("owner") {
///             found.values = Values::new().set("owner", place.owner.as_str());
///         }
///         Ok(found)
///     }
/// }
/// # let _ = OwnerName;
/// ```
#[async_trait]
pub trait ValueSource: Send + Sync + Debug {
    /// Finds values that `prompt` reads. `given` are those of the caller, and those of the sources before this one.
    ///
    /// # Errors
    /// Its own: the prompt is then not filled in, and nothing is stored.
    async fn values(
        &self,
        prompt: &dyn Prompt,
        given: &Values,
        place: &PromptPlace<'_>,
    ) -> Result<SourcedValues>;
}

#[async_trait]
impl<S: ValueSource + ?Sized> ValueSource for Arc<S> {
    async fn values(
        &self,
        prompt: &dyn Prompt,
        given: &Values,
        place: &PromptPlace<'_>,
    ) -> Result<SourcedValues> {
        (**self).values(prompt, given, place).await
    }
}

/// The values that a source found.
///
/// [`ValueSource`] has an example.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SourcedValues {
    /// The values, each with its source.
    pub values: Values,
    /// What each node of the prompt's messages remembers, such as the passages.
    pub metadata: Map<String, Value>,
    /// Keys under which [`PromptPlace::node_with`] finds the node of the first message later.
    pub keys: Vec<Digest>,
    /// What was not done as the prompt asks for it. The reply to the prompt lists them.
    pub warnings: Vec<Warning>,
}

/// Where a prompt is filled in.
///
/// [`ValueSource`] has an example.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PromptPlace<'a> {
    /// The owner of the conversation.
    pub owner: &'a Owner,
    /// The conversation; one that is being created has no nodes and is not stored.
    pub record: &'a ConversationRecord,
    /// The nodes before the prompt's messages.
    pub path: &'a [Node],
    store: &'a dyn ConversationStore,
}

impl<'a> PromptPlace<'a> {
    pub(crate) fn new(
        owner: &'a Owner,
        record: &'a ConversationRecord,
        path: &'a [Node],
        store: &'a dyn ConversationStore,
    ) -> Self {
        Self { owner, record, path, store }
    }

    /// Returns `given` with the defaults of a prompt, and with what the prompt reads of the conversation, as it is filled in. What
    /// other sources find is not among them.
    ///
    /// [`ValueSource`] has an example.
    #[must_use]
    pub fn with_known(&self, prompt: &PromptInfo, given: &Values) -> Values {
        let values = given.clone().or_conversation(prompt, &self.record.preface, self.path);
        values.or_defaults(&prompt.defaults)
    }

    /// Finds the last node of this conversation that has a key, on whichever branch it is. A node that was pruned is not found.
    ///
    /// It takes one look at the conversation's metadata, and reads one node if there is such a key.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn node_with(&self, key: Digest) -> Result<Option<Node>> {
        let Some(id) = annotations::node_with(&self.record.metadata, key) else { return Ok(None) };
        if let Some(node) = self.path.iter().rev().find(|node| node.id == id) {
            return Ok(Some(node.clone()));
        }
        match self.store.load_node(self.owner, &self.record.id, id).await {
            Ok(node) => Ok(Some(node)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}
