//! A chat: one stored conversation, and everything that can be done with it.

mod annotating;
mod blocking;
mod checkpoints;
mod copying;
mod prompt;
mod walking;

use std::sync::Arc;

use crate::Result;
use crate::address::Address;
use crate::arguments::ProcessorArguments;
use crate::store::{ConversationId, ConversationRecord};
use crate::tree::NodeId;
use crate::turn::{self, Added, Parts, Place, Start, Turn, TurnRequest};

pub(crate) use annotating::must_be_free;
pub use copying::Merged;

/// One stored conversation. A handle: clones and other processes may use the same conversation at once.
#[derive(Clone, Debug)]
pub struct Chat {
    parts: Arc<Parts>,
    id: ConversationId,
    arguments: ProcessorArguments,
}

impl Chat {
    /// A conversation that exists in the store of `parts`.
    pub(crate) fn of(parts: Arc<Parts>, id: ConversationId) -> Self {
        Self { parts, id, arguments: ProcessorArguments::default() }
    }

    /// Sets what the processor is told in each turn of this handle unless a call says otherwise; it is not stored,
    /// and what is absent the preface decides.
    #[must_use]
    pub fn with_arguments(mut self, arguments: ProcessorArguments) -> Self {
        self.arguments = arguments;
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

    /// Returns where the conversation stands; `None` is before the first message.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn head(&self) -> Result<Option<NodeId>> {
        Ok(self.record().await?.head)
    }

    /// Says something and gets an answer, at the head unless the question says where.
    pub fn send(&self, ask: impl Into<TurnRequest>) -> Turn {
        self.turn(Place::Head, ask.into())
    }

    /// Gets an answer to what stands at the head, or where the question says. The turn is a stream of pieces; its
    /// `finish` is the whole answer.
    pub fn complete(&self, ask: TurnRequest) -> Turn {
        self.turn(Place::Head, ask)
    }

    /// Gets another answer to the last question before the head, or before where the question says; it stands beside
    /// the present one.
    pub fn regenerate(&self, ask: TurnRequest) -> Turn {
        self.turn(Place::Question, ask)
    }

    /// Says something beside `node`, in its stead, and gets an answer; the original stays as a branch.
    /// Where that is `node` alone says; what the question says of it counts elsewhere.
    pub fn edit(&self, node: impl Into<Address>, ask: impl Into<TurnRequest>) -> Turn {
        self.turn(Place::Beside(node.into()), ask.into())
    }

    fn turn(&self, place: Place, mut ask: TurnRequest) -> Turn {
        ask.arguments = ask.arguments.or(&self.arguments);
        let start = Start { conversation: self.id.clone(), place, ask };
        Turn::start(Arc::clone(&self.parts), start)
    }

    /// Adds messages without asking for an answer: of any role, as text or as parts.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for a result without its call, and those of the store; nothing is added then.
    pub async fn add(&self, ask: impl Into<TurnRequest>) -> Result<Added> {
        turn::add(&self.parts, &self.id, &ask.into()).await
    }
}
