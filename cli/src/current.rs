//! The conversation that is meant: found by the arguments, and made when the first thing is said, so that
//! looking leaves no trace.

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
    /// [`ErrorKind::NotFound`] when there is nothing to go on with.
    pub(crate) async fn find(&self, kept: &Kept) -> Result<Option<ConversationId>> {
        match self.last {
            true => last(kept).await.map(Some),
            false => Ok(self.conversation.clone()),
        }
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
    let none =
        || Error::new(ErrorKind::NotFound, "there is no conversation yet: begin one with `alloquy chat`");
    listed.into_iter().next().map(|summary| summary.record.id).ok_or_else(none)
}

/// A conversation keeps the instructions it began with; says so where others were given.
async fn keep_instructions(chat: &Conversation, given: &Preface, notes: Notes) -> Result<()> {
    let kept = chat.record().await?.preface;
    if !given.messages.is_empty() && given.messages != kept.messages {
        notes.say("this conversation keeps the instructions it began with; --system is for new ones");
    }
    Ok(())
}

/// A conversation, or what one will be made of.
pub(crate) struct Current<'a> {
    manager: &'a Manager,
    state: State,
    told: ProcessorArguments,
}

enum State {
    New(Box<NewConversation>),
    Begun(Conversation),
}

impl<'a> Current<'a> {
    /// Opens the conversation `id` if there is one; else one of that name, or of a new name, is made in time.
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
                    notes.say(format_args!("going on with conversation {id}"));
                    keep_instructions(&chat, &preface, notes).await?;
                    State::Begun(chat)
                }
                Err(error) if error.is_not_found() => {
                    notes.say(format_args!("beginning conversation {id}"));
                    State::New(Box::new(NewConversation::from(preface).id(id)))
                }
                Err(error) => return Err(error),
            },
        };
        Ok(Self { manager, state, told: ProcessorArguments::default() })
    }

    /// Sets what the model's processor is told in each turn.
    pub(crate) fn telling(mut self, told: ProcessorArguments) -> Self {
        self.told = told;
        self
    }

    /// Returns the conversation, beginning it if need be.
    pub(crate) async fn begin(&mut self, question: &str) -> Result<Conversation> {
        if let State::New(new) = &self.state {
            let new = NewConversation::clone(new).metadata("title", shortened(question, TITLE));
            self.state = State::Begun(self.manager.create(new).await?);
        }
        self.chat()
    }

    /// Returns the conversation.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when nothing was said yet.
    pub(crate) fn chat(&self) -> Result<Conversation> {
        match &self.state {
            State::Begun(chat) => Ok(chat.clone().with_arguments(self.told.clone())),
            State::New(_) => Err(Error::new(ErrorKind::Invalid, "nothing was said yet")),
        }
    }

    /// Goes on with another conversation.
    pub(crate) fn replace(&mut self, chat: Conversation) {
        self.state = State::Begun(chat);
    }
}
