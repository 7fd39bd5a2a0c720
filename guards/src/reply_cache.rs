//! Cached replies: a request that was answered before is answered with the same reply.
//!
//! [`CacheReplies`] is the middleware, and a [`ReplyCache`] keeps the replies: [`MemoryReplies`] in memory.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloquy_core::media::Digest;
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::report::{FinishReason, Usage, Warning};
use alloquy_core::stream::{Emitter, EventStream};
use alloquy_core::{Delta, Error, ErrorKind, Message, Reply, ReplyStream, Request, Result, SamplingOptions};
use async_trait::async_trait;
use futures::StreamExt;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::replay::stream_of;

/// The name of the fact of a reply from the cache, in [`Reply::facts`].
///
/// [`CacheReplies`] has an example.
pub const REPLY_CACHE_FACT: &str = "alloquy.reply_cache";

/// A reply as a cache keeps it.
///
/// Timing, log-probabilities and the state of the prompt's cache are those of one call, and are not kept.
///
/// ```
/// use alloquy_core::{Message, Reply};
/// use alloquy_guards::reply_cache::CachedReply;
///
/// let cached = CachedReply::of(&Reply::new(Message::assistant("Green."))).unwrap();
/// let stored = serde_json::to_string(&cached)?;
/// assert_eq!(serde_json::from_str::<CachedReply>(&stored)?, cached);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CachedReply {
    /// The message.
    pub message: Message,
    /// Its token ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<u32>,
    /// Why it ended.
    pub finish: FinishReason,
    /// The stop text that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_string: Option<String>,
    /// How many tokens it took when it was generated.
    pub usage: Usage,
    /// The seed of the draw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The digest of the template that rendered its prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<Digest>,
    /// What was not done as requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// The facts of other middleware.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub facts: Map<String, Value>,
}

impl CachedReply {
    /// Returns the cached form of a reply; `None` for one that failed or was interrupted, or whose prompt omits history.
    pub fn of(reply: &Reply) -> Option<Self> {
        if reply.error.is_some() || reply.finish.is_interrupted() || reply.cut.is_some() {
            return None;
        }
        Some(Self {
            message: reply.message.clone(),
            tokens: reply.tokens.clone(),
            finish: reply.finish,
            stop_string: reply.stop_string.clone(),
            usage: reply.usage,
            seed: reply.seed,
            template: reply.template,
            warnings: reply.warnings.clone(),
            facts: reply.facts.clone(),
        })
    }

    /// Returns the reply. It used no tokens, and its facts say that it was cached, and what it used when it was generated.
    pub fn into_reply(self) -> Reply {
        let mut reply = Reply::new(self.message);
        reply.tokens = self.tokens;
        reply.finish = self.finish;
        reply.stop_string = self.stop_string;
        reply.seed = self.seed;
        reply.template = self.template;
        reply.warnings = self.warnings;
        reply.facts = self.facts;
        reply.facts.insert(REPLY_CACHE_FACT.to_owned(), json!({"hit": true, "generated": self.usage}));
        reply
    }
}

/// Keeps replies by the digest of their request.
///
/// # Contract
/// A cache may forget a reply at any time. It returns a reply only for the key with which it was kept.
///
/// [`MemoryReplies`] has an example.
#[async_trait]
pub trait ReplyCache: Send + Sync + Debug {
    /// Returns the reply of a key.
    ///
    /// # Errors
    /// When the cache is unavailable. The model answers then.
    async fn get(&self, key: Digest) -> Result<Option<CachedReply>>;

    /// Keeps a reply.
    ///
    /// # Errors
    /// When the cache is unavailable. The reply is shown all the same.
    async fn put(&self, key: Digest, reply: CachedReply) -> Result<()>;
}

