//! Chooses the next step. Nothing is stored here: after a crash the same step is chosen again.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use alloquy_core::media::Digest;
use alloquy_core::{Conversation, Error, ErrorKind, NodeId, Result};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::action::{Action, FlowAction};
use crate::facts::{Because, StepBranch, StepKind};
use crate::flow::{DEPTH, Flow, State};
use crate::judges::{Judges, decide};
use crate::position::{Branch, Frame, Position, observed};
use crate::progress::{Progress, Wait};
use crate::text::fill_map;

/// A place in a running flow, with what has changed since the last step.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    pub(crate) frames: Vec<Frame>,
    pub(crate) because: Vec<Because>,
    pub(crate) text: String,
    pub(crate) value: Option<Value>,
    pub(crate) step: usize,
    /// The node that the step follows.
    pub(crate) tip: Option<NodeId>,
    pub(crate) branch: Option<Branch>,
    pub(crate) joined: BTreeMap<String, NodeId>,
    /// Those who answered.
    pub(crate) people: Vec<String>,
    /// The digest by which the last step was taken.
    pub(crate) digest: Option<Digest>,
    pub(crate) started: Option<SystemTime>,
    pub(crate) updated: Option<SystemTime>,
    /// Whether the question of the state is on the path, and only its reply is missing.
    pub(crate) is_asked: bool,
}

/// What comes next.
#[derive(Debug)]
pub(crate) enum Next {
    /// The state does something.
    Do(Box<Track>),
    /// These states wait.
    Wait(Vec<Track>),
    /// A branch of a fork ended.
    BranchEnded(Box<Track>),
    /// The flow stops.
    Stop(Progress),
}

/// What the planner does with a track.
enum Stage {
    Enter(String, Because),
    Leave,
}

impl Track {
    /// Begins a flow after a node.
    pub(crate) fn begin(flow: &Flow, variables: &Map<String, Value>, tip: Option<NodeId>) -> Self {
        let mut initial = flow.initial();
        initial.extend(variables.clone());
        Self {
            frames: vec![Frame::new(&flow.name, initial)],
            because: Vec::new(),
            text: String::new(),
            value: None,
            step: 0,
            tip,
            branch: None,
            joined: BTreeMap::new(),
            people: Vec::new(),
            digest: None,
            started: None,
            updated: None,
            is_asked: false,
        }
    }

    pub(crate) fn of(position: &Position) -> Self {
        let is_begun = position.kind == StepKind::Part && position.is_last;
        // The step that is begun has its reasons, which its other nodes get too.
        let because = if is_begun { position.because.clone() } else { Vec::new() };
        Self {
            frames: position.frames_to_continue(),
            because,
            text: position.text.clone(),
            value: position.value.clone(),
            step: position.step,
            tip: position.tip,
            branch: position.branch.clone(),
            joined: BTreeMap::new(),
            people: position.people.clone(),
            digest: Some(position.digest),
            started: Some(position.started()),
            updated: Some(position.updated()),
            is_asked: is_begun,
        }
    }

    pub(crate) fn state(&self) -> &str {
        self.frames.last().map_or("", |frame| frame.state.as_str())
    }

    pub(crate) fn variables(&self) -> Map<String, Value> {
        observed(&self.frames, &self.text, self.value.as_ref(), self.step).variables
    }

    pub(crate) fn set(&mut self, name: &str, value: Value) {
        if let Some(frame) = self.frames.last_mut() {
            frame.set(name, value);
        }
    }

    /// Whether its innermost flow is that of a branch.
    fn is_at_branch(&self) -> bool {
        self.branch.as_ref().is_some_and(|branch| self.frames.len() == branch.facts.depth + 1)
    }

    /// Returns what it waits for.
    pub(crate) fn wait(&self, flow: &Flow) -> Option<Wait> {
        let frame = self.frames.last()?;
        let state = flow.named(&frame.flow)?.find(&frame.state)?;
        let is_approval = matches!(state.action, Action::Approve(_));
        let expects = match &state.action {
            Action::Wait(wait) => wait.expects.clone(),
            Action::Approve(_) => Some(json!({"type": "boolean"})),
            _ => return None,
        };
        let mut due = None;
        let mut late = None;
        if let Some((seconds, state)) = state.action.deadline() {
            due = self.updated.and_then(|since| since.checked_add(Duration::from_secs(seconds)));
            late = state.map(str::to_owned);
        }
        let branch = self.branch.as_ref().map(|branch| branch.facts.name.clone());
        Some(Wait {
            state: frame.state.clone(),
            flow: frame.flow.clone(),
            branch,
            expects,
            is_approval,
            node: self.tip,
            since: self.updated,
            due,
            late,
        })
    }
}

