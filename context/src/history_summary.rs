//! Summaries: where a prompt would no longer fit, a model's summary stands for the oldest turns, and the reply says so. Knows
//! lengths of prompts and a model that summarises; no template, no tokenizer.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloquy_core::media::Digest;
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::prompt::PromptLength;
use alloquy_core::report::{CutHistory, Degradation, Usage};
use alloquy_core::template::Ending;
use alloquy_core::{ChatModel, Content, Message, ReplyStream, Request, Result, Role};
use async_trait::async_trait;

use self::summary::{Spent, Summarising, Summary};
use crate::fitting::{Cut, Room, replaced};
use crate::groups::Groups;
use crate::lengths::Lengths;
use crate::memory::{self, Memory, front};
use crate::{cut_history, ids};

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
    /// What the reply remembers of it.
    cut: Option<CutHistory>,
}

/// The middleware that puts a summary in the place of a conversation's oldest turns when its prompt would not fit.
///
/// A turn is a message of the user's with everything up to the next one. When prompt and reply no longer fit into the window,
/// the model that is given here summarises as many of the oldest turns as it takes to fill no more than a share of the
/// window again. The summary is remembered by what was said up to there: later prompts of the conversation, and of its
/// branches from behind that place, use it again, and once the window is full another time it is extended by what came since.
/// A reply remembers it too ([`Reply::cut`](alloquy_core::Reply::cut)), and another process goes on from there.
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
/// use alloquy_testing::ScriptedModel;
/// use alloquy_core::{Manager, Preface};
/// use alloquy_context::{HistorySummary, SummaryPolicy};
/// use alloquy_core::report::Degradation;
///
/// # pollster::block_on(async {
/// let model = ScriptedModel::new([("<assistant>", "Hello!")]).context_length(90);
/// let writer = ScriptedModel::new([("<assistant>", "A greeting.")]);
/// let policy = SummaryPolicy::new(90).reply(10).summary(12).fill(1.0);
/// let summary = HistorySummary::new(model.clone(), Arc::new(writer), policy)?;
/// let manager = Manager::builder(model).middleware(summary).build()?;
/// let conversation = manager.create(Preface::system("Be kind.")).await?;
/// conversation.send("The first question, which takes some room").finish().await?;
/// let reply = conversation.send("The second question").finish().await?.reply;
/// assert!(matches!(reply.degradations[..], [Degradation::HistorySummarised { dropped: 2, .. }]));
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub struct HistorySummary {
    length: Box<dyn PromptLength>,
    model: Arc<dyn ChatModel>,
    policy: SummaryPolicy,
    memory: Mutex<Memory<Kept>>,
}

impl HistorySummary {
    /// Creates the middleware; `length` counts as the model does that it stands in front of, and `model` summarises. It may be
    /// the same one.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) when a value of the policy is out of its range.
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
    /// Those of counting and of the model that summarises, [`ErrorKind::Cancelled`](alloquy_core::ErrorKind::Cancelled) when the
    /// request is stopped meanwhile, and [`ErrorKind::ContextOverflow`](alloquy_core::ErrorKind::ContextOverflow) when the last turn
    /// leaves no room for a reply.
    pub async fn fit(&self, mut request: Request) -> Result<SummarisedRequest> {
        let groups = Groups::new(&mut request.path, self.policy.pinned);
        // What a summary says of does not depend on what stands before.
        let known = self.memory().last_of(front(None), &mut request, groups.restarts());
        let known = known
            .and_then(|(index, kept)| Some(Place { index, start: *groups.restarts().get(index)?, kept }));
        let policy = cut_history::policy(&self.policy, &*self.length, &request);
        let known = known.or_else(|| Place::remembered(&request, policy, &groups));
        let outline = request.path.outline();
        let lengths = Lengths::new(&*self.length, &request, groups.lead, outline);
        let mut fitting = Fitting { summary: self, request: &request, groups: &groups, lengths };
        if fitting.is_whole(known.as_ref())? {
            return Ok(SummarisedRequest { request, degradations: Vec::new(), cut: None });
        }
        match fitting.place(known).await? {
            Some((place, spent)) => fitting.end(&place, spent, policy),
            None => {
                self.room().refuse_full(self.length.units(&request)?, 0)?;
                Ok(SummarisedRequest { request, degradations: Vec::new(), cut: None })
            }
        }
    }

    fn room(&self) -> Room {
        self.policy.room()
    }

    fn memory(&self) -> MutexGuard<'_, Memory<Kept>> {
        // What it holds is true whatever a thread was doing when it panicked.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The messages that a summary is shown as: none where nothing could be summarised.
    fn shown(&self, text: &str) -> Vec<Message> {
        let said = Message::new(self.policy.role, vec![Content::Text(text.to_owned())]);
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
        let said = request.path.clone();
        let SummarisedRequest { request, degradations, cut } = self.fit(request).await?;
        ids::answered(request, said, degradations, cut, next).await
    }

    /// Counts as if an answer were asked for, so that what is computed ahead is what the answer begins with.
    async fn prepare(&self, request: Request) -> Result<Request> {
        let ending = request.ending;
        Ok(self.fit(request.ending(Ending::Answer)).await?.request.ending(ending))
    }
}

