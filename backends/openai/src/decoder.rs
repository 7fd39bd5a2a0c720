//! A decoder whose model is on a server.

use std::fmt;
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::{Prompt, PromptUnit};
use alloquy_core::report::{CacheReport, MissReason};
use alloquy_core::sampling::TokenLogprob;
use alloquy_core::tokenizer::{TokenId, Tokenizer};
use alloquy_core::{Error, ErrorKind, Result, SamplingOptions};
use alloquy_engine::decoder::{
    CacheStatistics, DecodeEvent, DecodeEventKind, DecodeRequest, Decoder, ExcludedTexts, GrammarSupport,
    GuidedDecoding, Snapshot, SnapshotError, SnapshotIdentity, SnapshotSource, TokenStream,
};
use async_trait::async_trait;
use futures::{StreamExt, stream};
use tokio::sync::mpsc;

use crate::description::RemoteDescription;
use crate::endpoint::RemoteEndpoint;
use crate::memory::{CacheSpace, Recorder};
use crate::pool::Pool;
use crate::random;
use crate::reply::{ReplyReader, ReplyState};
use crate::request::{Adapters, RemoteRequest};
use crate::salt::SaltSecret;
use crate::saved::{self, SlotSaver};
use crate::scoring;
use crate::thinking::{self, Continuing};
use crate::transfer::Transfer;
use crate::worker::{Worker, item_stream};

/// How many events may wait for a slow reader before the server has to wait too.
const WAITING: usize = 64;

/// Continues prompts on a server: token ids are sent, and token ids come back. Clones share the connection.
///
/// ```no_run
/// use alloquy_engine::decoder::Decoder;
/// use alloquy_openai::RemoteDecoder;
///
/// # async fn example() -> alloquy_core::Result<()> {
/// let decoder = RemoteDecoder::connect("http://localhost:8000", "models/qwen3-4b").await?;
/// println!("{} with {} positions", decoder.model().name, decoder.model().context_length);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RemoteDecoder {
    connection: Arc<Connection>,
    space: CacheSpace,
    adapters: Option<Arc<Adapters>>,
}

/// What clones share.
pub(crate) struct Connection {
    pub(crate) worker: Worker,
    pub(crate) pool: Arc<Pool>,
    pub(crate) info: ModelInfo,
    pub(crate) tokenizer: Arc<dyn Tokenizer>,
    pub(crate) description: RemoteDescription,
    pub(crate) salts: Option<SaltSecret>,
    pub(crate) priority: Option<i32>,
}

impl RemoteDecoder {
    pub(crate) fn new(connection: Connection) -> Self {
        Self { connection: Arc::new(connection), space: CacheSpace::default(), adapters: None }
    }

    /// Returns what is known of the server; of several, the first one that answered. [`RemoteBuilder`](crate::RemoteBuilder) has an
    /// example.
    pub fn description(&self) -> &RemoteDescription {
        &self.connection.description
    }

    /// Returns the servers as they are now, in the order in which they were given. [`RemoteBuilder::another`] has an example.
    ///
    /// [`RemoteBuilder::another`]: crate::RemoteBuilder::another
    pub fn endpoints(&self) -> Vec<RemoteEndpoint> {
        self.connection.pool.report()
    }

    /// Returns a decoder whose prompts share the server's cache only with those of the same owner. Prompts of a request with a
    /// [`DecodeRequest::owner`] do so by themselves.
    ///
    /// ```no_run
    /// use alloquy_openai::{RemoteDecoder, SaltSecret};
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let secret = SaltSecret::new(std::fs::read("salt.key")?);
    /// let decoder = RemoteDecoder::builder("http://localhost:8000", "models/qwen3-4b").salts(secret).connect().await?;
    /// let of_ada = decoder.for_owner("ada")?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] without [`RemoteBuilder::salts`](crate::RemoteBuilder::salts).
    pub fn for_owner(&self, owner: &str) -> Result<Self> {
        let Some(secret) = &self.connection.salts else {
            let message = format!("owner {owner:?} has no salt: set the secret of salts with `salts`");
            return Err(Error::new(ErrorKind::Invalid, message));
        };
        let mut decoder = self.clone();
        decoder.space.salt = Some(secret.of(owner).into());
        Ok(decoder)
    }

    /// Returns a decoder whose replies are those of a LoRA adapter, by the name that the server has for it. Its prompts share
    /// no cache with those of other adapters.
    ///
    /// ```no_run
    /// use alloquy_openai::RemoteDecoder;
    ///
    /// # async fn example() -> alloquy_core::Result<()> {
    /// let decoder = RemoteDecoder::connect("http://localhost:8000", "models/qwen3-4b").await?;
    /// let poet = decoder.for_adapter("poet").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// For llama.cpp it is the path of the adapter's file or its last part, for TensorRT-LLM the path of its folder on the
    /// server.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for an adapter that the server does not list, with those that it lists.
    /// [`ErrorKind::Unsupported`] for the dialect of `/v1/completions` as servers have it in common.
    pub async fn for_adapter(&self, name: &str) -> Result<Self> {
        let pool = Arc::clone(&self.connection.pool);
        let wanted = name.to_owned();
        let found = self.connection.worker.run(async move { pool.find_adapter(&wanted).await });
        let mut decoder = self.clone();
        decoder.adapters = Some(Arc::new(found.await??));
        decoder.space.adapter = Some(name.into());
        Ok(decoder)
    }

