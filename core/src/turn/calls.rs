//! Tool calls and their results in a list of messages: no result without its call, and no call without a result.

use crate::message::{Message, Role, ToolCall, ToolResult};
use crate::tool::must_be_shallow;
use crate::{Error, ErrorKind, Result};

/// The calls at the end of a list of messages that have no results yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OpenCalls(Vec<ToolCall>);

impl OpenCalls {
    /// Reads the end of `messages`: a reply with calls, and the results after it.
    pub(crate) fn after<'a>(messages: impl DoubleEndedIterator<Item = &'a Message>) -> Self {
        let mut results = Vec::new();
        for message in messages.rev() {
            if message.role != Role::Tool {
                let mut open = Self(message.tool_calls().cloned().collect());
                for result in results {
                    // A stored result without its call is ignored.
                    let _ = open.take(result);
                }
                return open;
            }
            results.extend(message.tool_results());
        }
        Self::default()
    }

    /// Returns `messages` in a valid order. If a message follows open calls without their results, error results are
    /// inserted before it.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a result of a call that is not open, and for a result that nests too deep.
    pub(crate) fn followed_by(&mut self, messages: &[Message]) -> Result<Vec<Message>> {
        let mut list = Vec::with_capacity(messages.len());
        for message in messages {
            for result in message.tool_results() {
                must_be_shallow(result)?;
                self.take(result)?;
            }
            if message.role != Role::Tool && !self.0.is_empty() {
                list.push(unanswered(&std::mem::take(&mut self.0)));
            }
            self.0.extend(message.tool_calls().cloned());
            list.push(message.clone());
        }
        Ok(list)
    }

    /// Returns the calls, in order.
    pub(crate) fn into_calls(self) -> Vec<ToolCall> {
        self.0
    }

    /// Removes the call of `result`. Ids may repeat in imported messages: the first one counts.
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
    let reason = "this call had no result when the conversation continued";
    Message::tool(calls.iter().map(|call| ToolResult::error(call, reason)).collect())
}
