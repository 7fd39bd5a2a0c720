//! Ids of tool calls in a conversation of which the model sees a part: a new one must not repeat one that is out of
//! its sight.

use futures::StreamExt;

use super::Next;
use crate::Result;
use crate::chat_model::{ReplyStream, Request};
use crate::message::{Content, MessagePath};
use crate::processor::Delta;
use crate::report::{CutHistory, Degradation};
use crate::stream::Run;

/// Asks for an answer to a request whose path may be a part of what was said, and lets the reply say so; `said` is all of it.
pub(super) async fn answered(
    request: Request,
    said: MessagePath,
    degradations: Vec<Degradation>,
    cut: Option<CutHistory>,
    next: Next<'_>,
) -> Result<ReplyStream> {
    let stream = next.call(request).await?;
    Ok(if degradations.is_empty() { stream } else { told(stream, said, degradations, cut) })
}

/// A reply that says what was not as asked, and whose calls have ids that nobody else has.
fn told(
    mut stream: ReplyStream,
    mut said: MessagePath,
    degradations: Vec<Degradation>,
    cut: Option<CutHistory>,
) -> ReplyStream {
    Run::new(move |mut emit| async move {
        while let Some(mut delta) = stream.next().await {
            match &mut delta {
                Delta::ToolCall(call) => make_unique(&mut call.id, &mut said),
                Delta::Arguments(piece) => make_unique(&mut piece.id, &mut said),
                _ => {}
            }
            emit.send(delta).await;
        }
        let mut reply = stream.finish().await?;
        for part in &mut reply.message.parts {
            if let Content::ToolCall(call) = &mut part.content {
                make_unique(&mut call.id, &mut said);
            }
        }
        reply.degradations.splice(..0, degradations);
        reply.cut = cut;
        Ok(reply)
    })
}

/// The same call gets the same id, in the deltas and in the message.
fn make_unique(id: &mut String, said: &mut MessagePath) {
    said.outline(|calls, _| {
        if calls.has_call(id) {
            let mut others = (2..u64::MAX).map(|number| format!("{id}_{number}"));
            if let Some(other) = others.find(|other| !calls.has_call(other)) {
                *id = other;
            }
        }
    });
}
