//! The flows of a server by name, which its host may replace while it runs, and what the host adds to their runners.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use alloquy_core::prompt_library::PromptLibrary;
use alloquy_core::{Conversation, Error, ErrorKind, Result};
use alloquy_flows::{Flow, FlowRunner};

use crate::current_prompts::CurrentPrompts;
use crate::no_model::NoModel;

/// What a host adds to the runners of all flows: tools, conditions.
pub(crate) type RunnerSetup = Arc<dyn Fn(FlowRunner) -> FlowRunner + Send + Sync>;

/// Flows by their names.
pub(crate) type FlowsByName = BTreeMap<String, Arc<Flow>>;

/// The flows of a server. Copies share them.
#[derive(Clone)]
pub(crate) struct Flows {
    flows: Arc<RwLock<Arc<FlowsByName>>>,
    prompts: Option<CurrentPrompts>,
    setup: RunnerSetup,
}

impl Flows {
    /// # Errors
    /// Those of [`Flows::checked`].
    pub(crate) fn new(
        given: Vec<(String, Flow)>,
        prompts: Option<CurrentPrompts>,
        setup: RunnerSetup,
    ) -> Result<Self> {
        let flows = Self { flows: Arc::default(), prompts, setup };
        let library = flows.prompts.as_ref().map(CurrentPrompts::now);
        flows.replace(flows.checked(given, library.as_ref())?);
        Ok(flows)
    }

    /// Checks flows that are to run with a library.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for two flows of one name, and for a flow with problems, which it lists.
    pub(crate) fn checked(
        &self,
        given: Vec<(String, Flow)>,
        library: Option<&Arc<dyn PromptLibrary>>,
    ) -> Result<FlowsByName> {
        let mut flows = FlowsByName::new();
        for (name, flow) in given {
            let flow = Arc::new(flow);
            let runner = FlowRunner::new(Arc::clone(&flow), Conversation::new(NoModel));
            must_run(&name, &(self.setup)(with_library(runner, library.cloned())))?;
            if flows.insert(name.clone(), flow).is_some() {
                let message = format!("two flows have the name {name:?}: give one of them another");
                return Err(Error::new(ErrorKind::Invalid, message));
            }
        }
        Ok(flows)
    }

    /// Replaces the flows. Those that run keep theirs until they wait.
    pub(crate) fn replace(&self, flows: FlowsByName) {
        *self.flows.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(flows);
    }

    /// Returns the flows as they are now.
    pub(crate) fn now(&self) -> Arc<FlowsByName> {
        Arc::clone(&self.flows.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns a runner of a flow in a conversation.
    pub(crate) fn runner(&self, flow: &Arc<Flow>, conversation: Conversation) -> FlowRunner {
        let library = self.prompts.as_ref().map(CurrentPrompts::now);
        (self.setup)(with_library(FlowRunner::new(Arc::clone(flow), conversation), library))
    }
}

/// Adds the library to a runner, before what the host adds.
fn with_library(runner: FlowRunner, library: Option<Arc<dyn PromptLibrary>>) -> FlowRunner {
    match library {
        Some(library) => runner.prompts(library),
        None => runner,
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
