//! The manager, with which a host creates, opens, finds and deletes conversations.

mod new_conversation;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;

use crate::chat_model::ChatModel;
use crate::conversation::{Conversation, must_be_free};
use crate::middleware::Middleware;
use crate::preface::Preface;
use crate::prompt_library::{PROMPT_KEY, PromptLibrary, ValueSource};
use crate::query::Query;
use crate::sampling::SamplingOptions;
use crate::search::SearchPage;
use crate::store::{
    Archive, ConversationId, ConversationPage, ConversationRecord, ConversationStore, ConversationStoreExt,
    Guarded, MemoryStore, Owner,
};
use crate::tool::{Tool, Toolbox};
use crate::turn::{PartialReplyPolicy, Parts, Spawner, TOOL_ROUNDS, Unfinished, fill};
use crate::{Error, ErrorKind, Result};

pub use new_conversation::NewConversation;

/// How many conversations an error lists.
const CANDIDATES: usize = 8;

/// Creates, opens, finds and deletes the conversations of one owner.
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

/// Creates, opens, lists, searches, copies and deletes conversations. A host that uses this trait accepts any manager,
/// such as one around [`Manager`] that counts or refuses calls. The methods for one conversation are those of
/// [`Conversation`].
///
/// # Contract
/// Creating never overwrites, and opening never creates: a transient error of the store is an error, not a new
/// conversation.
#[async_trait]
pub trait ConversationManager: Send + Sync + std::fmt::Debug {
    /// Creates a conversation.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`](crate::ErrorKind) if its id exists, [`ErrorKind::Invalid`](crate::ErrorKind) for invalid
    /// sampling options and for metadata of the name [`ANNOTATIONS_KEY`](crate::annotations::ANNOTATIONS_KEY).
    async fn create(&self, new: NewConversation) -> Result<Conversation>;

    /// Opens an existing conversation.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind) if there is none.
    async fn open(&self, id: &ConversationId) -> Result<Conversation>;

    /// Opens a conversation, or creates it with `preface` if there is none.
    ///
    /// # Errors
    /// Those of the store.
    async fn open_or_create(&self, id: &ConversationId, preface: Preface) -> Result<Conversation>;

    /// Lists the conversations that match a query, the last updated first unless the query has another order.
    ///
    /// # Errors
    /// Those of the store.
    async fn list(&self, query: &Query) -> Result<ConversationPage>;

    /// Returns how many conversations match a query; its limit and its cursor have no effect.
    ///
    /// # Errors
    /// Those of the store.
    async fn count(&self, query: &Query) -> Result<usize>;

    /// Finds the messages that match the text of a query, on any branch of the conversations that match its other
    /// conditions.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a query without text, and those of the store.
    async fn search(&self, query: &Query) -> Result<SearchPage>;

    /// Returns a copy of a whole conversation with every branch and the bytes of its media.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind) if there is none, and those of the store.
    async fn export(&self, id: &ConversationId) -> Result<Archive>;

    /// Stores an exported conversation under its name and opens it. A failure stores nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`](crate::ErrorKind) if its id exists, [`ErrorKind::Invalid`](crate::ErrorKind) for media
    /// without bytes, and those of the store.
    async fn import(&self, archive: &Archive) -> Result<Conversation>;

    /// Deletes a conversation.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind) if there is none.
    async fn delete(&self, id: &ConversationId) -> Result<()>;
}

impl Manager {
    /// Creates a manager of conversations in memory, for [`Owner::local`] and without tools.
    pub fn new(model: impl ChatModel + 'static) -> Self {
        Self::builder(model).made()
    }

    /// Starts building a manager for a model: a local one, a server, or a shared one in an [`Arc`].
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

