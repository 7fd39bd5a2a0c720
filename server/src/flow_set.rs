//! The flows of a server by name, and what the host adds to their runners.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloquy_core::{Conversation, Error, ErrorKind, Result};
use alloquy_flows::{Flow, FlowRunner};

use crate::no_model::NoModel;

/// What a host adds to the runners of all flows: tools, conditions.
pub(crate) type RunnerSetup = Arc<dyn Fn(FlowRunner) -> FlowRunner + Send + Sync>;

/// The flows of a server.
pub(crate) struct Flows {
    flows: BTreeMap<String, Arc<Flow>>,
    setup: RunnerSetup,
}

impl Flows {
    /// # Errors
    /// [`ErrorKind::Invalid`] for two flows of one name, and for a flow with problems, which it lists.
    pub(crate) fn new(given: Vec<(String, Flow)>, setup: RunnerSetup) -> Result<Self> {
        let mut flows = BTreeMap::new();
        for (name, flow) in given {
            let flow = Arc::new(flow);
            must_run(&name, &setup(FlowRunner::new(Arc::clone(&flow), Conversation::new(NoModel))))?;
            if flows.insert(name.clone(), flow).is_some() {
                let message = format!("two flows have the name {name:?}: give one of them another");
                return Err(Error::new(ErrorKind::Invalid, message));
            }
        }
        Ok(Self { flows, setup })
    }

    /// Returns the flows with their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Arc<Flow>)> {
        self.flows.iter().map(|(name, flow)| (name.as_str(), flow))
    }

    /// Returns the flow of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Flow>> {
        self.flows.get(name)
    }

    /// Returns a runner of a flow in a conversation.
    pub(crate) fn runner(&self, flow: &Arc<Flow>, conversation: Conversation) -> FlowRunner {
        (self.setup)(FlowRunner::new(Arc::clone(flow), conversation))
    }
}

fn must_run(name: &str, runner: &FlowRunner) -> Result<()> {
    let mut problems = runner.problems();
    problems.retain(|problem| !problem.is_warning);
    if problems.is_empty() {
        return Ok(());
    }
    let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
    let message = format!("the flow {name:?} has problems: {}", problems.join("; "));
    Err(Error::new(ErrorKind::Invalid, message))
}
