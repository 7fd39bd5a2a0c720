//! Summaries: where a prompt would no longer fit, a model's summary stands for the oldest turns, and the reply says so. Knows
//! lengths of prompts and a model that summarises; no template, no tokenizer.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use super::fitting::{PromptLength, Room, first_fitting, replaced};
use super::groups::Groups;
use super::memory::Memory;
use super::{Middleware, Next, ids};
use crate::Result;
use crate::chat_model::{ChatModel, Degradation, ReplyStream, Request, Usage};
use crate::media::Digest;
use crate::message::{Message, Role};
use crate::template::Ending;

use self::summary::{Spent, Summarising, Summary};

mod policy;
mod summary;
mod transcript;

pub use policy::SummaryPolicy;

/// What a summary as an answer answers.
const QUESTION: &str = "What have we said so far?";

/// A request whose oldest messages may be summarised.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SummarisedRequest {
    /// The request, with the summary in the place of what it stands for.
    pub request: Request,
    /// What its prompt goes without; empty when it fits as it is.
    pub degradations: Vec<Degradation>,
}

/// The middleware that puts a summary in the place of a conversation's oldest turns when its prompt would not fit.
///
/// A turn is a message of the user's with everything up to the next one. When prompt and reply no longer fit into the window,
/// the model that is given here summarises as many of the oldest turns as it takes to fill no more than a share of the
/// window again. The summary is remembered by what was said up to there: later prompts of the conversation, and of its
/// branches from behind that place, use it again, and once the window is full another time it is extended by what came since.
/// It is remembered in memory alone; another process makes it again, turn by turn.
///
/// Nothing is dropped from the conversation. A reply whose prompt has a summary says so with
/// [`Degradation::HistorySummarised`], with what was left out, what the summary takes, and what making it took in this call.
/// Turns for which the model that summarises has no room are left out of the summary, and counted. Where the last turn leaves
/// no room for a summary the prompt goes without, and all of them are counted as left out; where it leaves none for a reply
/// the request is refused with the numbers.
///
/// A prompt that is only looked at or computed ahead is summarised too, so that it is the one that will be answered. It
/// stands innermost, because it counts what the model will see.
///
/// ```
/// use std::sync::Arc;
/// use alloquy_core::testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};
/// use alloquy_core::{Degradation, HistorySummary, Manager, Preface, Round, SummaryPolicy};
///
/// # pollster::block_on(async {
/// let round = |engine| Round::builder(Arc::new(engine)).template(TaggedTemplate).processor(TaggedProcessor).build();
/// let model = round(ScriptedEngine::new([("<assistant>", "Hello!")]).context_length(90))?;
/// let writer = round(ScriptedEngine::new([("<assistant>", "A greeting.")]))?;
/// let policy = SummaryPolicy::new(90).reply(10).summary(12).fill(1.0);
/// let summary = HistorySummary::new(model.clone(), Arc::new(writer), policy)?;
/// let manager = Manager::over(Arc::new(model)).middleware(summary).build()?;
/// let chat = manager.create(Preface::system("Be kind.")).await?;
/// chat.send("The first question, which takes some room").finish().await?;
/// let reply = chat.send("The second question").finish().await?.reply;
/// assert!(matches!(reply.degradations[..], [Degradation::HistorySummarised { dropped: 2, .. }]));
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub struct HistorySummary {
    length: Box<dyn PromptLength>,
    model: Arc<dyn ChatModel>,
    policy: SummaryPolicy,
    memory: Mutex<Memory<Arc<Summary>>>,
}

impl HistorySummary {
    /// Creates the middleware; `length` counts as the model does that it stands in front of, and `model` summarises. It may be
    /// the same one.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when a value of the policy is out of its range.
    pub fn new(
        length: impl PromptLength + 'static,
        model: Arc<dyn ChatModel>,
        policy: SummaryPolicy,
    ) -> Result<Self> {
        let policy = policy.validated()?;
        Ok(Self { length: Box::new(length), model, policy, memory: Mutex::default() })
    }

    /// Returns the policy.
    pub fn policy(&self) -> &SummaryPolicy {
        &self.policy
    }

    /// Puts a summary in the place of what a prompt has no room for; a request that fits comes back as it is.
    ///
    /// # Errors
    /// Those of counting and of the model that summarises, [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) when the
    /// request is stopped meanwhile, and [`ErrorKind::ContextOverflow`](crate::ErrorKind::ContextOverflow) when the last turn
    /// leaves no room for a reply.
    pub async fn fit(&self, request: Request) -> Result<SummarisedRequest> {
        let whole = self.length.units(&request)?;
        if whole <= self.room().most() {
            return Ok(SummarisedRequest { request, degradations: Vec::new() });
        }
        let groups = Groups::new(&request.path, self.policy.pinned);
        let digests = groups.digests(&request.path);
        let fitting = Fitting { summary: self, request: &request, groups: &groups, digests: &digests, whole };
        match fitting.place().await? {
            Some((place, spent)) => fitting.end(&place, spent),
            None => {
                self.room().refuse_full(whole, 0)?;
                Ok(SummarisedRequest { request, degradations: Vec::new() })
            }
        }
    }

    fn room(&self) -> Room {
        self.policy.room()
    }

