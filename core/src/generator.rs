//! The one thread that owns an engine's sessions, and the stream of tokens that comes out of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, mpsc as queue};
use std::task::{Context, Poll};

use futures::channel::mpsc;
use futures::{Stream, StreamExt};

use crate::chat_model::{CacheReport, FinishReason};
use crate::engine::{Cancel, Engine};
use crate::guide::{Draw, Guide};
use crate::prompt::{Prompt, Unit};
use crate::sampling::Sampler;
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
    jobs: queue::Sender<Job>,
}

/// What a [`TokenStream`] gives, in this order: `Prefilled`, tokens, `Ended`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Generation {
    /// The prompt is computed.
    Prefilled(CacheReport),
    /// A token was sampled.
    Token(TokenId),
    /// A thought was ended after so many tokens; the tokens that end it follow.
    ThinkingCut(usize),
    /// The model ended with a stop token, or the limit is reached.
    Ended(FinishReason),
    /// The form of the reply is complete, and no token was spent on its end.
    Complete,
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
        let (jobs, inbox) = queue::channel();
        let name = format!("alloquy {}", engine.model().name);
        let work = move || serve_all(&*engine, sessions, &inbox);
        std::thread::Builder::new().name(name).spawn(work).map_err(|source| {
            Error::new(ErrorKind::Backend, "could not start the generator's thread").with_source(source)
        })?;
        Ok(Self { jobs })
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
        let job = Job { prompt, sampler, limit, guide, cancel: cancel.clone(), events };
        if let Err(queue::SendError(job)) = self.jobs.send(job) {
            job.emit(Err(Error::new(ErrorKind::Backend, "the generator's thread has ended")));
        }
        TokenStream { stream, cancel }
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

impl Drop for TokenStream {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

fn serve_all(engine: &dyn Engine, sessions: usize, inbox: &queue::Receiver<Job>) {
    let mut slots = Slots::new(sessions);
    for mut job in inbox {
        // A panicking engine loses its slot, which was taken out, and nothing else.
        let served = catch_unwind(AssertUnwindSafe(|| serve(engine, &mut slots, &mut job)));
        let panicked = || Err(Error::new(ErrorKind::Backend, "the engine panicked; its session was dropped"));
        if let Err(error) = served.unwrap_or_else(|_| panicked()) {
            job.emit(Err(error));
        }
    }
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
    let fresh = job.prompt.units.split_off(report.reused);
    slot.resident.extend_from_slice(&fresh);
    let mut logits = slot.session.forward(&fresh, &job.cancel)?;
    job.emit(Ok(Generation::Prefilled(report)));
    for sampled in 1..=job.limit {
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
    job.emit(Ok(Generation::Ended(FinishReason::MaxTokens)));
    Ok(())
}
