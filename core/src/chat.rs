//! A chat: one stored conversation, and everything that can be done with it.

use std::sync::Arc;

use serde_json::Value;

use crate::arguments::ProcessorArguments;
use crate::chat_model::{CacheReport, Request};
use crate::guidance::Guidance;
use crate::message::{Message, Role};
use crate::sampling::SamplingOptions;
use crate::scoring::Score;
use crate::store::{ConversationId, ConversationRecord};
use crate::template::Ending;
use crate::tree::{Address, Node, NodeId, Tree};
use crate::turn::{self, Parts, Place, Start, Turn};
use crate::{Error, ErrorKind, Result};

/// What is asked in one turn: messages, and whatever differs from the manager's settings this once.
///
/// ```
/// use alloquy_core::{Ask, SamplingOptions};
///
/// let ask = Ask::from("Surprise me").sampling(SamplingOptions { temperature: Some(1.2), ..Default::default() });
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Ask {
    messages: Vec<Message>,
    sampling: SamplingOptions,
    arguments: ProcessorArguments,
    guidance: Guidance,
}

impl Ask {
    /// Sets the form that the replies of this turn must have. Once the model has called tools it need not call more,
    /// and then answers in that form.
    pub fn guidance(mut self, guidance: Guidance) -> Self {
        self.guidance = guidance;
        self
    }

    /// Sets how this reply is sampled; what is absent the manager decides.
    pub fn sampling(mut self, sampling: SamplingOptions) -> Self {
        self.sampling = sampling;
        self
    }

    /// Sets a variable of the chat template for this turn, over that of the conversation and of the preface.
    pub fn extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.arguments.extra.insert(name.into(), value.into());
        self
    }

    /// Sets what the processor is told in this turn, over what was set before; what is absent the conversation
    /// decides, then the preface.
    pub fn arguments(mut self, arguments: ProcessorArguments) -> Self {
        self.arguments = arguments.or(&self.arguments);
        self
    }
}

impl From<Vec<Message>> for Ask {
    fn from(messages: Vec<Message>) -> Self {
        Self { messages, ..Self::default() }
    }
}

impl From<Message> for Ask {
    fn from(message: Message) -> Self {
        Self::from(vec![message])
    }
}

impl From<&str> for Ask {
    fn from(text: &str) -> Self {
        Self::from(Message::user(text))
    }
}

impl From<String> for Ask {
    fn from(text: String) -> Self {
        Self::from(Message::user(text))
    }
}

/// One stored conversation. A handle: clones and other processes may use the same conversation at once.
#[derive(Clone, Debug)]
pub struct Chat {
    parts: Arc<Parts>,
    id: ConversationId,
    arguments: ProcessorArguments,
}

impl Chat {
    /// A conversation that exists in the store of `parts`.
    pub(crate) fn new(parts: Arc<Parts>, id: ConversationId) -> Self {
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
        self.parts.store.record(&self.id).await
    }

