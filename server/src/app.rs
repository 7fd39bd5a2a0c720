//! What all handlers share: the models, the store, the places of owners, and the limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use alloquy_core::chat_model::Origin;
use alloquy_core::manager::ManagerBuilder;
use alloquy_core::middleware::Middleware;
use alloquy_core::prompt::PromptCounter;
use alloquy_core::stop::TaskGroup;
use alloquy_core::store::ConversationStore;
use alloquy_core::{
    ChatModel, Conversation, ConversationId, Error, ErrorKind, Manager, Request, Result, TurnRequest,
};
use alloquy_cost::PriceTable;
use alloquy_guards::limits::{Budget, BudgetLimit, LimitStore, Period, Rate, RateLimit, Scope, Spent};
use alloquy_guards::spans::Spans;
use axum::http::StatusCode;
use tokio::sync::broadcast::Receiver;

use crate::admission::{Admission, Admissions};
use crate::caller::Caller;
use crate::charged::{ChargedCall, SettledCall};
use crate::current_prompts::CurrentPrompts;
use crate::embedders::{ServedEmbedder, ServedEmbedders, TextUse, Vectors};
use crate::error::{ApiError, ApiResult};
use crate::flow_set::Flows;
use crate::held_streams::{HeldStream, HeldStreams};
use crate::limited_model::LimitedModel;
use crate::limits::RequestLimits;
use crate::media_policy::MediaPolicy;
use crate::metrics::{MeasuredCalls, MeasuredEmbedding, Metrics};
use crate::models::{ModelLease, ServedModels};
use crate::open_approvals::OpenApprovals;
use crate::rerankers::ServedRerankers;
use crate::response_runs::ResponseRuns;
use crate::served_tools::ToolServers;
use crate::snapshots::{RestoringCalls, Snapshots};
use crate::watched_store::{Changed, WatchedStore};

const MINUTE: Duration = Duration::from_secs(60);

/// What a host adds to the managers of all models: tools, middleware, prompts.
pub(crate) type ManagerSetup = Arc<dyn Fn(ManagerBuilder) -> ManagerBuilder + Send + Sync>;

/// What all handlers share; a handler receives it as `State(app): State<App>`.
#[derive(Clone)]
pub(crate) struct App(Arc<Parts>);

/// The parts of an [`App`].
pub(crate) struct Parts {
    pub(crate) models: ServedModels,
    pub(crate) embedders: ServedEmbedders,
    pub(crate) rerankers: ServedRerankers,
    pub(crate) store: Arc<WatchedStore>,
    /// The manager without a model.
    pub(crate) conversations: Manager,
    pub(crate) limits: RequestLimits,
    /// Which media a request may contain.
    pub(crate) media: MediaPolicy,
    /// Where the limits of keys are counted.
    pub(crate) counts: Arc<dyn LimitStore>,
    /// The prompts of the host.
    pub(crate) prompts: Option<CurrentPrompts>,
    /// The flows of the host.
    pub(crate) flows: Flows,
    /// What replies cost.
    pub(crate) prices: PriceTable,
    /// The snapshots of stored conversations, where they have a place.
    pub(crate) snapshots: Option<Snapshots>,
    /// What the host adds to each manager.
    pub(crate) setup: ManagerSetup,
    pub(crate) admissions: Admissions,
    pub(crate) streams: HeldStreams,
    pub(crate) metrics: Metrics,
    /// The responses in the background, and where the latest ones ended.
    pub(crate) responses: Arc<ResponseRuns>,
    /// The tools of the host, by labels.
    pub(crate) tools: ToolServers,
    /// The approvals of responses that are not stored.
    pub(crate) approvals: Arc<OpenApprovals>,
    /// All turns, so that they end with the server.
    pub(crate) turns: TaskGroup,
    /// Whether requests need a key.
    pub(crate) has_keys: bool,
    pub(crate) is_draining: AtomicBool,
}

impl App {
    pub(crate) fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    pub(crate) fn models(&self) -> &ServedModels {
        &self.0.models
    }

    pub(crate) fn embedders(&self) -> &ServedEmbedders {
        &self.0.embedders
    }

    pub(crate) fn rerankers(&self) -> &ServedRerankers {
        &self.0.rerankers
    }

    pub(crate) fn store(&self) -> &dyn ConversationStore {
        &*self.0.store
    }

    /// Returns the conversations that this process changes, from now on.
    pub(crate) fn changes(&self) -> Receiver<Changed> {
        self.0.store.changes()
    }

