//! Runs an engine on a thread of its own, which owns the sessions and writes streams of tokens.

use std::pin::Pin;
use std::sync::{Arc, mpsc as queue};
use std::task::{Context, Poll};

use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::{Prompt, PromptUnit};
use alloquy_core::sampling::TokenLogprob;
use alloquy_core::tokenizer::{TokenId, Tokenizer};
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::decoder::snapshot::Reading;
use alloquy_engine::decoder::{
    CacheStatistics, DecodeEvent, DecodeRequest, Decoder, GrammarSupport, Snapshot, SnapshotError,
    SnapshotIdentity, SnapshotSource, TokenStream,
};
use alloquy_engine::media_processor::MediaProcessor;
use alloquy_engine::{CancelToken, Engine};
use async_trait::async_trait;
use futures::channel::{mpsc, oneshot};
use futures::{Stream, StreamExt};

use crate::sampler::Sampler;

mod active;
mod cache_budget;
mod costs;
mod draft_model;
mod drafter;
mod drafting;
mod drafts;
mod exclusion;
mod follower;
mod guard;
mod guided_sampler;
mod job;
mod lookup;
mod options;
mod pace;
mod scorer;
mod scoring;
mod slots;
mod worker;

use exclusion::{Exclusion, TextMasks};
use guided_sampler::GuidedSampler;
use job::{Job, Work};
use scoring::Scoring;

pub use cache_budget::CacheBudget;
pub use draft_model::DraftModel;
pub use drafting::Drafting;
pub use lookup::PromptLookup;
pub use options::GeneratorOptions;

/// Runs an engine on a thread of its own. Clones share the thread, which ends with the last clone.
///
/// Generations take turns, so that a long prompt does not block the others. Between two of its chunks, every running reply gets
/// its next token. If the model has batches, these tokens are one batch ([`Engine::forward_many`]). A prompt that shares a prefix
/// with a prompt that is being computed waits for it, and continues in a copy of its session.
///
/// ```
/// use std::sync::Arc;
/// use alloquy_engine::decoder::{DecodeEventKind, DecodeRequest, Decoder};
/// use alloquy_core::processor::PromptPart;
/// use alloquy_core::prompt::Prompt;
/// use alloquy_inference::Generator;
/// use alloquy_testing::ScriptedEngine;
/// use futures::StreamExt;
///
/// # pollster::block_on(async {
/// let generator = Generator::new(Arc::new(ScriptedEngine::new([("Hi", "ya")])), 2)?;
/// let prompt = Prompt::lower(&[PromptPart::Text("Hi".into())], generator.tokenizer())?;
/// let events: Vec<_> = generator.decode(DecodeRequest::new(prompt, 8)).collect().await;
/// let events = events.into_iter().collect::<Result<Vec<_>, _>>()?;
/// assert!(matches!(events[2].kind, DecodeEventKind::Token { id, .. } if id == u32::from(b'y')));
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Generator {
    engine: Arc<dyn Engine>,
    work: queue::Sender<Work>,
    masks: Arc<TextMasks>,
}

impl Generator {
    /// Starts the thread. Options convert from a number of sessions and from a [`CacheBudget`].
    ///
    /// # Errors
    /// [`ErrorKind::Backend`] if the thread cannot be started.
    pub fn new(engine: Arc<dyn Engine>, options: impl Into<GeneratorOptions>) -> Result<Self> {
        Self::started(engine, None, options.into())
    }

    /// Starts the thread of an engine whose replies have drafts from a smaller model with the same tokenizer.
    ///
    /// Its sessions are kept beside those of the engine, as many, in a quarter of their bytes.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use alloquy_engine::Engine;
    /// use alloquy_inference::{Generator, GeneratorOptions};
    /// use alloquy_testing::NoiseEngine;
    ///
    /// let engine: Arc<dyn Engine> = Arc::new(NoiseEngine::new([]));
    /// let smaller: Arc<dyn Engine> = Arc::new(NoiseEngine::new([]));
    /// let generator = Generator::with_draft(engine, smaller, GeneratorOptions::default())?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if the tokens of the draft model are not those of the model, and the errors of [`Generator::new`].
    pub fn with_draft(
        engine: Arc<dyn Engine>,
        draft: impl Into<DraftModel>,
        options: impl Into<GeneratorOptions>,
    ) -> Result<Self> {
        let draft = draft.into();
        draft.check(&*engine)?;
        Self::started(engine, Some(draft), options.into())
    }

