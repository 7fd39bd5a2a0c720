//! The one thread that owns an engine's sessions, and the stream of tokens that comes out of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, mpsc as queue};
use std::task::{Context, Poll};

use futures::channel::{mpsc, oneshot};
use futures::{Stream, StreamExt};

use crate::chat_model::{CacheReport, FinishReason};
use crate::engine::{Cancel, Engine};
use crate::guide::{Draw, Guide};
use crate::prompt::{Prompt, Unit};
use crate::sampling::{LogSoftmax, Logprob, SampledLogprobs, Sampler};
use crate::scoring::{Scoring, score};
use crate::slots::{Slot, Slots};
use crate::tokenizer::TokenId;
use crate::{Error, ErrorKind, Result};

/// Runs an engine on a thread of its own; clones share the thread, which ends with the last of them.
///
/// ```
/// use std::sync::Arc;
/// use alloquy_core::{Generation, Generator, Piece, Prompt, PromptPart, Sampler, testing::ScriptedEngine};
/// use alloquy_core::Engine;
/// use futures::StreamExt;
///
/// # pollster::block_on(async {
/// let engine = Arc::new(ScriptedEngine::new([("Hi", "ya")]));
/// let generator = Generator::spawn(engine.clone(), 2)?;
/// let prompt = Prompt::lower(&[PromptPart::Text("Hi".into())], engine.tokenizer())?;
/// let tokens: Vec<_> = generator.generate(prompt, Sampler::new(&Default::default())?, 8).collect().await;
/// assert!(matches!(tokens[1], Ok(Generation::Token(token)) if token == u32::from(b'y')));
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Generator {
    work: queue::Sender<Work>,
}

/// What a [`TokenStream`] gives, in this order: `Prefilled`, tokens, `Ended`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Generation {
    /// The prompt is computed.
    Prefilled(CacheReport),
    /// How likely the token that comes next was, where the sampler is asked for it.
    Logprobs(SampledLogprobs),
    /// A token was sampled.
    Token(TokenId),
    /// A thought was ended after so many tokens; the tokens that end it follow.
    ThinkingCut(usize),
    /// The model ended with a stop token, or the limit is reached.
    Ended(FinishReason),
    /// The form of the reply is complete, and no token was spent on its end.
    Complete,
}

/// What the thread is asked to do.
#[derive(Debug)]
enum Work {
    Generate(Box<Job>),
    Score(Scoring),
}

#[derive(Debug)]
struct Job {
    prompt: Prompt,
    sampler: Sampler,
    limit: usize,
    guide: Guide,
    cancel: Cancel,
    events: mpsc::UnboundedSender<Result<Generation>>,
}

impl Job {
    fn emit(&self, event: Result<Generation>) {
        // Nobody listens any more: the stream was dropped, and `cancel` ends the work.
        let _ = self.events.unbounded_send(event);
    }
}

impl Generator {
    /// Starts the thread, which keeps at most `sessions` KV caches.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`] when the system gives no thread.
    pub fn spawn(engine: Arc<dyn Engine>, sessions: usize) -> Result<Self> {
        let (work, inbox) = queue::channel();
        let name = format!("alloquy {}", engine.model().name);
        let serve = move || serve_all(&*engine, sessions, &inbox);
        std::thread::Builder::new().name(name).spawn(serve).map_err(|source| {
            Error::new(ErrorKind::Backend, "could not start the generator's thread").with_source(source)
        })?;
        Ok(Self { work })
    }

    /// Queues a generation of at most `limit` tokens; 0 computes the prompt and stops.
    ///
    /// The stream is unbounded because `limit` bounds it: the thread never waits for a reader.
    pub fn generate(&self, prompt: Prompt, sampler: Sampler, limit: usize) -> TokenStream {
        self.generate_guided(prompt, sampler, limit, Guide::default())
    }

    /// As [`Generator::generate`], led by a guide.
    pub fn generate_guided(
        &self,
        prompt: Prompt,
        sampler: Sampler,
        limit: usize,
        guide: Guide,
    ) -> TokenStream {
        let (events, stream) = mpsc::unbounded();
        let cancel = Cancel::default();
        let job = Box::new(Job { prompt, sampler, limit, guide, cancel: cancel.clone(), events });
        if let Err(queue::SendError(Work::Generate(job))) = self.work.send(Work::Generate(job)) {
            job.emit(Err(ended()));
        }
        TokenStream { stream, cancel }
    }

