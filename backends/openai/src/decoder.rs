//! A decoder whose model is on a server.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::{Prompt, PromptUnit};
use alloquy_core::sampling::TokenLogprob;
use alloquy_core::tokenizer::{TokenId, Tokenizer};
use alloquy_core::{Error, ErrorKind, Result, SamplingOptions};
use alloquy_engine::decoder::{
    CacheStatistics, DecodeRequest, Decoder, ExcludedTexts, GrammarSupport, GuidedDecoding, TokenStream,
};
use async_trait::async_trait;
use futures::{StreamExt, stream};
use tokio::sync::mpsc;

use crate::description::RemoteDescription;
use crate::endpoint::RemoteEndpoint;
use crate::memory::Recorder;
use crate::pool::Pool;
use crate::reply::{ReplyReader, ReplyState};
use crate::request::RemoteRequest;
use crate::salt::SaltSecret;
use crate::scoring;
use crate::transfer::Transfer;
use crate::worker::Worker;

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
    salt: Option<Arc<str>>,
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
        Self { connection: Arc::new(connection), salt: None }
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

    /// Returns a decoder whose prompts share the server's cache only with those of the same owner.
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
        let salt = secret.of(owner).into();
        Ok(Self { connection: Arc::clone(&self.connection), salt: Some(salt) })
    }

    /// Starts a request.
    fn started(&self, request: DecodeRequest) -> Result<TokenStream> {
        let DecodeRequest { prompt, sampling, max_tokens, guided, excluded, .. } = request;
        sampling.validate()?;
        check_guided(&guided)?;
        let connection = &*self.connection;
        let ids = self.ids(&prompt)?;
        let is_greedy = sampling.temperature.unwrap_or(0.0) == 0.0 || sampling.top_k == Some(1);
        let seed = (!is_greedy).then(|| sampling.seed.unwrap_or_else(random_seed));
        // What has no effect is not sent either, but for seeds.
        let is_explained = !self.ignored(&sampling).contains(&"logprobs");
        let logprobs = sampling.logprobs.filter(|_| is_explained);
        let request = self.request(ids.clone(), sampling, max_tokens, seed, &guided, &excluded);
        for dialect in connection.pool.dialects() {
            request.check(dialect)?;
        }
        let recorder = Recorder::new(self.salt.clone(), ids);
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
        transfer.place()?;
        let running = connection.worker.spawn(transfer.run())?;
        // The work is aborted when the stream is dropped with it, which closes the connection, and the server stops. The
        // decoder is kept, so that its thread lives as long as its streams.
        let state = (events, running, Arc::clone(&self.connection));
        Ok(stream::unfold(state, |(mut events, running, connection)| async {
            let item = events.recv().await?;
            Some((item, (events, running, connection)))
        })
        .boxed())
    }

    fn request(
        &self,
        prompt: Vec<TokenId>,
        sampling: SamplingOptions,
        max_tokens: usize,
        seed: Option<u64>,
        guided: &GuidedDecoding,
        excluded: &ExcludedTexts,
    ) -> RemoteRequest {
        let banned = sampling.suppress.iter().chain(&excluded.tokens).copied();
        let banned = banned.filter(|id| self.is_known(*id)).collect();
        let biases = sampling.logit_bias.iter().map(|(id, bias)| (*id, *bias));
        let biases = biases.filter(|(id, _)| self.is_known(*id)).collect();
        RemoteRequest {
            prompt,
            sampling,
            max_tokens: max_tokens.max(1),
            seed,
            stop: self.connection.info.stop_tokens.clone(),
            banned,
            biases,
            grammar: guided.grammar.as_ref().map(|(grammar, _)| grammar.clone()),
            salt: self.salt.clone(),
            priority: self.connection.priority,
        }
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

/// Refuses what a server would do in another way.
fn check_guided(guided: &GuidedDecoding) -> Result<()> {
    let Some(thinking) = &guided.thinking else { return Ok(()) };
    if let Some(budget) = thinking.budget {
        let message = format!("a server does not end thinking after {budget} tokens: leave the budget out");
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    if thinking.is_open && guided.grammar.is_some() {
        let message =
            "a server would force the grammar on the thinking that the prompt has begun: switch thinking off";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    Ok(())
}

/// Returns a seed of 31 bits, which every server takes as it is.
fn random_seed() -> u64 {
    // Each state has keys of its own, from the randomness of the system.
    RandomState::new().build_hasher().finish() & 0x7FFF_FFFF
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
        self.started(request).unwrap_or_else(|error| stream::iter([Err(error)]).boxed())
    }

    async fn score(&self, prompt: Prompt, targets: Vec<Vec<TokenId>>) -> Result<Vec<Vec<TokenLogprob>>> {
        let mut scores = Vec::with_capacity(targets.len());
        for target in targets {
            let mut whole = prompt.clone();
            whole.units.extend(target.into_iter().map(PromptUnit::Token));
            let known = self.ids(&prompt)?.len();
            let ids = self.ids(&whole)?;
            let pool = Arc::clone(&self.connection.pool);
            let scoring = scoring::score(pool, self.salt.clone(), ids, known);
            scores.push(self.connection.worker.run(scoring).await??);
        }
        Ok(scores)
    }

    async fn cache_statistics(&self) -> Result<Option<CacheStatistics>> {
        let mut statistics = CacheStatistics::default();
        (statistics.cached, statistics.computed) = self.connection.pool.counts();
        Ok(Some(statistics))
    }
}

impl fmt::Debug for RemoteDecoder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let description = &self.connection.description;
        formatter.debug_struct("RemoteDecoder").field("description", description).finish_non_exhaustive()
    }
}