    fn started(
        engine: Arc<dyn Engine>,
        draft: Option<DraftModel>,
        options: GeneratorOptions,
    ) -> Result<Self> {
        let (work, inbox) = queue::channel();
        let name = format!("alloquy {}", engine.model().name);
        let served = Arc::clone(&engine);
        let thread = std::thread::Builder::new().name(name);
        thread.spawn(move || worker::serve_all(&*served, draft, options, &inbox)).map_err(|source| {
            Error::new(ErrorKind::Backend, "could not start the generator's thread").with_source(source)
        })?;
        Ok(Self { engine, work, masks: Arc::default() })
    }

    /// Queues a generation of at most `limit` tokens, sampled by `sampler`. With 0, only the prompt is computed.
    ///
    /// The stream is unbounded because `limit` bounds it: the thread never waits for a reader.
    pub fn generate(&self, prompt: Prompt, sampler: Sampler, limit: usize) -> TokenStream {
        self.queue(prompt, None, sampler, limit, GuidedSampler::default(), Exclusion::default())
    }

    fn queue(
        &self,
        prompt: Prompt,
        owner: Option<Digest>,
        sampler: Sampler,
        limit: usize,
        guide: GuidedSampler,
        excluded: Exclusion,
    ) -> TokenStream {
        let (events, stream) = mpsc::unbounded();
        let cancel = CancelToken::default();
        let job =
            Box::new(Job { prompt, owner, sampler, limit, guide, excluded, cancel: cancel.clone(), events });
        if let Err(queue::SendError(Work::Generate(job))) = self.work.send(Work::Generate(job)) {
            job.emit(Err(ended()));
        }
        Events { stream, cancel }.boxed()
    }

    /// Returns the statistics of the cache.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`] when the thread has ended.
    pub async fn statistics(&self) -> Result<CacheStatistics> {
        let (answer, answered) = oneshot::channel();
        self.work.send(Work::Statistics(answer)).map_err(|_| ended())?;
        answered.await.map_err(|_| ended())
    }

    /// Returns how many of the first units of `prompt` are cached for the owner of `origin`. Sessions do not change.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`] if the thread has ended.
    pub async fn held(&self, prompt: Prompt, origin: SnapshotIdentity) -> Result<usize> {
        let (answer, answered) = oneshot::channel();
        self.work.send(Work::Held(prompt, origin.owner, answer)).map_err(|_| ended())?;
        answered.await.map_err(|_| ended())
    }

    /// Saves the longest cached prefix of `prompt`. `origin` is the model and the template that computed it, and whose sessions are
    /// looked at.
    ///
    /// Sessions do not change. Saving takes a turn of the thread, about as long as copying the session does.
    ///
    /// # Errors
    /// - [`ErrorKind::NotFound`] if nothing of the prompt is cached.
    /// - [`ErrorKind::Unsupported`] if the engine's sessions cannot be saved.
    /// - [`ErrorKind::Backend`] if the thread has ended.
    pub async fn snapshot(&self, prompt: Prompt, origin: SnapshotIdentity) -> Result<Snapshot> {
        let (answer, answered) = oneshot::channel();
        self.work.send(Work::Snapshot(prompt, origin, answer)).map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }

