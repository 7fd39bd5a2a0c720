//! Runs a flow in a conversation.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::prompt_library::PromptLibrary;
use alloquy_core::store::HeadMove;
use alloquy_core::tool::Toolbox;
use alloquy_core::{
    ChatModel, Conversation, Error, ErrorKind, Message, Node, NodeId, Result, Tool, TurnRequest,
};
use serde_json::{Map, Value};

use crate::action::Action;
use crate::checks::Known;
use crate::facts::{FLOW_KEY, FlowStep, StepKind};
use crate::flow::{Flow, State};
use crate::judges::{HostCondition, Judges};
use crate::plan::{Next, Planner, Track, must_fit};
use crate::position::Position;
use crate::problem::FlowProblem;
use crate::progress::{Answer, Progress};
use crate::schema;

/// Runs a flow in a conversation.
///
/// It holds nothing of the running flow: another runner, in another process, continues where this one stops. Two runners may run
/// at once; the head of the conversation decides which step counts, and the other is a branch.
///
/// ```
/// use alloquy_core::{Conversation, Manager, Preface};
/// use alloquy_flows::{Answer, Flow, FlowRunner, Progress};
/// use alloquy_testing::EchoModel; // repeats the last message
///
/// # pollster::block_on(async {
/// let flow = Flow::from_yaml(
///     "
/// name: order
/// states:
///   question:
///     wait:
///       say: Tea or coffee?
///       expects: {enum: [tea, coffee]}
///       set: drink
///     to: thanks
///   thanks:
///     say: Here is your {{drink}}.
/// ",
/// )?;
/// let conversation = Conversation::new(EchoModel);
/// let runner = FlowRunner::new(flow.clone(), conversation.clone());
/// assert!(matches!(runner.run().await?, Progress::Waiting { .. }));
///
/// // Later, in another process.
/// let runner = FlowRunner::new(flow, conversation.clone());
/// let progress = runner.resume("tea").await?;
/// assert_eq!(progress, Progress::Ended { state: "thanks".to_owned() });
/// assert_eq!(conversation.history().await?[2].message.text(), "Here is your tea.");
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct FlowRunner {
    pub(crate) flow: Arc<Flow>,
    pub(crate) digest: Digest,
    pub(crate) conversation: Conversation,
    pub(crate) prompts: Option<Arc<dyn PromptLibrary>>,
    pub(crate) tools: Toolbox,
    model: Option<Arc<dyn ChatModel>>,
    hosts: BTreeMap<String, Arc<dyn HostCondition>>,
    variables: Map<String, Value>,
}

/// The head of a conversation and the path to it.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) head: Option<NodeId>,
    path: Vec<Node>,
    /// The node that this run added last; nothing follows it.
    pub(crate) added: Option<NodeId>,
}

impl FlowRunner {
    /// Creates a runner of a flow in a conversation.
    pub fn new(flow: impl Into<Arc<Flow>>, conversation: Conversation) -> Self {
        let flow = flow.into();
        Self {
            digest: flow.digest(),
            flow,
            conversation,
            prompts: None,
            tools: Toolbox::default(),
            model: None,
            hosts: BTreeMap::new(),
            variables: Map::new(),
        }
    }

    /// Sets the library of the prompts that states say and ask.
    pub fn prompts(mut self, library: Arc<dyn PromptLibrary>) -> Self {
        self.prompts = Some(library);
        self
    }

