//! A conversation: a tree of messages in a store, with methods to send, edit, branch, copy and annotate.

mod annotating;
mod blocking;
mod branches;
mod checkpoints;
mod copying;
mod drawing;
mod prompt;
#[cfg(feature = "schemars")]
mod typed;
mod walking;

use std::sync::Arc;

use crate::Result;
use crate::arguments::ProcessorArguments;
use crate::middleware::Middleware;
use crate::store::{ConversationId, ConversationRecord, ConversationSummary};
use crate::tree::{Address, NodeId};
use crate::turn::{self, AddOutcome, Parts, Place, Start, Turn, TurnRequest};

pub(crate) use annotating::must_be_free;
pub use branches::{Branch, BranchDiff};
pub use copying::MergeReport;
pub use drawing::TreeDrawing;

/// One conversation: a tree of messages, in memory or in the store of a [`Manager`](crate::Manager).
///
/// It is a handle: clones and other processes may use the same conversation concurrently. [`Conversation::fork`] makes an
/// independent copy.
///
/// ```
/// use alloquy_core::Conversation;
/// use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let conversation = Conversation::new(EchoModel);
/// conversation.send("Hello").await?;
/// let copy = conversation.fork().await?;
/// copy.send("Goodbye").await?;
/// assert_eq!((conversation.history().await?.len(), copy.history().await?.len()), (2, 4));
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Conversation {
    parts: Arc<Parts>,
    id: ConversationId,
    arguments: ProcessorArguments,
    middleware: Vec<Arc<dyn Middleware>>,
}

impl Conversation {
    /// A conversation that exists in the store of `parts`.
    pub(crate) fn of(parts: Arc<Parts>, id: ConversationId) -> Self {
        Self { parts, id, arguments: ProcessorArguments::default(), middleware: Vec::new() }
    }

    /// Sets the arguments for the processor in each turn of this handle. A call may override them, and the preface
    /// decides what is absent. They are not stored.
    #[must_use]
    pub fn with_arguments(mut self, arguments: ProcessorArguments) -> Self {
        self.arguments = arguments;
        self
    }

    /// Adds a middleware to each turn of this handle, after those of the manager and before those of the turn. It is
    /// not stored.
    ///
    /// ```
    /// use alloquy_core::{Conversation, Message, ReplyStream, Request, Result};
    /// use alloquy_core::middleware::{Middleware, Next};
    /// use alloquy_testing::EchoModel;
    ///
    /// /// Asks in capital letters.
    /// #[derive(Debug)]
    /// struct Loud;
    ///
    /// #[async_trait::async_trait]
    /// impl Middleware for Loud {
    ///     async fn handle(&self, mut request: Request, next: Next<'_>) -> Result<ReplyStream> {
    ///         let asked = request.path.last().map(Message::text).unwrap_or_default();
    ///         request.path.push(Message::user(asked.to_uppercase()));
    ///         next.call(request).await
    ///     }
    /// }
    ///
    /// let conversation = Conversation::new(EchoModel).with_middleware(Loud);
    /// assert_eq!(conversation.ask("Hello")?.text(), "HELLO");
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn with_middleware(mut self, middleware: impl Middleware + 'static) -> Self {
        self.middleware.push(Arc::new(middleware));
        self
    }

    /// Returns the conversation's name.
    pub fn id(&self) -> &ConversationId {
        &self.id
    }

    /// Reads the conversation without its nodes.
    ///
    /// # Errors
    /// Those of the store, here and below.
    pub async fn record(&self) -> Result<ConversationRecord> {
        self.parts.settled().await.record(&self.parts.owner, &self.id).await
    }

    /// Reads the conversation without its nodes, but with their number and the time of the last one.
    ///
    /// ```
    /// use alloquy_core::Conversation;
    /// # use alloquy_testing::EchoModel;
    ///
    /// # pollster::block_on(async {
    /// let conversation = Conversation::new(EchoModel);
    /// conversation.send("Hi!").finish().await?;
    /// let summary = conversation.summary().await?;
    /// assert_eq!(summary.nodes, 2);
    /// assert!(summary.updated >= summary.record.created);
    /// # Ok::<(), alloquy_core::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Those of the store.
    pub async fn summary(&self) -> Result<ConversationSummary> {
        self.parts.settled().await.summary(&self.parts.owner, &self.id).await
    }

    /// Returns the head: the node that the next message follows. `None` is before the first message.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn head(&self) -> Result<Option<NodeId>> {
        Ok(self.record().await?.head)
    }

    /// Sends messages after the head, or after [`TurnRequest::at`], and gets a reply.
    pub fn send(&self, ask: impl Into<TurnRequest>) -> Turn {
        self.turn(Place::Head, ask.into())
    }

    /// Gets a reply to the message at the head, or at [`TurnRequest::at`]. The turn is a stream of events; awaited, it
    /// is the whole reply.
    pub fn complete(&self, ask: TurnRequest) -> Turn {
        self.turn(Place::Head, ask)
    }

    /// Regenerates the reply to the last user message before the head, or before [`TurnRequest::at`]. The present reply
    /// stays as a branch.
    pub fn regenerate(&self, ask: TurnRequest) -> Turn {
        self.turn(Place::Question, ask)
    }

    /// Sends messages instead of `node` and gets a reply; the original stays as a branch.
    /// [`TurnRequest::at`] has no effect here: `node` is the place.
    pub fn edit(&self, node: impl Into<Address>, ask: impl Into<TurnRequest>) -> Turn {
        self.turn(Place::Beside(node.into()), ask.into())
    }

    /// Adds the settings of this handle to those of a turn or a draft.
    fn settle(&self, ask: &mut TurnRequest) {
        ask.arguments = std::mem::take(&mut ask.arguments).or(&self.arguments);
        ask.middleware.splice(..0, self.middleware.iter().cloned());
    }

    fn turn(&self, place: Place, mut ask: TurnRequest) -> Turn {
        self.settle(&mut ask);
        let start = Start { conversation: self.id.clone(), place, ask };
        Turn::start(Arc::clone(&self.parts), start)
    }

    /// Adds messages of any role without requesting a reply, and returns their nodes. [`TurnRequest::reply_facts`]
    /// gives a reply that was generated elsewhere its model, usage and finish reason.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for a tool result without its call, and for facts of a message
    /// that is not a reply; and those of the store. In each case nothing is added.
    pub async fn add(&self, ask: impl Into<TurnRequest>) -> Result<AddOutcome> {
        turn::add(&self.parts, &self.id, &ask.into()).await
    }
}