    /// Opens the conversation that a name means: its id, or the beginning or the end of a generated id, of 4 digits or more.
    /// [`ConversationStoreExt::named`] has the rules.
    ///
    /// ```
    /// use alloquy_core::{Manager, Preface};
    /// use alloquy_testing::EchoModel;
    ///
    /// # pollster::block_on(async {
    /// let manager = Manager::new(EchoModel);
    /// let created = manager.create(Preface::default()).await?;
    /// let found = manager.find(&created.id().as_str()[28..]).await?;
    /// assert_eq!(found.id(), created.id());
    /// assert!(manager.find("tea").await.unwrap_err().is_not_found());
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is none, [`ErrorKind::Invalid`] if several ids begin or end so.
    pub async fn find(&self, name: &str) -> Result<Conversation> {
        let found = self.parts.store.named(&self.parts.owner, name, CANDIDATES).await?;
        match found.as_slice() {
            [] => Err(Error::new(ErrorKind::NotFound, format!("conversation {name:?} does not exist"))),
            [summary] => Ok(self.conversation(summary.record.id.clone())),
            several => {
                let ids: Vec<_> = several.iter().map(|summary| summary.record.id.as_str()).collect();
                let message = format!("{name:?} is a part of several ids: {}", ids.join(", "));
                Err(Error::new(ErrorKind::Invalid, message))
            }
        }
    }

    /// Returns the model.
    pub fn model(&self) -> &dyn ChatModel {
        &*self.parts.model
    }

    /// Returns the store.
    pub fn store(&self) -> &dyn ConversationStore {
        &*self.parts.store
    }

    /// Returns the owner of the conversations.
    pub fn owner(&self) -> &Owner {
        &self.parts.owner
    }

    /// Returns a manager for another owner with the model, the tools and the store of this one. It is cheap enough to
    /// be created for each request. Both managers wait until the replies of dropped turns are stored.
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

    /// Waits until the partial replies of dropped turns are stored. Every method of [`Conversation`] does so first. A
    /// host calls this before it exits, if it may have dropped a turn.
    ///
    /// # Errors
    /// The first error of the store for such a reply.
    pub async fn flush(&self) -> Result<()> {
        self.parts.unfinished.outcome().await
    }

    fn conversation(&self, id: ConversationId) -> Conversation {
        Conversation::of(Arc::clone(&self.parts), id)
    }

    /// Puts the prompt that a new conversation names in front of its preface.
    async fn filled(&self, mut new: NewConversation) -> Result<NewConversation> {
        if let Some((name, values)) = new.system_prompt.take() {
            let prompt = self.parts.prompt(&name)?;
            let id = new.id.get_or_insert_with(ConversationId::new).clone();
            let record = ConversationRecord::new(id, new.preface.clone());
            let (prompt, found) = fill(&self.parts, &record, &[], &*prompt, &values).await?;
            new.preface.messages.splice(..0, prompt.to_messages());
            for (key, value) in found.metadata {
                new.metadata.entry(key).or_insert(value);
            }
            new.metadata.insert(PROMPT_KEY.to_owned(), prompt.facts.to_json());
        }
        Ok(new)
    }
}

#[async_trait]
impl ConversationManager for Manager {
    async fn create(&self, new: NewConversation) -> Result<Conversation> {
        let new = self.filled(new).await?;
        let id = new.id.unwrap_or_else(ConversationId::new);
        new.sampling.validate()?;
        for name in new.metadata.keys() {
            must_be_free(name)?;
        }
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
                    // Another writer has created it meanwhile: open that one.
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

/// Builds a [`Manager`].
#[must_use]
pub struct ManagerBuilder {
    model: Arc<dyn ChatModel>,
    middleware: Vec<Arc<dyn Middleware>>,
    toolbox: Toolbox,
    store: Option<Arc<dyn ConversationStore>>,
    owner: Owner,
    sampling: SamplingOptions,
    tool_rounds: usize,
    partial_replies: PartialReplyPolicy,
    spawner: Option<Spawner>,
    prompts: Option<Arc<dyn PromptLibrary>>,
    value_sources: Vec<Arc<dyn ValueSource>>,
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
            partial_replies: PartialReplyPolicy::default(),
            spawner: None,
            prompts: None,
            value_sources: Vec::new(),
        }
    }

