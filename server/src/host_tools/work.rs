//! What answers a request: a turn, or approved calls and the turn after them.

use std::pin::Pin;
use std::task::{Context, Poll};

use alloquy_core::chat_model::Origin;
use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::stop::{StopSignal, Task};
use alloquy_core::store::HeadMove;
use alloquy_core::stream::{Emitter, EventStream};
use alloquy_core::tool::{ToolContext, Toolbox};
use alloquy_core::{
    Conversation, Delta, Error, ErrorKind, Message, Node, NodeId, Owner, Result, Turn, TurnEvent, TurnReply,
    TurnRequest,
};
use futures::{Stream, StreamExt, stream};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::approvals::Decisions;
use crate::app::App;
use crate::error::ApiError;
use crate::items::{DECISIONS, MARK};
use crate::streaming::Running;

/// What answers a request.
pub(crate) enum Work {
    Turn(Box<Turn>),
    Approved(Approved),
}

/// Approved calls, and the turn after them. If it is dropped, the calls end, and what they returned is stored.
pub(crate) struct Approved {
    run: Option<EventStream<Result<TurnEvent, ApiError>, ()>>,
    stop: StopSignal,
}

/// What runs approved calls.
pub(crate) struct ApprovedTurn {
    pub(crate) app: App,
    pub(crate) owner: Owner,
    pub(crate) conversation: Conversation,
    pub(crate) decisions: Decisions,
    /// Whether the calls are claimed already.
    pub(crate) is_claimed: bool,
    /// All tools of the host.
    pub(crate) toolbox: Toolbox,
    pub(crate) messages: Vec<Message>,
    /// The node that the messages follow.
    pub(crate) at: Option<NodeId>,
    /// Where the head was.
    pub(crate) head: Option<NodeId>,
    /// What marks the messages.
    pub(crate) mark: Value,
    /// The turn after the messages, without them.
    pub(crate) turn: TurnRequest,
    /// The group of the server's turns.
    pub(crate) task: Task,
}

impl Work {
    /// Begins with the calls that are approved.
    pub(crate) fn approved(turn: ApprovedTurn) -> Self {
        let stop = StopSignal::default();
        let signal = stop.clone();
        let run = EventStream::new(|mut emit| async move {
            if let Err(error) = turn.run(&signal, &mut emit).await {
                emit.send(Err(error)).await;
            }
            Ok(())
        });
        Self::Approved(Approved { run: Some(run), stop })
    }

    /// Runs to the end, and returns the reply and the messages of the request.
    ///
    /// # Errors
    /// Those of the turn, and of the claim of an approval.
    pub(crate) async fn finish(mut self) -> Result<(TurnReply, Vec<Node>), ApiError> {
        let mut given = Vec::new();
        let mut reply = None;
        while let Some(event) = self.next().await {
            match event? {
                TurnEvent::Node(node) if node.metadata.contains_key(DECISIONS) => given.push(node),
                TurnEvent::Finished(finished) => reply = Some(finished),
                _ => {}
            }
        }
        let ended = || Error::new(ErrorKind::Cancelled, "the turn ended without a reply").into();
        reply.map(|reply| (*reply, given)).ok_or_else(ended)
    }
}

impl Stream for Work {
    type Item = Result<TurnEvent, ApiError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.get_mut() {
            Self::Turn(turn) => {
                turn.poll_next_unpin(context).map(|event| event.map(|event| event.map_err(ApiError::from)))
            }
            Self::Approved(Approved { run: Some(run), .. }) => run.poll_next_unpin(context),
            Self::Approved(_) => Poll::Ready(None),
        }
    }
}

impl Running for Work {
    fn cancel(&self) {
        match self {
            Self::Turn(turn) => turn.cancel(),
            Self::Approved(approved) => approved.stop.stop(),
        }
    }
}

impl Drop for Approved {
    fn drop(&mut self) {
        self.stop.stop();
        let Some(mut run) = self.run.take() else { return };
        if let Ok(runtime) = Handle::try_current() {
            // It ends at once, unless it is storing what tools have done.
            runtime.spawn(async move { while run.next().await.is_some() {} });
        }
    }
}

