//! Shows a reply that is complete as a stream.

use alloquy_core::stream::EventStream;
use alloquy_core::{Reply, ReplyStream};

use crate::redact::delta_of;

/// Returns the stream of a reply: a delta for each part of its message.
pub(crate) fn stream_of(reply: Reply) -> ReplyStream {
    EventStream::new(move |mut emit| async move {
        for part in &reply.message.parts {
            if let Some(delta) = delta_of(&part.content) {
                emit.send(delta).await;
            }
        }
        Ok(reply)
    })
}
