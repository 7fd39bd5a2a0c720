//! The builder of the server.

use std::fmt;
use std::sync::Arc;

use alloquy_core::manager::ManagerBuilder;
use alloquy_core::prompt_library::PromptLibrary;
use alloquy_core::stop::TaskGroup;
use alloquy_core::store::{ConversationStore, MemoryStore};
use alloquy_core::{Manager, Owner, Result};
use alloquy_cost::PriceTable;
use alloquy_engine::decoder::SnapshotStore;
use alloquy_flows::{Flow, FlowRunner};
use alloquy_guards::limits::{LimitStore, MemoryLimits};

use crate::access::Access;
use crate::admission::Admissions;
use crate::app::{App, ManagerSetup, Parts};
use crate::client_trace::ClientTrace;
use crate::current_prompts::CurrentPrompts;
use crate::embedders::{ServedEmbedder, ServedEmbedders};
use crate::flow_set::{Flows, RunnerSetup};
use crate::held_streams::HeldStreams;
use crate::keys::KeyFile;
use crate::limits::RequestLimits;
use crate::managers::{manager_of, with_prompts};
use crate::media_policy::MediaPolicy;
use crate::metrics::Metrics;
use crate::metrics_token::MetricsToken;
use crate::models::{ServedModel, ServedModels};
use crate::no_model::NoModel;
use crate::observation::FollowTrace;
use crate::open_approvals::OpenApprovals;
use crate::origin::origin_of;
use crate::rerankers::{ServedReranker, ServedRerankers};
use crate::response_runs::ResponseRuns;
use crate::served_tools::{ServedTools, ToolServers};
use crate::server::Server;
use crate::snapshots::Snapshots;
use crate::watched_store::WatchedStore;

impl Server {
    /// Starts building a server.
    pub fn builder() -> ServerBuilder {
        ServerBuilder::new()
    }
}

/// Builds a [`Server`].
#[must_use]
pub struct ServerBuilder {
    models: Vec<ServedModel>,
    embedders: Vec<ServedEmbedder>,
    rerankers: Vec<ServedReranker>,
    tools: Vec<ServedTools>,
    memory: Option<u64>,
    store: Option<Arc<dyn ConversationStore>>,
    keys: Option<KeyFile>,
    owner: Owner,
    hosts: Vec<String>,
    origins: Vec<String>,
    media_hosts: Vec<String>,
    limits: RequestLimits,
    counts: Option<Arc<dyn LimitStore>>,
    setup: ManagerSetup,
    metrics_token: Option<String>,
    prompts: Option<Arc<dyn PromptLibrary>>,
    flows: Vec<(String, Flow)>,
    runners: RunnerSetup,
    prices: PriceTable,
    snapshots: Option<Arc<dyn SnapshotStore>>,
    follow: Option<FollowTrace>,
    has_page: bool,
}

impl fmt::Debug for ServerBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("ServerBuilder");
        debug.field("models", &self.models).field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

impl ServerBuilder {
    fn new() -> Self {
        Self {
            models: Vec::new(),
            embedders: Vec::new(),
            rerankers: Vec::new(),
            tools: Vec::new(),
            memory: None,
            store: None,
            keys: None,
            owner: Owner::local(),
            hosts: Vec::new(),
            origins: Vec::new(),
            media_hosts: Vec::new(),
            limits: RequestLimits::default(),
            counts: None,
            setup: Arc::new(|builder| builder),
            metrics_token: None,
            prompts: None,
            flows: Vec::new(),
            runners: Arc::new(|runner| runner),
            prices: PriceTable::example(),
            snapshots: None,
            follow: None,
            has_page: true,
        }
    }

    /// Adds a model. Requests that name none are answered by the first one.
    pub fn model(mut self, model: ServedModel) -> Self {
        self.models.push(model);
        self
    }

