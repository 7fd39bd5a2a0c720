//! The host's door: a manager makes and finds conversations.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::Result;
use crate::chat_model::ChatModel;
use crate::conversation::{Conversation, must_be_free};
use crate::middleware::Middleware;
use crate::preface::Preface;
use crate::query::Query;
use crate::sampling::SamplingOptions;
use crate::search::SearchPage;
use crate::store::{
    Archive, ConversationId, ConversationPage, ConversationRecord, ConversationStore, ConversationStoreExt,
    Guarded, MemoryStore, Owner,
};
use crate::tool::{Tool, Toolbox};
use crate::turn::{PartialReplies, Parts, Spawner, TOOL_ROUNDS, Unfinished};

/// Makes and finds conversations.
///
/// ```
/// use alloquy_testing::ScriptedModel;
/// use alloquy_core::{Manager, Preface};
///
/// # pollster::block_on(async {
/// let model = ScriptedModel::new([("<user>Hi<end><assistant>", "Hello!")]);
/// let manager = Manager::new(model);
/// let conversation = manager.create(Preface::system("Be kind.")).await?;
/// let reply = conversation.send("Hi").finish().await?;
/// assert_eq!(reply.text(), "Hello!");
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Manager {
    parts: Arc<Parts>,
}

/// A conversation to be made.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct NewConversation {
    id: Option<ConversationId>,
    preface: Preface,
    sampling: SamplingOptions,
    metadata: Map<String, Value>,
}

impl NewConversation {
    /// Sets the name; a new one is made otherwise.
    pub fn id(mut self, id: ConversationId) -> Self {
        self.id = Some(id);
        self
    }

    /// Sets how replies of this conversation are sampled unless a call says otherwise; it is stored with it.
    pub fn sampling(mut self, sampling: SamplingOptions) -> Self {
        self.sampling = sampling;
        self
    }

    /// Remembers something with the conversation, such as a title.
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

/// Creates, opens, lists, searches, copies and deletes conversations: what a host knows that may be given another manager than [`Manager`],
/// such as one around it that counts or refuses. What is done with a conversation is the [`Conversation`]'s.
///
/// # Contract
/// Creating never overwrites, and opening never creates: a transient error of the store is an error, not a new
/// conversation.
#[async_trait]
pub trait ConversationManager: Send + Sync + std::fmt::Debug {
    /// Creates a conversation.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`](crate::ErrorKind) when its id is taken, [`ErrorKind::Invalid`](crate::ErrorKind) for bad
    /// sampling options and for metadata of the name [`ANNOTATIONS`](crate::annotations::ANNOTATIONS).
    async fn create(&self, new: NewConversation) -> Result<Conversation>;

    /// Opens a conversation; others call this to resume one.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind) when there is none.
    async fn open(&self, id: &ConversationId) -> Result<Conversation>;

    /// Opens a conversation, or creates it when there is none; only then is the preface used.
    ///
    /// # Errors
    /// Those of the store.
    async fn open_or_create(&self, id: &ConversationId, preface: Preface) -> Result<Conversation>;

    /// Lists the conversations that a query means, the last updated first unless it says otherwise.
    ///
    /// # Errors
    /// Those of the store.
    async fn list(&self, query: &Query) -> Result<ConversationPage>;

    /// Returns how many conversations a query means; its limit and its cursor do not count.
    ///
    /// # Errors
    /// Those of the store.
    async fn count(&self, query: &Query) -> Result<usize>;

    /// Finds the messages, on any branch, with the text of a query, in the conversations that it means.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a query without text, and those of the store.
    async fn search(&self, query: &Query) -> Result<SearchPage>;

    /// Returns a copy of a whole conversation, with every branch and the bytes of its media, for a document or another store.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind) when there is none, and those of the store.
    async fn export(&self, id: &ConversationId) -> Result<Archive>;

    /// Stores a whole conversation from elsewhere under its name and opens it. A failure leaves nothing behind.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`](crate::ErrorKind) when its id is taken, [`ErrorKind::Invalid`](crate::ErrorKind) for media
    /// without bytes, and those of the store.
    async fn import(&self, archive: &Archive) -> Result<Conversation>;

    /// Deletes a conversation.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind) when there is none.
    async fn delete(&self, id: &ConversationId) -> Result<()>;
}

impl Manager {
    /// Makes a manager of conversations in memory, of [`Owner::local`], without tools.
    pub fn new(model: impl ChatModel + 'static) -> Self {
        Self::builder(model).made()
    }

