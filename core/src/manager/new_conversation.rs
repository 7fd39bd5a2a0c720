//! The settings of a new conversation.

use serde_json::{Map, Value};

use crate::preface::Preface;
use crate::prompt_library::{FilledPrompt, PROMPT_KEY, PromptName, Values};
use crate::sampling::SamplingOptions;
use crate::store::ConversationId;

/// The settings of a new conversation.
///
/// ```
/// use alloquy_core::manager::NewConversation;
/// use alloquy_core::{Manager, Preface};
/// use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let new = NewConversation::from(Preface::system("Be brief.")).id("tea".parse()?).metadata("title", "Tea");
/// let conversation = Manager::new(EchoModel).create(new).await?;
/// assert_eq!(conversation.id().as_str(), "tea");
/// assert_eq!(conversation.metadata().await?["title"], "Tea");
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct NewConversation {
    pub(super) id: Option<ConversationId>,
    pub(super) preface: Preface,
    pub(super) sampling: SamplingOptions,
    pub(super) metadata: Map<String, Value>,
    pub(super) system_prompt: Option<(PromptName, Values)>,
}

impl NewConversation {
    /// Sets the name; a unique one is generated otherwise.
    pub fn id(mut self, id: ConversationId) -> Self {
        self.id = Some(id);
        self
    }

    /// Sets the sampling of this conversation, which is stored with it. A call may override it.
    pub fn sampling(mut self, sampling: SamplingOptions) -> Self {
        self.sampling = sampling;
        self
    }

    /// Begins with a prompt of the manager's library, filled in with `values`. Its messages precede those of the preface, and
    /// the conversation's metadata names it below [`PROMPT_KEY`].
    ///
    /// # Errors
    /// Creating the conversation fails if the prompt does not exist or cannot be filled in, and then stores nothing.
    /// [`ManagerBuilder::prompts`](crate::manager::ManagerBuilder::prompts) has an example.
    pub fn system_prompt_name(mut self, name: PromptName, values: Values) -> Self {
        self.system_prompt = Some((name, values));
        self
    }

    /// Stores a value with the conversation, such as a title.
    pub fn metadata(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(name.into(), value.into());
        self
    }
}

impl From<Preface> for NewConversation {
    fn from(preface: Preface) -> Self {
        Self { preface, ..Self::default() }
    }
}

impl From<FilledPrompt> for NewConversation {
    fn from(filled: FilledPrompt) -> Self {
        let facts = filled.facts.to_json();
        Self::from(Preface::from(filled)).metadata(PROMPT_KEY, facts)
    }
}
