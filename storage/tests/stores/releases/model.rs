//! A model that answers by a script: whole replies with all that a reply may say of itself, and those that end early.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use alloquy_core::{
    CacheReport, ChatModel, Delta, Emit, Error, ErrorKind, FinishReason, Message, Part, Reply, ReplyStream,
    Request, Result, Run,
};
use async_trait::async_trait;

/// One reply of a script.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A reply; a signal ends it after its first words.
    Replies(Box<Reply>),
    /// Says this, and fails then.
    Fails(String),
    /// Says this, and nothing more until it is dropped or stopped.
    Hangs(String),
}

impl Step {
    /// A reply of which nothing is known but its text.
    pub(super) fn says(text: &str) -> Self {
        Self::Replies(Box::new(Reply::new(Message::assistant(text))))
    }
}

/// Answers with one step of its script after the other, whatever it is asked.
#[derive(Debug)]
pub(super) struct ScriptedModel {
    name: &'static str,
    steps: Mutex<VecDeque<Step>>,
}

impl ScriptedModel {
    pub(super) fn new(name: &'static str, steps: impl IntoIterator<Item = Step>) -> Self {
        Self { name, steps: Mutex::new(steps.into_iter().collect()) }
    }
}

#[async_trait]
impl ChatModel for ScriptedModel {
    fn name(&self) -> &str {
        self.name
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let step = self.steps.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let step = step.ok_or_else(|| Error::new(ErrorKind::Invalid, "the script has ended"))?;
        Ok(Run::new(|emit| perform(step, request, emit)))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

async fn perform(step: Step, request: Request, mut emit: Emit<Delta>) -> Result<Reply> {
    match step {
        Step::Replies(reply) => replies(*reply, &request, emit).await,
        Step::Fails(text) => {
            emit.send(Delta::Text(text)).await;
            Err(Error::new(ErrorKind::Backend, "the model's memory is gone"))
        }
        Step::Hangs(text) => {
            emit.send(Delta::Text(text.clone())).await;
            // Whoever listens polls again after it has stopped.
            while !request.stop.is_stopped() {
                std::future::poll_fn(pend_once()).await;
            }
            Ok(cancelled(Message::assistant(text)))
        }
    }
}

/// Is pending at the first poll, and asks for another.
fn pend_once() -> impl FnMut(&mut std::task::Context<'_>) -> std::task::Poll<()> {
    let mut has_waited = false;
    move |context| {
        if has_waited {
            return std::task::Poll::Ready(());
        }
        has_waited = true;
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    }
}

async fn replies(reply: Reply, request: &Request, mut emit: Emit<Delta>) -> Result<Reply> {
    let mut said = Vec::new();
    for part in &reply.message.parts {
        if request.stop.is_stopped() {
            return Ok(cancelled(Message::new(reply.message.role, said)));
        }
        emit.send(match part.content.clone() {
            Part::Text(text) => Delta::Text(text),
            Part::Thinking(text) => Delta::Thinking(text),
            Part::Channel(said) => Delta::Channel(said),
            Part::ToolCall(call) => Delta::ToolCall(call),
            Part::Malformed(malformed) => Delta::Malformed(malformed),
            other => return Err(Error::new(ErrorKind::Invalid, format!("no model says {other:?}"))),
        })
        .await;
        said.push(part.content.clone());
    }
    Ok(reply)
}

fn cancelled(said: Message) -> Reply {
    let mut reply = Reply::new(said);
    reply.finish = FinishReason::Cancelled;
    reply
}