    /// Starts building a manager over a model: one in this process, a server, or one that is shared, as an [`Arc`].
    pub fn builder(model: impl ChatModel + 'static) -> ManagerBuilder {
        ManagerBuilder::new(Arc::new(model))
    }

    /// Creates a conversation; a [`Preface`] is enough.
    ///
    /// # Errors
    /// As [`ConversationManager::create`].
    pub async fn create(&self, new: impl Into<NewConversation>) -> Result<Conversation> {
        ConversationManager::create(self, new.into()).await
    }

    /// Returns the model.
    pub fn model(&self) -> &dyn ChatModel {
        &*self.parts.model
    }

    /// Returns the store.
    pub fn store(&self) -> &dyn ConversationStore {
        &*self.parts.store
    }

    /// Returns whose conversations these are.
    pub fn owner(&self) -> &Owner {
        &self.parts.owner
    }

    /// Returns a manager of the conversations of another owner, with the model, the tools and the store of this one: what a
    /// host makes for each request, at no cost worth counting. What dropped turns have left is waited for by both.
    ///
    /// ```
    /// use alloquy_testing::EchoModel;
    /// use alloquy_core::{Manager, Preface};
    ///
    /// # pollster::block_on(async {
    /// let manager = Manager::new(EchoModel);
    /// let (ann, bob) = (manager.for_owner("ann".parse()?), manager.for_owner("bob".parse()?));
    /// ann.create(Preface::default()).await?;
    /// assert_eq!(bob.store().count(bob.owner(), &Default::default()).await?, 0);
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn for_owner(&self, owner: Owner) -> Self {
        Self { parts: Arc::new(Parts { owner, ..(*self.parts).clone() }) }
    }

    /// Waits until what dropped turns have left is stored. Every call of a [`Conversation`] does so first; a host that drops a
    /// turn last of all, over a store that takes its time, calls this before it ends.
    ///
    /// # Errors
    /// The first failure of the store to keep a dropped reply.
    pub async fn settle(&self) -> Result<()> {
        self.parts.unfinished.outcome().await
    }

    fn conversation(&self, id: ConversationId) -> Conversation {
        Conversation::of(Arc::clone(&self.parts), id)
    }
}

#[async_trait]
impl ConversationManager for Manager {
    async fn create(&self, new: NewConversation) -> Result<Conversation> {
        let id = new.id.unwrap_or_else(ConversationId::new);
        new.sampling.validate()?;
        new.metadata.keys().try_for_each(|name| must_be_free(name))?;
        let NewConversation { preface, sampling, metadata, .. } = new;
        let record = ConversationRecord { sampling, metadata, ..ConversationRecord::new(id, preface) };
        self.parts.store.create(&self.parts.owner, &record).await?;
        Ok(self.conversation(record.id))
    }

    async fn open(&self, id: &ConversationId) -> Result<Conversation> {
        Ok(self.conversation(self.parts.store.record(&self.parts.owner, id).await?.id))
    }

    async fn open_or_create(&self, id: &ConversationId, preface: Preface) -> Result<Conversation> {
        match ConversationManager::open(self, id).await {
            Err(error) if error.is_not_found() => {
                let created = self.create(NewConversation::from(preface).id(id.clone())).await;
                match created {
                    // Another writer created it in between: that one it is.
                    Err(error) if error.is_conflict() => ConversationManager::open(self, id).await,
                    created => created,
                }
            }
            opened => opened,
        }
    }

    async fn list(&self, query: &Query) -> Result<ConversationPage> {
        self.parts.store.list(&self.parts.owner, query).await
    }

    async fn count(&self, query: &Query) -> Result<usize> {
        self.parts.store.count(&self.parts.owner, query).await
    }

    async fn search(&self, query: &Query) -> Result<SearchPage> {
        self.parts.settled().await.search(&self.parts.owner, query).await
    }

    async fn export(&self, id: &ConversationId) -> Result<Archive> {
        self.parts.settled().await.export(&self.parts.owner, id).await
    }

    async fn import(&self, archive: &Archive) -> Result<Conversation> {
        self.parts.store.import(&self.parts.owner, archive).await?;
        Ok(self.conversation(archive.record.id.clone()))
    }