    /// Sets the store; by default, conversations are kept in memory.
    pub fn store(mut self, store: Arc<dyn ConversationStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets the owner of the conversations, by default [`Owner::local`]. A manager sees only the conversations of its
    /// owner.
    pub fn owner(mut self, owner: Owner) -> Self {
        self.owner = owner;
        self
    }

    /// Offers a tool to the model and runs its calls.
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.toolbox = self.toolbox.tool(tool);
        self
    }

    /// Offers the tools of `toolbox` under its rules. They replace tools that were offered before.
    pub fn toolbox(mut self, toolbox: Toolbox) -> Self {
        self.toolbox = toolbox;
        self
    }

    /// Adds a middleware around every model call, inside those added before.
    pub fn middleware(mut self, middleware: impl Middleware + 'static) -> Self {
        self.middleware.push(Arc::new(middleware));
        self
    }

    /// Sets the library in which conversations and turns find prompts by name.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use alloquy_core::manager::NewConversation;
    /// use alloquy_core::prompt_library::{PromptLibrary, PromptName, Values};
    /// use alloquy_core::{Manager, Preface, TurnRequest};
    /// use alloquy_testing::EchoModel;
    ///
    /// # async fn ask(library: Arc<dyn PromptLibrary>) -> alloquy_core::Result<()> {
    /// let manager = Manager::builder(EchoModel).prompts(library).build()?;
    /// let new = NewConversation::default()
    ///     .system_prompt_name(PromptName::system("support"), Values::new().set("product", "Teapot"));
    /// let conversation = manager.create(new).await?;
    /// let question = TurnRequest::default().prompt_name(PromptName::user("ask"), Values::new().set("topic", "lids"));
    /// conversation.complete(question).await?;
    /// # Ok(()) }
    /// ```
    pub fn prompts(mut self, library: Arc<dyn PromptLibrary>) -> Self {
        self.prompts = Some(library);
        self
    }

    /// Adds what finds values for prompts of the library, such as passages of documents. Of two sources that find a value of one
    /// name, the one that was added first counts, and a value that the caller gave counts before both.
    ///
    /// ```
    /// use alloquy_core::Manager;
    /// use alloquy_core::prompt_library::ValueSource;
    /// use alloquy_testing::EchoModel;
    ///
    /// # fn build(passages: impl ValueSource + 'static) -> alloquy_core::Result<()> {
    /// let manager = Manager::builder(EchoModel).value_source(passages).build()?;
    /// # Ok(()) }
    /// ```
    pub fn value_source(mut self, source: impl ValueSource + 'static) -> Self {
        self.value_sources.push(Arc::new(source));
        self
    }

    /// Sets the sampling; a conversation or a call may override it.
    pub fn sampling(mut self, sampling: SamplingOptions) -> Self {
        self.sampling = sampling;
        self
    }

    /// Limits how often the model may call tools in one turn, by default 8 times. At the limit the turn ends as
    /// [`TurnEnd::ToolLimit`].
    ///
    /// [`TurnEnd::ToolLimit`]: crate::turn::TurnEnd::ToolLimit
    pub fn tool_rounds(mut self, rounds: usize) -> Self {
        self.tool_rounds = rounds;
        self
    }

    /// Sets what happens to replies that are dropped or fail while they are generated; by default, they are kept.
    pub fn partial_replies(mut self, policy: PartialReplyPolicy) -> Self {
        self.partial_replies = policy;
        self
    }

    /// Stores the partial replies of dropped turns in tasks of the host's runtime, which `spawn` starts.
    ///
    /// Without a spawner, every store of `alloquy-storage` stores them in its own thread. Other stores do so in the
    /// manager's next call or in [`Manager::flush`].
    ///
    /// ```
    /// use alloquy_core::Manager;
    /// use alloquy_testing::EchoModel;
    ///
    /// // With a `handle` to a tokio runtime: `.spawner(move |work| drop(handle.spawn(work)))`.
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
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for invalid sampling options, [`ErrorKind::Tool`](crate::ErrorKind) for
    /// two tools of one name.
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
            prompts: self.prompts,
            value_sources: self.value_sources,
            unfinished: Arc::new(Unfinished::with_spawner(self.spawner)),
            trails: Arc::default(),
        };
        Manager { parts: Arc::new(parts) }
    }
}
