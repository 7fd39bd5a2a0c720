//! The tools of a manager, and the rules by which they run.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{Either, select};
use futures::{FutureExt, Stream, StreamExt, TryStreamExt, stream};

use super::depth::shallow;
use super::{ApprovalDecision, Timer, Tool, ToolApproval, ToolContext, ToolProvider};
use crate::chat_model::Origin;
use crate::message::{ToolCall, ToolResult};
use crate::panics::{caught, caught_now};
use crate::preface::ToolSpec;
use crate::{Error, ErrorKind, Result};

/// How many calls of one reply run concurrently by default.
const PARALLEL: usize = 8;

/// The subject of the error if the timer panics.
const TIMER: &str = "the timer of the tools";

/// Tools, and the rules by which they run: the approval of calls, their timeout, and how many run concurrently.
///
/// ```
/// use alloquy_core::tool::Toolbox;
/// use std::time::Duration;
///
/// # async fn sleep(_: Duration) {}
/// let toolbox = Toolbox::default().parallel(2).timeout(Duration::from_secs(30), sleep);
/// assert!(toolbox.now()?.specs().next().is_none());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Toolbox {
    sources: Vec<Arc<dyn ToolProvider>>,
    rules: Rules,
}

#[derive(Clone, Debug)]
struct Rules {
    approval: Option<Arc<dyn ToolApproval>>,
    timeout: Option<(Duration, Arc<dyn Timer>)>,
    parallel: usize,
}

impl Default for Toolbox {
    fn default() -> Self {
        let rules = Rules { approval: None, timeout: None, parallel: PARALLEL };
        Self { sources: Vec::new(), rules }
    }
}

impl Toolbox {
    /// Adds a tool.
    pub fn tool(self, tool: impl Tool + 'static) -> Self {
        self.source(One(Arc::new(tool)))
    }

    /// Adds the tools that a source has when a turn starts.
    pub fn source(mut self, source: impl ToolProvider + 'static) -> Self {
        self.sources.push(Arc::new(source));
        self
    }

    /// Sets the approval of calls; by default, all are allowed.
    pub fn approval(mut self, approval: impl ToolApproval + 'static) -> Self {
        self.rules.approval = Some(Arc::new(approval));
        self
    }

    /// Sets the timeout of a call; by default, there is none.
    pub fn timeout(mut self, longest: Duration, timer: impl Timer + 'static) -> Self {
        self.rules.timeout = Some((longest, Arc::new(timer)));
        self
    }

    /// Sets how many calls of one reply run concurrently, by default 8. 0 means 1.
    pub fn parallel(mut self, calls: usize) -> Self {
        self.rules.parallel = calls.max(1);
        self
    }

    /// Returns the present tools.
    ///
    /// # Errors
    /// [`ErrorKind::Tool`] if a name is empty or used twice, and if a source or a tool's description panics.
    pub fn now(&self) -> Result<Tools> {
        let mut tools =
            Tools { tools: Vec::new(), rules: self.rules.clone(), context: ToolContext::default() };
        for source in &self.sources {
            for tool in caught_now(ErrorKind::Tool, "a source of tools", || Ok(source.tools()))? {
                tools.add(tool)?;
            }
        }
        Ok(tools)
    }
}

/// A source of one tool.
#[derive(Debug)]
struct One(Arc<dyn Tool>);

impl ToolProvider for One {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        vec![Arc::clone(&self.0)]
    }
}

/// The tools that [`Toolbox::now`] found.
///
/// ```
/// use alloquy_core::message::ToolCall;
/// use alloquy_core::tool::Toolbox;
/// use alloquy_core::{Result, Tool, ToolSpec};
/// use futures::StreamExt;
/// use serde_json::{Value, json};
///
/// #[derive(Debug)]
/// struct Clock;
///
/// #[async_trait::async_trait]
/// impl Tool for Clock {
///     fn spec(&self) -> ToolSpec {
///         ToolSpec::new("clock", "Returns the time", json!({"type": "object"}))
///     }
///     async fn call(&self, _: &Value) -> Result<Value> {
///         Ok("noon".into())
///     }
/// }
///
/// # pollster::block_on(async {
/// let tools = Toolbox::default().tool(Clock).now()?;
/// let calls = ["clock", "oven"].map(|name| ToolCall::new(format!("call of {name}"), name, json!({})));
/// let results: Vec<_> = tools.answer(&calls, &[]).collect().await;
/// assert_eq!(results[0].text(), "noon");
/// assert_eq!(results[1].text(), "unknown tool \"oven\", one of: clock");
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tools {
    tools: Vec<(ToolSpec, Arc<dyn Tool>)>,
    rules: Rules,
    context: ToolContext,
}

impl Tools {
    /// Sets the context of the turn for the tools and the approval.
    #[must_use]
    pub fn with_context(mut self, context: ToolContext) -> Self {
        self.context = context;
        self
    }

    /// Sets the conversation of the turn.
    pub(crate) fn set_origin(&mut self, origin: Origin) {
        self.context.origin = Some(origin);
    }

    fn add(&mut self, tool: Arc<dyn Tool>) -> Result<()> {
        let spec = caught_now(ErrorKind::Tool, "the description of a tool", || Ok(tool.spec()))?;
        if spec.name.is_empty() || self.has(&spec.name) {
            let message = format!("tool name {:?} is empty or taken", spec.name);
            return Err(Error::new(ErrorKind::Tool, message));
        }
        self.tools.push((spec, tool));
        Ok(())
    }

