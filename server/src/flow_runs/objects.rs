//! The objects of flows and of their runs.

use std::time::SystemTime;

use alloquy_core::ConversationId;
use alloquy_flows::{Flow, Position, Progress, TracedStep, Wait};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::times::unix_seconds;
use crate::trees::identity::shown;

/// A flow of the host.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct FlowObject {
    /// The name under which it is served.
    id: String,
    object: &'static str,
    /// The names of its states.
    states: Vec<String>,
    /// The types of its variables by their names.
    variables: Map<String, Value>,
    /// Whether it asks a model.
    asks_model: bool,
    /// The digest of its definition.
    digest: String,
    /// Its graph in Mermaid.
    mermaid: String,
}

impl FlowObject {
    pub(super) fn of(name: &str, flow: &Flow) -> Self {
        let mut variables = Map::new();
        for (name, variable) in &flow.variables {
            variables.insert(name.clone(), variable.kind.as_str().into());
        }
        Self {
            id: name.to_owned(),
            object: "flow",
            states: flow.states.iter().map(|state| state.name.clone()).collect(),
            variables,
            asks_model: flow.asks_model(),
            digest: flow.digest().to_string(),
            mermaid: flow.mermaid(None),
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }
}

/// A flow in a conversation.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct FlowRunObject {
    /// The conversation.
    id: String,
    object: &'static str,
    flow: String,
    /// Where it stopped and why, after it ran: `progress` is `ended`, `waiting`, `stuck`, `too_many_steps`, `too_many_visits`,
    /// `timed_out`, `changed` or `branched`.
    progress: Option<Map<String, Value>>,
    /// The state where it is; `null` before its first step.
    state: Option<String>,
    /// How many steps it has taken.
    step: usize,
    variables: Map<String, Value>,
    /// What it waits for.
    waits: Vec<WaitObject>,
    /// The steps that this request took, or all of them where only the state was read.
    steps: Vec<Value>,
}

/// A state that waits for an answer.
#[derive(Debug, JsonSchema, Serialize)]
struct WaitObject {
    state: String,
    flow: String,
    /// The branch of a fork.
    branch: Option<String>,
    /// The JSON Schema of the answer; `null` for any text.
    expects: Option<Value>,
    /// Whether the answer is the decision of another person.
    is_approval: bool,
    /// The node that the answer follows.
    node: Option<String>,
    /// Since when it waits, in seconds since 1970.
    since: Option<u64>,
    /// When the answer is due, in seconds since 1970.
    due: Option<u64>,
    /// The state where the flow continues when the answer is late.
    late: Option<String>,
}

impl WaitObject {
    fn of(wait: &Wait) -> Self {
        Self {
            state: wait.state.clone(),
            flow: wait.flow.clone(),
            branch: wait.branch.clone(),
            expects: wait.expects.clone(),
            is_approval: wait.is_approval,
            node: wait.node.map(|node| node.to_string()),
            since: seconds(wait.since),
            due: seconds(wait.due),
            late: wait.late.clone(),
        }
    }
}

fn seconds(time: Option<SystemTime>) -> Option<u64> {
    time.map(unix_seconds)
}

impl FlowRunObject {
    /// The object of a flow at a position. What it waits for is a part of its progress after it ran.
    pub(super) fn of(
        name: &str,
        id: &ConversationId,
        position: Option<&Position>,
        progress: Option<&Progress>,
        waits: &[Wait],
        steps: &[TracedStep],
    ) -> Self {
        let waits = match progress {
            Some(Progress::Waiting { waits, .. }) => waits,
            _ => waits,
        };
        Self {
            id: shown(id),
            object: "flow.run",
            flow: name.to_owned(),
            progress: progress.map(progress_fields),
            state: position.map(|position| position.state().to_owned()),
            step: position.map_or(0, |position| position.step),
            variables: position.map(Position::variables).unwrap_or_default(),
            waits: waits.iter().map(WaitObject::of).collect(),
            steps: steps.iter().map(|step| json!(step)).collect(),
        }
    }
}

/// Returns the fields of a progress. Its waits are a field of the run.
fn progress_fields(progress: &Progress) -> Map<String, Value> {
    match json!(progress) {
        Value::Object(mut fields) => {
            fields.shift_remove("waits");
            fields
        }
        _ => Map::new(),
    }
}