    fn memory(&self) -> MutexGuard<'_, Memory<Arc<Summary>>> {
        // What it holds is true whatever a thread was doing when it panicked.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The messages that a summary is shown as: none where nothing could be summarised.
    fn shown(&self, text: &str) -> Vec<Message> {
        let said = Message::new(self.policy.role, vec![crate::Part::Text(text.to_owned())]);
        match self.policy.role {
            _ if text.is_empty() => Vec::new(),
            // Many templates want an answer to follow a question.
            Role::Assistant => vec![Message::user(QUESTION), said],
            _ => vec![said],
        }
    }
}

impl fmt::Debug for HistorySummary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("HistorySummary");
        shown.field("model", &self.model.name()).field("policy", &self.policy).finish_non_exhaustive()
    }
}

#[async_trait]
impl Middleware for HistorySummary {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let called = ids::of(&request.path);
        let SummarisedRequest { request, degradations } = self.fit(request).await?;
        ids::answered(request, called, degradations, next).await
    }

    /// Counts as if an answer were asked for, so that what is computed ahead is what the answer begins with.
    async fn prepare(&self, request: Request) -> Result<Request> {
        let ending = request.ending;
        Ok(self.fit(request.ending(Ending::Answer)).await?.request.ending(ending))
    }
}

/// One request that is too long.
struct Fitting<'a> {
    summary: &'a HistorySummary,
    request: &'a Request,
    groups: &'a Groups,
    /// What was said up to each place where the path may go on.
    digests: &'a [Digest],
    /// The units of its prompt as it is.
    whole: usize,
}

/// A place where the path goes on behind a summary of what stands before.
#[derive(Clone, Debug)]
struct Place {
    /// Its index among the places where the path may go on.
    index: usize,
    start: usize,
    summary: Arc<Summary>,
}

impl Fitting<'_> {
    /// Where the path goes on: at the last place that is remembered, or moved on from there until it fits. `None` where there
    /// is nothing to leave out.
    async fn place(&self) -> Result<Option<(Place, Option<Usage>)>> {
        let known = self.summary.memory().last_of(self.digests);
        let mut place = known.and_then(|(index, summary)| {
            Some(Place { index, start: *self.groups.restarts().get(index)?, summary })
        });
        let mut spent = None;
        while !self.fits(place.as_ref())? {
            let Some(start) = self.next(place.as_ref())? else { break };
            let (next, took) = self.extended(place, start).await?;
            spent = Some(took.joined_to(spent));
            place = Some(next);
        }
        Ok(place.map(|place| (place, spent)))
    }

    fn fits(&self, place: Option<&Place>) -> Result<bool> {
        let Some(place) = place else { return Ok(false) };
        Ok(self.units(place.start, &place.summary.text)? <= self.summary.room().most())
    }

    /// The first place behind `before` where a prompt with a summary of full length fills no more than the share, or the last
    /// one; `None` where there is no place behind.
    fn next(&self, before: Option<&Place>) -> Result<Option<usize>> {
        let from = before.map_or(0, |place| place.index + 1);
        let places = self.groups.restarts().get(from..).unwrap_or_default();
        let policy = &self.summary.policy;
        first_fitting(places, |start| Ok(self.units(start, "…")? + policy.summary <= policy.filled()))
    }

    async fn extended(&self, before: Option<Place>, start: usize) -> Result<(Place, Spent)> {
        let from = before.as_ref().map_or(self.groups.lead, |place| place.start);
        let summarising = Summarising {
            model: &*self.summary.model,
            policy: &self.summary.policy,
            request: self.request,
            starts: self.groups.restarts(),
        };
        let before = before.map(|place| place.summary);
        let (summary, spent) = summarising.extend(before.as_deref(), from..start).await?;
        let summary = Arc::new(summary);
        let index = self.groups.restarts().partition_point(|restart| *restart < start);
        if let Some(digest) = self.digests.get(index) {
            self.summary.memory().remember(*digest, Arc::clone(&summary));
        }
        Ok((Place { index, start, summary }, spent))
    }

    /// The request as it goes on at a place, without the summary where the last turn leaves it no room.
    fn end(&self, place: &Place, spent: Option<Usage>) -> Result<SummarisedRequest> {
        let Place { start, summary, .. } = place;
        let (room, dropped) = (self.summary.room(), start - self.groups.lead);
        let bare = self.units(*start, "")?;
        let tokens = self.whole.saturating_sub(bare);
        let units = self.units(*start, &summary.text)?;
        if units >= room.window {
            room.refuse_full(bare, dropped)?;
            let told =
                Degradation::HistorySummarised { dropped, tokens, summary: 0, left_out: dropped, spent };
            return Ok(SummarisedRequest { request: self.from(*start, ""), degradations: vec![told] });
        }
        let told = Degradation::HistorySummarised {
            dropped,
            tokens,
            summary: units.saturating_sub(bare),
            left_out: summary.left_out,
            spent,
        };
        let cut = summary.cut.then_some(Degradation::SummaryCut);
        let degradations = std::iter::once(told).chain(cut).collect();
        Ok(SummarisedRequest { request: self.from(*start, &summary.text), degradations })
    }

    fn units(&self, start: usize, summary: &str) -> Result<usize> {
        self.summary.length.units(&self.from(start, summary))
    }

    fn from(&self, start: usize, summary: &str) -> Request {
        replaced(self.request, self.groups.lead..start, &self.summary.shown(summary))
    }
}