/// One request that may be too long.
struct Fitting<'a> {
    summary: &'a HistorySummary,
    request: &'a Request,
    groups: &'a Groups,
    lengths: Lengths<'a>,
}

/// A summary, and how many units the messages that it stands for took.
#[derive(Clone, Debug)]
struct Kept {
    summary: Arc<Summary>,
    tokens: usize,
}

/// A place where the path goes on behind a summary of what stands before.
#[derive(Clone, Debug)]
struct Place {
    /// Its index among the places where the path may go on.
    index: usize,
    start: usize,
    kept: Kept,
}

impl Place {
    /// Where the path went on when the last reply was given that remembers it.
    fn remembered(request: &Request, policy: Option<Digest>, groups: &Groups) -> Option<Self> {
        let (_, cut) = cut_history::remembered(request, policy)?;
        let Cut { start, tokens } = cut_history::cut(&cut, groups.lead);
        let index = groups.restarts().binary_search(&start).ok()?;
        let summary = Arc::new(Summary::of(cut.summary?));
        Some(Self { index, start, kept: Kept { summary, tokens } })
    }
}

impl Fitting<'_> {
    /// Says whether the prompt fits as it is. Where the path goes on behind a summary, what stands right before it most often
    /// tells that it does not.
    fn is_whole(&mut self, known: Option<&Place>) -> Result<bool> {
        let (places, end) = (self.groups.places(), self.request.path.len());
        // The index does not count the lead.
        let before = known.and_then(|known| places.get(known.index)).copied();
        self.lengths.is_whole(&places, end, self.summary.room().most(), before)
    }

    /// Where the path goes on: at the last place that is remembered, or moved on from there until it fits. `None` where there
    /// is nothing to leave out.
    async fn place(&mut self, known: Option<Place>) -> Result<Option<(Place, Option<Usage>)>> {
        let (mut place, mut spent) = (known, None);
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
        Ok(self.units(place.start, &place.kept.summary.text)? <= self.summary.room().most())
    }

    /// The first place behind `before` where a prompt with a summary of full length fills no more than the share, or the last
    /// one; `None` where there is no place behind.
    fn next(&mut self, before: Option<&Place>) -> Result<Option<usize>> {
        let from = before.map_or(0, |place| place.index + 1);
        let places = self.groups.restarts().get(from..).unwrap_or_default();
        let (Some(last), end) = (places.last(), self.request.path.len()) else { return Ok(None) };
        let policy = &self.summary.policy;
        // What showing a summary of one character takes, and the rest of it.
        let shown = self.units(*last, "…")?.saturating_sub(self.units(*last, "")?) + policy.summary;
        let most = policy.filled().saturating_sub(shown);
        self.lengths.first_fitting(places, end, most, None).map(Some)
    }

    async fn extended(&mut self, before: Option<Place>, start: usize) -> Result<(Place, Spent)> {
        let from = before.as_ref().map_or(self.groups.lead, |place| place.start);
        let summarising = Summarising {
            model: &*self.summary.model,
            policy: &self.summary.policy,
            request: self.request,
            starts: self.groups.restarts(),
        };
        let (summary, tokens) = before.map(|place| (place.kept.summary, place.kept.tokens)).unzip();
        let (summary, spent) = summarising.extend(summary.as_deref(), from..start).await?;
        let most = self.summary.room().most();
        let more = self.lengths.left_out(from, start, self.groups.restarts(), most)?;
        let kept = Kept { summary: Arc::new(summary), tokens: tokens.unwrap_or_default() + more };
        let index = self.groups.restarts().partition_point(|restart| *restart < start);
        let place = memory::Place::behind(front(None), &mut self.request.clone(), start);
        self.summary.memory().remember(place, kept.clone());
        Ok((Place { index, start, kept }, spent))
    }

    /// The request as it goes on at a place, without the summary where the last turn leaves it no room.
    fn end(&self, place: &Place, spent: Option<Usage>, policy: Option<Digest>) -> Result<SummarisedRequest> {
        let Place { start, kept: Kept { summary, tokens }, .. } = place;
        let room = self.summary.room();
        let dropped = start - self.groups.lead;
        let tokens = *tokens;
        let cut = cut_history::of(policy, dropped, tokens).map(|cut| summary.noted_in(cut));
        let bare = self.units(*start, "")?;
        let units = self.units(*start, &summary.text)?;
        if units >= room.window {
            room.refuse_full(bare, dropped)?;
            let told =
                Degradation::HistorySummarised { dropped, tokens, summary: 0, left_out: dropped, spent };
            return Ok(SummarisedRequest { request: self.from(*start, ""), degradations: vec![told], cut });
        }
        let told = Degradation::HistorySummarised {
            dropped,
            tokens,
            summary: units.saturating_sub(bare),
            left_out: summary.left_out,
            spent,
        };
        let was_cut = summary.cut.then_some(Degradation::SummaryCut);
        let degradations = std::iter::once(told).chain(was_cut).collect();
        Ok(SummarisedRequest { request: self.from(*start, &summary.text), degradations, cut })
    }

    fn units(&self, start: usize, summary: &str) -> Result<usize> {
        self.summary.length.units(&self.from(start, summary))
    }

    fn from(&self, start: usize, summary: &str) -> Request {
        replaced(self.request, self.groups.lead..start, &self.summary.shown(summary))
    }
}