    /// Says how likely the tokens of each target are behind `prompt`, in a copy of the session that has most of it.
    ///
    /// Sessions stay as they are. Dropping the future ends the work.
    ///
    /// # Errors
    /// Those of the session; [`ErrorKind::ContextOverflow`] when a target does not fit.
    pub async fn score(&self, prompt: Prompt, targets: Vec<Vec<TokenId>>) -> Result<Vec<Vec<Logprob>>> {
        let (answer, answered) = oneshot::channel();
        let guard = CancelOnDrop(Cancel::default());
        let scoring = Scoring { prompt: prompt.units, targets, cancel: guard.0.clone(), answer };
        self.work.send(Work::Score(scoring)).map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }
}

/// The tokens of one generation. Dropping it cancels the work; the session keeps what it has computed.
#[derive(Debug)]
pub struct TokenStream {
    stream: mpsc::UnboundedReceiver<Result<Generation>>,
    cancel: Cancel,
}

impl Stream for TokenStream {
    type Item = Result<Generation>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.stream.poll_next_unpin(context)
    }
}

/// Ends work that nobody waits for any more.
struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn ended() -> Error {
    Error::new(ErrorKind::Backend, "the generator's thread has ended")
}

impl Drop for TokenStream {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

fn serve_all(engine: &dyn Engine, sessions: usize, inbox: &queue::Receiver<Work>) {
    let mut slots = Slots::new(sessions);
    for work in inbox {
        match work {
            Work::Generate(mut job) => {
                if let Err(error) = guarded(|| serve(engine, &mut slots, &mut job)) {
                    job.emit(Err(error));
                }
            }
            Work::Score(scoring) => {
                let scores = guarded(|| score(engine, &slots, &scoring));
                // Nobody waits for the answer any more: the future was dropped.
                let _ = scoring.answer.send(scores);
            }
        }
    }
}

/// A panicking engine loses its slot, which was taken out, and nothing else.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let panicked = || Error::new(ErrorKind::Backend, "the engine panicked; its session was dropped");
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(panicked()))
}

fn serve(engine: &dyn Engine, slots: &mut Slots, job: &mut Job) -> Result<()> {
    job.cancel.check()?;
    let (mut slot, report) = slots.take(engine, &job.prompt.units)?;
    tracing::debug!(?report, "prompt");
    match decode(engine, &mut slot, report, job) {
        Ok(()) => slots.put(slot),
        // Cancelled between chunks: the session says what it holds.
        Err(error) if error.is_cancelled() => {
            slots.put(slot);
            return Err(error);
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

fn decode(engine: &dyn Engine, slot: &mut Slot, report: CacheReport, job: &mut Job) -> Result<()> {
    job.sampler.read(job.prompt.tokens().flatten());
    let fresh = job.prompt.units.split_off(report.reused);
    slot.resident.extend_from_slice(&fresh);
    let mut logits = slot.session.forward(&fresh, &job.cancel)?;
    job.emit(Ok(Generation::Prefilled(report)));
    for sampled in 1..=job.limit {
        let believed = job.sampler.logprobs().map(|count| (count, logits.to_vec()));
        let stop_tokens = &engine.model().stop_tokens;
        let tokenizer = engine.tokenizer();
        let token = job.guide.next(Draw { logits, sampler: &mut job.sampler, tokenizer, stop_tokens })?;
        if let Some(tokens) = job.guide.take_cut() {
            job.emit(Ok(Generation::ThinkingCut(tokens)));
        }
        if stop_tokens.contains(&token) {
            job.emit(Ok(Generation::Ended(FinishReason::Stop)));
            return Ok(());
        }
        job.sampler.accept(token);
        if let Some((count, logits)) = believed {
            job.emit(Ok(Generation::Logprobs(LogSoftmax::new(&logits).sampled(token, count))));
        }
        job.emit(Ok(Generation::Token(token)));
        if job.guide.is_complete() {
            job.emit(Ok(Generation::Complete));
            return Ok(());
        }
        if sampled < job.limit {
            slot.resident.push(Unit::Token(token));
            logits = slot.session.forward(&[Unit::Token(token)], &job.cancel)?;
        }
    }
    job.emit(Ok(Generation::Ended(FinishReason::Length)));
    Ok(())
}