    /// Adds a model of vectors, for `/v1/embeddings`. [`ServedEmbedder`] has an example.
    pub fn embedder(mut self, embedder: ServedEmbedder) -> Self {
        self.embedders.push(embedder);
        self
    }

    /// Adds a reranker, for `/v1/rerank`. [`ServedReranker`] has an example.
    pub fn reranker(mut self, reranker: ServedReranker) -> Self {
        self.rerankers.push(reranker);
        self
    }

    /// Adds tools that requests for responses may name. [`ServedTools`] has an example.
    pub fn tools(mut self, tools: ServedTools) -> Self {
        self.tools.push(tools);
        self
    }

    /// Limits the bytes that loaded models take together. Where a request needs another model, those that were not used for the
    /// longest time are unloaded, but never one that writes a reply.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Sets the store of conversations, one for all models; by default, they are kept in memory.
    pub fn store(mut self, store: Arc<dyn ConversationStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets where snapshots of stored conversations are kept: what a model has computed of them. A turn after a restart, or on another
    /// server with the same place, then computes only what is new. [`OpenedModel::snapshots`](crate::OpenedModel::snapshots) says which
    /// models have them.
    ///
    /// A snapshot is saved where a request asks for it, and when [`Server::serve`] ends. It is removed when the conversation, or a part of
    /// it, is deleted through this server.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use alloquy_server::{Server, ServedModel};
    /// use alloquy_storage::SnapshotFolder;
    /// use alloquy_testing::EchoModel;
    ///
    /// let folder = SnapshotFolder::new("chats.snapshots").quota(10 << 30);
    /// let builder = Server::builder().model(ServedModel::loaded("echo", EchoModel)).snapshots(Arc::new(folder));
    /// ```
    pub fn snapshots(mut self, store: Arc<dyn SnapshotStore>) -> Self {
        self.snapshots = Some(store);
        self
    }

    /// Requires a key for every request. Each key is an owner, who sees only conversations of its own.
    pub fn keys(mut self, keys: KeyFile) -> Self {
        self.keys = Some(keys);
        self
    }

    /// Sets the owner of all requests to a server without keys, by default [`Owner::local`].
    pub fn owner(mut self, owner: Owner) -> Self {
        self.owner = owner;
        self
    }

    /// Adds a name under which clients reach the server, beside those of this machine; `*` is any name.
    pub fn host(mut self, name: impl Into<String>) -> Self {
        self.hosts.push(name.into());
        self
    }

    /// Lets web pages of an origin, such as `https://chat.example.org`, send requests. By default none may.
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// Sets whether the page with the conversations is served at `/`, as it is by default.
    ///
    /// ```
    /// use alloquy_server::{Server, ServedModel};
    /// use alloquy_testing::EchoModel;
    ///
    /// let builder = Server::builder().model(ServedModel::loaded("echo", EchoModel)).page(false);
    /// ```
    pub fn page(mut self, served: bool) -> Self {
        self.has_page = served;
        self
    }

    /// Lets requests contain addresses of a host, written as `NAME` or `NAME:PORT`, from which their images, audio and videos are fetched.
    /// By default no address is opened. The host must be on the public internet, and redirects are not followed.
    ///
    /// ```
    /// use alloquy_server::{Server, ServedModel};
    /// use alloquy_testing::EchoModel;
    ///
    /// let builder = Server::builder().model(ServedModel::loaded("echo", EchoModel));
    /// assert!(builder.media_host("images.example.org").build().is_ok());
    /// assert!(Server::builder().media_host("*").build().is_err());
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn media_host(mut self, host: impl Into<String>) -> Self {
        self.media_hosts.push(host.into());
        self
    }

    /// Sets the limits of requests.
    pub fn limits(mut self, limits: RequestLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets where the limits of keys are counted; by default, in the memory of this process.
    pub fn limit_store(mut self, store: Arc<dyn LimitStore>) -> Self {
        self.counts = Some(store);
        self
    }

    /// Sets the token that reads `/metrics`, sent as `Authorization: Bearer TOKEN`.
    ///
    /// Without one, no client reads the metrics of a server with keys: they count the requests of all owners. Those of a server without
    /// keys are for every program of this machine.
    ///
    /// ```
    /// use alloquy_server::{Server, ServedModel};
    /// use alloquy_testing::EchoModel;
    ///
    /// let echo = ServedModel::loaded("echo", EchoModel);
    /// let server = Server::builder().model(echo).metrics_token("8f1c6d0e2b7a4935").build()?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn metrics_token(mut self, token: impl Into<String>) -> Self {
        self.metrics_token = Some(token.into());
        self
    }

    /// Sets what is added to the managers of all models: tools, middleware, prompts.
    ///
    /// ```
    /// use alloquy_guards::redact::{RedactReplies, Redactor};
    /// use alloquy_server::{Server, ServedModel};
    /// use alloquy_testing::EchoModel;
    ///
    /// let redactor = Redactor::named(["email"])?;
    /// let server = Server::builder()
    ///     .model(ServedModel::loaded("echo", EchoModel))
    ///     .managers(move |manager| manager.middleware(RedactReplies::new(redactor.clone())))
    ///     .build()?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn managers(
        mut self,
        setup: impl Fn(ManagerBuilder) -> ManagerBuilder + Send + Sync + 'static,
    ) -> Self {
        self.setup = Arc::new(setup);
        self
    }

