//! The position of a flow on a path: read off the facts of its nodes, and stored nowhere else.

use std::collections::BTreeMap;
use std::time::SystemTime;

use alloquy_core::media::Digest;
use alloquy_core::message::ToolResult;
use alloquy_core::tree::NodeStatus;
use alloquy_core::{Node, NodeId, Result, Role};
use serde_json::{Map, Value};

use crate::condition::Observation;
use crate::facts::{Because, FlowStep, StepBranch, StepFrame, StepKind};

/// The position of a flow on a path.
///
/// ```
/// use alloquy_core::Conversation;
/// use alloquy_flows::{Action, Flow, FlowRunner, Position, State};
/// # use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let flow = Flow::new("greeting")
///     .state(State::new("hello", Action::say("Hello!")).to("name"))
///     .state(State::new("name", Action::wait()));
/// let conversation = Conversation::new(EchoModel);
/// FlowRunner::new(flow, conversation.clone()).run().await?;
/// let position = Position::of(&conversation.history().await?)?.unwrap();
/// assert_eq!((position.state(), position.step), ("hello", 1));
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Position {
    /// The flow's name.
    pub name: String,
    /// The digest of the definition by which the last step was taken.
    pub digest: Digest,
    /// What the last step is of its state.
    pub kind: StepKind,
    /// How many states were entered.
    pub step: usize,
    /// The flows that are running: the flow, and inside it those that it has entered.
    pub frames: Vec<Frame>,
    /// The node of the last step.
    pub node: NodeId,
    /// The node of the first step.
    pub began: NodeId,
    /// Those who answered, without those who decided.
    pub people: Vec<String>,
    /// The text of the last step.
    pub text: String,
    /// The value of the last step, if it is not its text.
    pub value: Option<Value>,
    /// The node that the next step follows.
    pub(crate) tip: Option<NodeId>,
    /// Whether nothing but results of tools follows the last step.
    pub(crate) is_last: bool,
    pub(crate) branch: Option<Branch>,
    /// Why the flow came to the last step.
    pub(crate) because: Vec<Because>,
}

/// One of the flows that are running, and its variables.
///
/// A [`Position`] has them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Frame {
    /// The flow's name.
    pub flow: String,
    /// The state's name.
    pub state: String,
    /// How often the state was entered.
    pub visit: usize,
    /// The variables.
    pub variables: Map<String, Value>,
    /// How often each state was entered.
    pub visits: BTreeMap<String, usize>,
    pub(crate) begins: bool,
    pub(crate) digression: bool,
    /// What was set since the last step.
    pub(crate) set: Map<String, Value>,
}

/// The branch of a fork, with what was set when it was entered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Branch {
    pub(crate) facts: StepBranch,
    pub(crate) base: Vec<StepFrame>,
}

impl Frame {
    pub(crate) fn new(flow: &str, variables: Map<String, Value>) -> Self {
        Self {
            flow: flow.to_owned(),
            state: String::new(),
            visit: 0,
            set: variables.clone(),
            variables,
            visits: BTreeMap::new(),
            begins: true,
            digression: false,
        }
    }

    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.variables.insert(name.to_owned(), value.clone());
        self.set.insert(name.to_owned(), value);
    }

    pub(crate) fn enter(&mut self, state: &str) {
        let visits = self.visits.entry(state.to_owned()).or_insert(0);
        *visits += 1;
        self.visit = *visits;
        self.state = state.to_owned();
    }

    pub(crate) fn facts(&self) -> StepFrame {
        StepFrame {
            flow: self.flow.clone(),
            state: self.state.clone(),
            visit: self.visit,
            begins: self.begins,
            digression: self.digression,
            set: self.set.clone(),
        }
    }

    fn follow(&mut self, facts: &StepFrame) {
        self.state.clone_from(&facts.state);
        self.visit = facts.visit;
        self.visits.insert(facts.state.clone(), facts.visit);
        for (name, value) in &facts.set {
            self.variables.insert(name.clone(), value.clone());
        }
    }

    fn of(facts: &StepFrame) -> Self {
        let mut frame = Self::new(&facts.flow, Map::new());
        frame.digression = facts.digression;
        frame.begins = false;
        frame.follow(facts);
        frame
    }
}

impl Position {
    /// Reads the position of the flow that ran last on a path; `None` if none did.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`](alloquy_core::ErrorKind) if the facts of a node cannot be read.
    pub fn of(path: &[Node]) -> Result<Option<Self>> {
        let mut position: Option<Self> = None;
        for node in path {
            match FlowStep::of(node)? {
                // A reply that was cut off is no step: the state is done again.
                Some(_) if node.status == NodeStatus::Interrupted => {}
                Some(step) => {
                    let begins = step.outer.first().unwrap_or(&step.at).begins;
                    let before = if begins {
                        position.take().filter(|last| last.repeats(&step))
                    } else {
                        position.take()
                    };
                    position = Some(Self::followed(before, &step, node));
                }
                None => {
                    if let Some(position) = &mut position {
                        let is_result = node.message.role == Role::Tool && position.kind == StepKind::Part;
                        position.is_last = position.is_last && is_result;
                        position.tip = Some(node.id);
                    }
                }
            }
        }
        Ok(position)
    }

