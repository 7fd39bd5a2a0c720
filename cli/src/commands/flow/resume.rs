//! `alloquy flow resume`: answers a flow that waits, from any process.

use std::path::PathBuf;
use std::time::SystemTime;

use alloquy::core::prompt_library::Values;
use alloquy::core::{Conversation, ConversationId, Error, ErrorKind, NodeId, Result};
use alloquy::flows::{Position, Progress, Wait};
use clap::Args;
use clap::builder::BoolishValueParser as Switch;

use super::definition::Definition;
use super::opening::FlowArguments;
use super::running::FlowRun;
use super::waits::answer;
use crate::context::Context;
use crate::failure::Failure;
use crate::piped::piped;
use crate::{current, kept, names};

const EXAMPLES: &str = "\
Examples:
  alloquy flow resume tea \"A cup of tea, please.\"
  alloquy flow resume claim yes --by Bea             decides where another person's approval is waited for
  alloquy flow resume tea < answer.txt
  alloquy flow resume tea coffee --correct 0.0.0     answers an earlier question again, on a new branch
  alloquy flow resume tea --late                     continues where the answer is late

Without an answer and nothing piped in, a flow that was interrupted continues. An answer is a text; where the state expects \
something else, it is JSON. The flow is read from its file, or, if that is gone, as it was stored with the conversation; --flow \
names another file.

Exit codes: 0 the flow ended or waits again, 1 it is stuck, exceeded a limit or failed, 2 wrong arguments.";

/// Answer a flow that waits, and run it until it waits again or ends
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Resume {
    /// The conversation; the last one unless set
    #[arg(env = "ALLOQUY_CONVERSATION")]
    conversation: Option<ConversationId>,
    /// The answer; what is piped in unless set
    answer: Option<String>,
    /// Who answers; a decision needs it
    #[arg(long, value_name = "NAME", env = "ALLOQUY_BY")]
    by: Option<String>,
    /// Answer the state of this name, if several wait
    #[arg(long, value_name = "NAME", env = "ALLOQUY_STATE")]
    state: Option<String>,
    /// Answer on this branch of a fork, if several wait
    #[arg(long, value_name = "NAME", env = "ALLOQUY_BRANCH")]
    branch: Option<String>,
    /// Answer an earlier question again: the address of the question or of its answer. What followed stays as a branch
    #[arg(long, value_name = "ADDRESS", env = "ALLOQUY_CORRECT", conflicts_with = "late")]
    correct: Option<String>,
    /// Continue without an answer where it is late
    #[arg(long, env = "ALLOQUY_LATE", value_parser = Switch::new(), conflicts_with = "answer")]
    late: bool,
    /// Run the definition in this file
    #[arg(long = "flow", value_name = "FILE", env = "ALLOQUY_FLOW")]
    file: Option<PathBuf>,
    #[command(flatten)]
    flow: FlowArguments,
}

impl Resume {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(self.resume(context))
    }

    async fn resume(self, context: &Context) -> Result<(), Failure> {
        let run = self.opened(context).await?;
        let before = run.nodes().await?;
        let text = match &self.answer {
            Some(answer) => Some(answer.clone()),
            None if self.late => None,
            None => piped()?.map(|text| text.trim_end_matches(['\n', '\r']).to_owned()),
        };
        let ran = match (text, &self.correct) {
            (None, Some(_)) => {
                let message = "--correct needs an answer: write it after the conversation, or pipe it in";
                return Err(Failure::Arguments(Error::new(ErrorKind::Invalid, message)));
            }
            (Some(text), Some(address)) => self.correct(&run, address, &text).await?,
            (Some(text), None) => {
                // What a crash left to do comes before the answer.
                let progress = run.runner.run().await;
                match &progress {
                    Ok(Progress::Waiting { waits, .. }) => {
                        let wait = self.wait(waits)?;
                        let answer = answer(wait, &text, self.by.as_deref()).map_err(Failure::Arguments)?;
                        run.runner.resume(answer).await
                    }
                    Ok(Progress::Ended { .. }) => return Err(waits_for_nothing().into()),
                    _ => progress,
                }
            }
            (None, None) if self.late => run.runner.run_late(SystemTime::now()).await,
            (None, None) => run.runner.run().await,
        };
        run.finish(context, before, self.by.as_deref(), ran).await
    }

    async fn opened(&self, context: &Context) -> Result<FlowRun, Failure> {
        let kept = kept::kept(&context.settings.settle(&self.flow.store)?).await?;
        let id = match &self.conversation {
            Some(name) => names::existing(&kept, name).await?.record.id,
            None => current::last(&kept).await?,
        };
        let record = kept.store.record(&kept.owner, &id).await?;
        let path = match record.head {
            Some(head) => kept.store.load_path(&kept.owner, &id, head).await?,
            None => Vec::new(),
        };
        let named = self.file.as_deref();
        let (definition, position) = Definition::on_path(&path, named, &record.metadata, context.notes)?;
        if let Some(position) = &position {
            must_be_same_flow(position, &definition).map_err(Failure::Arguments)?;
            if position.digest != definition.flow.digest() {
                context.notes.say(
                    "the definition has changed since the last step; the flow continues with the new one",
                );
            }
        }
        self.flow.open(context, kept, Some(id), &definition, &Values::new()).await
    }

    /// Finds the state that the answer is for.
    fn wait<'a>(&self, waits: &'a [Wait]) -> Result<&'a Wait> {
        let mut listed = Vec::new();
        for wait in waits {
            let is_state = self.state.as_ref().is_none_or(|state| *state == wait.state);
            let is_branch = self.branch.is_none() || self.branch == wait.branch;
            if is_state && is_branch {
                return Ok(wait);
            }
            listed.push(format!("{:?}", wait.state));
        }
        let named = self.state.as_ref().or(self.branch.as_ref()).cloned().unwrap_or_default();
        let message = format!("the flow does not wait at {named:?}, expected one of {}", listed.join(", "));
        Err(Error::new(ErrorKind::Conflict, message))
    }

    async fn correct(&self, run: &FlowRun, address: &str, text: &str) -> Result<Result<Progress>, Failure> {
        let node = node_at(&run.chat, address).await?;
        let waits = run.runner.waits_at(node).await?;
        if waits.is_empty() {
            let message =
                format!("no state waited at {address:?}, expected a question of the flow or its answer");
            return Err(Failure::from(Error::new(ErrorKind::Invalid, message)));
        }
        let answer = answer(self.wait(&waits)?, text, self.by.as_deref()).map_err(Failure::Arguments)?;
        Ok(run.runner.correct(node, answer).await)
    }
}

fn waits_for_nothing() -> Error {
    let message =
        "the flow has ended and waits for no answer; --correct ADDRESS answers an earlier question again";
    Error::new(ErrorKind::Conflict, message)
}

async fn node_at(chat: &Conversation, address: &str) -> Result<NodeId> {
    chat.resolve(address).await?.ok_or_else(|| {
        let message =
            format!("{address:?} is before the first message, expected a question of the flow or its answer");
        Error::new(ErrorKind::Invalid, message)
    })
}

/// Refuses to continue one flow with the definition of another one.
fn must_be_same_flow(position: &Position, definition: &Definition) -> Result<()> {
    if position.name == definition.flow.name {
        return Ok(());
    }
    let message = format!(
        "{} defines flow {:?}, and flow {:?} runs in this conversation; `alloquy flow run` starts another one",
        definition.file.display(),
        definition.flow.name,
        position.name
    );
    Err(Error::new(ErrorKind::Invalid, message))
}
