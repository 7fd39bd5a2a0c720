//! What the nodes of a flow's steps store.

use std::collections::BTreeMap;

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Node, NodeId, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The entry of a node's metadata that has the facts of a step: [`FlowStep`].
///
/// [`FlowStep`] has an example.
pub const FLOW_KEY: &str = "flow";

/// The facts of a step, as a node stores them below [`FLOW_KEY`].
///
/// Nothing else is stored of a running flow: [`Position::of`](crate::Position::of) reads the facts of a path.
///
/// ```
/// use alloquy_core::Conversation;
/// use alloquy_flows::{Action, Flow, FlowRunner, FlowStep, State};
/// # use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let flow = Flow::new("greeting").state(State::new("hello", Action::say("Hello!")));
/// let conversation = Conversation::new(EchoModel);
/// FlowRunner::new(flow, conversation.clone()).run().await?;
/// let step = FlowStep::of(&conversation.history().await?[0])?.unwrap();
/// assert_eq!((step.name.as_str(), step.at.state.as_str(), step.step), ("greeting", "hello", 1));
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FlowStep {
    /// The flow's name.
    pub name: String,
    /// The digest of the flow's definition.
    pub digest: Digest,
    /// What the node is of its state.
    pub kind: StepKind,
    /// How many states were entered, this one included.
    pub step: usize,
    /// The state.
    pub at: StepFrame,
    /// The states that wait for the flow of this one, the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outer: Vec<StepFrame>,
    /// Why the flow came here: the transitions since the last step, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<Because>,
    /// Who answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The decision, for an approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<bool>,
    /// The value of an answer or a result, if it is not its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The variable that gets the text of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes: Option<Takes>,
    /// The key of a tool call: the same if the call is repeated, and another one on every branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Digest>,
    /// The branch of a fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<StepBranch>,
    /// The last nodes of the branches that are joined here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub joined: BTreeMap<String, NodeId>,
    /// Those who answered on the branches that are joined here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub people: Vec<String>,
    /// The digest of the definition by which the step before was taken, if it was another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Digest>,
}

/// What a node is of its state.
///
/// A [`FlowStep`] has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepKind {
    /// The state is not complete yet: a question without its reply.
    Part,
    /// The state waits for an answer.
    Waits,
    /// The state is complete.
    Done,
}

/// A state in one of the flows that are running.
///
/// A [`FlowStep`] has one, and one for each flow that waits for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StepFrame {
    /// The flow's name.
    pub flow: String,
    /// The state's name.
    pub state: String,
    /// How often the state was entered on this path, this time included.
    pub visit: usize,
    /// Whether the flow begins with this step.
    #[serde(default, skip_serializing_if = "is_false")]
    pub begins: bool,
    /// Whether the flow was entered by an answer that no transition takes. It returns to the question.
    #[serde(default, skip_serializing_if = "is_false")]
    pub digression: bool,
    /// The variables that were set since the step before.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub set: Map<String, Value>,
}

fn is_false(value: &bool) -> bool {
    !*value
}

/// Why a flow continued with a state.
///
/// A [`FlowStep`] has one for each transition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Because {
    /// The state before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The state that was entered.
    pub to: String,
    /// Which of the transitions of the state before was taken, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transition: Option<usize>,
    /// Why.
    pub why: String,
    /// Why the transitions before that one were not taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not: Vec<String>,
}

/// Which variable gets the text of a reply.
///
/// A [`FlowStep`] has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Takes {
    /// The variable; `None` if the reply is only read by conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// Whether the text is read as JSON.
    #[serde(default, skip_serializing_if = "is_false")]
    pub json: bool,
}

/// The branch of a fork that a step belongs to.
///
/// A [`FlowStep`] has it. The head is on one branch at a time, and its node knows the last nodes of the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StepBranch {
    /// The branch's name.
    pub name: String,
    /// The node that all branches follow.
    pub base: Option<NodeId>,
    /// How many flows are outside of the branch.
    pub depth: usize,
    /// The last nodes of the other branches that have begun.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tips: BTreeMap<String, NodeId>,
}

impl FlowStep {
    /// Reads the facts of a node; `None` if no flow added it.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if the facts cannot be read.
    pub fn of(node: &Node) -> Result<Option<Self>> {
        let Some(value) = node.metadata.get(FLOW_KEY) else { return Ok(None) };
        match Self::deserialize(value) {
            Ok(step) => Ok(Some(step)),
            Err(source) => {
                let message =
                    format!("the metadata {FLOW_KEY:?} of node {} is no step of a flow: {source}", node.id);
                Err(Error::new(ErrorKind::Corrupt, message).with_source(source))
            }
        }
    }

    /// Returns the facts as a value of metadata.
    pub(crate) fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}