    /// Returns where the conversation stands; `None` is before the first message.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn head(&self) -> Result<Option<NodeId>> {
        Ok(self.record().await?.head)
    }

    /// Says something at the head and gets an answer.
    pub fn send(&self, ask: impl Into<Ask>) -> Turn {
        self.turn(Place::Head, ask.into())
    }

    /// Gets an answer to what stands at the head.
    pub fn complete(&self, ask: Ask) -> Turn {
        self.turn(Place::Head, ask)
    }

    /// Gets another answer to the last question; it stands beside the present one.
    pub fn regenerate(&self, ask: Ask) -> Turn {
        self.turn(Place::Question, ask)
    }

    /// Says something beside `node`, in its stead, and gets an answer; the original stays as a branch.
    pub fn edit(&self, node: NodeId, ask: impl Into<Ask>) -> Turn {
        self.turn(Place::Beside(node), ask.into())
    }

    fn turn(&self, place: Place, ask: Ask) -> Turn {
        let Ask { messages, sampling, arguments, guidance } = ask;
        let arguments = arguments.or(&self.arguments);
        let start = Start { conversation: self.id.clone(), place, messages, sampling, arguments, guidance };
        Turn::start(Arc::clone(&self.parts), start)
    }

    /// Adds messages at the head without asking for an answer, and returns the last one's node.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when another writer moved the head meanwhile: the messages stand as a branch then.
    /// [`ErrorKind::Invalid`] for a result without its call.
    pub async fn add(&self, ask: impl Into<Ask>) -> Result<Option<NodeId>> {
        turn::add(&self.parts, &self.id, &ask.into().messages).await
    }

    /// Goes to a node, or with `None` before the first message: what is said next follows it.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a node that is not here.
    pub async fn goto(&self, node: impl Into<Option<NodeId>>) -> Result<()> {
        let to = node.into();
        loop {
            let from = self.head().await?;
            match self.parts.store.set_head(&self.id, from, to).await {
                // Somebody else moved it between the two calls, which is progress of theirs: try again.
                Err(error) if error.is_conflict() => {}
                moved => return moved,
            }
        }
    }

    /// Takes back the last question with its answer: the head goes before it, and nothing is deleted.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when nothing was asked yet.
    pub async fn undo(&self) -> Result<Option<NodeId>> {
        let history = self.history().await?;
        let asked = history.iter().rfind(|node| node.message.role == Role::User);
        let nothing = || Error::new(ErrorKind::Invalid, "there is no question to take back");
        let before = asked.ok_or_else(nothing)?.parent;
        self.goto(before).await?;
        Ok(before)
    }

    /// Reads the nodes from the first message to the head.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn history(&self) -> Result<Vec<Node>> {
        match self.head().await? {
            Some(head) => self.parts.store.load_path(&self.id, head).await,
            None => Ok(Vec::new()),
        }
    }

    /// Reads the whole tree.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn tree(&self) -> Result<Tree> {
        Ok(self.parts.store.load(&self.id).await?.1)
    }

    /// Reads what was said after `node`, in the order it was said; with `None`, the first messages.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a node that is not here.
    pub async fn branches(&self, node: impl Into<Option<NodeId>>) -> Result<Vec<Node>> {
        let (tree, node) = (self.tree().await?, node.into());
        tree.path(node)?;
        tree.children(node).iter().map(|&child| tree.node(child).cloned()).collect()
    }

    /// Finds a node by its id or by its address such as `0.1`; the empty address is `None`.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`], or [`ErrorKind::Invalid`] for what is neither.
    pub async fn resolve(&self, name: &str) -> Result<Option<NodeId>> {
        let tree = self.tree().await?;
        if let Ok(id) = name.parse::<NodeId>() {
            return tree.node(id).map(|node| Some(node.id));
        }
        tree.at(&name.parse::<Address>()?)
    }

    /// Copies the path to the head into a new conversation.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn fork(&self) -> Result<Chat> {
        let (record, path) = (self.record().await?, self.history().await?);
        let id = ConversationId::new();
        let ConversationRecord { preface, sampling, metadata, .. } = record;
        let copy = ConversationRecord { sampling, metadata, ..ConversationRecord::new(id, preface) };
        self.parts.store.create(&copy).await?;
        if let Err(error) = self.fill(&copy.id, &path).await {
            // Half a copy is no copy. Should deleting fail too, the first error is the one to tell.
            let _ = self.parts.store.delete(&copy.id).await;
            return Err(error);
        }
        Ok(Chat::new(Arc::clone(&self.parts), copy.id).with_arguments(self.arguments.clone()))
    }

    async fn fill(&self, copy: &ConversationId, path: &[Node]) -> Result<()> {
        self.parts.store.append(copy, path).await?;
        self.parts.store.set_head(copy, None, path.last().map(|node| node.id)).await
    }

    /// Computes the prompt up to the head ahead of the next question, as middleware passes it on.
    ///
    /// # Errors
    /// Those of the store, the middleware and the model.
    pub async fn warm(&self) -> Result<Option<CacheReport>> {
        let request = self.request().await?;
        self.parts.next().warm(request).await
    }

    /// Returns what the model would be asked at the head, before middleware.
    ///
    /// # Errors
    /// Those of the store, and [`ErrorKind::Tool`] for tools whose names clash.
    pub async fn request(&self) -> Result<Request> {
        let record = self.record().await?;
        let path = match record.head {
            Some(head) => self.parts.path(&self.id, head).await?,
            None => Vec::new(),
        };
        let tools = self.parts.toolbox.now()?;
        let mut request = self.parts.request(&tools, &record.preface, &path);
        request.sampling = record.sampling.or(&request.sampling);
        Ok(request.arguments(self.arguments.clone()).ending(Ending::Closed))
    }

    /// Says how likely each of `targets` is as the answer to what stands at the head, as middleware passes it on.
    ///
    /// The conversation stays as it is, stored and computed: the next turn reuses as much as it would have without.
    ///
    /// # Errors
    /// Those of the store and the middleware, and as [`ChatModel::score`](crate::ChatModel::score).
    pub async fn score(&self, targets: &[String]) -> Result<Vec<Score>> {
        let request = self.request().await?.ending(Ending::Answer);
        self.parts.next().score(request, targets).await
    }
}