/// Keeps replies in memory, up to a number of bytes. The reply that was used least recently is forgotten first. Copies share the
/// replies.
///
/// ```
/// use alloquy_core::media::Digest;
/// use alloquy_core::{Message, Reply};
/// use alloquy_guards::reply_cache::{CachedReply, MemoryReplies, ReplyCache};
///
/// # pollster::block_on(async {
/// let cache = MemoryReplies::new(10_000);
/// let reply = CachedReply::of(&Reply::new(Message::assistant("Green."))).unwrap();
/// cache.put(Digest::of(b"key"), reply.clone()).await?;
/// assert_eq!(cache.get(Digest::of(b"key")).await?, Some(reply));
/// assert_eq!(cache.get(Digest::of(b"other")).await?, None);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MemoryReplies {
    most: usize,
    replies: Arc<Mutex<Replies>>,
}

#[derive(Debug, Default)]
struct Replies {
    /// Each reply with its size in bytes and the number of its last use.
    by_key: HashMap<Digest, (CachedReply, usize, u64)>,
    /// The keys in the order of their last use.
    by_use: BTreeMap<u64, Digest>,
    bytes: usize,
    uses: u64,
}

impl MemoryReplies {
    /// Creates a cache of at most `bytes`, counted as JSON. A larger reply is not kept.
    pub fn new(bytes: usize) -> Self {
        Self { most: bytes, replies: Arc::default() }
    }