/// Chooses steps of a flow.
#[derive(Debug)]
pub(crate) struct Planner<'a> {
    pub(crate) flow: &'a Flow,
    pub(crate) digest: Digest,
    pub(crate) conversation: &'a Conversation,
    pub(crate) judges: Judges<'a>,
}

impl<'a> Planner<'a> {
    /// Begins the flow.
    pub(crate) fn begin<'b>(&'b self, track: Track) -> BoxFuture<'b, Result<Next>> {
        let why = "the flow begins".to_owned();
        let because =
            Because { from: None, to: self.flow.start.clone(), transition: None, why, not: Vec::new() };
        self.advance(track, Stage::Enter(self.flow.start.clone(), because))
    }

    /// Chooses what follows a position.
    pub(crate) async fn after(&self, position: &Position) -> Result<Next> {
        let track = Track::of(position);
        let Some(branch) = &position.branch else { return self.from(track, position.kind).await };
        // The fork as it was when the branch was entered.
        let mut base = track.clone();
        base.branch = None;
        base.is_asked = false;
        base.because = Vec::new();
        base.frames.truncate(branch.facts.depth);
        for (frame, facts) in base.frames.iter_mut().zip(&branch.base) {
            frame.begins = facts.begins;
            frame.digression = facts.digression;
            frame.set.clone_from(&facts.set);
        }
        base.tip = branch.facts.base;
        let path = self.conversation.path(base.tip).await?;
        let before = Position::of(&path)?;
        base.text = match (&before, path.last()) {
            (Some(before), _) => before.text.clone(),
            (None, node) => node.map(|node| node.message.text()).unwrap_or_default(),
        };
        base.value = before.and_then(|before| before.value);
        let own = (branch.facts.name.clone(), position);
        self.fork(base, branch.facts.tips.clone(), Some(own)).await
    }

    /// Enters a state because an answer is late.
    pub(crate) fn late<'b>(&'b self, track: Track, to: String) -> BoxFuture<'b, Result<Next>> {
        let why = "the answer is late".to_owned();
        let from = Some(track.state().to_owned());
        let because = Because { from, to: to.clone(), transition: None, why, not: Vec::new() };
        self.advance(track, Stage::Enter(to, because))
    }

    async fn from(&self, track: Track, kind: StepKind) -> Result<Next> {
        if self.state(&track).is_none() {
            return Ok(Next::Stop(self.changed(&track)));
        }
        match kind {
            StepKind::Part => Ok(Next::Do(Box::new(track))),
            StepKind::Waits => Ok(Next::Wait(vec![track])),
            StepKind::Done => self.advance(track, Stage::Leave).await,
        }
    }

    fn changed(&self, track: &Track) -> Progress {
        let before = track.digest.unwrap_or(self.digest);
        Progress::Changed { before, now: self.digest, state: track.state().to_owned() }
    }

    /// Returns the innermost state; `None` if the definition does no longer have it.
    pub(crate) fn state(&self, track: &Track) -> Option<&'a State> {
        let frame = track.frames.last()?;
        self.flow.named(&frame.flow)?.find(&frame.state)
    }

    fn advance<'b>(&'b self, mut track: Track, mut stage: Stage) -> BoxFuture<'b, Result<Next>> {
        async move {
            loop {
                let next = match stage {
                    Stage::Enter(to, because) => self.enter(&mut track, &to, because)?,
                    Stage::Leave => self.leave(&mut track).await?,
                };
                match next {
                    Moved::To(next) => stage = next,
                    Moved::Fork => return self.fork(track, BTreeMap::new(), None).await,
                    Moved::Does => return Ok(Next::Do(Box::new(track))),
                    Moved::Waits => return Ok(Next::Wait(vec![track])),
                    Moved::BranchEnds => return Ok(Next::BranchEnded(Box::new(track))),
                    Moved::Stops(progress) => return Ok(Next::Stop(progress)),
                }
            }
        }
        .boxed()
    }

    /// Enters a state of the innermost flow.
    fn enter(&self, track: &mut Track, to: &str, because: Because) -> Result<Moved> {
        let Some(flow) = track.frames.last().and_then(|frame| self.flow.named(&frame.flow)) else {
            return Ok(Moved::Stops(self.changed(track)));
        };
        let Some(state) = flow.find(to) else { return Ok(Moved::Stops(self.changed(track))) };
        if let Some(progress) = self.beyond(flow, state, track) {
            return Ok(Moved::Stops(progress));
        }
        if let Some(frame) = track.frames.last_mut() {
            frame.enter(to);
        }
        track.step += 1;
        track.because.push(because);
        Ok(match &state.action {
            Action::Wait(wait) if wait.text.is_none() => Moved::Waits,
            Action::Flow(entered) => Moved::To(self.deeper(track, entered)?),
            Action::Fork(_) => Moved::Fork,
            Action::End => Moved::To(Stage::Leave),
            _ => Moved::Does,
        })
    }

    /// Enters another flow, and returns its first state.
    fn deeper(&self, track: &mut Track, entered: &FlowAction) -> Result<Stage> {
        let Some(flow) = self.flow.named(&entered.flow) else {
            let message = format!("there is no flow {:?} that could be entered", entered.flow);
            return Err(Error::new(ErrorKind::Invalid, message));
        };
        let mut variables = flow.initial();
        variables.extend(fill_map(&entered.with, &track.variables()));
        for (name, value) in &variables {
            must_fit(flow, name, value)?;
        }
        let from = track.state().to_owned();
        track.frames.push(Frame::new(&entered.flow, variables));
        let why = format!("{from} enters the flow {}", entered.flow);
        let because =
            Because { from: Some(from), to: flow.start.clone(), transition: None, why, not: Vec::new() };
        Ok(Stage::Enter(flow.start.clone(), because))
    }

    /// Returns the limit that entering a state would exceed.
    fn beyond(&self, flow: &Flow, state: &State, track: &Track) -> Option<Progress> {
        let steps = self.flow.limits.steps;
        let name = state.name.clone();
        if track.step >= steps || track.frames.len() > DEPTH {
            return Some(Progress::TooManySteps { state: name, steps });
        }
        let visited = track.frames.last().and_then(|frame| frame.visits.get(&state.name)).copied();
        let limit = state.visits.or(flow.limits.visits);
        if let Some(visits) = limit.filter(|limit| visited.unwrap_or_default() >= *limit) {
            return Some(Progress::TooManyVisits { state: name, visits });
        }
        let seconds = self.flow.limits.seconds?;
        let taken = track.updated?.duration_since(track.started?).unwrap_or_default();
        if taken > Duration::from_secs(seconds) {
            return Some(Progress::TimedOut { state: name, seconds });
        }
        None
    }

    /// Chooses a transition of the innermost state, or ends its flow.
    async fn leave(&self, track: &mut Track) -> Result<Moved> {
        let Some(state) = self.state(track) else { return Ok(Moved::Stops(self.changed(track))) };
        if state.transitions.is_empty() {
            return Ok(self.end(track));
        }
        let seen = observed(&track.frames, &track.text, track.value.as_ref(), track.step);
        let mut not = Vec::new();
        for (index, transition) in state.transitions.iter().enumerate() {
            let verdict = decide(&transition.condition, &seen, &self.judges).await?;
            let why = shortened(&verdict.why);
            if verdict.holds {
                let from = Some(state.name.clone());
                let to = transition.to.clone();
                let because = Because { from, to, transition: Some(index), why, not };
                return Ok(Moved::To(Stage::Enter(transition.to.clone(), because)));
            }
            not.push(format!("to {}: {why}", transition.to));
        }
        if let Action::Wait(wait) = &state.action
            && let Some(name) = &wait.otherwise
        {
            let stage = self.deeper(track, &FlowAction::new(name))?;
            if let Some(frame) = track.frames.last_mut() {
                frame.digression = true;
            }
            return Ok(Moved::To(stage));
        }
        Ok(Moved::Stops(Progress::Stuck { state: state.name.clone(), why: not }))
    }

    /// Ends the innermost flow.
    fn end(&self, track: &mut Track) -> Moved {
        let name = track.state().to_owned();
        if track.is_at_branch() {
            return Moved::BranchEnds;
        }
        if track.frames.len() <= 1 {
            return Moved::Stops(Progress::Ended { state: name });
        }
        let Some(ended) = track.frames.pop() else { return Moved::Stops(Progress::Ended { state: name }) };
        let Some(state) = self.state(track) else { return Moved::Stops(self.changed(track)) };
        if ended.digression {
            let why = format!("the flow {} returns", ended.flow);
            let from = Some(name);
            let because = Because { from, to: state.name.clone(), transition: None, why, not: Vec::new() };
            return Moved::To(Stage::Enter(state.name.clone(), because));
        }
        if let Action::Flow(entered) = &state.action {
            take(track, entered, &ended);
        }
        Moved::To(Stage::Leave)
    }

    /// Chooses a step on one of the branches of a fork; once all have ended, they are joined.
    async fn fork(
        &self,
        base: Track,
        tips: BTreeMap<String, NodeId>,
        own: Option<(String, &Position)>,
    ) -> Result<Next> {
        let Some(state) = self.state(&base) else { return Ok(Next::Stop(self.changed(&base))) };
        let Action::Fork(action) = &state.action else { return Ok(Next::Stop(self.changed(&base))) };
        let mut waits = Vec::new();
        let mut ended = Vec::new();
        let mut people = base.people.clone();
        for (name, entered) in &action.branches {
            let next = match (&own, tips.get(name)) {
                (Some((own, position)), _) if own == name => {
                    self.from(Track::of(position), position.kind).await?
                }
                (_, Some(tip)) => self.on_branch(*tip, &tips).await?,
                (_, None) => self.begin_branch(&base, name, entered, &tips).await?,
            };
            match next {
                Next::Wait(tracks) => {
                    for track in &tracks {
                        add_people(&mut people, &track.people);
                    }
                    waits.extend(tracks);
                }
                Next::BranchEnded(track) => {
                    add_people(&mut people, &track.people);
                    ended.push((name, entered, track));
                }
                next => return Ok(next),
            }
        }
        // Who answered on one branch cannot decide on another one, nor after the fork.
        for track in &mut waits {
            track.people.clone_from(&people);
        }
        if !waits.is_empty() {
            return Ok(Next::Wait(waits));
        }
        let mut joined = base;
        joined.people = people;
        for (name, entered, track) in ended {
            if let Some(frame) = track.frames.last() {
                take(&mut joined, entered, frame);
            }
            if let Some(tip) = tips.get(name) {
                joined.joined.insert(name.clone(), *tip);
            }
            joined.step = joined.step.max(track.step);
            joined.updated = joined.updated.max(track.updated);
        }
        self.advance(joined, Stage::Leave).await
    }

    /// Chooses a step on a branch that has begun.
    async fn on_branch(&self, tip: NodeId, tips: &BTreeMap<String, NodeId>) -> Result<Next> {
        let path = self.conversation.path(tip).await?;
        let Some(position) = Position::of(&path)? else {
            let message = format!("node {tip} is on no branch of the flow {:?}", self.flow.name);
            return Err(Error::new(ErrorKind::Corrupt, message));
        };
        let mut track = Track::of(&position);
        if let Some(branch) = &mut track.branch {
            branch.facts.tips.clone_from(tips);
        }
        self.from(track, position.kind).await
    }

    async fn begin_branch(
        &self,
        base: &Track,
        name: &str,
        entered: &FlowAction,
        tips: &BTreeMap<String, NodeId>,
    ) -> Result<Next> {
        let mut track = base.clone();
        let depth = base.frames.len();
        let facts = StepBranch { name: name.to_owned(), base: base.tip, depth, tips: tips.clone() };
        let frames = base.frames.iter().map(Frame::facts).collect();
        track.branch = Some(Branch { facts, base: frames });
        let stage = self.deeper(&mut track, entered)?;
        self.advance(track, stage).await
    }
}

/// What became of a track at a stage.
enum Moved {
    To(Stage),
    Fork,
    Does,
    Waits,
    BranchEnds,
    Stops(Progress),
}

fn add_people(people: &mut Vec<String>, others: &[String]) {
    for name in others {
        if !people.contains(name) {
            people.push(name.clone());
        }
    }
}

/// Sets the variables that a flow returns.
fn take(track: &mut Track, entered: &FlowAction, ended: &Frame) {
    for (name, inner) in &entered.set {
        let value = ended.variables.get(inner).cloned().unwrap_or_default();
        track.set(name, value);
    }
}

/// Checks the type of a variable.
pub(crate) fn must_fit(flow: &Flow, name: &str, value: &Value) -> Result<()> {
    let Some(variable) = flow.variables.get(name) else { return Ok(()) };
    if variable.kind.allows(value) {
        return Ok(());
    }
    let kind = variable.kind.as_str();
    let message =
        format!("the variable {name:?} of the flow {:?} is {value}, expected type {kind}", flow.name);
    Err(Error::new(ErrorKind::Invalid, message))
}

/// How many characters of a reason are stored.
const REASON: usize = 200;

fn shortened(text: &str) -> String {
    match text.char_indices().nth(REASON) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