    /// Returns whether a step is another node of the first state, and not the beginning of another run.
    fn repeats(&self, step: &FlowStep) -> bool {
        self.kind == StepKind::Part && self.step == step.step && self.is_last
    }

    fn followed(before: Option<Self>, step: &FlowStep, node: &Node) -> Self {
        let is_same = before.as_ref().is_some_and(|before| before.name == step.name);
        let mut position = match before.filter(|_| is_same) {
            Some(before) => before,
            None => Self::begun(step, node),
        };
        let frames = step.outer.iter().chain([&step.at]);
        position.frames.truncate(step.outer.len() + 1);
        for (index, facts) in frames.enumerate() {
            match position.frames.get_mut(index) {
                Some(frame) if !facts.begins && frame.flow == facts.flow => frame.follow(facts),
                Some(frame) => *frame = Frame::of(facts),
                None => position.frames.push(Frame::of(facts)),
            }
        }
        position.step = step.step;
        position.digest = step.digest;
        position.node = node.id;
        position.tip = Some(node.id);
        position.is_last = true;
        position.because.clone_from(&step.because);
        position.follow_branch(step, node);
        // A reply with calls is followed by another one.
        let has_calls = node.message.role == Role::Assistant && node.message.tool_calls().next().is_some();
        position.kind = if has_calls { StepKind::Part } else { step.kind };
        if position.kind != StepKind::Part {
            position.observe(step, node);
        }
        let answered = step.by.iter().filter(|_| step.decision.is_none());
        for by in answered.chain(&step.people) {
            if !position.people.contains(by) {
                position.people.push(by.clone());
            }
        }
        position
    }

    fn begun(step: &FlowStep, node: &Node) -> Self {
        Self {
            name: step.name.clone(),
            digest: step.digest,
            kind: step.kind,
            step: step.step,
            frames: Vec::new(),
            node: node.id,
            began: node.id,
            people: Vec::new(),
            text: String::new(),
            value: None,
            tip: Some(node.id),
            is_last: true,
            branch: None,
            because: Vec::new(),
        }
    }

    fn follow_branch(&mut self, step: &FlowStep, node: &Node) {
        let Some(facts) = &step.branch else {
            self.branch = None;
            return;
        };
        let is_first = !self
            .branch
            .as_ref()
            .is_some_and(|known| known.facts.base == facts.base && known.facts.name == facts.name);
        if is_first {
            let base = step.outer.get(..facts.depth).unwrap_or_default().to_vec();
            self.branch = Some(Branch { facts: facts.clone(), base });
        }
        if let Some(branch) = &mut self.branch {
            branch.facts = facts.clone();
            branch.facts.tips.insert(facts.name.clone(), node.id);
        }
    }

    fn observe(&mut self, step: &FlowStep, node: &Node) {
        let results: Vec<_> = node.message.tool_results().map(ToolResult::text).collect();
        self.text = if results.is_empty() { node.message.text() } else { results.join("\n") };
        self.value.clone_from(&step.value);
        let Some(takes) = &step.takes else { return };
        let value = match serde_json::from_str(&self.text) {
            Ok(value) if takes.json => value,
            _ => Value::String(self.text.clone()),
        };
        if takes.json {
            self.value = Some(value.clone());
        }
        if let (Some(variable), Some(frame)) = (&takes.variable, self.frames.last_mut()) {
            frame.variables.insert(variable.clone(), value);
        }
    }

    /// Returns the name of the innermost state.
    pub fn state(&self) -> &str {
        self.frames.last().map_or("", |frame| frame.state.as_str())
    }

    /// Returns the name of the innermost flow.
    pub fn flow(&self) -> &str {
        self.frames.last().map_or("", |frame| frame.flow.as_str())
    }

    /// Returns the variables of the innermost flow.
    pub fn variables(&self) -> Map<String, Value> {
        self.frames.last().map(|frame| frame.variables.clone()).unwrap_or_default()
    }

    /// Returns the name of the branch of a fork, if the last step is on one.
    pub fn branch(&self) -> Option<&str> {
        self.branch.as_ref().map(|branch| branch.facts.name.as_str())
    }

    /// Returns when the first step was stored.
    pub fn started(&self) -> SystemTime {
        self.began.created()
    }

    /// Returns when the last step was stored.
    pub fn updated(&self) -> SystemTime {
        self.node.created()
    }

    /// Returns the frames as the next step begins with them: nothing is set since the last one.
    pub(crate) fn frames_to_continue(&self) -> Vec<Frame> {
        let mut frames = self.frames.clone();
        for frame in &mut frames {
            frame.begins = false;
            frame.set = Map::new();
        }
        frames
    }
}

/// Returns what conditions see in the innermost frame.
pub(crate) fn observed(frames: &[Frame], text: &str, value: Option<&Value>, step: usize) -> Observation {
    let mut seen = Observation::new(text);
    seen.value = value.cloned();
    if let Some(frame) = frames.last() {
        seen.variables.insert("state".to_owned(), frame.state.clone().into());
        seen.variables.insert("visit".to_owned(), frame.visit.into());
        seen.variables.insert("step".to_owned(), step.into());
        seen.variables.insert("last".to_owned(), text.into());
        // The flow's own variables count.
        for (name, value) in &frame.variables {
            seen.variables.insert(name.clone(), value.clone());
        }
    }
    seen
}
