//! A flow that runs: prints what it says, asks a person at the terminal, and ends with how far it ran.

use std::collections::BTreeSet;
use std::io::Write as _;

use alloquy::core::{Conversation, Error, ErrorKind, NodeId, Result, Role};
use alloquy::flows::{FlowRunner, Progress, TracedStep};
use serde_json::{Value, json};

use super::waits::{asked, expected, resume_line, wait_json, waits_of};
use crate::asking;
use crate::context::Context;
use crate::failure::{self, Failure};
use crate::screen;

/// A flow in a conversation.
pub(super) struct FlowRun {
    pub(super) runner: FlowRunner,
    pub(super) chat: Conversation,
}

impl FlowRun {
    /// Returns the nodes of the path.
    pub(super) async fn nodes(&self) -> Result<BTreeSet<NodeId>> {
        Ok(self.chat.history().await?.iter().map(|node| node.id).collect())
    }

    /// Prints the steps whose nodes were not on the path before, asks a person at the terminal as long as the flow waits, and ends with
    /// how far it ran.
    pub(super) async fn finish(
        &self,
        context: &Context,
        mut before: BTreeSet<NodeId>,
        by: Option<&str>,
        mut ran: Result<Progress>,
    ) -> Result<(), Failure> {
        loop {
            let steps = self.steps_since(&before).await?;
            if !context.output.json {
                print_steps(&steps)?;
            }
            let progress = ran?;
            let waits = waits_of(&progress);
            let can_ask = asking::can_ask() && screen::is_out_a_terminal() && !context.output.json;
            if let (Some(wait), true) = (waits.first(), can_ask)
                && let Some(answer) = asked(wait, by)?
            {
                before = self.nodes().await?;
                ran = self.runner.resume(answer).await;
                continue;
            }
            return self.end(context, &progress, &steps);
        }
    }

    fn end(&self, context: &Context, progress: &Progress, steps: &[TracedStep]) -> Result<(), Failure> {
        let id = self.chat.id();
        let flow = &self.runner.flow().name;
        if context.output.json {
            let waits: Vec<_> = waits_of(progress).iter().map(wait_json).collect();
            let mut value = json!({
                "conversation": id, "flow": flow, "progress": progress, "steps": steps,
            });
            if let Some(shown) = value.get_mut("progress").and_then(Value::as_object_mut)
                && !waits.is_empty()
            {
                shown.insert("waits".to_owned(), waits.into());
            }
            context.print("", &value)?;
        }
        match stopped(flow, progress) {
            Some(error) => {
                failure::print(&error);
                Err(Failure::Problems)
            }
            None => {
                self.note(context, progress);
                Ok(())
            }
        }
    }

    fn note(&self, context: &Context, progress: &Progress) {
        let id = self.chat.id();
        for wait in waits_of(progress) {
            context.notes.say(format_args!("({} waits for {})", wait.state, expected(wait)));
            context.notes.say(format_args!("(resume: {})", resume_line(id, wait)));
        }
        if let Progress::Ended { state } = progress {
            context.notes.say(format_args!("(the flow ended at {state}; conversation {id})"));
        }
    }

    /// Returns the steps whose nodes are new on the path.
    async fn steps_since(&self, before: &BTreeSet<NodeId>) -> Result<Vec<TracedStep>> {
        let mut steps = TracedStep::all(&self.chat.history().await?)?;
        steps.retain(|step| !before.contains(&step.node));
        Ok(steps)
    }
}

/// Prints the texts of the assistant: what states say, what they ask people, and the replies of the model.
fn print_steps(steps: &[TracedStep]) -> Result<(), Failure> {
    let mut out = screen::out(screen::of_documents());
    for step in steps {
        let is_answer = step.role == Role::User;
        let is_result = step.role == Role::Tool;
        if is_answer || is_result || step.text.is_empty() {
            continue;
        }
        out.write_all(format!("{}\n", step.text).as_bytes())?;
    }
    Ok(out.flush()?)
}

/// Returns the error of a flow that neither ended nor waits.
fn stopped(flow: &str, progress: &Progress) -> Option<Error> {
    let message = match progress {
        Progress::Ended { .. } | Progress::Waiting { .. } => return None,
        Progress::Stuck { state, why } => {
            format!("flow {flow:?} is stuck at {state:?}, because no transition is taken: {}", why.join("; "))
        }
        Progress::TooManySteps { state, steps } => {
            format!("flow {flow:?} did not enter {state:?}: its limit is {steps} steps")
        }
        Progress::TooManyVisits { state, visits } => {
            format!("flow {flow:?} did not enter {state:?} again: the limit is {visits} visits")
        }
        Progress::TimedOut { state, seconds } => {
            format!("flow {flow:?} did not enter {state:?}: its limit is {seconds} seconds")
        }
        Progress::Changed { state, .. } => format!(
            "flow {flow:?} is at {state:?}, which its definition no longer has; name the former file with --flow, or go back \
             with `alloquy goto`"
        ),
        Progress::Branched { state, .. } => format!(
            "another program continued flow {flow:?} at the same time; the step of {state:?} is stored on a branch, which \
             `alloquy tree` shows"
        ),
        _ => format!("flow {flow:?} stopped at {:?}", progress.state()),
    };
    Some(Error::new(ErrorKind::Conflict, message))
}
