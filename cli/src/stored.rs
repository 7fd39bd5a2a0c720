//! A stored conversation for commands without a model.

use alloquy::core::report::CacheReport;
use alloquy::core::{
    ChatModel, Conversation, ConversationId, ConversationManager as _, Error, ErrorKind, Manager,
    ReplyStream, Request, Result,
};
use async_trait::async_trait;
use clap::Args;

use crate::arguments::{StoreArguments, WhichConversation};
use crate::context::Context;
use crate::kept::{self, Kept};
use crate::names;
use crate::resume;

/// Which stored conversation a command uses, and its store.
#[derive(Args, Debug)]
pub(crate) struct Stored {
    #[command(flatten)]
    which: WhichConversation,
    #[command(flatten)]
    store: StoreArguments,
}

impl Stored {
    /// Groups arguments that a command has by themselves.
    pub(crate) fn new(which: WhichConversation, store: StoreArguments) -> Self {
        Self { which, store }
    }

    /// Opens the conversation that the arguments name, or the last one.
    pub(crate) async fn open(&self, context: &Context) -> Result<Conversation> {
        let kept = kept::kept(&context.settings.settle(&self.store)?).await?;
        self.of(kept, None).await.map(|(chat, _)| chat)
    }

    /// Opens it for reading only.
    pub(crate) async fn open_for_reading(&self, context: &Context) -> Result<Conversation> {
        let kept = kept::kept_for_reading(&context.settings.settle(&self.store)?).await?;
        self.of(kept, None).await.map(|(chat, _)| chat)
    }

    /// Opens it, and another one of the same store.
    pub(crate) async fn open_two(
        &self,
        context: &Context,
        other: &ConversationId,
    ) -> Result<(Conversation, Conversation)> {
        let kept = kept::kept(&context.settings.settle(&self.store)?).await?;
        let (chat, other) = self.of(kept, Some(other)).await?;
        Ok((chat.clone(), other.unwrap_or(chat)))
    }

    /// Removes the saved cache of a conversation, some of whose messages are pruned.
    pub(crate) fn forget_computed(&self, context: &Context, conversation: &ConversationId) -> Result<()> {
        let store: StoreArguments = context.settings.settle(&self.store)?;
        let served = context.settings.served_snapshots();
        resume::forget(&store, served.as_deref(), conversation)
            .map_err(|error| error.context("the messages are removed, but not what was computed of them"))
    }

    async fn of(
        &self,
        kept: Kept,
        other: Option<&ConversationId>,
    ) -> Result<(Conversation, Option<Conversation>)> {
        let id = self.which.find_or_last(&kept).await?;
        let other = match other {
            Some(name) => Some(names::existing(&kept, name).await?.record.id),
            None => None,
        };
        let manager = Manager::builder(NoModel).store(kept.store).owner(kept.owner).build()?;
        let other = match other {
            Some(other) => Some(manager.open(&other).await?),
            None => None,
        };
        Ok((manager.open(&id).await?, other))
    }
}

/// A placeholder for a model, which is never called.
#[derive(Debug)]
pub(crate) struct NoModel;

#[async_trait]
impl ChatModel for NoModel {
    fn name(&self) -> &str {
        "none"
    }

    async fn reply(&self, _: Request) -> Result<ReplyStream> {
        Err(Error::new(ErrorKind::Unsupported, "this command uses no model"))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}