    /// Returns how many bytes of replies are kept.
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, Replies> {
        // A panic within these maps is a lack of memory, after which a lost entry is a miss.
        self.replies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Replies {
    fn remove(&mut self, key: Digest) {
        if let Some((_, bytes, used)) = self.by_key.remove(&key) {
            self.by_use.remove(&used);
            self.bytes -= bytes;
        }
    }
}

#[async_trait]
impl ReplyCache for MemoryReplies {
    async fn get(&self, key: Digest) -> Result<Option<CachedReply>> {
        let mut replies = self.lock();
        replies.uses += 1;
        let now = replies.uses;
        let Some((reply, _, used)) = replies.by_key.get_mut(&key) else { return Ok(None) };
        let before = std::mem::replace(used, now);
        let reply = reply.clone();
        replies.by_use.remove(&before);
        replies.by_use.insert(now, key);
        Ok(Some(reply))
    }

    async fn put(&self, key: Digest, reply: CachedReply) -> Result<()> {
        let bytes = size_of(&reply)?;
        let mut replies = self.lock();
        replies.remove(key);
        if bytes > self.most {
            return Ok(());
        }
        while replies.bytes + bytes > self.most {
            let Some((_, oldest)) = replies.by_use.first_key_value() else { break };
            let oldest = *oldest;
            replies.remove(oldest);
        }
        replies.uses += 1;
        let now = replies.uses;
        replies.by_use.insert(now, key);
        replies.by_key.insert(key, (reply, bytes, now));
        replies.bytes += bytes;
        Ok(())
    }
}

fn size_of(reply: &CachedReply) -> Result<usize> {
    let json = serde_json::to_vec(reply).map_err(|source| {
        Error::new(ErrorKind::Invalid, "a reply cannot be written as JSON").with_source(source)
    })?;
    Ok(json.len())
}

/// Answers a request that was answered before with the same reply.
///
/// The key has the model, the template, the preface with its tools, the path, the sampling, the output constraints and the arguments.
/// Only replies that are the same each time are cached: those of a request with a temperature of 0, a top-k of 1, or a seed. A reply
/// that failed or was interrupted is not cached.
///
/// A reply from the cache has the fact [`REPLY_CACHE_FACT`], and no usage. An owner's replies are not shown to another owner, unless
/// [`CacheReplies::shared`] allows it. Where the cache fails, the model answers.
///
/// Register it outside of a policy for a full context, and inside of middleware that changes the request.
///
/// ```
/// use alloquy_core::{Manager, Preface, SamplingOptions, TurnRequest};
/// use alloquy_guards::reply_cache::{CacheReplies, MemoryReplies};
/// use alloquy_testing::{ScriptedModel, ScriptedReply};
///
/// # pollster::block_on(async {
/// // A model that has one reply.
/// let model = ScriptedModel::replying([ScriptedReply::text("Green.")]);
/// let greedy = SamplingOptions { temperature: Some(0.0), ..SamplingOptions::default() };
/// let cache = CacheReplies::new("tiny", MemoryReplies::new(1 << 20));
/// let manager = Manager::builder(model).sampling(greedy).middleware(cache).build()?;
/// for hit in [false, true] {
///     let conversation = manager.create(Preface::default()).await?;
///     let turn = conversation.send("Which tea?").await?;
///     assert_eq!(turn.text(), "Green.");
///     assert_eq!(turn.reply.facts.contains_key("alloquy.reply_cache"), hit);
/// }
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CacheReplies {
    model: String,
    template: Option<Digest>,
    is_shared: bool,
    cache: Arc<dyn ReplyCache>,
}

impl CacheReplies {
    /// Creates the middleware. `model` identifies the model: its name and its version, or the digest of its files.
    pub fn new(model: impl Into<String>, cache: impl ReplyCache + 'static) -> Self {
        Self { model: model.into(), template: None, is_shared: false, cache: Arc::new(cache) }
    }

    /// Sets the digest of the template, so that replies to another template's prompts are not used.
    #[must_use]
    pub fn template(mut self, template: Digest) -> Self {
        self.template = Some(template);
        self
    }

    /// Shows the replies of one owner to the others too.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.is_shared = true;
        self
    }

    /// Returns the key of a request; `None` for one whose reply differs each time.
    fn key(&self, request: &mut Request) -> Option<Digest> {
        if !is_repeatable(&request.sampling) {
            return None;
        }
        let owner = request.origin.as_ref().filter(|_| !self.is_shared).map(|origin| origin.owner.as_str());
        let path = request.path.digest(request.path.len()).to_string();
        let ids: Vec<_> = request.path.sampled().collect();
        let parts = json!([
            1,
            self.model,
            request.model,
            self.template.map(|template| template.to_string()),
            owner,
            request.preface,
            path,
            // The same text as other tokens may have another reply.
            ids,
            request.replies,
            request.sampling,
            request.output,
            request.arguments,
            ending(request),
        ]);
        Some(Digest::of(parts.to_string().as_bytes()))
    }

    async fn run(self, key: Digest, mut stream: ReplyStream, mut emit: Emitter<Delta>) -> Result<Reply> {
        while let Some(delta) = stream.next().await {
            emit.send(delta).await;
        }
        let reply = stream.finish().await?;
        if let Some(cached) = CachedReply::of(&reply)
            && let Err(error) = self.cache.put(key, cached).await
        {
            tracing::warn!(%error, "a reply could not be cached");
        }
        Ok(reply)
    }
}

/// Returns how the prompt of a request ends, and what its reply begins with.
fn ending(request: &Request) -> String {
    match &request.beginning {
        Some(beginning) => format!("{:?} {beginning:?}", request.ending),
        None => format!("{:?}", request.ending),
    }
}

/// Returns whether the same request has the same reply each time.
fn is_repeatable(sampling: &SamplingOptions) -> bool {
    // Log-probabilities are not kept.
    if sampling.logprobs.is_some() {
        return false;
    }
    sampling.temperature == Some(0.0) || sampling.top_k == Some(1) || sampling.seed.is_some()
}

#[async_trait]
impl Middleware for CacheReplies {
    async fn handle(&self, mut request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let Some(key) = self.key(&mut request) else { return next.call(request).await };
        match self.cache.get(key).await {
            Ok(Some(cached)) => return Ok(stream_of(cached.into_reply())),
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "the cache of replies is unavailable"),
        }
        let stream = next.call(request).await?;
        let guard = self.clone();
        Ok(EventStream::new(move |emit| guard.run(key, stream, emit)))
    }
}