    pub(crate) fn prompts(&self) -> Option<&CurrentPrompts> {
        self.0.prompts.as_ref()
    }

    pub(crate) fn flows(&self) -> &Flows {
        &self.0.flows
    }

    pub(crate) fn prices(&self) -> &PriceTable {
        &self.0.prices
    }

    /// Returns the snapshots of stored conversations, where they have a place.
    pub(crate) fn snapshots(&self) -> Option<&Snapshots> {
        self.0.snapshots.as_ref()
    }

    /// Saves what models hold of the last turns, once no more of them are answered.
    pub(crate) async fn save_snapshots(&self) {
        if let Some(snapshots) = self.snapshots() {
            snapshots.save_all(self.models(), self.store()).await;
        }
    }

    pub(crate) fn limits(&self) -> &RequestLimits {
        &self.0.limits
    }

    /// Reads a request with the policy of media, in a thread that may block where addresses of media are opened.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&MediaPolicy) -> ApiResult<T> + Send + 'static,
    ) -> ApiResult<T> {
        if !self.0.media.fetches() {
            return read(&self.0.media);
        }
        self.read_aside(read).await
    }

    /// Reads a request that may be long as [`App::read`] does, always in a thread that may block.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) async fn read_aside<T: Send + 'static>(
        &self,
        read: impl FnOnce(&MediaPolicy) -> ApiResult<T> + Send + 'static,
    ) -> ApiResult<T> {
        let media = self.0.media.of_request(self.0.limits.body_time);
        let outcome = tokio::task::spawn_blocking(move || read(&media)).await;
        outcome.unwrap_or_else(|source| {
            tracing::error!(%source, "reading a request failed");
            Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "the server failed; its log says why"))
        })
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(crate) fn responses(&self) -> &Arc<ResponseRuns> {
        &self.0.responses
    }

    pub(crate) fn tools(&self) -> &ToolServers {
        &self.0.tools
    }

    pub(crate) fn approvals(&self) -> &Arc<OpenApprovals> {
        &self.0.approvals
    }

    pub(crate) fn turns(&self) -> &TaskGroup {
        &self.0.turns
    }

    pub(crate) fn has_keys(&self) -> bool {
        self.0.has_keys
    }

    /// Returns whether the server ends, so that no new work is to come here.
    pub(crate) fn is_draining(&self) -> bool {
        self.0.is_draining.load(Ordering::Relaxed)
    }

    /// Begins the end of the server.
    pub(crate) fn drain(&self) {
        self.0.is_draining.store(true, Ordering::Relaxed);
    }

    /// Returns the model of a request, loaded.
    ///
    /// # Errors
    /// 404 for an unknown name, 429 where there is no memory for it, and those of loading.
    pub(crate) async fn model(&self, name: Option<&str>) -> ApiResult<ModelLease> {
        self.0.models.lease(name).await.map_err(|error| {
            let is_unknown = error.kind() == ErrorKind::NotFound;
            let error = ApiError::from(error);
            if is_unknown { error.param("model").code("model_not_found") } else { error }
        })
    }

    /// Waits for a place of the caller's. A handler takes one before it asks a model, and keeps it until the reply has ended.
    ///
    /// # Errors
    /// 429 where the queue is full, or where no place is free in time.
    pub(crate) async fn admit(&self, caller: &Caller) -> ApiResult<Admission> {
        let limits = &self.0.limits;
        let running = caller.limits.running.unwrap_or(limits.running);
        let admitted = self.0.admissions.admit(&caller.owner, running, limits).await;
        admitted.inspect_err(|_| self.0.metrics.refused())
    }

    /// Counts an event stream that the caller holds open.
    ///
    /// # Errors
    /// 429 where the caller has too many.
    pub(crate) fn hold_stream(&self, caller: &Caller) -> ApiResult<HeldStream> {
        let held = self.0.streams.hold(&caller.owner, self.0.limits.event_streams);
        held.inspect_err(|_| self.0.metrics.refused())
    }

    /// Returns how many requests have a place, and how many wait for one.
    pub(crate) fn requests(&self) -> (usize, usize) {
        self.0.admissions.counts()
    }

    /// Returns how many requests of the caller's owner have a place of `running`, and how many wait for one.
    pub(crate) fn places_of(&self, caller: &Caller, running: usize) -> (usize, usize) {
        self.0.admissions.counts_of(&caller.owner, running)
    }

    /// Returns how many tokens of the day are used, where they are limited.
    ///
    /// # Errors
    /// Those of the store of limits.
    pub(crate) async fn spent_tokens(&self, caller: &Caller) -> Result<Option<Spent>> {
        let none = |_: &Request| Ok(0);
        let Some(limit) = self.tokens_of(caller, none) else { return Ok(None) };
        limit.spent(&mut of_nothing(caller)).await.map(Some)
    }

    /// Returns how long the caller's next call of a model has to wait, where calls are limited.
    ///
    /// # Errors
    /// Those of the store of limits.
    pub(crate) async fn wait_for_call(&self, caller: &Caller) -> Result<Option<Duration>> {
        let Some(limit) = self.calls_of(caller)? else { return Ok(None) };
        limit.wait(&of_nothing(caller)).await.map(Some)
    }

    /// Returns the manager of the caller's stored conversations with a model.
    pub(crate) fn manager(&self, model: &ModelLease, caller: &Caller) -> Manager {
        model.manager().for_owner(caller.owner.clone())
    }

    /// Returns the manager of the caller's stored conversations for requests that ask no model.
    pub(crate) fn conversations(&self, caller: &Caller) -> Manager {
        self.0.conversations.for_owner(caller.owner.clone())
    }

    /// Returns a manager whose conversations are kept in memory, for one request.
    ///
    /// # Errors
    /// Those of what the host adds to managers.
    pub(crate) fn temporary_manager(&self, model: &ModelLease, caller: &Caller) -> Result<Manager> {
        let builder = Manager::builder(Arc::clone(&model.opened().chat)).owner(caller.owner.clone());
        (self.0.setup)(builder).build()
    }

    /// Computes the vectors of texts under the limits of the caller's key, and measures it.
    ///
    /// # Errors
    /// As [`ServedEmbedder::vectors`], and where the limits do not allow it.
    pub(crate) async fn vectors(
        &self,
        embedder: &ServedEmbedder,
        texts: &[String],
        wanted: TextUse,
        caller: &Caller,
    ) -> ApiResult<Vectors> {
        let measured = MeasuredEmbedding::begin(&self.0.metrics, embedder.name(), &caller.tally);
        let charged = async {
            embedder.check(texts)?;
            self.charge(ChargedCall(embedder.token_count(texts)), caller).await?;
            embedder.vectors(texts, wanted).await
        };
        let outcome = charged.await;
        match &outcome {
            Ok(vectors) => measured.ended(vectors.tokens),
            Err(error) => measured.failed(error.code_text().unwrap_or("model")),
        }
        outcome
    }

    /// Takes a call that is no turn from the limits of the caller's key.
    ///
    /// # Errors
    /// As [`ChargedCall::take`].
    pub(crate) async fn charge(&self, call: ChargedCall, caller: &Caller) -> Result<()> {
        call.take(of_nothing(caller), &self.limits_of(caller, call)?).await
    }

    /// Makes a call that is no turn under the limits of the caller's key: `most` tokens are reserved, and those that `work` reports are
    /// taken.
    ///
    /// # Errors
    /// As [`SettledCall::make`].
    pub(crate) async fn charge_for<'a, T: Send>(
        &self,
        most: Option<usize>,
        caller: &Caller,
        work: impl Future<Output = Result<(T, usize)>> + Send + 'a,
    ) -> Result<T> {
        let limits = self.limits_of(caller, ChargedCall(most))?;
        SettledCall::new(most, Box::pin(work)).make(of_nothing(caller), &limits).await
    }

    /// Prepares a turn of the caller's: its calls are measured, the limits of the key apply, and it ends with the server.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for limits that cannot be.
    pub(crate) fn turn(&self, turn: TurnRequest, model: &ModelLease, caller: &Caller) -> Result<TurnRequest> {
        let mut turn = turn.group(&self.0.turns);
        for middleware in self.middleware_of(model, caller)? {
            turn = turn.middleware(middleware);
        }
        Ok(turn)
    }

    /// Prepares a turn of a stored conversation as [`App::turn`] does, and restores the snapshot of the conversation before it.
    ///
    /// # Errors
    /// As [`App::turn`].
    pub(crate) fn stored_turn(
        &self,
        turn: TurnRequest,
        model: &ModelLease,
        caller: &Caller,
    ) -> Result<TurnRequest> {
        let turn = self.turn(turn, model, caller)?;
        Ok(match self.restoring(model) {
            Some(restoring) => turn.middleware(restoring),
            None => turn,
        })
    }

    /// Returns what restores snapshots before calls of a model, where it can.
    fn restoring(&self, model: &ModelLease) -> Option<RestoringCalls> {
        let saved = model.opened().snapshots.as_ref()?;
        Some(RestoringCalls::new(self.snapshots()?, model.name(), saved))
    }

    /// Returns a stored conversation whose turns are measured and limited, for turns that the server does not start itself.
    ///
    /// # Errors
    /// As [`App::turn`].
    pub(crate) fn limited(
        &self,
        mut conversation: Conversation,
        model: &ModelLease,
        caller: &Caller,
    ) -> Result<Conversation> {
        for middleware in self.middleware_of(model, caller)? {
            conversation = conversation.with_middleware(middleware);
        }
        Ok(match self.restoring(model) {
            Some(restoring) => conversation.with_middleware(restoring),
            None => conversation,
        })
    }

    /// Returns a model whose calls are measured and limited, for questions about a conversation.
    ///
    /// # Errors
    /// As [`App::turn`].
    pub(crate) fn limited_model(
        &self,
        conversation: &ConversationId,
        model: &ModelLease,
        caller: &Caller,
    ) -> Result<LimitedModel> {
        let middleware = self.middleware_of(model, caller)?;
        let origin = Origin::new(caller.owner.clone(), conversation.clone());
        Ok(LimitedModel { model: Arc::clone(&model.opened().chat), middleware, origin })
    }

    /// Returns what is around each call of a model: it is measured, and the limits of the key apply.
    fn middleware_of(&self, model: &ModelLease, caller: &Caller) -> Result<Vec<Arc<dyn Middleware>>> {
        // Measured outside of the limits, so that their refusals are counted.
        let mut middleware: Vec<Arc<dyn Middleware>> = vec![
            Arc::new(MeasuredCalls::new(&self.0.metrics, model.name(), &caller.tally)),
            Arc::new(Spans::new(model.name())),
        ];
        middleware.extend(self.limits_of(caller, ModelCounter(Arc::clone(&model.opened().chat)))?);
        Ok(middleware)
    }

    /// Returns the limits of the caller's key, for calls whose tokens `counter` counts.
    fn limits_of(
        &self,
        caller: &Caller,
        counter: impl PromptCounter + 'static,
    ) -> Result<Vec<Arc<dyn Middleware>>> {
        let mut middleware: Vec<Arc<dyn Middleware>> = Vec::new();
        if let Some(limit) = self.calls_of(caller)? {
            middleware.push(Arc::new(limit));
        }
        if let Some(limit) = self.tokens_of(caller, counter) {
            middleware.push(Arc::new(limit));
        }
        Ok(middleware)
    }

    /// Returns the limit of calls of the caller's key.
    fn calls_of(&self, caller: &Caller) -> Result<Option<RateLimit>> {
        let Some(calls) = caller.limits.calls_per_minute else { return Ok(None) };
        let rate = Rate::new(calls, MINUTE)?;
        Ok(Some(RateLimit::new(rate, Scope::Owner, Arc::clone(&self.0.counts))))
    }

    /// Returns the limit of tokens of the caller's key, for calls whose tokens `counter` counts.
    fn tokens_of(&self, caller: &Caller, counter: impl PromptCounter + 'static) -> Option<BudgetLimit> {
        let budget = Budget::tokens(caller.limits.tokens_per_day?);
        Some(BudgetLimit::new(budget, Period::Day, Scope::Owner, Arc::clone(&self.0.counts), counter))
    }
}

/// Returns a request of the caller's, to which only its limits matter. They count by owner, so the conversation has no effect.
fn of_nothing(caller: &Caller) -> Request {
    Request::default().origin(Origin::new(caller.owner.clone(), ConversationId::new()))
}

/// Counts the tokens of a prompt with the model that will answer it.
#[derive(Debug)]
struct ModelCounter(Arc<dyn ChatModel>);

impl PromptCounter for ModelCounter {
    fn units(&self, request: &Request) -> Result<usize> {
        match self.0.prompt(request)? {
            Some(prompt) => Ok(prompt.positions()),
            None => {
                let name = self.0.name();
                let message = format!(
                    "the model {name:?} does not count tokens before it answers, so a key with tokens_per_day cannot use it"
                );
                Err(Error::new(ErrorKind::Unsupported, message))
            }
        }
    }
}