    /// Returns the decoder of a request's owner. Without a secret of salts, all owners share the cache of the server, and it is not
    /// reported to them.
    fn of_owner(&self, owner: Option<&str>) -> Self {
        let mut decoder = self.clone();
        if let (Some(owner), Some(secret), None) = (owner, &self.connection.salts, &self.space.salt) {
            decoder.space.salt = Some(secret.of(owner).into());
        }
        decoder
    }

    /// Continues a prompt, in two requests where the model thinks before a grammar.
    fn decode_whole(&self, request: DecodeRequest) -> TokenStream {
        let Some(rule) = thinking::needed(&request.guided) else { return self.request(request, 0) };
        let decoded = thinking::decode(Box::new(self.clone()), request, &rule);
        decoded.unwrap_or_else(|error| stream::iter([Err(error)]).boxed())
    }

    /// Starts a request.
    fn started(&self, request: DecodeRequest, replied: usize) -> Result<TokenStream> {
        let DecodeRequest { prompt, sampling, max_tokens, guided, excluded, .. } = request;
        sampling.validate()?;
        let connection = &*self.connection;
        let ids = self.ids(&prompt)?;
        let is_greedy = sampling.temperature.unwrap_or(0.0) == 0.0 || sampling.top_k == Some(1);
        let seed = (!is_greedy).then(|| sampling.seed.unwrap_or_else(random_seed));
        // What has no effect is not sent either, but for seeds.
        let is_explained = !self.ignored(&sampling).contains(&"logprobs");
        let logprobs = sampling.logprobs.filter(|_| is_explained);
        let request =
            self.remote_request((ids.clone(), replied), sampling, max_tokens, seed, &guided, &excluded);
        for dialect in connection.pool.dialects() {
            request.check(dialect)?;
        }
        let recorder = Recorder::new(self.space.clone(), ids);
        let reader = ReplyReader {
            recorder,
            limit: max_tokens,
            stop_tokens: connection.info.stop_tokens.clone(),
            vocabulary: connection.info.vocabulary,
            logprobs,
            state: ReplyState::default(),
        };
        let (items, events) = mpsc::channel(WAITING);
        let mut transfer = Transfer::new(Arc::clone(&connection.pool), request, reader, items);
        // The second request of thinking is placed on the thread of the decoder, after the first one has ended there: then it is known
        // which server has its prompt.
        if replied == 0 {
            transfer.place()?;
        }
        let running = connection.worker.spawn(transfer.run())?;
        // The work is aborted when the stream is dropped with it, which closes the connection, and the server stops. The
        // decoder is kept, so that its thread lives as long as its streams.
        Ok(item_stream(events, running, Arc::clone(&self.connection)).boxed())
    }

    fn remote_request(
        &self,
        (prompt, replied): (Vec<TokenId>, usize),
        sampling: SamplingOptions,
        max_tokens: usize,
        seed: Option<u64>,
        guided: &GuidedDecoding,
        excluded: &ExcludedTexts,
    ) -> RemoteRequest {
        // A grammar decides alone what it allows.
        let free = excluded.tokens.iter().filter(|_| guided.grammar.is_none());
        let banned = sampling.suppress.iter().chain(free).copied();
        let banned = banned.filter(|id| self.is_known(*id)).collect();
        let biases = sampling.logit_bias.iter().map(|(id, bias)| (*id, *bias));
        let biases = biases.filter(|(id, _)| self.is_known(*id)).collect();
        RemoteRequest {
            prompt,
            replied,
            sampling,
            max_tokens: max_tokens.max(1),
            seed,
            stop: self.connection.info.stop_tokens.clone(),
            banned,
            biases,
            grammar: guided.grammar.as_ref().map(|(grammar, _)| grammar.clone()),
            space: self.space.clone(),
            adapters: self.adapters.clone(),
            priority: self.connection.priority,
        }
    }

    /// Returns what saves slots of the server, where it has slots.
    fn saver(&self) -> Option<SlotSaver> {
        // The files would be of the model with its adapter.
        if self.adapters.is_some() {
            return None;
        }
        self.connection.pool.saver()
    }

    fn is_known(&self, id: TokenId) -> bool {
        usize::try_from(id).is_ok_and(|id| id < self.connection.info.vocabulary)
    }

