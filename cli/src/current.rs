//! The current conversation: found by the arguments, and created with its first message, so that a chat without a message
//! stores nothing.

use alloquy::core::arguments::ProcessorArguments;
use alloquy::core::manager::NewConversation;
use alloquy::core::{
    Conversation, ConversationId, ConversationManager as _, Error, ErrorKind, Manager, Preface, Query, Result,
};

use crate::arguments::WhichConversation;
use crate::kept::Kept;
use crate::notes::Notes;
use crate::preview::shortened;

/// How many characters of the first question become the title.
const TITLE: usize = 60;

impl WhichConversation {
    /// Returns the conversation that the arguments name, or `None` when they name none.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when there is no conversation to continue.
    pub(crate) async fn find(&self, kept: &Kept) -> Result<Option<ConversationId>> {
        if self.last { last(kept).await.map(Some) } else { Ok(self.conversation.clone()) }
    }

    /// Returns the conversation that the arguments name, or the last one when they name none.
    ///
    /// # Errors
    /// As [`WhichConversation::find`].
    pub(crate) async fn find_or_last(&self, kept: &Kept) -> Result<ConversationId> {
        match &self.conversation {
            Some(id) => Ok(id.clone()),
            None => last(kept).await,
        }
    }
}

async fn last(kept: &Kept) -> Result<ConversationId> {
    let listed = kept.store.list(&kept.owner, &Query::default().limit(1)).await?.conversations;
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
pub(crate) struct Current<'a> {
    manager: &'a Manager,
    state: State,
    arguments: ProcessorArguments,
}

enum State {
    New(Box<NewConversation>),
    Stored(Conversation),
}

impl<'a> Current<'a> {
    /// Opens the conversation `id` if it exists. Otherwise the first message creates one of that name, or of a new name.
    pub(crate) async fn open(
        manager: &'a Manager,
        id: Option<ConversationId>,
        preface: Preface,
        notes: Notes,
    ) -> Result<Self> {
        let state = match id {
            None => State::New(Box::new(preface.into())),
            Some(id) => match manager.open(&id).await {
                Ok(chat) => {
                    notes.say(format_args!("continuing conversation {id}"));
                    keep_instructions(&chat, &preface, notes).await?;
                    State::Stored(chat)
                }
                Err(error) if error.is_not_found() => {
                    notes.say(format_args!("starting conversation {id}"));
                    State::New(Box::new(NewConversation::from(preface).id(id)))
                }
                Err(error) => return Err(error),
            },
        };
        Ok(Self { manager, state, arguments: ProcessorArguments::default() })
    }

    /// Sets the arguments of the model's processor for every turn.
    pub(crate) fn with_arguments(mut self, arguments: ProcessorArguments) -> Self {
        self.arguments = arguments;
        self
    }

    /// Returns the conversation, which is created if it is new.
    pub(crate) async fn begin(&mut self, question: &str) -> Result<Conversation> {
        if let State::New(new) = &self.state {
            let new = NewConversation::clone(new).metadata("title", shortened(question, TITLE));
            self.state = State::Stored(self.manager.create(new).await?);
        }
        self.chat()
    }

    /// Returns the conversation.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when nothing was said yet.
    pub(crate) fn chat(&self) -> Result<Conversation> {
        match &self.state {
            State::Stored(chat) => Ok(chat.clone().with_arguments(self.arguments.clone())),
            State::New(_) => Err(Error::new(ErrorKind::Invalid, "nothing was said yet")),
        }
    }

    /// Continues with another conversation.
    pub(crate) fn replace(&mut self, chat: Conversation) {
        self.state = State::Stored(chat);
    }
}
