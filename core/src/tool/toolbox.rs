//! The tools of a manager and the rules they run under. Knows calls and results, not nodes.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{Either, select};
use futures::{FutureExt, Stream, StreamExt, TryStreamExt, stream};

use super::depth::shallow;
use super::{Approval, Timer, Tool, ToolContext, ToolSource, Verdict};
use crate::chat_model::Origin;
use crate::message::{ToolCall, ToolResult};
use crate::panics::{caught, caught_now};
use crate::preface::ToolSpec;
use crate::{Error, ErrorKind, Result};

/// How many calls of one reply run at once unless told otherwise.
const PARALLEL: usize = 8;

/// Who panicked, where the timer does.
const TIMER: &str = "the timer of the tools";

/// Tools, and the rules they run under: who approves of a call, how long it may take, how many run at once.
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
    sources: Vec<Arc<dyn ToolSource>>,
    rules: Rules,
}

#[derive(Clone, Debug)]
struct Rules {
    approval: Option<Arc<dyn Approval>>,
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

    /// Adds the tools of a source, whichever it has when a turn starts.
    pub fn source(mut self, source: impl ToolSource + 'static) -> Self {
        self.sources.push(Arc::new(source));
        self
    }

    /// Puts every call before `approval`; all are allowed unless set.
    pub fn approval(mut self, approval: impl Approval + 'static) -> Self {
        self.rules.approval = Some(Arc::new(approval));
        self
    }

    /// Ends a call that takes longer; unless set, a call may take for ever.
    pub fn timeout(mut self, longest: Duration, timer: impl Timer + 'static) -> Self {
        self.rules.timeout = Some((longest, Arc::new(timer)));
        self
    }

    /// Runs at most this many calls of one reply at once; 8 unless set, and 0 is taken for 1.
    pub fn parallel(mut self, calls: usize) -> Self {
        self.rules.parallel = calls.max(1);
        self
    }

    /// Returns the tools that there are now.
    ///
    /// # Errors
    /// [`ErrorKind::Tool`] when a name is empty or taken, and when a source or a tool's description panics.
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

/// A tool that is always there.
#[derive(Debug)]
struct One(Arc<dyn Tool>);

impl ToolSource for One {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        vec![Arc::clone(&self.0)]
    }
}

/// The tools that there were when [`Toolbox::now`] was called.
#[derive(Clone, Debug)]
pub struct Tools {
    tools: Vec<(ToolSpec, Arc<dyn Tool>)>,
    rules: Rules,
    context: ToolContext,
}

impl Tools {
    /// Sets what the tools and the approval may know of the turn.
    #[must_use]
    pub fn with_context(mut self, context: ToolContext) -> Self {
        self.context = context;
        self
    }

    /// Says whose turn it is.
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

    /// Returns the tools' descriptions in the order they were added.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.iter().map(|(spec, _)| spec)
    }

    /// Says whether a tool of this name is here.
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Answers calls, in their order, each as soon as those before it are answered.
    ///
    /// A tool that fails or panics answers with its error, and so do a call that was refused, one that took too long, one
    /// whose answer nests deeper than [`RESULT_DEPTH`](super::RESULT_DEPTH), and one of a name that is not here: the model reads which names
    /// there are, those of `offered` too. Where the approval panics, no call runs, and each is answered so.
    pub fn answer(&self, calls: &[ToolCall], offered: &[ToolSpec]) -> impl Stream<Item = ToolResult> {
        let calls = calls.to_vec();
        self.results(calls.clone(), offered).flat_map(move |result| {
            stream::iter(match result {
                Ok(result) => vec![result],
                // The only item: nothing ran.
                Err(error) => {
                    let refused = |call| ToolResult::error(call, format!("this call was refused: {error:#}"));
                    calls.iter().map(refused).collect()
                }
            })
        })
    }

    /// Answers calls as [`answer`](Self::answer) does; an approval that panics is an error, before anything runs.
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
            None => Verdict::Allow,
        };
        Ok(match verdict {
            Verdict::Allow => Decided::Allowed(call, tool),
            Verdict::Refuse(reason) => {
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
        ToolResult::error(
            call,
            match names.is_empty() {
                true => format!("unknown tool {name:?}: there are no tools"),
                false => format!("unknown tool {name:?}, one of: {}", names.join(", ")),
            },
        )
    }
}

/// A call that may run, or what it is answered without running.
enum Decided<'a> {
    Allowed(ToolCall, &'a dyn Tool),
    Answered(ToolResult),
    /// Nobody could decide.
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
        // A timer that cannot be set is known before the work begins.
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
