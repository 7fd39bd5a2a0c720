//! A model that does what the last message of the user says, so that a client's script has its replies within it.
//!
//! Each line is an order: `say TEXT`, `think TEXT`, `call NAME ARGUMENTS`, `wait MILLISECONDS`, `fail`. A line that is none is said as it is.
//! After results of tools, their text is said.

use std::time::Duration;

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::prompt::PreparedPrompt;
use alloquy_core::report::{CacheReport, FinishReason, Usage, Warning};
use alloquy_core::stream::{Emitter, EventStream};
use alloquy_core::{ChatModel, Delta, Error, ErrorKind, Message, Reply, ReplyStream, Request, Result, Role};
use alloquy_testing::ScriptedModel;
use async_trait::async_trait;
use serde_json::{Value, json};

/// Does what the last message of the user says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObedientModel;

#[derive(Clone, Debug, PartialEq)]
enum Order {
    Say(String),
    Think(String),
    Call(String, Value),
    Wait(Duration),
    Fail,
}

#[async_trait]
impl ChatModel for ObedientModel {
    fn name(&self) -> &str {
        "obedient"
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        request.sampling.validate()?;
        let orders = orders(&request)?;
        let prompt = self.prompt(&request)?.map_or(0, |prompt| prompt.positions());
        Ok(EventStream::new(move |emit| obey(orders, prompt, request, emit)))
    }

    fn prompt(&self, request: &Request) -> Result<Option<PreparedPrompt>> {
        // Prompts are counted as those of a script without replies.
        ScriptedModel::new([("", "")]).prompt(request)
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

fn orders(request: &Request) -> Result<Vec<Order>> {
    let Some(last) = request.path.last() else {
        return Err(Error::new(ErrorKind::Invalid, "there is no message to obey"));
    };
    if last.role == Role::Tool {
        let results: Vec<String> = last.tool_results().map(ToolResult::text).collect();
        return Ok(vec![Order::Say(results.join(" "))]);
    }
    Ok(last.text().lines().map(order).collect())
}

fn order(line: &str) -> Order {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    match verb {
        "say" => Order::Say(rest.to_owned()),
        "think" => Order::Think(rest.to_owned()),
        "wait" => Order::Wait(Duration::from_millis(rest.parse().unwrap_or(0))),
        "fail" => Order::Fail,
        "call" => {
            let (name, arguments) = rest.split_once(' ').unwrap_or((rest, "{}"));
            Order::Call(name.to_owned(), serde_json::from_str(arguments).unwrap_or_else(|_| json!({})))
        }
        _ => Order::Say(line.to_owned()),
    }
}

async fn obey(
    orders: Vec<Order>,
    prompt: usize,
    request: Request,
    mut emit: Emitter<Delta>,
) -> Result<Reply> {
    let mut parts = Vec::new();
    let mut generated = 0;
    let mut calls = 0;
    let mut finish = FinishReason::Stop;
    for order in orders {
        let deltas = match order {
            Order::Say(text) => words(&text).map(Delta::Text).collect(),
            Order::Think(text) => words(&text).map(Delta::Thinking).collect(),
            Order::Call(name, arguments) => {
                calls += 1;
                finish = FinishReason::ToolCalls;
                vec![Delta::ToolCall(ToolCall::new(format!("call_{calls}"), name, arguments))]
            }
            Order::Wait(time) => {
                tokio::time::sleep(time).await;
                Vec::new()
            }
            Order::Fail => return Err(Error::new(ErrorKind::Backend, "the model fails, as ordered")),
        };
        for delta in deltas {
            delta.join_to(&mut parts);
            generated += 1;
            emit.send(delta).await;
        }
        if request.stop.is_stopped() {
            finish = FinishReason::Cancelled;
            break;
        }
    }
    let mut reply = Reply::new(Message::new(Role::Assistant, parts));
    reply.finish = finish;
    reply.usage = Usage::new(prompt, generated);
    for name in request.sampling.names() {
        reply.warnings.push(Warning::OptionIgnored { name: name.to_owned() });
    }
    Ok(reply)
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split_inclusive(' ').map(str::to_owned)
}
