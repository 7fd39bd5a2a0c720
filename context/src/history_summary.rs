//! Replaces the oldest turns of a prompt that would not fit by a model's summary, and reports it with the reply.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloquy_core::media::Digest;
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::prompt::PromptCounter;
use alloquy_core::report::{CutHistory, Usage, Warning};
use alloquy_core::template::PromptEnd;
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

/// The question before a summary that is shown as an answer.
const QUESTION: &str = "What have we said so far?";

/// A request whose oldest messages may be summarised.
///
/// ```
/// use std::sync::Arc;
/// use alloquy_context::{HistorySummary, SummaryPolicy};
/// use alloquy_core::report::Warning;
/// use alloquy_core::{Message, Preface, Request};
/// use alloquy_testing::ScriptedModel;
///
/// let model = ScriptedModel::new([("<assistant>", "Hello!")]);
/// let writer = ScriptedModel::new([("<assistant>", "A greeting.")]);
/// let policy = SummaryPolicy::new(90).reply(10).summary(12).fill(1.0);
/// let summary = HistorySummary::new(model, Arc::new(writer), policy)?;
/// let first = Message::user("The first question, which takes some room");
/// let path = vec![first, Message::assistant("Hello!"), Message::user("The second question")];
/// let fitted = pollster::block_on(summary.fit(Request::new(Preface::system("Be kind."), path)))?;
/// assert!(matches!(fitted.warnings[..], [Warning::HistorySummarized { dropped: 2, .. }]));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SummarizedRequest {
    /// The request, in which the summary replaces the messages that it covers.
    pub request: Request,
    /// What its prompt omits; empty where it fits as it is.
    pub warnings: Vec<Warning>,
    /// What the reply remembers of the summary.
    cut: Option<CutHistory>,
}

/// The middleware that replaces a conversation's oldest turns by a summary when its prompt would not fit.
///
/// A turn is a message of the user with everything up to the next one. When prompt and reply no longer fit into the window, a model
/// summarises the oldest turns. It takes as few as possible so that the prompt fills at most a share of the window. The model that
/// summarises is passed to [`new`](Self::new).
///
/// The summary is remembered for the messages that it covers. Later prompts of the conversation use it again, and so do branches
/// that begin after those messages. Once the window is full again, the summary is extended by the turns since. A reply remembers it
/// too ([`Reply::cut`](alloquy_core::Reply::cut)), so that another process continues from there.
///
/// Nothing is dropped from the conversation. A reply whose prompt has a summary has [`Warning::HistorySummarized`], which reports
/// what was left out, the length of the summary, and the tokens for making it in this call. Turns that do not fit into the context
/// of the model that summarises are left out of the summary, and counted. Where the last turn leaves no room for a summary, the
/// prompt omits it, and all its turns count as left out. Where the last turn leaves no room for a reply, the request is refused
/// with the numbers.
///
/// A prompt that is only inspected or computed ahead is summarised too, so that it is the prompt that will be answered. Register
/// it as the innermost middleware, because it counts what the model will see.
///
/// ```
/// use std::sync::Arc;
/// use alloquy_testing::ScriptedModel;
/// use alloquy_core::{Manager, Preface};
/// use alloquy_context::{HistorySummary, SummaryPolicy};
/// use alloquy_core::report::Warning;
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
/// assert!(matches!(reply.warnings[..], [Warning::HistorySummarized { dropped: 2, .. }]));
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub struct HistorySummary {
    length: Box<dyn PromptCounter>,
    model: Arc<dyn ChatModel>,
    policy: SummaryPolicy,
    memory: Mutex<Memory<Kept>>,
}