    /// Returns the descriptions of the tools in the order in which they were added.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.iter().map(|(spec, _)| spec)
    }

    /// Returns whether there is a tool of this name.
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Runs calls and returns their results in the order of the calls, each as soon as those before it are done.
    ///
    /// The result is an error if the tool is unknown, fails or panics, or if the call is refused or takes too long. A
    /// result that nests deeper than [`RESULT_DEPTH`](super::RESULT_DEPTH) is an error too. For an unknown tool, the model
    /// reads the known names, including those of `offered`. If the approval panics, no call runs, and all results are
    /// errors.
    pub fn answer(&self, calls: &[ToolCall], offered: &[ToolSpec]) -> impl Stream<Item = ToolResult> {
        let calls = calls.to_vec();
        self.results(calls.clone(), offered).flat_map(move |result| {
            let mut results = Vec::new();
            match result {
                Ok(result) => results.push(result),
                // The error is the only item: no call ran.
                Err(error) => {
                    for call in &calls {
                        results.push(ToolResult::error(call, format!("this call was refused: {error:#}")));
                    }
                }
            }
            stream::iter(results)
        })
    }

    /// Runs calls like [`answer`](Self::answer), but an approval that panics is an error before any call runs.
    pub(crate) fn results(
        &self,
        calls: Vec<ToolCall>,
        offered: &[ToolSpec],
    ) -> impl Stream<Item = Result<ToolResult>> {
        let approved = stream::iter(calls).then(|call| self.approved(call, offered));
        let approved = async move {
            match approved.try_collect::<Vec<_>>().await {
                Ok(decided) => decided,
                Err(error) => vec![Decided::Not(error)],
            }
        };
        let running = stream::once(approved).flat_map(stream::iter).map(|call| call.run(self));
        running.buffered(self.rules.parallel)
    }

    async fn approved(&self, call: ToolCall, offered: &[ToolSpec]) -> Result<Decided<'_>> {
        let Some((spec, tool)) = self.find(&call.name) else {
            return Ok(Decided::Answered(self.unknown(&call, offered)));
        };
        let verdict = match &self.rules.approval {
            Some(approval) => {
                let verdict = async { Ok(approval.approve(&call, spec, &self.context).await) };
                let asked = caught(ErrorKind::Tool, "the approval", verdict).await;
                asked.map_err(|error| error.context(format!("call {:?} of {:?}", call.id, call.name)))?
            }
            None => ApprovalDecision::Allow,
        };
        Ok(match verdict {
            ApprovalDecision::Allow => Decided::Allowed(call, tool),
            ApprovalDecision::Refuse(reason) => {
                Decided::Answered(ToolResult::error(&call, format!("this call was refused: {reason}")))
            }
        })
    }

    fn find(&self, name: &str) -> Option<(&ToolSpec, &dyn Tool)> {
        let (spec, tool) = self.tools.iter().find(|(spec, _)| spec.name == name)?;
        Some((spec, tool.as_ref()))
    }

    fn unknown(&self, call: &ToolCall, offered: &[ToolSpec]) -> ToolResult {
        let mut names: Vec<_> = self.specs().chain(offered).map(|spec| spec.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let name = &call.name;
        if names.is_empty() {
            return ToolResult::error(call, format!("unknown tool {name:?}: there are no tools"));
        }
        ToolResult::error(call, format!("unknown tool {name:?}, one of: {}", names.join(", ")))
    }
}

/// A call that may run, or the result of one that may not.
enum Decided<'a> {
    Allowed(ToolCall, &'a dyn Tool),
    Answered(ToolResult),
    /// The approval failed.
    Not(Error),
}

impl Decided<'_> {
    async fn run(self, tools: &Tools) -> Result<ToolResult> {
        let (call, tool) = match self {
            Self::Allowed(call, tool) => (call, tool),
            Self::Answered(result) => return Ok(result),
            Self::Not(error) => return Err(error),
        };
        let answer = async { tool.call_with(&call.arguments, &tools.context).await };
        let answer = caught(ErrorKind::Tool, "the tool", answer);
        Ok(match tools.rules.in_time(pin!(answer)).await {
            Ok(content) => shallow(&call, content),
            Err(error) => ToolResult::error(&call, error.whole()),
        })
    }
}

impl Rules {
    async fn in_time<T>(&self, work: impl Future<Output = Result<T>> + Unpin) -> Result<T> {
        let Some((longest, timer)) = &self.timeout else { return work.await };
        // The timer is started first, so that its failure is known before the work begins.
        let sleep = caught_now(ErrorKind::Tool, TIMER, || Ok(timer.sleep(*longest)))?;
        let sleep = caught(ErrorKind::Tool, TIMER, sleep.map(Ok));
        match select(work, pin!(sleep)).await {
            Either::Left((done, _)) => done,
            Either::Right((Ok(()), _)) => {
                let message = format!("the tool did not answer within {longest:?}");
                Err(Error::new(ErrorKind::Tool, message))
            }
            Either::Right((Err(panicked), _)) => Err(panicked),
        }
    }
}