impl ApprovedTurn {
    async fn run(
        mut self,
        stop: &StopSignal,
        emit: &mut Emitter<Result<TurnEvent, ApiError>>,
    ) -> Result<(), ApiError> {
        let id = self.conversation.id().clone();
        if !self.is_claimed {
            self.decisions.claim(&self.app, &self.owner, &id).await?;
        }
        let calls = self.decisions.approved();
        for call in &calls {
            emit.send(Ok(TurnEvent::Delta(Delta::ToolCall(call.clone())))).await;
        }
        let results = self.results(&calls, stop, emit).await?;
        let mut messages = std::mem::take(&mut self.messages);
        self.decisions.fill(&mut messages, &results);
        let (question, head) = self.add(messages, &calls, emit).await?;
        if stop.is_stopped() || self.task.stop_signal().is_stopped() {
            let message = "the reply was stopped before its first word";
            return Err(Error::new(ErrorKind::Cancelled, message).into());
        }
        let turn = self.turn.clone().at(question).expected_head(head);
        let mut turn = self.conversation.complete(turn);
        let mut stopped = stop.cut(stream::pending::<()>());
        let mut is_stopped = false;
        loop {
            let event = tokio::select! {
                _ = stopped.next(), if !is_stopped => {
                    is_stopped = true;
                    turn.cancel();
                    continue;
                }
                event = turn.next() => event,
            };
            let Some(event) = event else { return Ok(()) };
            emit.send(event.map_err(ApiError::from)).await;
        }
    }

    /// Runs the calls. Those that are stopped have no result.
    async fn results(
        &self,
        calls: &[ToolCall],
        stop: &StopSignal,
        emit: &mut Emitter<Result<TurnEvent, ApiError>>,
    ) -> Result<Vec<ToolResult>, ApiError> {
        let origin = Origin::new(self.owner.clone(), self.conversation.id().clone()).parent(self.at);
        let tools = self.toolbox.now()?.with_context(ToolContext::default().origin(origin));
        let ended = self.task.stop_signal();
        if stop.is_stopped() || ended.is_stopped() {
            return Ok(Vec::new());
        }
        let mut answers = stop.cut(ended.cut(Box::pin(tools.answer(calls, &[]))));
        let mut results = Vec::with_capacity(calls.len());
        while let Some(result) = answers.next().await {
            emit.send(Ok(TurnEvent::ToolResult(result.clone()))).await;
            results.push(result);
        }
        Ok(results)
    }

    /// Stores the messages with the results, and returns the last one and where the head must be for the reply to move it. What a tool
    /// may have done is on the path of the head.
    async fn add(
        &self,
        mut messages: Vec<Message>,
        calls: &[ToolCall],
        emit: &mut Emitter<Result<TurnEvent, ApiError>>,
    ) -> Result<(NodeId, Option<NodeId>), ApiError> {
        let added = match self.conversation.add(self.adding(messages.clone(), calls)).await {
            Err(error) if matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Unsupported) => {
                let refused = |call: &ToolCall| {
                    ToolResult::error(call, format!("the result of the call cannot be stored: {error:#}"))
                };
                let refused: Vec<ToolResult> = calls.iter().map(refused).collect();
                self.decisions.fill(&mut messages, &refused);
                self.conversation.add(self.adding(messages, calls)).await?
            }
            added => added?,
        };
        for node in added.nodes {
            emit.send(Ok(TurnEvent::Node(node))).await;
        }
        let is_moved = !calls.is_empty() && added.head == HeadMove::Moved;
        let question = added.node.unwrap_or(self.decisions.question);
        Ok((question, if is_moved { Some(question) } else { self.head }))
    }

    fn adding(&self, messages: Vec<Message>, calls: &[ToolCall]) -> TurnRequest {
        let head = if calls.is_empty() { Some(NodeId::new()) } else { self.head };
        TurnRequest::from(messages)
            .at(self.at)
            .expected_head(head)
            .last_message_id(self.decisions.question)
            .message_metadata(MARK, self.mark.clone())
            .message_metadata(DECISIONS, json!(self.decisions.all))
    }
}
