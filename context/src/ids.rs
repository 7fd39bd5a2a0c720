//! Ids of tool calls in a conversation of which the model sees a part: a new one must not repeat one that is out of
//! its sight.

use alloquy_core::message::MessagePath;
use alloquy_core::middleware::Next;
use alloquy_core::report::{CutHistory, Degradation};
use alloquy_core::stream::Run;
use alloquy_core::{Content, Delta, ReplyStream, Request, Result};
use futures::StreamExt;

/// Asks for an answer to a request whose path may be a part of what was said, and lets the reply say so; `said` is all of it.
pub(crate) async fn answered(
    request: Request,
    said: MessagePath,
    degradations: Vec<Degradation>,
    cut: Option<CutHistory>,
    next: Next<'_>,
) -> Result<ReplyStream> {
    let stream = next.call(request).await?;
    if degradations.is_empty() { Ok(stream) } else { Ok(told(stream, said, degradations, cut)) }
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
    let outline = said.outline();
    if !outline.has_call(id) {
        return;
    }
    let mut others = (2..u64::MAX).map(|number| format!("{id}_{number}"));
    if let Some(other) = others.find(|other| !outline.has_call(other)) {
        *id = other;
    }
}
