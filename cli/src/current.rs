//! The current conversation: found by the arguments, and created with its first message, so that a chat without a message
//! stores nothing.

use alloquy::core::arguments::ProcessorArguments;
use alloquy::core::manager::NewConversation;
use alloquy::core::{
    Conversation, ConversationId, ConversationManager as _, Error, ErrorKind, Manager, Preface, Query, Result,
};
use alloquy::memory::without_notes;

use crate::arguments::WhichConversation;
use crate::kept::Kept;
use crate::names;
use crate::notes::Notes;
use crate::outline::{MODEL, TITLE, TITLE_WIDTH};
use crate::preview::shortened;

impl WhichConversation {
    /// Returns the conversation that the arguments name, which may be a new one, or `None` when they name none.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when there is no conversation to continue, and those of [`names::existing_or_new`].
    pub(crate) async fn find(&self, kept: &Kept) -> Result<Option<ConversationId>> {
        match &self.conversation {
            Some(name) => names::existing_or_new(kept, name).await.map(Some),
            None if self.last => last(kept).await.map(Some),
            None => Ok(None),
        }
    }

    /// Returns the existing conversation that the arguments name, or the last one when they name none.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when there is none, [`ErrorKind::Invalid`] for a part of several ids.
    pub(crate) async fn find_or_last(&self, kept: &Kept) -> Result<ConversationId> {
        match &self.conversation {
            Some(name) => Ok(names::existing(kept, name).await?.record.id),
            None => last(kept).await,
        }
    }
}

/// Returns the conversation that was updated last. That of the notes is never meant.
///
/// # Errors
/// [`ErrorKind::NotFound`] when there is none.
pub(crate) async fn last(kept: &Kept) -> Result<ConversationId> {
    let listed =
        kept.store.list(&kept.owner, &Query::default().filter(without_notes()).limit(1)).await?.conversations;
    let Some(summary) = listed.into_iter().next() else {
        let message = "there is no conversation yet: start one with `alloquy chat`";
        return Err(Error::new(ErrorKind::NotFound, message));
    };
    Ok(summary.record.id)
}

/// Notes that a conversation keeps the instructions with which it was created, where others are given.
async fn keep_instructions(chat: &Conversation, given: &Preface, notes: Notes) -> Result<()> {
    let kept = chat.record().await?.preface;
    if !given.messages.is_empty() && given.messages != kept.messages {
        notes.say("this conversation keeps its first instructions; --system is for new ones");
    }
    Ok(())
}

/// A conversation that is stored, or will be stored with its first message.
pub(crate) struct Current {
    manager: Manager,
    state: State,
    arguments: ProcessorArguments,
    /// The conversation whose metadata has the model of this run.
    noted: Option<ConversationId>,
}

enum State {
    New { id: Option<ConversationId>, preface: Preface },
    Stored(Conversation),
}

impl Current {
    /// Opens the conversation `id` if it exists. Otherwise the first message creates one of that name, or of a new name.
    pub(crate) async fn open(
        manager: &Manager,
        id: Option<ConversationId>,
        preface: Preface,
        notes: Notes,
    ) -> Result<Self> {
        let state = match id {
            None => State::New { id: None, preface },
            Some(id) => match manager.open(&id).await {
                Ok(chat) => {
                    notes.say(format_args!("continuing conversation {id}"));
                    keep_instructions(&chat, &preface, notes).await?;
                    State::Stored(chat)
                }
                Err(error) if error.is_not_found() => {
                    notes.say(format_args!("starting conversation {id}"));
                    State::New { id: Some(id), preface }
                }
                Err(error) => return Err(error),
            },
        };
        Ok(Self { manager: manager.clone(), state, arguments: ProcessorArguments::default(), noted: None })
    }

    /// Sets the arguments of the model's processor for every turn.
    pub(crate) fn with_arguments(mut self, arguments: ProcessorArguments) -> Self {
        self.arguments = arguments;
        self
    }

    /// Returns the conversation, which is created if it is new.
    pub(crate) async fn begin(&mut self, question: &str) -> Result<Conversation> {
        let model = self.manager.model().name();
        match &self.state {
            State::New { id, preface } => {
                let id = id.clone().unwrap_or_else(ConversationId::new);
                let new = NewConversation::from(preface.clone()).id(id);
                let new = new.metadata(TITLE, shortened(question, TITLE_WIDTH)).metadata(MODEL, model);
                self.state = State::Stored(self.manager.create(new).await?);
            }
            // Lists show the model that answered last, and conditions find it.
            State::Stored(chat) if self.noted.as_ref() != Some(chat.id()) => {
                chat.set_metadata(MODEL, model).await?;
            }
            State::Stored(_) => {}
        }
        let chat = self.chat()?;
        self.noted = Some(chat.id().clone());
        Ok(chat)
    }

    /// Returns the conversation.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when nothing was said yet.
    pub(crate) fn chat(&self) -> Result<Conversation> {
        match &self.state {
            State::Stored(chat) => Ok(chat.clone().with_arguments(self.arguments.clone())),
            State::New { .. } => Err(Error::new(ErrorKind::Invalid, "nothing was said yet")),
        }
    }

    /// Continues with another conversation.
    pub(crate) fn replace(&mut self, chat: Conversation) {
        self.state = State::Stored(chat);
    }

    /// Returns the manager of the conversations.
    pub(crate) fn manager(&self) -> &Manager {
        &self.manager
    }

    /// Sets the arguments of the model's processor for every later turn.
    pub(crate) fn set_arguments(&mut self, arguments: ProcessorArguments) {
        self.arguments = arguments;
    }

    /// Lets another model answer, whose manager has the same store.
    pub(crate) async fn change_manager(&mut self, manager: Manager) -> Result<()> {
        if let State::Stored(chat) = &self.state {
            self.state = State::Stored(manager.open(chat.id()).await?);
        }
        self.manager = manager;
        // Another model answers from here on.
        self.noted = None;
        Ok(())
    }

    /// Returns what precedes the first message.
    pub(crate) async fn preface(&self) -> Result<Preface> {
        match &self.state {
            State::Stored(chat) => Ok(chat.record().await?.preface),
            State::New { preface, .. } => Ok(preface.clone()),
        }
    }

    /// Sets what precedes the first message of a conversation that is not stored yet. Returns whether it is not.
    pub(crate) fn set_preface(&mut self, to: Preface) -> bool {
        match &mut self.state {
            State::Stored(_) => false,
            State::New { preface, .. } => {
                *preface = to;
                true
            }
        }
    }

    /// Lets the next message begin a new conversation.
    pub(crate) fn restart(&mut self, preface: Preface) {
        self.state = State::New { id: None, preface };
    }
}
