//! Ids of tool calls in a conversation of which the model sees a part: a new one must not repeat one that is out of
//! its sight.

use std::collections::HashSet;

use futures::StreamExt;

use super::Next;
use crate::Result;
use crate::chat_model::{Degradation, ReplyStream, Request};
use crate::message::{Message, Part};
use crate::processor::Delta;
use crate::stream::Run;

/// The ids of a path's calls.
pub(super) fn of(path: &[Message]) -> HashSet<String> {
    path.iter().flat_map(Message::tool_calls).map(|call| call.id.clone()).collect()
}

/// Asks for an answer to a request whose path may be a part of what was said, and lets the reply say so; `called` are the
/// ids of all calls.
pub(super) async fn answered(
    request: Request,
    called: HashSet<String>,
    degradations: Vec<Degradation>,
    next: Next<'_>,
) -> Result<ReplyStream> {
    let stream = next.call(request).await?;
    Ok(if degradations.is_empty() { stream } else { told(stream, called, degradations) })
}

/// A reply that says what was not as asked, and whose calls have ids that nobody else has.
fn told(mut stream: ReplyStream, taken: HashSet<String>, degradations: Vec<Degradation>) -> ReplyStream {
    Run::new(move |mut emit| async move {
        while let Some(mut delta) = stream.next().await {
            match &mut delta {
                Delta::ToolCall(call) => make_unique(&mut call.id, &taken),
                Delta::Arguments(piece) => make_unique(&mut piece.id, &taken),
                _ => {}
            }
            emit.send(delta).await;
        }
        let mut reply = stream.finish().await?;
        for part in &mut reply.message.parts {
            if let Part::ToolCall(call) = &mut part.content {
                make_unique(&mut call.id, &taken);
            }
        }
        reply.degradations.splice(..0, degradations);
        Ok(reply)
    })
}

/// The same call gets the same id, in the deltas and in the message.
fn make_unique(id: &mut String, taken: &HashSet<String>) {
    if taken.contains(id) {
        let mut others = (2..u64::MAX).map(|number| format!("{id}_{number}"));
        if let Some(other) = others.find(|other| !taken.contains(other)) {
            *id = other;
        }
    }
}
