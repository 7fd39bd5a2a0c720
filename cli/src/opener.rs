//! Opens the model of a chat: the first one, and others in its place.

use std::path::PathBuf;

use alloquy::core::prompt_library::PromptLibrary;
use alloquy::core::store::ConversationStore;
use alloquy::core::tool::Toolbox;
use alloquy::core::{ConversationId, Manager, Owner, Result};

use std::sync::Arc;

use crate::arguments::{ContextArguments, ModelArguments, RemoteArguments, StoreArguments};
use crate::form::DemandArguments;
use crate::grounding::Grounding;
use crate::guards::Guards;
use crate::notes::Notes;
use crate::open;
use crate::open_model::OpenModel;
use crate::resume;

/// What a model of a chat is opened with.
#[derive(Clone)]
pub(crate) struct ModelOpener {
    pub(crate) arguments: ModelArguments,
    pub(crate) overflow: ContextArguments,
    pub(crate) demand: DemandArguments,
    pub(crate) store: Arc<dyn ConversationStore>,
    pub(crate) place: StoreArguments,
    /// The place of the server's snapshots, if one is set.
    pub(crate) served_snapshots: Option<String>,
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

/// Another model, as a person names it in a chat.
#[derive(Clone, Debug)]
pub(crate) struct ChosenModel {
    /// The address of a server, if one is named.
    pub(crate) url: Option<String>,
    pub(crate) name: Option<PathBuf>,
}

impl ModelOpener {
    /// Returns the opener of another model. What is of the first one alone is left out: its template, family, channels, adapter and
    /// draft model.
    ///
    /// A name alone is a model of the same chat endpoint, where one is used, and of this machine otherwise.
    pub(crate) fn of(&self, ChosenModel { url, name }: ChosenModel) -> Self {
        let mut other = self.clone();
        let given = &self.arguments;
        let url = url.or_else(|| given.remote.remote_chat.and_then(|_| given.remote.remote.first().cloned()));
        let remote = url.map_or_else(RemoteArguments::default, |url| given.remote.of_server(url));
        if remote.withholds_key() {
            self.notes.say("the key is of the first server, and not sent to this one");
        }
        let has_files = given.adapter.is_some() || given.draft.is_some();
        let has_own = given.template.is_some() || given.family.is_some() || has_files;
        if has_own || !given.channel.is_empty() {
            self.notes.say(
                "--template, --family, --channel, --adapter and --draft were for the first model, and are left out",
            );
        }
        other.arguments = ModelArguments {
            model: name,
            remote,
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
    pub(crate) fn open(&self) -> Result<OpenModel> {
        open::for_turns(&self.arguments, &self.overflow, Some(&self.demand), self.notes)
    }

    /// Returns the manager of a model's conversations.
    pub(crate) fn manager(&self, model: &OpenModel) -> Result<Manager> {
        let manager = model.manager().store(Arc::clone(&self.store)).owner(self.owner.clone());
        let manager = manager.toolbox(self.toolbox.clone()).tool_rounds(self.tool_rounds);
        let manager = match &self.prompts {
            Some(library) => manager.prompts(Arc::clone(library)),
            None => manager,
        };
        self.guards.added_to(manager, model, self.grounding.middleware(model)).build()
    }

    /// Returns the address of the model's server.
    pub(crate) fn url(&self) -> Option<&str> {
        self.arguments.remote.address().ok().flatten()
    }

    /// Returns the name of the model for people.
    pub(crate) fn name(&self) -> String {
        let remote = &self.arguments.remote;
        let name = match (&self.arguments.model, self.url()) {
            (Some(path), _) => {
                let last = path.file_name().filter(|_| path.is_absolute());
                last.map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
            }
            (None, Some(_)) => remote.remote_model.clone().unwrap_or_else(|| "the model".to_owned()),
            (None, None) => "the built-in model".to_owned(),
        };
        self.url().map_or_else(|| name.clone(), |url| format!("{name} at {url}"))
    }

    /// Removes the saved cache of a conversation.
    pub(crate) fn forget_computed(&self, conversation: &ConversationId) -> Result<()> {
        resume::forget(&self.place, self.served_snapshots.as_deref(), conversation)
    }
}
