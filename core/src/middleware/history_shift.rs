//! Forgetting: a prompt that would no longer fit goes without the oldest exchanges, and the reply says so. Knows
//! lengths of prompts; no template, no tokenizer.

use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use self::exchanges::Exchanges;
use super::fitting::{FittedRequest, PromptLength, Room};
use super::memory::Memory;
use super::{Middleware, Next, ids};
use crate::Result;
use crate::chat_model::{ReplyStream, Request};
use crate::message::Message;
use crate::template::Ending;

mod exchanges;

/// When a prompt goes without its oldest messages, and how many are left then.
///
/// The defaults are those of MLC LLM up to May 2024 (`mean_gen_len` and `shift_fill_factor`).
///
/// ```
/// use alloquy_core::ShiftPolicy;
///
/// let policy = ShiftPolicy::new(4096);
/// assert_eq!((policy.reply, policy.fill, policy.keep), (128, 0.3, 0));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ShiftPolicy {
    /// How many units fit, prompt and reply together.
    pub window: usize,
    /// How many units are kept free for a reply.
    pub reply: usize,
    /// The share of the window that is filled again; above 0 and at most 1.
    pub fill: f64,
    /// How many messages at the beginning of the path are never dropped: examples that every prompt shows. System
    /// messages in front of them are kept besides.
    pub keep: usize,
}

impl ShiftPolicy {
    /// Returns the policy for a window: 128 units for a reply, 0.3 of the window filled again, nothing kept.
    pub fn new(window: usize) -> Self {
        Self { window, reply: 128, fill: 0.3, keep: 0 }
    }

    /// Sets how many units are kept free for a reply.
    #[must_use]
    pub fn reply(mut self, units: usize) -> Self {
        self.reply = units;
        self
    }

    /// Sets the share of the window that is filled again.
    #[must_use]
    pub fn fill(mut self, share: f64) -> Self {
        self.fill = share;
        self
    }

    /// Sets how many messages at the beginning are never dropped.
    #[must_use]
    pub fn keep(mut self, messages: usize) -> Self {
        self.keep = messages;
        self
    }

    fn validated(self) -> Result<Self> {
        self.room().check()?;
        Room::check_share(self.fill)?;
        Ok(self)
    }

    fn room(&self) -> Room {
        Room { window: self.window, reply: self.reply }
    }

    /// The most units of a prompt.
    fn most(&self) -> usize {
        self.window.saturating_sub(self.reply + 1)
    }

    /// The most units of a prompt that was just shortened.
    fn filled(&self) -> usize {
        self.room().share(self.fill).min(self.most())
    }
}

/// The middleware that drops a conversation's oldest exchanges when its prompt would not fit.
///
/// When a prompt and a reply no longer fit into the window, the path goes on with a message of the user, as early as
/// a share of the window allows and never later than the last one. The preface, system messages at the beginning and
/// the messages that the policy keeps stay, once. From there on the prompt grows again, so that what was computed is
/// of use until the window is full the next time. Where that happens depends on the messages alone: the same
/// conversation has the same prompt in another process.
///
/// Nothing is dropped from the conversation; a reply whose prompt went without messages has
/// [`Degradation::HistoryShifted`](crate::Degradation::HistoryShifted). When the last exchange alone is too long, the model says so as it would without.
/// It stands innermost, because it counts what the model will see.
///
/// ```
/// use std::sync::Arc;
/// use alloquy_core::testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};
/// use alloquy_core::{Degradation, HistoryShift, Manager, Preface, Round, ShiftPolicy};
///
/// # pollster::block_on(async {
/// let engine = ScriptedEngine::new([("<assistant>", "Hello!")]).context_length(60);
/// let round = Round::builder(Arc::new(engine)).template(TaggedTemplate).processor(TaggedProcessor).build()?;
/// let shift = HistoryShift::new(round.clone(), ShiftPolicy::new(60).reply(10))?;
/// let manager = Manager::over(Arc::new(round)).middleware(shift).build()?;
/// let chat = manager.create(Preface::system("Be kind.")).await?;
/// chat.send("The first question").finish().await?;
/// let reply = chat.send("The second question").finish().await?.reply;
/// assert_eq!(reply.degradations, [Degradation::HistoryShifted { dropped: 2, tokens: 28 }]);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub struct HistoryShift {
    length: Box<dyn PromptLength>,
    policy: ShiftPolicy,
    memory: Mutex<Memory<usize>>,
}

impl HistoryShift {
    /// Creates the middleware; `length` counts as the model does that it stands in front of.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when a value of the policy is out of its range.
    pub fn new(length: impl PromptLength + 'static, policy: ShiftPolicy) -> Result<Self> {
        let policy = policy.validated()?;
        Ok(Self { length: Box::new(length), policy, memory: Mutex::default() })
    }

    /// Returns the policy.
    pub fn policy(&self) -> &ShiftPolicy {
        &self.policy
    }

