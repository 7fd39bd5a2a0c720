//! Drops as few of the oldest turns as possible from a prompt that would not fit, and reports it with the reply.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::prompt::PromptCounter;
use alloquy_core::template::PromptEnd;
use alloquy_core::{ReplyStream, Request, Result};
use async_trait::async_trait;

use crate::fitting::{Cut, Room, TrimmedRequest, replaced, usual_reply};
use crate::groups::Groups;
use crate::lengths::Lengths;
use crate::memory::{Memory, Place, front};
use crate::{cut_history, ids};

/// When a prompt omits its oldest turns, and which turns always stay.
///
/// ```
/// use alloquy_context::DropPolicy;
///
/// let policy = DropPolicy::new(4096).pinned(1);
/// assert_eq!((policy.reply, policy.pinned), (128, 1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DropPolicy {
    /// How many units fit, prompt and reply together.
    pub window: usize,
    /// How many units are kept free for a reply.
    pub reply: usize,
    /// How many turns at the beginning always stay, such as examples. The preface and system messages at the beginning of the
    /// path stay too.
    pub pinned: usize,
}

impl DropPolicy {
    /// Returns the policy for a window: 128 units for a reply, a quarter of a window below 512; nothing pinned.
    pub fn new(window: usize) -> Self {
        Self { window, reply: usual_reply(window), pinned: 0 }
    }

    /// Sets how many units are kept free for a reply.
    #[must_use]
    pub fn reply(mut self, units: usize) -> Self {
        self.reply = units;
        self
    }

    /// Sets how many turns at the beginning always stay.
    #[must_use]
    pub fn pinned(mut self, turns: usize) -> Self {
        self.pinned = turns;
        self
    }
}

/// The middleware that drops the oldest turns of a conversation when its prompt would not fit.
///
/// A turn is a message of the user with everything up to the next one: answers, calls of tools and their results. Messages before
/// the first question belong to its turn. As few turns as possible are left out, the oldest first. The preface, system messages at
/// the beginning, pinned turns and the last turn stay.
///
/// So each prompt shows as much as fits. Once the window is full, each prompt begins differently from the one before, and a cached
/// prefix is of no use. Where computing a prompt again is too slow, [`HistoryShift`](crate::HistoryShift) leaves out more at once
/// and less often.
///
/// Nothing is dropped from the conversation. A reply whose prompt omits messages has
/// [`Warning::HistoryShifted`](alloquy_core::report::Warning::HistoryShifted). When the last turn leaves no room for a reply, the
/// request is refused with the numbers. Register it as the innermost middleware, because it counts what the model will see.
///
/// ```
/// use alloquy_testing::ScriptedModel;
/// use alloquy_core::{Manager, Preface};
/// use alloquy_context::{DropPolicy, HistoryDrop};
/// use alloquy_core::report::Warning;
///
/// # pollster::block_on(async {
/// let model = ScriptedModel::new([("<assistant>", "Hello!")]).context_length(60);
/// let policy = HistoryDrop::new(model.clone(), DropPolicy::new(60).reply(10))?;
/// let manager = Manager::builder(model).middleware(policy).build()?;
/// let conversation = manager.create(Preface::system("Be kind.")).await?;
/// conversation.send("The first question").finish().await?;
/// let reply = conversation.send("The second question").finish().await?.reply;
/// assert_eq!(reply.warnings, [Warning::HistoryShifted { dropped: 2, tokens: 28 }]);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub struct HistoryDrop {
    length: Box<dyn PromptCounter>,
    policy: DropPolicy,
    /// Where conversations continued the last time, as a first guess for the next prompt.
    memory: Mutex<Memory<Cut>>,
}

impl HistoryDrop {
    /// Creates the middleware; `length` counts prompts as the model does.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) when the policy leaves no room for a prompt.
    pub fn new(length: impl PromptCounter + 'static, policy: DropPolicy) -> Result<Self> {
        let this = Self { length: Box::new(length), policy, memory: Mutex::default() };
        this.room().check()?;
        Ok(this)
    }

    /// Returns the policy.
    pub fn policy(&self) -> &DropPolicy {
        &self.policy
    }

    /// Drops the oldest turns of a request that does not fit; one that fits is returned as it is.
    ///
    /// # Errors
    /// Those of counting, and [`ErrorKind::ContextOverflow`](alloquy_core::ErrorKind::ContextOverflow) when the last turn leaves no
    /// room for a reply.
    pub fn fit(&self, mut request: Request) -> Result<TrimmedRequest> {
        let groups = Groups::new(&mut request.path, self.policy.pinned);
        let end = request.path.len();
        let front = front(Some(&request.preface));
        let outline = request.path.outline();
        let mut asked = outline.answers().to_vec();
        asked.push(end);
        let policy = cut_history::policy(&self.policy, &*self.length, &request);
        let mut before = self.memory().last_of(front, &mut request, &asked).map(|(_, cut)| cut);
        if before.is_none() {
            let remembered = cut_history::remembered(&request, policy);
            before = remembered.map(|(_, cut)| cut_history::cut(&cut, groups.lead));
        }
        let before = before.filter(|cut| groups.is_place(cut.start));
        let mut lengths = Lengths::new(&*self.length, &request, groups.lead, outline);
        let places = groups.places();
        let most = self.room().most();
        let start = lengths.first_fitting(&places, end, most, before.map(|cut| cut.start))?;
        let units = lengths.units(start, end)?;
        if start > groups.lead || units > most {
            self.room().refuse_full(units, start - groups.lead)?;
        }
        let cut = Cut { start, tokens: left_out(&mut lengths, &groups, before, start, most)? };
        let now = Place::after(front, &mut request, end);
        self.memory().remember(now, cut);
        if start == groups.lead {
            return Ok(TrimmedRequest::whole(request));
        }
        let left = replaced(&request, groups.lead..start, &[]);
        let dropped = start - groups.lead;
        let tokens = cut.tokens;
        Ok(TrimmedRequest { request: left, cut: cut_history::of(policy, dropped, tokens), dropped, tokens })
    }

    fn memory(&self) -> MutexGuard<'_, Memory<Cut>> {
        // Every entry is complete, even if a thread panicked with the lock.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn room(&self) -> Room {
        Room { window: self.policy.window, reply: self.policy.reply }
    }
}

impl fmt::Debug for HistoryDrop {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HistoryDrop").field("policy", &self.policy).finish_non_exhaustive()
    }
}

#[async_trait]
impl Middleware for HistoryDrop {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let said = request.path.clone();
        let fitted = self.fit(request)?;
        let warnings = fitted.warning().into_iter().collect();
        ids::answered(fitted.request, said, warnings, fitted.cut, next).await
    }

    /// Counts as if a reply were requested, so that the prompt that is computed ahead is a prefix of the one that is answered.
    async fn prepare(&self, request: Request) -> Result<Request> {
        let ending = request.ending;
        Ok(self.fit(request.ending(PromptEnd::Generation))?.request.ending(ending))
    }
}

/// Returns by how many units the prompt is shorter without the messages between the lead and `start`. The number of the last time,
/// `before`, is corrected by the messages between the two starts.
fn left_out(
    lengths: &mut Lengths<'_>,
    groups: &Groups,
    before: Option<Cut>,
    start: usize,
    most: usize,
) -> Result<usize> {
    let before = before.unwrap_or(Cut { start: groups.lead, tokens: 0 });
    let restarts = groups.restarts();
    if start < before.start {
        let back = lengths.left_out(start, before.start, restarts, most)?;
        return Ok(before.tokens.saturating_sub(back));
    }
    Ok(before.tokens + lengths.left_out(before.start, start, restarts, most)?)
}