    /// Adds a tool that states call. States that ask the model offer those that they name.
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools = self.tools.tool(tool);
        self
    }

    /// Sets the tools that states call, under their rules. They replace tools that were added before.
    pub fn toolbox(mut self, tools: Toolbox) -> Self {
        self.tools = tools;
        self
    }

    /// Sets the model that answers the questions of conditions.
    pub fn model(mut self, model: impl ChatModel + 'static) -> Self {
        self.model = Some(Arc::new(model));
        self
    }

    /// Adds a condition of the host.
    pub fn host(mut self, name: impl Into<String>, condition: impl HostCondition + 'static) -> Self {
        self.hosts.insert(name.into(), Arc::new(condition));
        self
    }

    /// Sets the value that a variable has when the flow begins.
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Returns the flow.
    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    /// Returns everything that is wrong with the flow, with the prompts, tools and conditions of this runner.
    pub fn problems(&self) -> Vec<FlowProblem> {
        let mut known = Known::default().hosts(self.hosts.keys());
        if let Some(library) = &self.prompts {
            known = known.prompts(Arc::clone(library));
        }
        if let Ok(tools) = self.tools.now() {
            known = known.tools(tools.specs().map(|spec| spec.name.clone()));
        }
        self.flow.problems_with(&known)
    }

    /// Returns the position of the flow on the path to the head; `None` before its first step.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn position(&self) -> Result<Option<Position>> {
        let place = self.place().await?;
        self.position_at(&place)
    }

    /// Runs the flow until it ends, waits or stops. A flow that has not begun begins.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a flow with [problems](FlowRunner::problems), and those of the store, the model, the tools and the
    /// conditions. The steps before stay, and the same step is taken by the next call.
    pub async fn run(&self) -> Result<Progress> {
        self.must_be_valid()?;
        self.continue_after(None).await
    }

    /// Begins the flow at the head, even if it has run there before, and runs it.
    ///
    /// # Errors
    /// As [`FlowRunner::run`]; [`ErrorKind::Invalid`] if it has run there, and its first state waits without a text.
    pub async fn begin(&self) -> Result<Progress> {
        self.must_be_valid()?;
        let place = self.place().await?;
        let is_silent = self.flow.find(&self.flow.start).is_some_and(|state| state.action.is_silent());
        if is_silent && self.position_at(&place)?.is_some() {
            let message = format!(
                "the flow {:?} cannot begin again, because its first state {:?} stores nothing when it is entered; give it a text",
                self.flow.name, self.flow.start
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let next = self.planner().begin(self.beginning(&place)?).await?;
        match self.take(&place, next).await? {
            ControlFlow::Break(progress) => Ok(progress),
            ControlFlow::Continue(added) => self.continue_after(added).await,
        }
    }

    /// Answers a state that waits, and runs the flow.
    ///
    /// The answer is stored before the flow continues: after a crash, [`FlowRunner::run`] continues with it. If two answers are
    /// given at once, one continues, and the other is a branch: [`Progress::Branched`].
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if no such state waits, [`ErrorKind::Invalid`] for an answer that does not fit, or an approval by
    /// somebody who is not [another person](crate::Action::Approve). Nothing is stored then. Otherwise as [`FlowRunner::run`].
    pub async fn resume(&self, answer: impl Into<Answer>) -> Result<Progress> {
        self.must_be_valid()?;
        let answer = answer.into();
        let place = self.place().await?;
        let next = self.next(&place).await?;
        let track = self.answered_track(next, &answer)?;
        self.answer(&place, track, &answer).await
    }

    /// Answers an earlier question again, and runs the flow from there. What followed the first answer stays as a branch.
    ///
    /// `node` is the question, or the first answer.
    ///
    /// ```
    /// use alloquy_core::Conversation;
    /// use alloquy_flows::{Action, Flow, FlowRunner, State};
    /// # use alloquy_testing::EchoModel;
    ///
    /// # pollster::block_on(async {
    /// let flow = Flow::new("name")
    ///     .state(State::new("name", Action::wait()).to("hello"))
    ///     .state(State::new("hello", Action::say("Hello, {{last}}!")));
    /// let conversation = Conversation::new(EchoModel);
    /// let runner = FlowRunner::new(flow, conversation.clone());
    /// runner.resume("An").await?;
    /// let first = conversation.history().await?[0].id;
    /// runner.correct(first, "Ann").await?;
    /// assert_eq!(conversation.history().await?[1].message.text(), "Hello, Ann!");
    /// assert_eq!(conversation.branches().await?.len(), 2);
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`FlowRunner::resume`]; [`ErrorKind::NotFound`] for a node that does not exist.
    pub async fn correct(&self, node: NodeId, answer: impl Into<Answer>) -> Result<Progress> {
        self.must_be_valid()?;
        let answer = answer.into();
        let place = self.place_of_question(node).await?;
        let next = self.next(&place).await?;
        let track = self.answered_track(next, &answer)?;
        self.answer(&place, track, &answer).await
    }

    fn must_be_valid(&self) -> Result<()> {
        must_have_none(&self.flow, self.problems())
    }

    pub(crate) async fn place(&self) -> Result<Place> {
        let record = self.conversation.record().await?;
        let path = self.conversation.path(record.head).await?;
        Ok(Place { head: record.head, path, added: None })
    }

    /// Returns the place of a question, which is named by its node or by that of its answer.
    pub(crate) async fn place_of_question(&self, node: NodeId) -> Result<Place> {
        let head = self.conversation.record().await?;
        let mut path = self.conversation.path(node).await?;
        let is_answer = match path.last().map(FlowStep::of).transpose()?.flatten() {
            Some(step) => step.kind == StepKind::Done,
            None => false,
        };
        if is_answer {
            path.pop();
        }
        Ok(Place { head: head.head, path, added: None })
    }

    fn position_at(&self, place: &Place) -> Result<Option<Position>> {
        let position = Position::of(&place.path)?;
        Ok(position.filter(|position| position.name == self.flow.name))
    }

    fn beginning(&self, place: &Place) -> Result<Track> {
        for (name, value) in &self.variables {
            must_fit(&self.flow, name, value)?;
        }
        let mut track = Track::begin(&self.flow, &self.variables, place.path.last().map(|node| node.id));
        // What was said before is the last message.
        if let Some(node) = place.path.last() {
            track.text = node.message.text();
        }
        Ok(track)
    }

    pub(crate) fn planner(&self) -> Planner<'_> {
        let judges = Judges::new(self.model.as_deref(), &self.conversation, &self.hosts);
        Planner { flow: &self.flow, digest: self.digest, conversation: &self.conversation, judges }
    }

    pub(crate) fn state_of(&self, track: &Track) -> Option<&State> {
        let frame = track.frames.last()?;
        self.flow.named(&frame.flow)?.find(&frame.state)
    }

    pub(crate) async fn next(&self, place: &Place) -> Result<Next> {
        match self.position_at(place)? {
            Some(position) => self.planner().after(&position).await,
            None => self.planner().begin(self.beginning(place)?).await,
        }
    }

    /// Takes steps until the flow stops. `added` is the node that this run has added.
    pub(crate) async fn continue_after(&self, mut added: Option<NodeId>) -> Result<Progress> {
        loop {
            let place = Place { added, ..self.place().await? };
            let next = self.next(&place).await?;
            match self.take(&place, next).await? {
                ControlFlow::Break(progress) => return Ok(progress),
                ControlFlow::Continue(node) => added = node,
            }
        }
    }

    /// Takes a step, and returns its node, or why the flow stops.
    pub(crate) async fn take(
        &self,
        place: &Place,
        next: Next,
    ) -> Result<ControlFlow<Progress, Option<NodeId>>> {
        let track = match next {
            Next::Stop(progress) => return Ok(ControlFlow::Break(progress)),
            Next::BranchEnded(track) => {
                return Ok(ControlFlow::Break(Progress::Ended { state: track.state().to_owned() }));
            }
            Next::Wait(tracks) => return Ok(ControlFlow::Break(self.waiting(&tracks))),
            Next::Do(track) => track,
        };
        let (node, head) = self.act(place, &track).await?;
        match branched(track.state(), node, head) {
            Some(progress) => Ok(ControlFlow::Break(progress)),
            None => Ok(ControlFlow::Continue(node)),
        }
    }

    fn waiting(&self, tracks: &[Track]) -> Progress {
        let waits: Vec<_> = tracks.iter().filter_map(|track| track.wait(&self.flow)).collect();
        let first = waits.first();
        let state = first.map(|wait| wait.state.clone()).unwrap_or_default();
        let expects = first.and_then(|wait| wait.expects.clone());
        Progress::Waiting { state, expects, waits }
    }

    /// Finds the state that an answer is for.
    fn answered_track(&self, next: Next, answer: &Answer) -> Result<Track> {
        let tracks = match next {
            Next::Wait(tracks) => tracks,
            Next::Do(track) => return Err(not_waiting(&format!("state {:?} comes first", track.state()))),
            Next::Stop(progress) => {
                return Err(not_waiting(&format!("it stopped at {:?}", progress.state())));
            }
            Next::BranchEnded(_) => return Err(not_waiting("its branch ended")),
        };
        let mut waiting = Vec::new();
        for track in tracks {
            let Some(wait) = track.wait(&self.flow) else { continue };
            let is_state = answer.state.as_ref().is_none_or(|state| *state == wait.state);
            let is_branch = answer.branch.is_none() || answer.branch == wait.branch;
            if is_state && is_branch {
                return Ok(track);
            }
            waiting.push(format!("{:?}", wait.state));
        }
        let asked = answer.state.as_deref().or(answer.branch.as_deref()).unwrap_or_default();
        Err(not_waiting(&format!("{asked:?} is not among the states that wait: {}", waiting.join(", "))))
    }

    /// Stores an answer, and runs the flow.
    async fn answer(&self, place: &Place, mut track: Track, answer: &Answer) -> Result<Progress> {
        let mut decision = None;
        let mut set = None;
        match self.state_of(&track).map(|state| &state.action) {
            Some(Action::Wait(wait)) => {
                if let Some(expects) = &wait.expects {
                    schema::check(&answer.value, expects)?;
                } else if !answer.value.is_string() {
                    schema::check(&answer.value, &serde_json::json!({"type": "string"}))?;
                }
                set.clone_from(&wait.set);
            }
            Some(Action::Approve(approve)) => {
                decision = Some(self.decision(&track, answer)?);
                set.clone_from(&approve.set);
            }
            _ => return Err(not_waiting(&format!("state {:?} does not wait", track.state()))),
        }
        if let Some(name) = &set {
            if let Some(flow) = track.frames.last().and_then(|frame| self.flow.named(&frame.flow)) {
                must_fit(flow, name, &answer.value)?;
            }
            track.set(name, answer.value.clone());
        }
        let mut facts = self.facts(&track, StepKind::Done);
        facts.by.clone_from(&answer.by);
        facts.decision = decision;
        let text = match &answer.value {
            Value::String(text) => text.clone(),
            other => {
                facts.value = Some(other.clone());
                other.to_string()
            }
        };
        let request = TurnRequest::from(Message::user(text)).metadata(FLOW_KEY, facts.to_json());
        let (node, head) = self.add(place, &track, request).await?;
        match branched(track.state(), node, head) {
            Some(progress) => Ok(progress),
            None => self.continue_after(node).await,
        }
    }

    /// Checks a decision: true or false, by another person than those who answered.
    fn decision(&self, track: &Track, answer: &Answer) -> Result<bool> {
        let Value::Bool(decision) = answer.value else {
            let message =
                format!("the decision about {:?} is {}, expected true or false", track.state(), answer.value);
            return Err(Error::new(ErrorKind::Invalid, message));
        };
        let Some(by) = &answer.by else {
            let message =
                format!("the decision about {:?} needs the name of who decides: Answer::by", track.state());
            return Err(Error::new(ErrorKind::Invalid, message));
        };
        if track.people.contains(by) {
            let message = format!(
                "{by:?} answered in this flow and cannot decide about {:?}; another person must",
                track.state()
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        Ok(decision)
    }
}

/// Refuses a flow with problems. With warnings it runs.
pub(crate) fn must_have_none(flow: &Flow, mut problems: Vec<FlowProblem>) -> Result<()> {
    problems.retain(|problem| !problem.is_warning);
    if problems.is_empty() {
        return Ok(());
    }
    let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
    let message = format!("the flow {:?} has problems: {}", flow.name, problems.join("; "));
    Err(Error::new(ErrorKind::Invalid, message))
}

fn not_waiting(why: &str) -> Error {
    Error::new(ErrorKind::Conflict, format!("the flow does not wait for this answer: {why}"))
}

fn branched(state: &str, node: Option<NodeId>, head: HeadMove) -> Option<Progress> {
    match (head, node) {
        (HeadMove::Branched { .. }, Some(node)) => Some(Progress::Branched { state: state.to_owned(), node }),
        _ => None,
    }
}
