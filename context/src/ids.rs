//! Keeps the ids of tool calls unique in a conversation of which the model sees a part. The model may repeat an id that it does not
//! see.

use alloquy_core::message::MessagePath;
use alloquy_core::middleware::Next;
use alloquy_core::report::{CutHistory, Warning};
use alloquy_core::stream::EventStream;
use alloquy_core::{Content, Delta, ReplyStream, Request, Result};
use futures::StreamExt;

/// Calls the model with a shortened request, and adds the warnings to the reply; `said` is the whole path of the conversation.
pub(crate) async fn answered(
    request: Request,
    said: MessagePath,
    warnings: Vec<Warning>,
    cut: Option<CutHistory>,
    next: Next<'_>,
) -> Result<ReplyStream> {
    let stream = next.call(request).await?;
    if warnings.is_empty() { Ok(stream) } else { Ok(warned(stream, said, warnings, cut)) }
}

/// Returns the reply with its warnings, and with ids of calls that are unique in the conversation.
fn warned(
    mut stream: ReplyStream,
    mut said: MessagePath,
    warnings: Vec<Warning>,
    cut: Option<CutHistory>,
) -> ReplyStream {
    EventStream::new(move |mut emit| async move {
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
        reply.warnings.splice(..0, warnings);
        reply.cut = cut;
        Ok(reply)
    })
}

/// Replaces an id that the conversation has by `ID_2`, `ID_3` and so on. The same call gets the same id in the deltas and in the
/// message.
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
