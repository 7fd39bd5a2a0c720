//! Opens the model of a chat: the first one, and others in its place.

use std::path::PathBuf;

use alloquy::Model;
use alloquy::core::prompt_library::PromptLibrary;
use alloquy::core::store::ConversationStore;
use alloquy::core::tool::Toolbox;
use alloquy::core::{ConversationId, Manager, Owner, Result};

use std::sync::Arc;

use crate::arguments::{ContextArguments, ModelArguments, StoreArguments};
use crate::form::DemandArguments;
use crate::grounding::Grounding;
use crate::guards::Guards;
use crate::notes::Notes;
use crate::open;
use crate::resume::snapshots;

/// What a model of a chat is opened with.
#[derive(Clone)]
pub(crate) struct ModelOpener {
    pub(crate) arguments: ModelArguments,
    pub(crate) overflow: ContextArguments,
    pub(crate) demand: DemandArguments,
    pub(crate) store: Arc<dyn ConversationStore>,
    pub(crate) place: StoreArguments,
    pub(crate) owner: Owner,
    pub(crate) toolbox: Toolbox,
    pub(crate) tool_rounds: usize,
    pub(crate) guards: Guards,
    /// What the model is shown beside the conversation.
    pub(crate) grounding: Grounding,
    /// The library of prompts, if one is set.
    pub(crate) prompts: Option<Arc<dyn PromptLibrary>>,
    pub(crate) notes: Notes,
}

impl ModelOpener {
    /// Returns the opener of another model. What is of the first one alone is left out: its template, family, channels, adapter and
    /// draft model.
    pub(crate) fn of(&self, name: PathBuf) -> Self {
        let mut other = self.clone();
        let given = &self.arguments;
        let has_files = given.adapter.is_some() || given.draft.is_some();
        let has_own = given.template.is_some() || given.family.is_some() || has_files;
        if has_own || !given.channel.is_empty() {
            self.notes.say(
                "--template, --family, --channel, --adapter and --draft were for the first model, and are left out",
            );
        }
        other.arguments = ModelArguments {
            model: Some(name),
            template: None,
            family: None,
            adapter: None,
            draft: None,
            ..given.clone()
        };
        other.arguments.template_dialect = None;
        other.arguments.channel.clear();
        other
    }

    /// Loads the model.
    pub(crate) fn open(&self) -> Result<Model> {
        let builder = open::builder(&self.arguments, self.notes)?;
        let builder = self.overflow.added_to(self.demand.freeing(builder));
        open::opened(builder, self.notes)
    }

    /// Returns the manager of a model's conversations.
    pub(crate) fn manager(&self, model: &Model) -> Result<Manager> {
        let manager = model.manager().store(Arc::clone(&self.store)).owner(self.owner.clone());
        let manager = manager.toolbox(self.toolbox.clone()).tool_rounds(self.tool_rounds);
        let manager = match &self.prompts {
            Some(library) => manager.prompts(Arc::clone(library)),
            None => manager,
        };
        self.guards.added_to(manager, model, self.grounding.middleware(model)).build()
    }

    /// Returns the name of the model for people.
    pub(crate) fn name(&self) -> String {
        let Some(path) = &self.arguments.model else { return "the built-in model".to_owned() };
        let last = path.file_name().filter(|_| path.is_absolute());
        last.map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
    }

    /// Removes the saved cache of a conversation.
    pub(crate) fn forget_computed(&self, conversation: &ConversationId) -> Result<()> {
        snapshots(&self.place)?.remove(&self.owner, conversation).map(drop)
    }
}