    /// Returns the ids of a prompt that a server may be sent.
    fn ids(&self, prompt: &Prompt) -> Result<Vec<TokenId>> {
        let context = self.connection.info.context_length;
        if prompt.units.len() > context {
            let message = format!("the prompt has {} tokens and the context {context}", prompt.units.len());
            return Err(Error::new(ErrorKind::ContextOverflow, message));
        }
        if prompt.units.is_empty() {
            return Err(Error::new(
                ErrorKind::Invalid,
                "the prompt has no tokens: a server needs at least one",
            ));
        }
        let mut ids = Vec::with_capacity(prompt.units.len());
        for unit in &prompt.units {
            match unit {
                PromptUnit::Token(id) if self.is_known(*id) => ids.push(*id),
                PromptUnit::Token(id) => {
                    let message = format!(
                        "token {id} of the prompt is not one of the {} of the vocabulary",
                        self.connection.info.vocabulary
                    );
                    return Err(Error::new(ErrorKind::Invalid, message));
                }
                PromptUnit::Media(_) => {
                    self.positions(unit)?;
                }
            }
        }
        Ok(ids)
    }
}

/// Leaves out how much a server had cached, which others may have sent.
fn without_cache(mut event: DecodeEvent) -> DecodeEvent {
    if let DecodeEventKind::Prefilled(report) | DecodeEventKind::Cached(report) = &mut event.kind {
        *report = CacheReport::new(report.prompt, 0);
        report.miss = Some(MissReason::Unreported);
    }
    event
}

/// Returns a seed of 31 bits, which every server takes as it is.
fn random_seed() -> u64 {
    random::bits() & 0x7FFF_FFFF
}

#[async_trait]
impl Decoder for RemoteDecoder {
    fn model(&self) -> &ModelInfo {
        &self.connection.info
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        &*self.connection.tokenizer
    }

    fn grammar_support(&self) -> GrammarSupport {
        GrammarSupport::Unverified
    }

    fn ignored(&self, sampling: &SamplingOptions) -> Vec<&'static str> {
        let mut ignored = Vec::new();
        for dialect in self.connection.pool.dialects() {
            for option in dialect.ignored(sampling) {
                if !ignored.contains(&option) {
                    ignored.push(option);
                }
            }
        }
        ignored
    }

    fn decode(&self, request: DecodeRequest) -> TokenStream {
        let decoder = self.of_owner(request.owner.as_deref());
        let is_mixed = request.owner.is_some() && decoder.space.salt.is_none();
        let events = decoder.decode_whole(request);
        if is_mixed { events.map(|event| event.map(without_cache)).boxed() } else { events }
    }

    async fn score(&self, prompt: Prompt, targets: Vec<Vec<TokenId>>) -> Result<Vec<Vec<TokenLogprob>>> {
        let mut scores = Vec::with_capacity(targets.len());
        for target in targets {
            let mut whole = prompt.clone();
            whole.units.extend(target.into_iter().map(PromptUnit::Token));
            let known = self.ids(&prompt)?.len();
            let ids = self.ids(&whole)?;
            let pool = Arc::clone(&self.connection.pool);
            let sampling = SamplingOptions::default();
            let guided = GuidedDecoding::default();
            let request =
                self.remote_request((ids, 0), sampling, 1, None, &guided, &ExcludedTexts::default());
            let scoring = scoring::score(pool, request, known);
            scores.push(self.connection.worker.run(scoring).await??);
        }
        Ok(scores)
    }

    fn identity(&self) -> Option<Digest> {
        Some(self.saver()?.slots.identity())
    }

    async fn snapshot(&self, prompt: Prompt, origin: SnapshotIdentity) -> Result<Snapshot> {
        let connection = &*self.connection;
        let ids = self.ids(&prompt)?;
        let Some(saver) = self.saver() else { return Err(saved::unsupported(&connection.info)) };
        connection.worker.run(async move { saver.save(&ids, origin).await }).await?
    }

    async fn restore(&self, from: SnapshotSource, origin: SnapshotIdentity) -> Result<usize, SnapshotError> {
        let connection = &*self.connection;
        let Some(saver) = self.saver() else { return Err(SnapshotError::Unsupported) };
        let beginning = connection.worker.run(async move { saver.restore(from, origin).await }).await??;
        let count = beginning.units.len();
        let ids = saved::ids(&beginning.units)?;
        connection.pool.restored(&ids, beginning.was_longer);
        Ok(count)
    }

    async fn cache_statistics(&self) -> Result<Option<CacheStatistics>> {
        let mut statistics = CacheStatistics::default();
        (statistics.cached, statistics.computed) = self.connection.pool.counts();
        Ok(Some(statistics))
    }
}

impl Continuing for RemoteDecoder {
    fn request(&self, request: DecodeRequest, replied: usize) -> TokenStream {
        self.started(request, replied).unwrap_or_else(|error| stream::iter([Err(error)]).boxed())
    }

    fn check(&self, guided: &GuidedDecoding) -> Result<()> {
        let sampling = SamplingOptions::default();
        let excluded = ExcludedTexts::default();
        let request = self.remote_request((Vec::new(), 0), sampling, 1, None, guided, &excluded);
        for dialect in self.connection.pool.dialects() {
            request.check(dialect)?;
        }
        Ok(())
    }
}

impl fmt::Debug for RemoteDecoder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let description = &self.connection.description;
        formatter.debug_struct("RemoteDecoder").field("description", description).finish_non_exhaustive()
    }
}
