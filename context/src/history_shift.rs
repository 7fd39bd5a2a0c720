//! Drops many of the oldest exchanges at once from a prompt that would not fit, and reports it with the reply.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::prompt::PromptCounter;
use alloquy_core::template::PromptEnd;
use alloquy_core::{ReplyStream, Request, Result};
use async_trait::async_trait;

use self::exchanges::Exchanges;
use crate::fitting::{Cut, Room, TrimmedRequest};
use crate::lengths::Lengths;
use crate::memory::{Memory, Place, front};
use crate::{cut_history, ids};

mod exchanges;

/// When a prompt omits its oldest messages, and how many are left then.
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
    /// How many messages at the beginning of the path are never dropped, such as examples. System messages before them are kept
    /// too.
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

    /// Returns the most units of a prompt.
    fn most(&self) -> usize {
        self.window.saturating_sub(self.reply + 1)
    }

    /// Returns the most units of a prompt that was just shortened.
    fn filled(&self) -> usize {
        self.room().share(self.fill).min(self.most())
    }
}

/// The middleware that drops a conversation's oldest exchanges when its prompt would not fit.
///
/// When a prompt and a reply no longer fit into the window, the history of the prompt begins at a later message of the user. It is
/// the earliest one with which the prompt fills no more than a share of the window, or else the last one. The preface, system
/// messages at the beginning and the messages that the policy keeps stay. From then on the prompt grows again, so that its cached
/// prefix is useful until the window is full the next time.
///
/// Where the history begins depends only on the messages, so the same conversation has the same prompt in another process. A reply
/// remembers the place ([`Reply::cut`](alloquy_core::Reply::cut)), so that it is found without going through a long conversation
/// again.
///
/// Nothing is dropped from the conversation. A reply whose prompt omits messages has
/// [`Warning::HistoryShifted`](alloquy_core::report::Warning::HistoryShifted). When the last exchange alone is too long, the model
/// refuses the request as it would without this middleware. Register it as the innermost middleware, because it counts what the
/// model will see.
///
/// ```
/// use alloquy_testing::ScriptedModel;
/// use alloquy_core::{Manager, Preface};
/// use alloquy_context::{HistoryShift, ShiftPolicy};
/// use alloquy_core::report::Warning;
///
/// # pollster::block_on(async {
/// let model = ScriptedModel::new([("<assistant>", "Hello!")]).context_length(60);
/// let shift = HistoryShift::new(model.clone(), ShiftPolicy::new(60).reply(10))?;
/// let manager = Manager::builder(model).middleware(shift).build()?;
/// let conversation = manager.create(Preface::system("Be kind.")).await?;
/// conversation.send("The first question").finish().await?;
/// let reply = conversation.send("The second question").finish().await?.reply;
/// assert_eq!(reply.warnings, [Warning::HistoryShifted { dropped: 2, tokens: 28 }]);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub struct HistoryShift {
    length: Box<dyn PromptCounter>,
    policy: ShiftPolicy,
    memory: Mutex<Memory<Cut>>,
}

impl HistoryShift {
    /// Creates the middleware; `length` counts prompts as the model does.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) when a value of the policy is out of its range.
    pub fn new(length: impl PromptCounter + 'static, policy: ShiftPolicy) -> Result<Self> {
        let policy = policy.validated()?;
        Ok(Self { length: Box::new(length), policy, memory: Mutex::default() })
    }

    /// Returns the policy.
    pub fn policy(&self) -> &ShiftPolicy {
        &self.policy
    }

    /// Drops the oldest exchanges of a request that does not fit; one that fits is returned as it is.
    ///
    /// # Errors
    /// Those of counting.
    pub fn shift(&self, mut request: Request) -> Result<TrimmedRequest> {
        let exchanges = Exchanges::new(&mut request.path, self.policy.keep);
        let front = front(Some(&request.preface));
        let lead = exchanges.lead;
        let end = request.path.len();
        // The last place is this request's, which may have other arguments than the last prompt of the same messages.
        let before = exchanges.ends.get(..exchanges.asked() - 1).unwrap_or_default();
        let known = self.memory().last_of(front, &mut request, before);
        let policy = cut_history::policy(&self.policy, &*self.length, &request);
        let remembered = cut_history::remembered(&request, policy);
        let remembered =
            remembered.and_then(|(place, cut)| exchanges.known(place, cut_history::cut(&cut, lead)));
        // The cut of the later prompt counts.
        let known = known.into_iter().chain(remembered).max_by_key(|(index, _)| *index);
        let known = known.filter(|(_, cut)| cut.start >= lead).map(|(index, cut)| (index + 1, cut));
        let outline = request.path.outline();
        let lengths = Lengths::new(&*self.length, &request, lead, outline);
        let mut replay = Replay { policy: &self.policy, lengths, exchanges: &exchanges };
        let (asked, cut) = known.unwrap_or((0, Cut { start: lead, tokens: 0 }));
        let cut = replay.run(asked, cut)?;
        let now = Place::after(front, &mut request, end);
        self.memory().remember(now, cut);
        request.path = request.path.excerpt(lead, &[], cut.start..end);
        let dropped = cut.start - lead;
        let tokens = cut.tokens;
        Ok(TrimmedRequest { request, cut: cut_history::of(policy, dropped, tokens), dropped, tokens })
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, Memory<Cut>> {
        // Every entry is complete, even if a thread panicked with the lock.
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
        let warnings = fitted.warning().into_iter().collect();
        ids::answered(fitted.request, said, warnings, fitted.cut, next).await
    }

    /// Counts as if a reply were requested, so that the prompt that is computed ahead is a prefix of the one that is answered.
    async fn prepare(&self, request: Request) -> Result<Request> {
        let ending = request.ending;
        Ok(self.shift(request.ending(PromptEnd::Generation))?.request.ending(ending))
    }
}

/// Repeats the decisions about the earlier prompts of one request's conversation.
struct Replay<'a> {
    policy: &'a ShiftPolicy,
    lengths: Lengths<'a>,
    exchanges: &'a Exchanges,
}

impl Replay<'_> {
    /// Returns where the path continues after the messages that are kept.
    ///
    /// The model was called at each of `ends`. The cut of the call `asked` is known. From there this finds the next call whose
    /// prompt filled the window, and moves the cut. It repeats that up to the last call. With a window of 100 units and turns
    /// of 30, the fourth call is the first full one, and its prompt restarts at the fourth question.
    fn run(&mut self, mut asked: usize, mut cut: Cut) -> Result<Cut> {
        let most = self.policy.most();
        let ends = &self.exchanges.ends;
        while let Some(full) = self.lengths.first_full(cut.start, ends, asked, most)? {
            let end = self.exchanges.end(full);
            let start = self.restart(cut.start, end)?;
            if start > cut.start {
                let long = self.lengths.units(cut.start, end)?;
                let short = self.lengths.units(start, end)?;
                cut = Cut { start, tokens: cut.tokens + long.saturating_sub(short) };
            }
            asked = full + 1;
        }
        Ok(cut)
    }

    /// Returns the first message of the user after `start` with which the prompt does not exceed the share, or the last one.
    fn restart(&mut self, start: usize, end: usize) -> Result<usize> {
        let candidates = self.exchanges.questions(start + 1..end);
        match candidates {
            [] => Ok(start),
            [only] => Ok(*only),
            several => self.lengths.first_fitting(several, end, self.policy.filled(), None),
        }
    }
}
