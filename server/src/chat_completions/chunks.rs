//! The chunks of a streamed completion, in their order: the role, the pieces, the finish reason, the usage, and `[DONE]`.

use alloquy_core::message::ToolCall;
use alloquy_core::{Delta, TurnEvent, TurnReply};
use serde_json::{Value, json};

use super::request::StreamOptions;
use super::response::{Completion, call_of, choice_logprobs};
use crate::error::{ApiError, broken_reply};
use crate::models::OpenedModel;
use crate::streaming::{Frame, TurnWriter};

/// Writes the chunks of one completion.
pub(super) struct ChunkWriter {
    completion: Completion,
    model: OpenedModel,
    has_logprobs: bool,
    options: StreamOptions,
    /// How many calls were written.
    calls: usize,
}

impl ChunkWriter {
    pub(super) fn new(
        completion: Completion,
        model: OpenedModel,
        has_logprobs: bool,
        options: StreamOptions,
    ) -> Self {
        Self { completion, model, has_logprobs, options, calls: 0 }
    }

    /// Returns a chunk with these choices. Where the usage follows, every chunk before it says that it has none.
    fn chunk(&self, choices: &Value) -> Value {
        let mut chunk = self.completion.chunk(choices);
        if let (true, Value::Object(fields)) = (self.options.includes_usage(), &mut chunk) {
            fields.insert("usage".to_owned(), Value::Null);
        }
        chunk
    }

    fn piece(&self, delta: &Value) -> Frame {
        let choices = json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]);
        Frame::json(&self.chunk(&choices))
    }

    fn call(&mut self, call: &ToolCall) -> Frame {
        let mut call = call_of(call);
        if let Value::Object(fields) = &mut call {
            fields.insert("index".to_owned(), self.calls.into());
        }
        self.calls += 1;
        self.piece(&json!({"tool_calls": [call]}))
    }

    fn delta(&mut self, delta: Delta) -> Option<Frame> {
        let fields = match delta {
            Delta::Text(text) => json!({"content": text}),
            Delta::Malformed(malformed) => json!({"content": malformed.raw}),
            Delta::Thinking(text) => json!({"reasoning_content": text}),
            Delta::ToolCall(call) if self.completion.tools.offer(&call) => return Some(self.call(&call)),
            // A call is written once it is whole, since a part of one may turn out to be none.
            _ => return None,
        };
        Some(self.piece(&fields))
    }

    fn end(&mut self, reply: &TurnReply) -> Vec<Frame> {
        if let Some(error) = &reply.reply.error {
            return vec![Frame::json(&broken_reply(error).body())];
        }
        let mut frames = Vec::new();
        for call in self.completion.tools.left_open(&reply.pending) {
            frames.push(self.call(call));
        }
        let report = self.completion.report(reply);
        let logprobs = self.has_logprobs.then(|| choice_logprobs(&reply.reply.logprobs, &self.model));
        let choice =
            json!({"index": 0, "delta": {}, "logprobs": logprobs, "finish_reason": report.finish_reason()});
        let mut last = self.chunk(&json!([choice]));
        if let Value::Object(fields) = &mut last {
            fields.insert("alloquy".to_owned(), report.json());
        }
        frames.push(Frame::json(&last));
        if self.options.includes_usage() {
            let mut chunk = self.completion.chunk(&json!([]));
            if let Value::Object(fields) = &mut chunk {
                fields.insert("usage".to_owned(), report.usage());
            }
            frames.push(Frame::json(&chunk));
        }
        frames.push(Frame::text("[DONE]"));
        frames
    }
}

impl TurnWriter for ChunkWriter {
    fn begin(&mut self) -> Vec<Frame> {
        vec![self.piece(&json!({"role": "assistant", "content": "", "refusal": null}))]
    }

    fn event(&mut self, event: TurnEvent) -> Vec<Frame> {
        match event {
            TurnEvent::Delta(delta) => Vec::from_iter(self.delta(delta)),
            TurnEvent::Finished(reply) => self.end(&reply),
            // What the server's own tools returned is in the stored conversation.
            _ => Vec::new(),
        }
    }

    fn error(&mut self, error: &ApiError) -> Vec<Frame> {
        vec![Frame::json(&error.body())]
    }
}
