//! The tools of a manager and the rules they run under. Knows calls and results, not nodes.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{Either, select};
use futures::{Stream, StreamExt, stream};

use super::{Approval, Timer, Tool, ToolSource, Verdict};
use crate::message::{ToolCall, ToolResult};
use crate::preface::ToolSpec;
use crate::turn_data::TurnData;
use crate::{Error, ErrorKind, Result};

/// How many calls of one reply run at once unless told otherwise.
const PARALLEL: usize = 8;

/// Tools, and the rules they run under: who approves of a call, how long it may take, how many run at once.
///
/// ```
/// use alloquy_core::Toolbox;
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
    /// [`ErrorKind::Tool`] when a name is empty or taken.
    pub fn now(&self) -> Result<Tools> {
        let mut tools = Tools { tools: Vec::new(), rules: self.rules.clone(), data: TurnData::default() };
        self.sources.iter().flat_map(ToolSource::tools).try_for_each(|tool| tools.add(tool))?;
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
    data: TurnData,
}

impl Tools {
    /// Sets what the host hands to the tools.
    #[must_use]
    pub fn with_data(mut self, data: TurnData) -> Self {
        self.data = data;
        self
    }

    fn add(&mut self, tool: Arc<dyn Tool>) -> Result<()> {
        let spec = tool.spec();
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
    /// A tool that fails answers with its error, and so do a call that was refused, one that took too long, and one of
    /// a name that is not here: the model reads which names there are, those of `offered` too.
    pub fn answer(&self, calls: &[ToolCall], offered: &[ToolSpec]) -> impl Stream<Item = ToolResult> {
        let approved = stream::iter(calls.to_vec()).then(|call| self.approved(call, offered));
        let approved = async move { approved.collect::<Vec<_>>().await };
        let running = stream::once(approved).flat_map(stream::iter).map(|call| call.run(self));
        running.buffered(self.rules.parallel)
    }

    async fn approved(&self, call: ToolCall, offered: &[ToolSpec]) -> Decided<'_> {
        let Some((spec, tool)) = self.find(&call.name) else {
            return Decided::Answered(self.unknown(&call, offered));
        };
        let verdict = match &self.rules.approval {
            Some(approval) => approval.approve(&call, spec).await,
            None => Verdict::Allow,
        };
        match verdict {
            Verdict::Allow => Decided::Allowed(call, tool),
            Verdict::Refuse(reason) => {
                Decided::Answered(ToolResult::error(&call, format!("this call was refused: {reason}")))
            }
        }
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
}

impl Decided<'_> {
    async fn run(self, tools: &Tools) -> ToolResult {
        let (call, tool) = match self {
            Self::Allowed(call, tool) => (call, tool),
            Self::Answered(result) => return result,
        };
        match tools.rules.in_time(tool.call_with(&call.arguments, &tools.data)).await {
            Ok(content) => ToolResult::ok(&call, content),
            Err(error) => ToolResult::error(&call, format!("{error:#}")),
        }
    }
}

impl Rules {
    async fn in_time<T>(&self, work: impl Future<Output = Result<T>> + Unpin) -> Result<T> {
        let Some((longest, timer)) = &self.timeout else { return work.await };
        match select(work, timer.sleep(*longest)).await {
            Either::Left((done, _)) => done,
            Either::Right(((), _)) => {
                let message = format!("the tool did not answer within {longest:?}");
                Err(Error::new(ErrorKind::Tool, message))
            }
        }
    }
}
