//! Does what a state does: renders its text, asks the model, runs the tool, and appends the result with the head's compare-and-set.

use std::sync::Arc;

use alloquy_core::grammar::Grammar;
use alloquy_core::media::Digest;
use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::prompt_library::{FilledPrompt, Prompt, PromptInfo, PromptName, PromptRetrieval, Values};
use alloquy_core::store::HeadMove;
use alloquy_core::tool::{ToolContext, Toolbox, Tools};
use alloquy_core::turn::{TurnData, TurnEnd};
use alloquy_core::{
    Content, Error, ErrorKind, Message, Node, NodeId, Result, Role, Tool, ToolSpec, TurnRequest,
};
use async_trait::async_trait;
use futures::StreamExt;
use serde_json::Value;

use crate::action::{Action, AskAction, CallAction, Text};
use crate::facts::{FLOW_KEY, FlowStep, StepKind, Takes};
use crate::plan::{Track, must_fit};
use crate::runner::{FlowRunner, Place};
use crate::text::{fill_map, render};

/// The key of a tool call of a flow, which a tool finds in its context.
///
/// The key is the same when the call is repeated, after a crash between the call and the append of its result, and another one on
/// every branch. A tool that stores it with its effect can recognise the repetition.
///
/// ```
/// use alloquy_core::tool::ToolContext;
/// use alloquy_flows::CallKey;
///
/// fn key(context: &ToolContext) -> Option<String> {
///     context.turn_data.get::<CallKey>().map(|key| key.0.to_string())
/// }
/// assert_eq!(key(&ToolContext::default()), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallKey(pub Digest);

impl CallKey {
    /// Returns the key of the call of a state after a node.
    pub(crate) fn of(parent: Option<NodeId>, state: &str, visit: usize) -> Self {
        let parent = parent.map(|parent| parent.to_string()).unwrap_or_default();
        Self(Digest::of(format!("{parent}\n{visit}\n{state}").as_bytes()))
    }
}

/// The messages of a text, and the prompt that they come from.
struct Rendered {
    request: TurnRequest,
}

impl FlowRunner {
    /// Does what the state of a track does. Returns the node and where the head is.
    pub(crate) async fn act(&self, place: &Place, track: &Track) -> Result<(Option<NodeId>, HeadMove)> {
        let Some(state) = self.state_of(track) else {
            let message = format!("the flow {:?} has no state {:?}", self.flow.name, track.state());
            return Err(Error::new(ErrorKind::Invalid, message));
        };
        match &state.action {
            Action::Say(text) => self.add_text(place, track, text, StepKind::Done).await,
            Action::Wait(_) | Action::Approve(_) => match state.action.text() {
                Some(text) => self.add_text(place, track, text, StepKind::Waits).await,
                None => Ok((track.tip, HeadMove::Moved)),
            },
            Action::Ask(ask) => self.ask(place, track, ask).await,
            Action::Call(call) => self.call(place, track, call).await,
            Action::Flow(_) | Action::Fork(_) | Action::End => Ok((track.tip, HeadMove::Moved)),
        }
    }

    /// Returns the facts of a step.
    pub(crate) fn facts(&self, track: &Track, kind: StepKind) -> FlowStep {
        let mut frames: Vec<_> = track.frames.iter().map(crate::position::Frame::facts).collect();
        let at = frames.pop().unwrap_or_else(|| crate::position::Frame::new("", Default::default()).facts());
        let mut branch = track.branch.as_ref().map(|branch| branch.facts.clone());
        if let Some(branch) = &mut branch {
            // Its own last node is the one that gets these facts.
            branch.tips.remove(&branch.name);
        }
        FlowStep {
            name: self.flow.name.clone(),
            digest: self.digest,
            kind,
            step: track.step,
            at,
            outer: frames,
            because: track.because.clone(),
            by: None,
            decision: None,
            value: None,
            takes: None,
            key: None,
            branch,
            joined: track.joined.clone(),
            people: if track.joined.is_empty() { Vec::new() } else { track.people.clone() },
            before: track.digest.filter(|before| *before != self.digest),
        }
    }

    async fn add_text(
        &self,
        place: &Place,
        track: &Track,
        text: &Text,
        kind: StepKind,
    ) -> Result<(Option<NodeId>, HeadMove)> {
        let rendered = self.render(track, text, Role::Assistant)?;
        let part = self.facts(track, StepKind::Part);
        let facts = self.facts(track, kind);
        let request = rendered.request.message_metadata(FLOW_KEY, part.to_json());
        self.add(place, track, request.metadata(FLOW_KEY, facts.to_json())).await
    }

