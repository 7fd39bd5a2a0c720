//! Builds a reply from its deltas, for models that receive deltas from elsewhere.

use futures::{Stream, StreamExt};

use super::{Reply, ReplyStream, Request};
use crate::error::Result;
use crate::message::{Message, Role};
use crate::processor::Delta;
use crate::report::{FinishReason, Warning};
use crate::stream::EventStream;

impl ReplyStream {
    /// Builds the reply to a request from deltas that come from elsewhere, such as a server. They join to its message,
    /// and the request's stop signal ends it early.
    ///
    /// `honoured` names the sampling options that have an effect there, by their [`SamplingOptions::names`]. Every
    /// other option of the request is reported as ignored. An error among the deltas ends the reply: what came before
    /// is the message, and [`Reply::error`] says what failed. The request's [output constraints](Request::output) is not
    /// checked here: the model enforces it, or refuses the request before.
    ///
    /// [`SamplingOptions::names`]: crate::SamplingOptions::names
    ///
    /// ```
    /// use alloquy_core::{Delta, ReplyStream, Request};
    /// use alloquy_core::report::FinishReason;
    ///
    /// # pollster::block_on(async {
    /// let pieces = ["Hello, ", "world"].map(|text| Ok(Delta::Text(text.to_owned())));
    /// let request = Request::default();
    /// let reply = ReplyStream::of_deltas(&request, &["temperature"], futures::stream::iter(pieces)).finish().await?;
    /// assert_eq!((reply.text().as_str(), reply.finish), ("Hello, world", FinishReason::Stop));
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn of_deltas(
        request: &Request,
        honoured: &[&str],
        deltas: impl Stream<Item = Result<Delta>> + Send + 'static,
    ) -> Self {
        let mut ignored = Vec::new();
        for name in request.sampling.names() {
            if !honoured.contains(&name) {
                ignored.push(Warning::OptionIgnored { name: name.to_owned() });
            }
        }
        let stop = request.stop.clone();
        EventStream::new(move |mut emit| async move {
            let mut deltas = stop.cut(Box::pin(deltas));
            let mut parts = Vec::new();
            let mut error = None;
            while let Some(delta) = deltas.next().await {
                match delta {
                    Ok(delta) => {
                        delta.join_to(&mut parts);
                        emit.send(delta).await;
                    }
                    Err(failure) => {
                        error = Some(format!("{failure:#}"));
                        break;
                    }
                }
            }
            let mut reply = Reply::new(Message::new(Role::Assistant, parts));
            let calls_tools = reply.message.tool_calls().next().is_some();
            reply.finish = if error.is_some() {
                FinishReason::Error
            } else if stop.is_stopped() {
                FinishReason::Cancelled
            } else if calls_tools {
                FinishReason::ToolCalls
            } else {
                FinishReason::Stop
            };
            reply.error = error;
            reply.warnings = ignored;
            Ok(reply)
        })
    }
}