    async fn delete(&self, id: &ConversationId) -> Result<()> {
        self.parts.store.delete(&self.parts.owner, id).await
    }
}

/// What a [`Manager`] is made of.
#[must_use]
pub struct ManagerBuilder {
    model: Arc<dyn ChatModel>,
    middleware: Vec<Arc<dyn Middleware>>,
    toolbox: Toolbox,
    store: Option<Arc<dyn ConversationStore>>,
    owner: Owner,
    sampling: SamplingOptions,
    tool_rounds: usize,
    partial_replies: PartialReplies,
    spawner: Option<Spawner>,
}

impl fmt::Debug for ManagerBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("ManagerBuilder");
        debug.field("model", &self.model).field("owner", &self.owner).finish_non_exhaustive()
    }
}

impl ManagerBuilder {
    fn new(model: Arc<dyn ChatModel>) -> Self {
        Self {
            model,
            middleware: Vec::new(),
            toolbox: Toolbox::default(),
            store: None,
            owner: Owner::local(),
            sampling: SamplingOptions::default(),
            tool_rounds: TOOL_ROUNDS,
            partial_replies: PartialReplies::default(),
            spawner: None,
        }
    }

    /// Keeps conversations in `store`; in memory unless set.
    pub fn store(mut self, store: Arc<dyn ConversationStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets whose conversations these are; [`Owner::local`] unless set. A manager sees those of one owner alone.
    pub fn owner(mut self, owner: Owner) -> Self {
        self.owner = owner;
        self
    }

    /// Offers a tool, and runs it when the model asks.
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.toolbox = self.toolbox.tool(tool);
        self
    }

    /// Offers the tools of `toolbox` under its rules; it takes the place of tools that were offered before.
    pub fn toolbox(mut self, toolbox: Toolbox) -> Self {
        self.toolbox = toolbox;
        self
    }

    /// Puts a middleware around every model call, inside those added before.
    pub fn middleware(mut self, middleware: impl Middleware + 'static) -> Self {
        self.middleware.push(Arc::new(middleware));
        self
    }

    /// Sets how replies are sampled unless a conversation or a call says otherwise.
    pub fn sampling(mut self, sampling: SamplingOptions) -> Self {
        self.sampling = sampling;
        self
    }

    /// Lets the model ask for tools this often in one turn, which then ends as [`TurnEnd::ToolRounds`]; 8 unless set.
    ///
    /// [`TurnEnd::ToolRounds`]: crate::turn::TurnEnd::ToolRounds
    pub fn tool_rounds(mut self, rounds: usize) -> Self {
        self.tool_rounds = rounds;
        self
    }

    /// Sets what becomes of replies that are dropped or fail while they are written; they are kept unless set.
    pub fn partial_replies(mut self, policy: PartialReplies) -> Self {
        self.partial_replies = policy;
        self
    }

    /// Stores what dropped turns have left in tasks of the host's runtime, which `spawn` starts.
    ///
    /// Unless set, a store with a thread of its own, as every store of `alloquy-storage` has, does so by itself, and another
    /// store with the manager's next call or with [`Manager::settle`].
    ///
    /// ```
    /// use alloquy_core::Manager;
    /// use alloquy_testing::EchoModel;
    ///
    /// // With a `handle` of tokio's runtime: `.spawner(move |work| drop(handle.spawn(work)))`.
    /// let manager = Manager::builder(EchoModel)
    ///     .spawner(|work| drop(std::thread::spawn(|| pollster::block_on(work))))
    ///     .build()?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn spawner(mut self, spawn: impl Fn(BoxFuture<'static, ()>) + Send + Sync + 'static) -> Self {
        self.spawner = Some(Arc::new(spawn));
        self
    }

    /// Builds the manager.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for bad sampling options, [`ErrorKind::Tool`](crate::ErrorKind) for tools
    /// whose names clash.
    pub fn build(self) -> Result<Manager> {
        self.sampling.validate()?;
        self.toolbox.now()?;
        Ok(self.made())
    }

    fn made(self) -> Manager {
        let store = self.store.unwrap_or_else(|| Arc::new(MemoryStore::default()));
        let parts = Parts {
            model: self.model,
            middleware: self.middleware,
            toolbox: self.toolbox,
            store: Arc::new(Guarded(store)),
            owner: self.owner,
            sampling: self.sampling,
            tool_rounds: self.tool_rounds,
            partial_replies: self.partial_replies,
            unfinished: Arc::new(Unfinished::with_spawner(self.spawner)),
            trails: Arc::default(),
        };
        Manager { parts: Arc::new(parts) }
    }
}