    /// Appends messages after the tip of a track, if no other writer has moved the head.
    pub(crate) async fn add(
        &self,
        place: &Place,
        track: &Track,
        request: TurnRequest,
    ) -> Result<(Option<NodeId>, HeadMove)> {
        let added = self.conversation.add(request.at(track.tip).expected_head(place.head)).await?;
        Ok((added.node, added.head))
    }

    async fn ask(&self, place: &Place, track: &Track, ask: &AskAction) -> Result<(Option<NodeId>, HeadMove)> {
        let mut facts = self.facts(track, StepKind::Done);
        let json = ask.expects.is_some();
        facts.takes = Some(Takes { variable: ask.set.clone(), json });
        let mut request = if track.is_asked {
            TurnRequest::default()
        } else {
            let part = self.facts(track, StepKind::Part);
            self.render(track, &ask.text, Role::User)?.request.message_metadata(FLOW_KEY, part.to_json())
        };
        request = request.at(track.tip).expected_head(place.head).metadata(FLOW_KEY, facts.to_json());
        if let Some(output) = &ask.output {
            request = request.output_name(output);
        }
        if let Some(model) = &ask.model {
            request = request.model(model);
        }
        if let Some(names) = &ask.tools {
            request = request.tools(self.toolbox_of(names)?);
        }
        if let Some(schema) = &ask.expects {
            request = request.response_format(Grammar::JsonSchema(schema.clone()));
        }
        let reply = self.conversation.complete(request).await?;
        match reply.end {
            TurnEnd::Answered => Ok((Some(reply.last), reply.head)),
            TurnEnd::Failed => {
                let why = reply.reply.error.unwrap_or_else(|| "the model failed".to_owned());
                Err(Error::new(ErrorKind::Backend, format!("state {:?}: {why}", track.state())))
            }
            TurnEnd::Cancelled => {
                Err(Error::new(ErrorKind::Cancelled, format!("state {:?} was cancelled", track.state())))
            }
            _ => {
                let calls: Vec<_> = reply.pending.iter().map(|call| call.name.as_str()).collect();
                let message = format!(
                    "state {:?} waits for results of the tools {}; add them to the conversation and run the flow again",
                    track.state(),
                    calls.join(", ")
                );
                Err(Error::new(ErrorKind::Tool, message))
            }
        }
    }

    /// Returns the tools of these names.
    fn toolbox_of(&self, names: &[String]) -> Result<Toolbox> {
        let tools = self.tools.now()?;
        let mut chosen = Toolbox::default();
        for name in names {
            let Some(spec) = tools.specs().find(|spec| spec.name == *name) else {
                return Err(unknown_tool(name, &tools));
            };
            chosen = chosen.tool(ChosenTool { spec: spec.clone(), tools: tools.clone() });
        }
        Ok(chosen)
    }

    /// Runs a tool, unless the node of its result exists.
    ///
    /// Nothing follows a node that this run has just added. Only a run that begins with a call, after a crash or at a place to which
    /// the head was moved, reads the whole tree for a result.
    async fn call(
        &self,
        place: &Place,
        track: &Track,
        call: &CallAction,
    ) -> Result<(Option<NodeId>, HeadMove)> {
        let visit = track.frames.last().map_or(0, |frame| frame.visit);
        let key = CallKey::of(track.tip, track.state(), visit);
        let is_new = place.added.is_some() && place.added == track.tip;
        let known = if is_new { None } else { self.known_result(track.tip, key.0).await? };
        if let Some(known) = known {
            let request = TurnRequest::default().at(known).expected_head(place.head);
            let added = self.conversation.add(request).await?;
            return Ok((added.node, added.head));
        }
        let arguments = Value::Object(fill_map(&call.arguments, &track.variables()));
        let id = key.0.to_string();
        let id = id.get(..ID).unwrap_or(&id).to_owned();
        let tool_call = ToolCall::new(id, call.tool.clone(), arguments);
        let result = self.result(&tool_call, key).await?;
        let value = result.content.clone();
        let mut track = track.clone();
        if let Some(name) = &call.set {
            let flow = track.frames.last().and_then(|frame| self.flow.named(&frame.flow));
            if let Some(flow) = flow.filter(|_| !result.is_error) {
                must_fit(flow, name, &value)?;
            }
            track.set(name, value.clone());
        }
        let mut part = self.facts(&track, StepKind::Part);
        part.key = Some(key.0);
        let mut facts = self.facts(&track, StepKind::Done);
        facts.key = Some(key.0);
        facts.value = Some(value);
        let messages = vec![
            Message::new(Role::Assistant, vec![Content::ToolCall(tool_call)]),
            Message::tool(vec![result]),
        ];
        let request = TurnRequest::from(messages).message_metadata(FLOW_KEY, part.to_json());
        self.add(place, &track, request.metadata(FLOW_KEY, facts.to_json())).await
    }

