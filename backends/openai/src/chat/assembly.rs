//! From what a server says to the deltas of a reply, and to the reply.

use std::collections::HashSet;

use alloquy_core::message::Malformed;
use alloquy_core::processor::ToolCallDelta;
use alloquy_core::report::{FinishReason, Usage, Warning};
use alloquy_core::{Content, Delta, Error, ErrorKind, Message, Reply, Request, Role};
use serde_json::Value;

use super::calls::OpenCalls;
use super::event::{ChatEnd, ChatEvent, ChatUsage};
use super::question::{Question, SIGNATURE};
use super::stops::StopTexts;
use crate::wire::ended_because;

/// A reply while it comes.
#[derive(Debug)]
pub(crate) struct Assembly {
    parts: Vec<Content>,
    stops: StopTexts,
    stop_string: Option<String>,
    calls: OpenCalls,
    wants_calls: bool,
    wants_json: bool,
    max_tokens: Option<usize>,
    seed: Option<u64>,
    usage: ChatUsage,
    end: Option<ChatEnd>,
    is_refusal: bool,
    signature: Option<String>,
    warnings: Vec<Warning>,
}

/// What ended a reply, other than the server.
#[derive(Debug)]
pub(crate) enum Cut {
    Cancelled,
    Failed(Error),
}

impl Assembly {
    pub(crate) fn new(request: &Request, question: Question, seed: Option<u64>) -> Self {
        let mut known_ids = HashSet::new();
        for message in &*request.path {
            known_ids.extend(message.tool_calls().map(|call| call.id.clone()));
        }
        Self {
            parts: Vec::new(),
            stops: StopTexts::new(question.sampling.stop.clone()),
            stop_string: None,
            calls: OpenCalls::new(known_ids),
            wants_calls: question.wants_calls(),
            wants_json: question.schema.is_some(),
            max_tokens: question.sampling.max_tokens,
            seed,
            usage: ChatUsage::default(),
            end: None,
            is_refusal: false,
            signature: None,
            warnings: question.warnings,
        }
    }

    /// Takes what the server said.
    pub(crate) fn take(&mut self, event: ChatEvent) -> Vec<Delta> {
        let mut deltas = Vec::new();
        match event {
            ChatEvent::Accepted => {}
            ChatEvent::Text(text) => self.say(&text, &mut deltas),
            ChatEvent::Refusal(text) => {
                self.is_refusal = true;
                self.say(&text, &mut deltas);
            }
            ChatEvent::Thinking(text) => {
                self.release(&mut deltas);
                self.add(Delta::Thinking(text), &mut deltas);
            }
            ChatEvent::Signature(signature) => self.signature.get_or_insert_default().push_str(&signature),
            ChatEvent::Call { place, id, name } => self.calls.begin(place, id, name),
            ChatEvent::Arguments { place, text } => self.grow_call(place, text, &mut deltas),
            ChatEvent::Usage(usage) => self.usage.update(usage),
            ChatEvent::End(end) => self.end = Some(end),
        }
        deltas
    }

