//! The provider that the cases were recorded with: an echo, or what the case says next.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use alloquy_core::message::ToolCall;
use alloquy_core::report::{CacheReport, FinishReason, Usage};
use alloquy_core::stream::EventStream;
use alloquy_core::{
    ChatModel, Content, Delta, Error, ErrorKind, Message, Reply, ReplyStream, Request, Result, Role,
};
use async_trait::async_trait;
use serde_json::{Value, json};

/// What models and middleware did, in their order. Copies share the list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events(Arc<Mutex<Vec<String>>>);

impl Events {
    pub(crate) fn add(&self, event: String) {
        self.0.lock().unwrap().push(event);
    }

    /// Takes out what happened since the last time.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// Answers with the next of `responses`, or `Echo: ` and the last text of the user.
#[derive(Debug, Default)]
pub(crate) struct Provider {
    name: String,
    events: Events,
    responses: Mutex<VecDeque<Value>>,
    /// What it was asked: roles and texts.
    calls: Mutex<Vec<Value>>,
}

impl Provider {
    pub(crate) fn new(setup: &Value) -> Self {
        let responses = setup["responses"].as_array().cloned().unwrap_or_default();
        let name = setup["model"].as_str().unwrap_or("echo-model").to_owned();
        Self {
            name,
            events: Events::default(),
            responses: Mutex::new(responses.into()),
            calls: Mutex::default(),
        }
    }

    /// A provider that notes each call among other events.
    pub(crate) fn noting(setup: &Value, events: &Events) -> Self {
        Self { events: events.clone(), ..Self::new(setup) }
    }

    pub(crate) fn calls(&self) -> Value {
        self.calls.lock().unwrap().iter().cloned().collect()
    }

    /// The calls of the response that comes next, as the case writes them.
    pub(crate) fn next_calls(&self) -> Option<Value> {
        let responses = self.responses.lock().unwrap();
        responses.front()?.get("tool_calls").filter(|calls| !calls.is_null()).cloned()
    }

    /// Whether the response that comes next does not say what it took.
    pub(crate) fn next_is_uncounted(&self) -> bool {
        let responses = self.responses.lock().unwrap();
        responses.front().is_some_and(|response| response.is_object() && !response["usage"].is_object())
    }

    /// The tools that the responses call.
    pub(crate) fn tools(&self) -> BTreeSet<String> {
        let responses = self.responses.lock().unwrap();
        let calls = responses.iter().filter_map(|response| response["tool_calls"].as_array()).flatten();
        calls.filter_map(|call| call["name"].as_str().map(str::to_owned)).collect()
    }

    fn answer(&self, request: &Request) -> Result<Reply> {
        let messages: Vec<_> = request.preface.messages.iter().chain(&request.path).collect();
        let said: Vec<_> = messages.iter().map(|message| (message.role, text(message))).collect();
        let call = said.iter().map(|(role, text)| json!({"role": role.as_str(), "content": text}));
        self.calls.lock().unwrap().push(call.collect());
        self.events.add("LLM".to_owned());
        let response = self.responses.lock().unwrap().pop_front().unwrap_or_default();
        if let Some(error) = response["error"].as_str() {
            return Err(Error::new(ErrorKind::Backend, error));
        }
        let asked = said.iter().rev().find(|(role, _)| *role == Role::User);
        let echo = || format!("Echo: {}", asked.map_or("", |(_, text)| text));
        let content = response.as_str().or(response["content"].as_str()).map_or_else(echo, str::to_owned);
        let mut reply = Reply::new(Message::new(Role::Assistant, Vec::from_iter(part(&content))));
        let calls = response["tool_calls"].as_array().into_iter().flatten().enumerate();
        let calls = calls.map(|(index, call)| {
            let id = call["id"].as_str().map_or_else(|| format!("call-{index}"), str::to_owned);
            Content::ToolCall(ToolCall::new(id, call["name"].as_str().unwrap(), call["parameters"].clone()))
        });
        reply.message.parts.extend(calls.map(Into::into));
        let finish = response["finish_reason"].as_str().unwrap_or("stop");
        reply.finish = serde_json::from_value(finish.into()).unwrap_or(FinishReason::Stop);
        if !response.is_object() || response["usage"].is_object() {
            reply.usage = usage(&response["usage"], &said, &content);
        }
        Ok(reply)
    }
}

fn part(content: &str) -> Option<alloquy_core::Part> {
    (!content.is_empty()).then(|| Content::Text(content.to_owned()).into())
}

fn usage(given: &Value, said: &[(Role, String)], content: &str) -> Usage {
    let tokens = |text: &str| (text.chars().count() / 4).max(1);
    let of = |name: &str, counted: usize| given[name].as_u64().map_or(counted, |given| given as usize);
    let prompt = of("prompt_tokens", said.iter().map(|(_, text)| tokens(text)).sum());
    Usage::new(prompt, of("completion_tokens", tokens(content)))
}

/// The text of a message, or that of its results.
pub(crate) fn text(message: &Message) -> String {
    let results: Vec<_> = message.tool_results().map(alloquy_core::message::ToolResult::text).collect();
    if results.is_empty() { message.text() } else { results.join("\n") }
}

#[async_trait]
impl ChatModel for Provider {
    fn name(&self) -> &str {
        &self.name
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let reply = self.answer(&request)?;
        Ok(EventStream::new(|mut emit| async move {
            let mut said = String::new();
            for character in reply.message.text().chars() {
                if request.stop.is_stopped() {
                    let mut reply = Reply::new(Message::assistant(said));
                    reply.finish = FinishReason::Cancelled;
                    return Ok(reply);
                }
                said.push(character);
                emit.send(Delta::Text(character.to_string())).await;
            }
            Ok(reply)
        }))
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

/// A provider that a call gives another name.
#[derive(Debug)]
pub(crate) struct Renamed {
    pub(crate) name: String,
    pub(crate) model: Arc<Provider>,
}

#[async_trait]
impl ChatModel for Renamed {
    fn name(&self) -> &str {
        &self.name
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        self.model.reply(request).await
    }

    async fn warm(&self, request: Request) -> Result<Option<CacheReport>> {
        self.model.warm(request).await
    }
}