    /// Restores a snapshot of [`Generator::snapshot`] as one more session, of the owner of `origin`, and returns its number of units.
    ///
    /// The thread reads it in one of its turns.
    ///
    /// # Errors
    /// The reason why the snapshot is refused. Then no session has changed.
    pub async fn restore(
        &self,
        from: impl Into<SnapshotSource>,
        origin: SnapshotIdentity,
    ) -> Result<usize, SnapshotError> {
        let snapshot = Reading::of(from.into())?;
        snapshot.check(&origin)?;
        let (answer, answered) = oneshot::channel();
        self.work.send(Work::Restore(Box::new(snapshot), origin.owner, answer)).map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }

    /// Returns how likely the tokens of each target are after `prompt`.
    ///
    /// They are computed in a copy of the session with the longest common prefix; sessions do not change. Scoring takes turns with
    /// generations, a chunk or a target at a time. Sessions of owners are not looked at. Several scorings run one after another.
    /// Dropping the future ends the work.
    ///
    /// # Errors
    /// The errors of the session, and [`ErrorKind::ContextOverflow`] if a target does not fit.
    pub async fn score(&self, prompt: Prompt, targets: Vec<Vec<TokenId>>) -> Result<Vec<Vec<TokenLogprob>>> {
        let (answer, answered) = oneshot::channel();
        let guard = CancelOnDrop(CancelToken::default());
        let scoring = Scoring { prompt: prompt.units, targets, cancel: guard.0.clone(), answer };
        self.work.send(Work::Score(scoring)).map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }
}

#[async_trait]
impl Decoder for Generator {
    fn model(&self) -> &ModelInfo {
        self.engine.model()
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        self.engine.tokenizer()
    }

    fn media(&self) -> Option<&dyn MediaProcessor> {
        self.engine.media()
    }

    fn positions(&self, unit: &PromptUnit) -> Result<usize> {
        self.engine.positions(unit)
    }

    fn grammar_support(&self) -> GrammarSupport {
        GrammarSupport::Exact
    }

    fn enforces_exclusions(&self) -> bool {
        true
    }

    fn decode(&self, request: DecodeRequest) -> TokenStream {
        let DecodeRequest { prompt, sampling, max_tokens, guided, excluded, owner, .. } = request;
        let owner = owner.map(|owner| Digest::of(owner.as_bytes()));
        let vocabulary = self.engine.model().vocabulary;
        let excluded = self.masks.exclusion(excluded, self.engine.tokenizer(), vocabulary);
        match Sampler::new(&sampling) {
            Ok(sampler) => {
                self.queue(prompt, owner, sampler, max_tokens, GuidedSampler::new(guided), excluded)
            }
            Err(error) => futures::stream::once(async { Err(error) }).boxed(),
        }
    }

    async fn score(&self, prompt: Prompt, targets: Vec<Vec<TokenId>>) -> Result<Vec<Vec<TokenLogprob>>> {
        Self::score(self, prompt, targets).await
    }

    async fn cache_statistics(&self) -> Result<Option<CacheStatistics>> {
        self.statistics().await.map(Some)
    }

    fn identity(&self) -> Option<Digest> {
        self.engine.identity()
    }

    async fn held(&self, prompt: Prompt, origin: SnapshotIdentity) -> Result<Option<usize>> {
        Self::held(self, prompt, origin).await.map(Some)
    }

    async fn snapshot(&self, prompt: Prompt, origin: SnapshotIdentity) -> Result<Snapshot> {
        Self::snapshot(self, prompt, origin).await
    }

    async fn restore(&self, from: SnapshotSource, origin: SnapshotIdentity) -> Result<usize, SnapshotError> {
        Self::restore(self, from, origin).await
    }
}

/// The events of one generation. Dropping it cancels the work; units that are computed stay in the session.
#[derive(Debug)]
struct Events {
    stream: mpsc::UnboundedReceiver<Result<DecodeEvent>>,
    cancel: CancelToken,
}

impl Stream for Events {
    type Item = Result<DecodeEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.stream.poll_next_unpin(context)
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Cancels the work when the future that waits for it is dropped.
struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn ended() -> Error {
    Error::new(ErrorKind::Backend, "the generator's thread has ended")
}