    /// Returns whether a stop text has ended the reply, so that the server is not read further.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop_string.is_some()
    }

    /// Returns whether the server has ended the reply.
    pub(crate) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Returns why the server failed, if it ended a reply before anything was said.
    pub(crate) fn failure(&self) -> Option<Error> {
        match &self.end {
            Some(ChatEnd::Other(reason)) if self.is_empty() => {
                Some(Error::new(ErrorKind::Backend, ended_because(reason)))
            }
            _ => None,
        }
    }

    /// Returns whether nothing was said.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.calls.is_empty()
    }

    /// Adds what only the end decides: text that could have begun a stop text, and the calls.
    pub(crate) fn close(&mut self) -> Vec<Delta> {
        let mut deltas = Vec::new();
        self.release(&mut deltas);
        for call in self.calls.take() {
            if !self.wants_calls {
                self.warnings.push(Warning::UnwantedCall { marker: call.name.clone() });
                self.add(Delta::Text(call.raw()), &mut deltas);
                continue;
            }
            let delta = match call.finished() {
                Some(finished) => Delta::ToolCall(finished),
                None => Delta::Malformed(Malformed {
                    raw: call.raw(),
                    reason: "the arguments are not a JSON object".to_owned(),
                }),
            };
            self.add(delta, &mut deltas);
        }
        deltas
    }

    /// Returns the reply. Everything was closed before.
    pub(crate) fn reply(mut self, cut: Option<Cut>) -> Reply {
        let mut error = None;
        let finish = match (cut, self.end.take()) {
            (Some(Cut::Failed(failure)), _) => {
                error = Some(format!("{failure:#}"));
                FinishReason::Error
            }
            _ if self.stop_string.is_some() => FinishReason::StopString,
            (Some(Cut::Cancelled), _) => FinishReason::Cancelled,
            (None, Some(ChatEnd::Other(reason))) => {
                error = Some(ended_because(&reason));
                FinishReason::Error
            }
            (None, Some(ChatEnd::Length)) => self.length(),
            (None, Some(ChatEnd::ContextFull)) => FinishReason::ContextFull,
            // Servers name the reason in different ways, and the calls do not.
            (None, _) if self.has_calls() => FinishReason::ToolCalls,
            (None, Some(ChatEnd::StopOrLength)) if self.is_at_limit() => FinishReason::Length,
            (None, _) => FinishReason::Stop,
        };
        self.check_json(finish);
        let mut message = Message::new(Role::Assistant, self.parts);
        // Formats mark a refusal of one text only.
        let is_text = matches!(message.parts.as_slice(), [part] if part.as_text().is_some());
        if self.is_refusal && is_text {
            message.extra.insert("refusal".to_owned(), true.into());
        }
        if let Some(signature) = self.signature {
            message.extra.insert(SIGNATURE.to_owned(), signature.into());
        }
        let mut reply = Reply::new(message);
        reply.finish = finish;
        reply.error = error;
        reply.stop_string = self.stop_string;
        reply.usage = Usage::new(self.usage.prompt.unwrap_or(0), self.usage.generated.unwrap_or(0));
        reply.usage.cached = self.usage.cached.unwrap_or(0);
        reply.usage.thinking = self.usage.thinking.unwrap_or(0);
        reply.seed = self.seed;
        reply.warnings = self.warnings;
        reply
    }

    /// Says whose limit it was. llama.cpp ends a reply this way, too, when its context is full.
    fn length(&self) -> FinishReason {
        match (self.usage.generated, self.max_tokens) {
            (Some(generated), Some(most)) if generated > 0 && generated < most => FinishReason::ContextFull,
            _ => FinishReason::Length,
        }
    }

    fn is_at_limit(&self) -> bool {
        self.max_tokens.is_some_and(|most| self.usage.generated.is_some_and(|generated| generated >= most))
    }

    fn has_calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Content::ToolCall(_)))
    }

    /// Reports a reply that is no JSON although a schema was sent, because servers may ignore it.
    fn check_json(&mut self, finish: FinishReason) {
        if !self.wants_json || self.is_refusal || self.has_calls() {
            return;
        }
        let text: String = self.parts.iter().filter_map(Content::as_text).collect();
        if serde_json::from_str::<Value>(&text).is_ok() {
            return;
        }
        self.warnings.push(if finish == FinishReason::Stop {
            // Its tokens are not known.
            Warning::GrammarViolated { tokens: 0 }
        } else {
            Warning::GrammarCut
        });
    }

    fn say(&mut self, text: &str, deltas: &mut Vec<Delta>) {
        if self.stop_string.is_some() {
            return;
        }
        let (text, stop) = self.stops.push(text);
        self.stop_string = stop;
        self.add(Delta::Text(text), deltas);
    }

    /// Adds the text that was held back.
    fn release(&mut self, deltas: &mut Vec<Delta>) {
        let rest = self.stops.rest();
        self.add(Delta::Text(rest), deltas);
    }

    fn add(&mut self, delta: Delta, deltas: &mut Vec<Delta>) {
        if matches!(&delta, Delta::Text(text) | Delta::Thinking(text) if text.is_empty()) {
            return;
        }
        delta.join_to(&mut self.parts);
        deltas.push(delta);
    }

    fn grow_call(&mut self, place: u64, text: String, deltas: &mut Vec<Delta>) {
        self.release(deltas);
        let Some(call) = self.calls.grow(place, &text) else { return };
        if self.wants_calls {
            let piece = ToolCallDelta { id: call.id.clone(), name: call.name.clone(), text };
            deltas.push(Delta::Arguments(piece));
        }
    }
}
