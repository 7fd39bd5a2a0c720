//! Forgetting turn by turn: a prompt that would no longer fit goes without as few of the oldest turns as possible, and the
//! reply says so. Knows lengths of prompts; no template, no tokenizer.

use std::fmt;

use async_trait::async_trait;

use super::fitting::{FittedRequest, PromptLength, Room, first_fitting, replaced, usual_reply};
use super::groups::Groups;
use super::{Middleware, Next, ids};
use crate::Result;
use crate::chat_model::{ReplyStream, Request};
use crate::template::Ending;

/// When a prompt goes without its oldest turns, and which of them always stay.
///
/// ```
/// use alloquy_core::DropPolicy;
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
    /// How many turns at the beginning always stay, such as examples. The preface and system messages at the beginning of
    /// the path stay besides.
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
/// A turn is a message of the user's with everything up to the next one: answers, calls of tools and their results. What
/// stands before the first question goes with it. As few turns as possible are left out, whole and the oldest first; the
/// preface, system messages at the beginning, pinned turns and the last turn stay. So each prompt shows as much as fits, and
/// once the window is full each begins differently from the one before: where computing that anew costs too much,
/// [`HistoryShift`](crate::HistoryShift) leaves out more at once, less often.
///
/// Nothing is dropped from the conversation; a reply whose prompt went without messages has
/// [`Degradation::HistoryShifted`](crate::Degradation::HistoryShifted). When the last turn leaves no room for a reply, the
/// request is refused with the numbers. It stands innermost, because it counts what the model will see.
///
/// ```
/// use std::sync::Arc;
/// use alloquy_core::testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};
/// use alloquy_core::{Degradation, DropPolicy, HistoryDrop, Manager, Preface, Round};
///
/// # pollster::block_on(async {
/// let engine = ScriptedEngine::new([("<assistant>", "Hello!")]).context_length(60);
/// let round = Round::builder(Arc::new(engine)).template(TaggedTemplate).processor(TaggedProcessor).build()?;
/// let policy = HistoryDrop::new(round.clone(), DropPolicy::new(60).reply(10))?;
/// let manager = Manager::over(Arc::new(round)).middleware(policy).build()?;
/// let chat = manager.create(Preface::system("Be kind.")).await?;
/// chat.send("The first question").finish().await?;
/// let reply = chat.send("The second question").finish().await?.reply;
/// assert_eq!(reply.degradations, [Degradation::HistoryShifted { dropped: 2, tokens: 28 }]);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub struct HistoryDrop {
    length: Box<dyn PromptLength>,
    policy: DropPolicy,
}

impl HistoryDrop {
    /// Creates the middleware; `length` counts as the model does that it stands in front of.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the reply is given the whole window.
    pub fn new(length: impl PromptLength + 'static, policy: DropPolicy) -> Result<Self> {
        let this = Self { length: Box::new(length), policy };
        this.room().check()?;
        Ok(this)
    }

    /// Returns the policy.
    pub fn policy(&self) -> &DropPolicy {
        &self.policy
    }

    /// Drops what a prompt has no room for; a request that fits comes back as it is.
    ///
    /// # Errors
    /// Those of counting, and [`ErrorKind::ContextOverflow`](crate::ErrorKind::ContextOverflow) when the last turn leaves no
    /// room for a reply.
    pub fn fit(&self, request: Request) -> Result<FittedRequest> {
        let (room, whole) = (self.room(), self.length.units(&request)?);
        if whole <= room.most() {
            return Ok(FittedRequest::whole(request));
        }
        let groups = Groups::new(&request.path, self.policy.pinned);
        let from = |start| replaced(&request, groups.lead..start, &[]);
        let fits = |start| Ok(self.length.units(&from(start))? <= room.most());
        let start = first_fitting(groups.restarts(), fits)?.unwrap_or(groups.lead);
        let (left, dropped) = (from(start), start - groups.lead);
        let units = self.length.units(&left)?;
        room.refuse_full(units, dropped)?;
        Ok(FittedRequest { request: left, dropped, tokens: whole.saturating_sub(units) })
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
        let called = ids::of(&request.path);
        let fitted = self.fit(request)?;
        let told = fitted.degradation().into_iter().collect();
        ids::answered(fitted.request, called, told, next).await
    }

    /// Counts as if an answer were asked for, so that what is computed ahead is what the answer begins with.
    async fn prepare(&self, request: Request) -> Result<Request> {
        let ending = request.ending;
        Ok(self.fit(request.ending(Ending::Answer))?.request.ending(ending))
    }
}