impl HistorySummary {
    /// Creates the middleware; `length` counts prompts as the model that answers does, and `model` summarises. Both may be the same
    /// model.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) when a value of the policy is out of its range.
    pub fn new(
        length: impl PromptCounter + 'static,
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

    /// Replaces the oldest turns of a request that does not fit by a summary; one that fits is returned as it is.
    ///
    /// # Errors
    /// Those of counting and of the model that summarises, [`ErrorKind::Cancelled`](alloquy_core::ErrorKind::Cancelled) when the
    /// request is cancelled meanwhile, and [`ErrorKind::ContextOverflow`](alloquy_core::ErrorKind::ContextOverflow) when the last turn
    /// leaves no room for a reply.
    pub async fn fit(&self, mut request: Request) -> Result<SummarizedRequest> {
        let groups = Groups::new(&mut request.path, self.policy.pinned);
        // A summary does not depend on the preface, so its place is found without it.
        let known = self.memory().last_of(front(None), &mut request, groups.restarts());
        let known = known
            .and_then(|(index, kept)| Some(Place { index, start: *groups.restarts().get(index)?, kept }));
        let policy = cut_history::policy(&self.policy, &*self.length, &request);
        let known = known.or_else(|| Place::remembered(&request, policy, &groups));
        let outline = request.path.outline();
        let lengths = Lengths::new(&*self.length, &request, groups.lead, outline);
        let mut fitting = Fitting { summary: self, request: &request, groups: &groups, lengths };
        if fitting.is_whole(known.as_ref())? {
            return Ok(SummarizedRequest { request, warnings: Vec::new(), cut: None });
        }
        match fitting.place(known).await? {
            Some((place, spent)) => fitting.end(&place, spent, policy),
            None => {
                self.room().refuse_full(self.length.units(&request)?, 0)?;
                Ok(SummarizedRequest { request, warnings: Vec::new(), cut: None })
            }
        }
    }

    fn room(&self) -> Room {
        self.policy.room()
    }

    fn memory(&self) -> MutexGuard<'_, Memory<Kept>> {
        // Every entry is complete, even if a thread panicked with the lock.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the messages that show a summary; none for an empty one.
    fn shown(&self, text: &str) -> Vec<Message> {
        let said = Message::new(self.policy.role, vec![Content::Text(text.to_owned())]);
        match self.policy.role {
            _ if text.is_empty() => Vec::new(),
            // Many templates require that an answer follows a question.
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
        let SummarizedRequest { request, warnings, cut } = self.fit(request).await?;
        ids::answered(request, said, warnings, cut, next).await
    }

    /// Counts as if a reply were requested, so that the prompt that is computed ahead is a prefix of the one that is answered.
    async fn prepare(&self, request: Request) -> Result<Request> {
        let ending = request.ending;
        Ok(self.fit(request.ending(PromptEnd::Generation)).await?.request.ending(ending))
    }
}

/// One request that may be too long.
struct Fitting<'a> {
    summary: &'a HistorySummary,
    request: &'a Request,
    groups: &'a Groups,
    lengths: Lengths<'a>,
}

/// A summary, and how many units the messages took that it replaces.
#[derive(Clone, Debug)]
struct Kept {
    summary: Arc<Summary>,
    tokens: usize,
}

/// A place where the path continues after a summary of the messages before it.
#[derive(Clone, Debug)]
struct Place {
    /// Its index among the places where the path may continue.
    index: usize,
    start: usize,
    kept: Kept,
}

impl Place {
    /// Returns the place of the last reply that remembers a summary.
    fn remembered(request: &Request, policy: Option<Digest>, groups: &Groups) -> Option<Self> {
        let (_, cut) = cut_history::remembered(request, policy)?;
        let Cut { start, tokens } = cut_history::cut(&cut, groups.lead);
        let index = groups.restarts().binary_search(&start).ok()?;
        let summary = Arc::new(Summary::of(cut.summary?));
        Some(Self { index, start, kept: Kept { summary, tokens } })
    }
}

impl Fitting<'_> {
    /// Returns whether the prompt fits as it is. After an earlier summary it seldom does, and counting from the group right before
    /// that place mostly shows it.
    fn is_whole(&mut self, known: Option<&Place>) -> Result<bool> {
        let places = self.groups.places();
        let end = self.request.path.len();
        // The index does not count the lead.
        let before = known.and_then(|known| places.get(known.index)).copied();
        self.lengths.is_whole(&places, end, self.summary.room().most(), before)
    }

    /// Returns where the path continues: at the remembered place, or at the first later one with which the prompt fits. `None`
    /// where nothing can be left out.
    async fn place(&mut self, known: Option<Place>) -> Result<Option<(Place, Option<Usage>)>> {
        let mut place = known;
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
        Ok(self.units(place.start, &place.kept.summary.text)? <= self.summary.room().most())
    }

    /// Returns the first place after `before` where a prompt with a summary of full length fills no more than the share, or the
    /// last place. The result is `None` where no place follows `before`.
    fn next(&mut self, before: Option<&Place>) -> Result<Option<usize>> {
        let from = before.map_or(0, |place| place.index + 1);
        let places = self.groups.restarts().get(from..).unwrap_or_default();
        let Some(last) = places.last() else { return Ok(None) };
        let end = self.request.path.len();
        let policy = &self.summary.policy;
        // The template's texts around a summary, counted with a summary of one character, and the summary itself.
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
        let known = before.as_ref().map(|place| &*place.kept.summary);
        let (summary, spent) = summarising.extend(known, from..start).await?;
        let tokens = before.map_or(0, |place| place.kept.tokens);
        let most = self.summary.room().most();
        let more = self.lengths.left_out(from, start, self.groups.restarts(), most)?;
        let kept = Kept { summary: Arc::new(summary), tokens: tokens + more };
        let index = self.groups.restarts().partition_point(|restart| *restart < start);
        let place = memory::Place::after(front(None), &mut self.request.clone(), start);
        self.summary.memory().remember(place, kept.clone());
        Ok((Place { index, start, kept }, spent))
    }

    /// Returns the request that continues at a place. It omits the summary where the last turn leaves no room for it.
    fn end(&self, place: &Place, spent: Option<Usage>, policy: Option<Digest>) -> Result<SummarizedRequest> {
        let Place { start, kept: Kept { summary, tokens }, .. } = place;
        let room = self.summary.room();
        let dropped = start - self.groups.lead;
        let tokens = *tokens;
        let cut = cut_history::of(policy, dropped, tokens).map(|cut| summary.noted_in(cut));
        let bare = self.units(*start, "")?;
        let units = self.units(*start, &summary.text)?;
        if units >= room.window {
            room.refuse_full(bare, dropped)?;
            let omitted =
                Warning::HistorySummarized { dropped, tokens, summary: 0, left_out: dropped, spent };
            return Ok(SummarizedRequest { request: self.from(*start, ""), warnings: vec![omitted], cut });
        }
        let mut warnings = vec![Warning::HistorySummarized {
            dropped,
            tokens,
            summary: units.saturating_sub(bare),
            left_out: summary.left_out,
            spent,
        }];
        if summary.cut {
            warnings.push(Warning::SummaryCut);
        }
        Ok(SummarizedRequest { request: self.from(*start, &summary.text), warnings, cut })
    }

    fn units(&self, start: usize, summary: &str) -> Result<usize> {
        self.summary.length.units(&self.from(start, summary))
    }

    fn from(&self, start: usize, summary: &str) -> Request {
        replaced(self.request, self.groups.lead..start, &self.summary.shown(summary))
    }
}