    async fn result(&self, call: &ToolCall, key: CallKey) -> Result<ToolResult> {
        let context = ToolContext::new(TurnData::default().with(key));
        let tools = self.tools.now()?.with_context(context);
        if !tools.has(&call.name) {
            return Err(unknown_tool(&call.name, &tools));
        }
        let results: Vec<ToolResult> = tools.answer(std::slice::from_ref(call), &[]).collect().await;
        match results.into_iter().next() {
            Some(result) => Ok(result),
            None => Err(Error::new(ErrorKind::Tool, format!("the tool {:?} gave no result", call.name))),
        }
    }

    /// Finds the result of a call that was stored on another branch, after the same node.
    async fn known_result(&self, parent: Option<NodeId>, key: Digest) -> Result<Option<NodeId>> {
        let tree = self.conversation.tree().await?;
        for child in tree.children(parent) {
            for result in tree.children(Some(*child)) {
                let node: &Node = tree.node(*result)?;
                let step = FlowStep::of(node)?;
                if node.message.role == Role::Tool && step.is_some_and(|step| step.key == Some(key)) {
                    return Ok(Some(node.id));
                }
            }
        }
        Ok(None)
    }

    /// Renders a text to messages of a role. The messages of a prompt of several messages keep their roles.
    fn render(&self, track: &Track, text: &Text, role: Role) -> Result<Rendered> {
        let variables = track.variables();
        let (name, with) = match text {
            Text::Inline(text) => {
                let rendered = render(text, &variables);
                if let Some(missing) = rendered.missing.first() {
                    let message = format!(
                        "state {:?}: the variable {missing:?} has no value; set it before, or give it a default",
                        track.state()
                    );
                    return Err(Error::new(ErrorKind::Invalid, message));
                }
                return Ok(Rendered { request: TurnRequest::from(rendered.message(role)) });
            }
            Text::Prompt { name, with } => (name, with),
        };
        let Some(library) = &self.prompts else {
            let message = format!(
                "prompt {name:?} cannot be found because the runner has no library of prompts; set one with FlowRunner::prompts"
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        };
        let prompt = library.prompt(&name.parse::<PromptName>()?)?;
        let mut values = Values::from(fill_map(with, &variables));
        let mut read = variables;
        read.retain(|name, _| prompt.info().variables.contains(name));
        values = values.or(Values::from(read));
        // The conversation adds what it knows, and its sources of values find passages and notes.
        let named = prompt.info().name.name.clone();
        let request = TurnRequest::default().fill_prompt(Arc::new(Spoken { prompt, role }), values);
        Ok(Rendered { request: request.prompt(named) })
    }
}

/// A prompt whose message, if it is the only one, has the role of a state's text.
#[derive(Debug)]
struct Spoken {
    prompt: Arc<dyn Prompt>,
    role: Role,
}

#[deny(clippy::missing_trait_methods)]
impl Prompt for Spoken {
    fn info(&self) -> &PromptInfo {
        self.prompt.info()
    }

    fn fill(&self, values: &Values) -> Result<FilledPrompt> {
        let mut filled = self.prompt.fill(values)?;
        if let [message] = filled.messages.as_mut_slice() {
            message.role = self.role;
        }
        Ok(filled)
    }

    fn retrievals(&self) -> &[PromptRetrieval] {
        self.prompt.retrievals()
    }
}

fn unknown_tool(name: &str, tools: &Tools) -> Error {
    let known: Vec<_> = tools.specs().map(|spec| spec.name.as_str()).collect();
    let known = if known.is_empty() { "there are none".to_owned() } else { known.join(", ") };
    let message = format!("there is no tool {name:?} among the tools of the flow: {known}");
    Error::new(ErrorKind::Tool, message)
}

/// One of the tools of a toolbox, under its rules.
#[derive(Debug)]
struct ChosenTool {
    spec: ToolSpec,
    tools: Tools,
}

#[async_trait]
impl Tool for ChosenTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, arguments: &Value) -> Result<Value> {
        self.call_with(arguments, &ToolContext::default()).await
    }

    async fn call_with(&self, arguments: &Value, context: &ToolContext) -> Result<Value> {
        let call = ToolCall::new("call", self.spec.name.clone(), arguments.clone());
        let tools = self.tools.clone().with_context(context.clone());
        let results: Vec<ToolResult> = tools.answer(std::slice::from_ref(&call), &[]).collect().await;
        match results.into_iter().next() {
            Some(result) if result.is_error => Err(Error::new(ErrorKind::Tool, result.text())),
            Some(result) => Ok(result.content),
            None => Err(Error::new(ErrorKind::Tool, format!("the tool {:?} gave no result", call.name))),
        }
    }
}

/// How many digits of its key the id of a call has.
const ID: usize = 16;
