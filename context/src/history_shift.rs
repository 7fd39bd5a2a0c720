//! Forgetting: a prompt that would no longer fit goes without the oldest exchanges, and the reply says so. Knows
//! lengths of prompts; no template, no tokenizer.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::prompt::PromptLength;
use alloquy_core::template::Ending;
use alloquy_core::{ReplyStream, Request, Result};
use async_trait::async_trait;

use self::exchanges::Exchanges;
use crate::fitting::{Cut, FittedRequest, Room};
use crate::lengths::Lengths;
use crate::memory::{Memory, Place, front};
use crate::{cut_history, ids};

mod exchanges;

/// When a prompt goes without its oldest messages, and how many are left then.
///
/// The defaults are those of MLC LLM up to May 2024 (`mean_gen_len` and `shift_fill_factor`).
///
/// ```
/// use alloquy_context::ShiftPolicy;
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
/// conversation has the same prompt in another process. A reply remembers it ([`Reply::cut`](alloquy_core::Reply::cut)), so that
/// nobody goes through a long conversation again.
///
/// Nothing is dropped from the conversation; a reply whose prompt went without messages has
/// [`Degradation::HistoryShifted`](alloquy_core::report::Degradation::HistoryShifted). When the last exchange alone is too long, the model says so as it would without.
/// It stands innermost, because it counts what the model will see.
///
/// ```
/// use alloquy_testing::ScriptedModel;
/// use alloquy_core::{Manager, Preface};
/// use alloquy_context::{HistoryShift, ShiftPolicy};
/// use alloquy_core::report::Degradation;
///
/// # pollster::block_on(async {
/// let model = ScriptedModel::new([("<assistant>", "Hello!")]).context_length(60);
/// let shift = HistoryShift::new(model.clone(), ShiftPolicy::new(60).reply(10))?;
/// let manager = Manager::builder(model).middleware(shift).build()?;
/// let conversation = manager.create(Preface::system("Be kind.")).await?;
/// conversation.send("The first question").finish().await?;
/// let reply = conversation.send("The second question").finish().await?.reply;
/// assert_eq!(reply.degradations, [Degradation::HistoryShifted { dropped: 2, tokens: 28 }]);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub struct HistoryShift {
    length: Box<dyn PromptLength>,
    policy: ShiftPolicy,
    memory: Mutex<Memory<Cut>>,
}

impl HistoryShift {
    /// Creates the middleware; `length` counts as the model does that it stands in front of.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) when a value of the policy is out of its range.
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
        let exchanges = Exchanges::new(&mut request.path, self.policy.keep);
        let front = front(Some(&request.preface));
        let lead = exchanges.lead;
        let end = request.path.len();
        // The last place is now, and what the processor is told may be different now.
        let before = exchanges.ends.get(..exchanges.asked() - 1).unwrap_or_default();
        let known = self.memory().last_of(front, &mut request, before);
        let policy = cut_history::policy(&self.policy, &*self.length, &request);
        let remembered = cut_history::remembered(&request, policy);
        let remembered =
            remembered.and_then(|(place, cut)| exchanges.known(place, cut_history::cut(&cut, lead)));
        // Whichever is of later.
        let known = known.into_iter().chain(remembered).max_by_key(|(index, _)| *index);
        let known = known.filter(|(_, cut)| cut.start >= lead).map(|(index, cut)| (index + 1, cut));
        let outline = request.path.outline();
        let lengths = Lengths::new(&*self.length, &request, lead, outline);
        let mut going = Going { policy: &self.policy, lengths, exchanges: &exchanges };
        let (asked, cut) = known.unwrap_or((0, Cut { start: lead, tokens: 0 }));
        let cut = going.through(asked, cut)?;
        let now = Place::behind(front, &mut request, end);
        self.memory().remember(now, cut);
        request.path = request.path.excerpt(lead, &[], cut.start..end);
        let dropped = cut.start - lead;
        let tokens = cut.tokens;
        Ok(FittedRequest { request, cut: cut_history::of(policy, dropped, tokens), dropped, tokens })
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, Memory<Cut>> {
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
        let said = request.path.clone();
        let fitted = self.shift(request)?;
        let told = fitted.degradation().into_iter().collect();
        ids::answered(fitted.request, said, told, fitted.cut, next).await
    }

    /// Counts as if an answer were asked for, so that what is computed ahead is what the answer begins with.
    async fn prepare(&self, request: Request) -> Result<Request> {
        let ending = request.ending;
        Ok(self.shift(request.ending(Ending::Answer))?.request.ending(ending))
    }
}

/// One request whose conversation is gone through as it was held.
struct Going<'a> {
    policy: &'a ShiftPolicy,
    lengths: Lengths<'a>,
    exchanges: &'a Exchanges,
}

impl Going<'_> {
    /// Where the path goes on behind what is kept: goes through the conversation as it was held, from the time that is
    /// remembered, and moves on whenever the window was full.
    fn through(&mut self, mut asked: usize, mut cut: Cut) -> Result<Cut> {
        let (most, ends) = (self.policy.most(), &self.exchanges.ends);
        while let Some(full) = self.lengths.first_full(cut.start, ends, asked, most)? {
            let end = self.exchanges.end(full);
            let start = self.restart(cut.start, end)?;
            if start > cut.start {
                let (long, short) = (self.lengths.units(cut.start, end)?, self.lengths.units(start, end)?);
                cut = Cut { start, tokens: cut.tokens + long.saturating_sub(short) };
            }
            asked = full + 1;
        }
        Ok(cut)
    }

    /// The first message of the user behind `start` from which on the share is not exceeded, or the last one.
    fn restart(&mut self, start: usize, end: usize) -> Result<usize> {
        let candidates = self.exchanges.questions(start + 1..end);
        match candidates {
            [] => Ok(start),
            [only] => Ok(*only),
            several => self.lengths.first_fitting(several, end, self.policy.filled(), None),
        }
    }
}