    /// Drops what a prompt no longer has room for; a request that fits comes back as it is.
    ///
    /// # Errors
    /// Those of counting.
    pub fn shift(&self, mut request: Request) -> Result<FittedRequest> {
        let path = std::mem::take(&mut request.path);
        let exchanges = Exchanges::new(&path, self.policy.keep);
        let counting = Counting { shift: self, request: &request, path: &path, exchanges: &exchanges };
        let start = counting.start()?;
        let tokens = match start > exchanges.lead {
            true => {
                let whole = counting.units(exchanges.lead, path.len())?;
                whole.saturating_sub(counting.units(start, path.len())?)
            }
            false => 0,
        };
        let dropped = start - exchanges.lead;
        request.path = without(path, exchanges.lead..start);
        Ok(FittedRequest { request, dropped, tokens })
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, Memory<usize>> {
        // What it holds is true whatever a thread was doing when it panicked.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for HistoryShift {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HistoryShift").field("policy", &self.policy).finish_non_exhaustive()
    }
}

#[async_trait]
impl Middleware for HistoryShift {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let called = ids::of(&request.path);
        let fitted = self.shift(request)?;
        let told = fitted.degradation().into_iter().collect();
        ids::answered(fitted.request, called, told, next).await
    }

    /// Counts as if an answer were asked for, so that what is computed ahead is what the answer begins with.
    async fn prepare(&self, request: Request) -> Result<Request> {
        let ending = request.ending;
        Ok(self.shift(request.ending(Ending::Answer))?.request.ending(ending))
    }
}

fn without(mut path: Vec<Message>, dropped: Range<usize>) -> Vec<Message> {
    path.drain(dropped);
    path
}

/// One request whose prompts are counted.
struct Counting<'a> {
    shift: &'a HistoryShift,
    /// Without its path.
    request: &'a Request,
    path: &'a [Message],
    exchanges: &'a Exchanges,
}

impl Counting<'_> {
    /// Where the path goes on behind what is kept: goes through the conversation as it was held, from the last place
    /// that is remembered, and moves on whenever the window was full.
    fn start(&self) -> Result<usize> {
        let digests = self.exchanges.digests(self.request, self.path);
        // The last place is now, and what the processor is told may be different now.
        let Some((now, before)) = digests.split_last() else { return Ok(self.exchanges.lead) };
        let known = self.shift.memory().last_of(before);
        let (mut asked, mut start) =
            known.map_or((0, self.exchanges.lead), |(index, start)| (index + 1, start));
        if !self.is_full(start, self.exchanges.asked())? {
            asked = self.exchanges.asked();
        }
        while let Some(full) = self.first_full(asked, start)? {
            start = self.restart(start, self.exchanges.end(full))?;
            asked = full + 1;
        }
        self.shift.memory().remember(*now, start);
        Ok(start)
    }

    /// The first time from `asked` on that the model was asked and the prompt from `start` on was too long.
    ///
    /// A longer conversation has a longer prompt, so that looking twice as far each time, and then halving, finds it.
    fn first_full(&self, asked: usize, start: usize) -> Result<Option<usize>> {
        let count = self.exchanges.asked();
        let (mut fits, mut step) = (asked, 1);
        let mut full = loop {
            if fits >= count {
                return Ok(None);
            }
            let probe = (fits + step - 1).min(count - 1);
            if self.is_full(start, probe)? {
                break probe;
            }
            (fits, step) = (probe + 1, step * 2);
        };
        while fits < full {
            let middle = fits + (full - fits) / 2;
            match self.is_full(start, middle)? {
                true => full = middle,
                false => fits = middle + 1,
            }
        }
        Ok(Some(full))
    }

    fn is_full(&self, start: usize, asked: usize) -> Result<bool> {
        Ok(self.units(start, self.exchanges.end(asked))? > self.shift.policy.most())
    }

    /// The first message of the user behind `start` from which on the share is not exceeded, or the last one.
    fn restart(&self, start: usize, end: usize) -> Result<usize> {
        let mut candidates = self.exchanges.questions(start + 1..end);
        while let Some((last, earlier)) = candidates.split_last() {
            let (half, rest) = earlier.split_at(earlier.len() / 2);
            let Some(middle) = rest.first() else { return Ok(*last) };
            candidates = match self.units(*middle, end)? <= self.shift.policy.filled() {
                true => candidates.get(..=half.len()).unwrap_or_default(),
                false => candidates.get(half.len() + 1..).unwrap_or_default(),
            };
        }
        Ok(start)
    }

    fn units(&self, start: usize, end: usize) -> Result<usize> {
        let kept = self.path.iter().take(self.exchanges.lead);
        let path = kept.chain(self.path.iter().take(end).skip(start)).cloned().collect();
        let mut request = Request { path, ..self.request.clone() };
        if end < self.path.len() {
            request.ending = Ending::Answer;
        }
        self.shift.length.units(&request)
    }
}
