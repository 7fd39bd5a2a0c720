//! The steps of a flow on a path: what it did, who answered, and why it came there.

use alloquy_core::message::ToolResult;
use alloquy_core::tree::NodeStatus;
use alloquy_core::{Node, NodeId, Result, Role};
use serde::Serialize;

use crate::facts::{Because, FlowStep, StepKind};

/// A step of a flow on a path, for an audit.
///
/// ```
/// use alloquy_core::Conversation;
/// use alloquy_flows::{Action, Condition, Flow, FlowRunner, State, TracedStep};
/// # use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let flow = Flow::new("order")
///     .state(State::new("answer", Action::wait()).to_if(Condition::keyword(["tea"]), "tea"))
///     .state(State::new("tea", Action::say("Here is your tea.")));
/// let conversation = Conversation::new(EchoModel);
/// FlowRunner::new(flow, conversation.clone()).resume("A tea, please.").await?;
/// let steps = TracedStep::all(&conversation.history().await?)?;
/// assert_eq!(steps[1].to_string(), "2. tea: Here is your tea. (the text has \"tea\")");
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TracedStep {
    /// The node.
    pub node: NodeId,
    /// How many states were entered.
    pub step: usize,
    /// The flow.
    pub flow: String,
    /// The state.
    pub state: String,
    /// What the node is of its state.
    pub kind: StepKind,
    /// Whose message the node is.
    pub role: Role,
    /// Who answered.
    pub by: Option<String>,
    /// The decision, for an approval.
    pub decision: Option<bool>,
    /// The branch of a fork.
    pub branch: Option<String>,
    /// Why the flow came here.
    pub because: Vec<Because>,
    /// The text of the node.
    pub text: String,
}

impl TracedStep {
    /// Returns the steps on a path, without questions whose reply follows.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`](alloquy_core::ErrorKind) if the facts of a node cannot be read.
    pub fn all(path: &[Node]) -> Result<Vec<Self>> {
        let mut steps = Vec::new();
        for node in path {
            let Some(step) = FlowStep::of(node)? else { continue };
            if step.kind == StepKind::Part || node.status == NodeStatus::Interrupted {
                continue;
            }
            let results: Vec<_> = node.message.tool_results().map(ToolResult::text).collect();
            let text = if results.is_empty() { node.message.text() } else { results.join("\n") };
            steps.push(Self {
                node: node.id,
                step: step.step,
                flow: step.at.flow,
                state: step.at.state,
                kind: step.kind,
                role: node.message.role,
                by: step.by,
                decision: step.decision,
                branch: step.branch.map(|branch| branch.name),
                because: step.because,
                text,
            });
        }
        Ok(steps)
    }
}

impl std::fmt::Display for TracedStep {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}. {}: {}", self.step, self.state, self.text)?;
        if let Some(by) = &self.by {
            write!(formatter, " [{by}]")?;
        }
        let why: Vec<_> = self.because.iter().map(|because| because.why.as_str()).collect();
        if why.is_empty() { Ok(()) } else { write!(formatter, " ({})", why.join("; ")) }
    }
}
