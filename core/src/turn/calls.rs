//! Calls and their results in a row of messages: no result without its call, no call left behind without a result.
//! Knows messages; not tools, not stores.

use crate::message::{Message, Role, ToolCall, ToolResult};
use crate::tool::must_be_shallow;
use crate::{Error, ErrorKind, Result};

/// The calls at the end of a row of messages that nothing has answered yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OpenCalls(Vec<ToolCall>);

impl OpenCalls {
    /// Looks at the end of `messages`: a reply with calls, and the results that follow it.
    pub(crate) fn after<'a>(messages: impl DoubleEndedIterator<Item = &'a Message>) -> Self {
        let mut results = Vec::new();
        for message in messages.rev() {
            if message.role != Role::Tool {
                let mut open = Self(message.tool_calls().cloned().collect());
                results.into_iter().for_each(|result: &ToolResult| drop(open.take(result)));
                return open;
            }
            results.extend(message.tool_results());
        }
        Self::default()
    }

    /// Returns `messages` as they may follow: before one that talks past open calls stands their answer that nobody
    /// answered them.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a result of a call that is not open, and for one that nests too deep to be kept.
    pub(crate) fn followed_by(&mut self, messages: &[Message]) -> Result<Vec<Message>> {
        let mut row = Vec::with_capacity(messages.len());
        for message in messages {
            for result in message.tool_results() {
                must_be_shallow(result)?;
                self.take(result)?;
            }
            if message.role != Role::Tool && !self.0.is_empty() {
                row.push(unanswered(&std::mem::take(&mut self.0)));
            }
            self.0.extend(message.tool_calls().cloned());
            row.push(message.clone());
        }
        Ok(row)
    }

    /// Returns the calls, in order.
    pub(crate) fn into_calls(self) -> Vec<ToolCall> {
        self.0
    }

    /// Takes out the call that `result` answers. Ids may repeat in what others wrote: the first counts.
    fn take(&mut self, result: &ToolResult) -> Result<()> {
        let Some(place) = self.0.iter().position(|call| call.id == result.id) else {
            return Err(self.orphaned(result));
        };
        self.0.remove(place);
        Ok(())
    }

    fn orphaned(&self, result: &ToolResult) -> Error {
        let open: Vec<_> = self.0.iter().map(|call| format!("{:?}", call.id)).collect();
        let message =
            format!("the result {:?} answers no open call; open are: [{}]", result.id, open.join(", "));
        Error::new(ErrorKind::Invalid, message)
    }
}

fn unanswered(calls: &[ToolCall]) -> Message {
    let reason = "nobody answered this call before the conversation went on";
    Message::tool(calls.iter().map(|call| ToolResult::error(call, reason)).collect())
}