    /// Sets the library whose prompts are shown, filled in, and named by conversations, turns and flows.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use alloquy_core::prompt_library::PromptLibrary;
    /// use alloquy_server::{Server, ServedModel, ServerBuilder};
    /// use alloquy_testing::EchoModel;
    ///
    /// fn serve(library: Arc<dyn PromptLibrary>) -> ServerBuilder {
    ///     Server::builder().model(ServedModel::loaded("echo", EchoModel)).prompts(library)
    /// }
    /// ```
    pub fn prompts(mut self, library: Arc<dyn PromptLibrary>) -> Self {
        self.prompts = Some(library);
        self
    }

    /// Adds a flow under a name. Requests run it in conversations, and answer it where it waits.
    ///
    /// ```
    /// use alloquy_flows::Flow;
    /// use alloquy_server::{Server, ServedModel};
    /// use alloquy_testing::EchoModel;
    ///
    /// let order = Flow::from_yaml(
    ///     "
    /// name: order
    /// states:
    ///   drink: {wait: {say: Tea or coffee?}, to: thanks}
    ///   thanks: {say: 'Here: {{last}}.'}
    /// ",
    /// )?;
    /// let server = Server::builder().model(ServedModel::loaded("echo", EchoModel)).flow("order", order).build()?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn flow(mut self, name: impl Into<String>, flow: Flow) -> Self {
        self.flows.push((name.into(), flow));
        self
    }

    /// Sets what is added to the runners of all flows: tools that states call, and conditions of the host.
    ///
    /// ```
    /// use alloquy_core::tool::Toolbox;
    /// use alloquy_server::{Server, ServedModel};
    /// use alloquy_testing::EchoModel;
    ///
    /// let tools = Toolbox::default();
    /// let builder = Server::builder()
    ///     .model(ServedModel::loaded("echo", EchoModel))
    ///     .flow_runners(move |runner| runner.toolbox(tools.clone()));
    /// ```
    pub fn flow_runners(mut self, setup: impl Fn(FlowRunner) -> FlowRunner + Send + Sync + 'static) -> Self {
        self.runners = Arc::new(setup);
        self
    }

    /// Sets the prices by which the cost of conversations is computed, by default [`PriceTable::example`].
    ///
    /// ```
    /// use alloquy_cost::PriceTable;
    /// use alloquy_server::{Server, ServedModel};
    /// use alloquy_testing::EchoModel;
    ///
    /// let prices = PriceTable::from_json(r#"{"currency": "EUR", "prices": []}"#)?;
    /// let builder = Server::builder().model(ServedModel::loaded("echo", EchoModel)).prices(prices);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn prices(mut self, prices: PriceTable) -> Self {
        self.prices = prices;
        self
    }

    /// Sets what follows the traces of clients: it receives the span of each request that has the header `traceparent`, before the span
    /// is entered, and what the headers of the trace say. A host with OpenTelemetry makes the span a child of the one that they name.
    ///
    /// ```
    /// use alloquy_server::{Server, ServedModel};
    /// use alloquy_testing::EchoModel;
    ///
    /// let builder = Server::builder()
    ///     .model(ServedModel::loaded("echo", EchoModel))
    ///     .follow_traces(|span, trace| tracing::debug!(parent: span, parent = trace.parent(), "the request belongs to a trace"));
    /// ```
    pub fn follow_traces(
        mut self,
        follow: impl Fn(&tracing::Span, &ClientTrace) + Send + Sync + 'static,
    ) -> Self {
        self.follow = Some(Arc::new(follow));
        self
    }

    /// Builds the server.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) without a model, for two models of one name, a model that is larger than the memory, two flows or tools of one
    /// name, a flow with problems, an origin or a host of media that cannot be, and a token of the metrics that can be guessed; and those of
    /// what is added to managers.
    pub fn build(self) -> Result<Server> {
        let store: Arc<dyn ConversationStore> = match self.store {
            Some(store) => store,
            None => Arc::new(MemoryStore::default()),
        };
        let metrics = Metrics::new();
        let snapshots = self.snapshots.map(|place| Snapshots::new(place, metrics.clone()));
        let watched = Arc::new(WatchedStore::new(store, snapshots.clone()));
        let store: Arc<dyn ConversationStore> = watched.clone();
        let prompts = self.prompts.map(CurrentPrompts::new);
        let setup = with_prompts(self.setup, prompts.clone());
        let origins: Result<Vec<_>> = self.origins.iter().map(|origin| origin_of(origin)).collect();
        let conversations = (setup)(Manager::builder(NoModel).store(Arc::clone(&store))).build()?;
        let saving = snapshots.as_ref().map(|snapshots| snapshots.before_unload(Arc::clone(&store)));
        let manager = manager_of(store, Arc::clone(&setup));
        let embedders = self.embedders.iter().map(ServedEmbedder::name);
        let rerankers = self.rerankers.iter().map(ServedReranker::name);
        let others = embedders.chain(rerankers).map(str::to_owned).collect();
        let app = App::new(Parts {
            embedders: ServedEmbedders::new(self.embedders),
            rerankers: ServedRerankers::new(self.rerankers),
            models: ServedModels::new(self.models, others, self.memory, manager, saving)?,
            store: watched,
            conversations,
            flows: Flows::new(self.flows, prompts.clone(), self.runners)?,
            prompts,
            prices: self.prices,
            snapshots,
            limits: self.limits,
            media: MediaPolicy::allowing(&self.media_hosts, &self.limits)?,
            counts: self.counts.unwrap_or_else(|| Arc::new(MemoryLimits::default())),
            setup,
            admissions: Admissions::default(),
            streams: HeldStreams::default(),
            metrics,
            responses: Arc::new(ResponseRuns::default()),
            tools: ToolServers::new(self.tools)?,
            approvals: Arc::new(OpenApprovals::default()),
            turns: TaskGroup::new(),
            has_keys: self.keys.is_some(),
            is_draining: false.into(),
        });
        let metrics_token = self.metrics_token.as_deref().map(MetricsToken::new).transpose()?;
        let access = Access::new(self.keys, self.hosts, self.owner).metrics_token(metrics_token);
        let origins = origins?;
        let Self { follow, has_page, .. } = self;
        Ok(Server { app, access, origins, follow, has_page, end: Arc::default() })
    }
}
