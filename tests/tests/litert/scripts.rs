//! Whole conversations on a scripted engine: what is prefilled, what is answered, what is remembered.
//!
//! LiteRT-LM prefills the difference of two renderings; here the whole prompt is made each time and what a session
//! holds is kept. So a step compares the whole prompt with everything that LiteRT-LM has printed up to there.

use std::sync::Arc;

use alloquy_constraints::LlguidanceEngine;
use alloquy_core::arguments::{ProcessorArguments, ThinkingSwitch};
use alloquy_core::output::OutputConstraints;
use alloquy_core::template::PromptEnd;
use alloquy_core::{
    ChatModel, Content, Conversation, ErrorKind, Message, Part, Preface, Request, Result, SamplingOptions,
    TurnRequest,
};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use serde_json::{Value, json};

use crate::families::{self, Family};
use crate::matching::matches;
use crate::options::{self, Listener};
use crate::outcome::{self, Outcome};
use crate::recorder::Recorder;
use crate::row::Row;
use crate::{messages, templates};

/// What differs in one turn.
#[derive(Default)]
struct Settings {
    sampling: SamplingOptions,
    constraints: OutputConstraints,
    arguments: ProcessorArguments,
}

/// A conversation and what is known of LiteRT-LM's.
pub(crate) struct Stage {
    pub(crate) recorder: Recorder,
    pub(crate) round: LanguageModel,
    listener: Listener,
    pub(crate) conversation: Conversation,
    /// The copy that was made of the conversation last.
    copy: Option<Conversation>,
    /// The messages that wait for more, before they are said together.
    draft: Vec<Message>,
    pub(crate) preface: Preface,
    /// What LiteRT-LM has prefilled of messages that are not answered yet.
    pending: Option<String>,
    response: Value,
    rendered: Value,
    /// What a callback was given last, or a score.
    pub(crate) value: Value,
    /// What every call tells beside what its step does.
    reported: ProcessorArguments,
}

impl Stage {
    fn new(family: Family, template: String, preface: Preface) -> Result<Self> {
        let recorder = Recorder::default();
        let template = templates::template(template, &Value::Null)?;
        let round = LanguageModel::builder(
            Generator::new(Arc::new(recorder.clone()), GeneratorOptions::default()).unwrap(),
        )
        .template(template)
        .processor(family);
        let round = round.grammars(LlguidanceEngine::default()).build()?;
        let listener = Listener::new(round.clone());
        let conversation = Conversation::with_preface(listener.clone(), preface.clone());
        let (response, rendered, value, copy, draft, pending, reported) = Default::default();
        let stage = Self {
            recorder,
            round,
            listener,
            conversation,
            copy,
            draft,
            preface,
            pending,
            response,
            rendered,
            value,
            reported,
        };
        Ok(stage)
    }

    /// What the messages so far look like without a new one: the text that LiteRT-LM's differences begin behind.
    fn closed(&self) -> Result<String> {
        let history = self.history();
        if history.is_empty() && self.pending.is_none() {
            return Ok(String::new());
        }
        let request = Request::new(self.preface.clone(), history);
        Ok(self.round.prepare(&request.ending(PromptEnd::Closed))?.rendered)
    }

    /// The messages that were said, replies included.
    pub(crate) fn history(&self) -> Vec<Message> {
        history(&self.conversation)
    }
}

/// A step as compared: what is expected, and what was found.
pub(crate) type Compared = (Value, Value);

pub(crate) fn conversation(row: &Row) -> Outcome {
    let steps = row.expected.as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(reason) = unplayable(steps) {
        return Outcome::skipped(reason);
    }
    let outcome = played(row, steps, ProcessorArguments::default());
    match &outcome {
        Outcome::Compared { expected, found } if !matches(expected, found) => {
            with_thinking(row, steps).unwrap_or(outcome)
        }
        _ => outcome,
    }
}

fn played(row: &Row, steps: &[Value], reported: ProcessorArguments) -> Outcome {
    let stage = match staged(row) {
        Ok(stage) => Stage { reported, ..stage },
        Err(reason) => return Outcome::Skipped(reason),
    };
    match play(stage, steps) {
        Ok(compared) if compared.is_empty() => Outcome::skipped("leaves nothing to compare"),
        Ok(compared) => {
            let (expected, found): (Vec<Value>, Vec<Value>) = compared.into_iter().unzip();
            Outcome::compared(expected, found)
        }
        Err(error) if error.kind() == ErrorKind::Unsupported => Outcome::skipped(error.to_string()),
        Err(error) => Outcome::compared(row.expected.clone(), outcome::error(&error)),
    }
}

/// A script that agrees once every call says whether the model thinks: options of a call can be missing in a row.
fn with_thinking(row: &Row, steps: &[Value]) -> Option<Outcome> {
    [(true, ThinkingSwitch::On), (false, ThinkingSwitch::Off)].into_iter().find_map(|(thinks, switch)| {
        match played(row, steps, ProcessorArguments::default().thinking(switch)) {
            Outcome::Compared { expected, found } if matches(&expected, &found) => {
                Some(Outcome::compared(expected, json!({"agrees_with": {"enable_thinking": thinks}})))
            }
            _ => None,
        }
    })
}

/// Why a script cannot be played.
fn unplayable(steps: &[Value]) -> Option<&'static str> {
    let does = |name: &str| steps.iter().any(|step| step["do"] == name);
    let expects = |name: &str| steps.iter().any(|step| step["expect_session_call"] == name);
    if steps.iter().all(|step| step.get("do").is_none() && configured(text(step, "check")).is_none()) {
        return Some("asserts of a configuration that it keeps a switch for what is told with a call here");
    }
    if does("GetTokenCount") || steps.iter().any(|step| text(step, "check").contains("GetBenchmarkInfo")) {
        return Some("counts tokens and turns of a model that is not among the cases");
    }
    let answered = |step: &Value| text(step, "do").starts_with("SendMessage") && !is_pending(step);
    if steps.iter().any(answered) && !expects("RunDecodeAsync") && !does("CancelProcess") {
        return Some("expects the words of a model that is not among the cases");
    }
    None
}

fn text<'a>(step: &'a Value, name: &str) -> &'a str {
    step[name].as_str().unwrap_or_default()
}

fn is_pending(step: &Value) -> bool {
    step["optional_args"]["has_pending_message"] == true
}

/// What of a configuration can be seen in a conversation that was made with it.
#[derive(Clone, Copy)]
enum Configured {
    /// The template: here it holds nothing but text, so that what it renders is its source.
    Template,
    /// The messages of the preface.
    Preface,
}

fn configured(check: &str) -> Option<Configured> {
    match check {
        check if check.ends_with("GetPromptTemplate.GetTemplateSource") => Some(Configured::Template),
        "std::get<JsonPreface>.messages" => Some(Configured::Preface),
        _ => None,
    }
}

fn does_something(row: &Row) -> bool {
    row.expected.as_array().into_iter().flatten().any(|step| step.get("do").is_some())
}

/// Sets the stage: the family of the model or of its channels, the template, the preface.
fn staged(row: &Row) -> std::result::Result<Stage, String> {
    let config = &row.input["config"];
    let template = templates::source(row, &config["overwrite_prompt_template"]);
    // Where nothing is said, nothing has to be rendered.
    let template = if does_something(row) { template? } else { template.unwrap_or_default() };
    let channels = config["channels"].as_array().map(Vec::as_slice).unwrap_or_default();
    let family = families::configured(text(&row.input, "model_type"), &template, channels)?;
    let mut preface = messages::preface(&config["preface"]).map_err(|error| error.to_string())?;
    if let Some(thinks) = config.pointer("/thinking_config/args/0") {
        let switch = if *thinks == true { ThinkingSwitch::On } else { ThinkingSwitch::Off };
        // LiteRT-LM's configuration decides against the preface.
        preface.arguments = ProcessorArguments::default().thinking(switch).or(&preface.arguments);
    }
    let mut stage = Stage::new(family, template, preface).map_err(|error| error.to_string())?;
    if config["prefill_preface_on_init"] == true {
        stage.pending = Some(String::new());
    }
    Ok(stage)
}

fn play(mut stage: Stage, steps: &[Value]) -> Result<Vec<Compared>> {
    let mut compared = Vec::new();
    let mut expected: Vec<&Value> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let next = steps[index + 1..].iter().find(|step| step.get("do").is_some());
        if step.get("do").is_some() && next.is_some_and(cancels) {
            expected.clear();
            compared.extend(stage.act_and_cancel(step)?);
        } else if step.get("expect_session_call").is_some() {
            expected.push(step);
        } else if step.get("do").is_some() {
            compared.extend(stage.act(step, &std::mem::take(&mut expected))?);
        } else if let Some(asked) = configured(text(step, "check")) {
            compared.push(stage.check_configured(asked, &step["expected"])?);
        } else {
            compared.extend(stage.check(step));
        }
    }
    Ok(compared)
}

fn cancels(step: &Value) -> bool {
    ["CancelGroup", "CancelProcess"].contains(&text(step, "do"))
}

impl Stage {
    fn act_and_cancel(&mut self, step: &Value) -> Result<Vec<Compared>> {
        match text(step, "do") {
            "SendMessageAsync" => self.send_and_stop(step),
            "RunTextScoringAsync" => self.score_and_drop(&step["message"]),
            other => Ok(vec![(json!(other), json!("a step that cannot be called off"))]),
        }
    }

    fn act(&mut self, step: &Value, expected: &[&Value]) -> Result<Vec<Compared>> {
        match text(step, "do") {
            "SendMessage" | "SendMessageAsync" => self.send(step, expected),
            "RunTextScoring" | "RunTextScoringAsync" => self.score(&step["message"]),
            // What they end has ended where it began.
            "CancelGroup" | "CancelProcess" => Ok(Vec::new()),
            "Clone" => {
                self.copy = Some(pollster::block_on(self.conversation.fork())?);
                Ok(Vec::new())
            }
            "RenderMessageIntoString" => self.render(&step["message"], PromptEnd::Generation),
            "RenderPrefaceIntoString" => self.render(&json!([]), PromptEnd::Closed),
            other => Ok(vec![(json!(other), json!("a step that is not known"))]),
        }
    }

    fn render(&mut self, message: &Value, ending: PromptEnd) -> Result<Vec<Compared>> {
        let request = Request::new(self.preface.clone(), messages::read(message)?).ending(ending);
        self.rendered = self.round.prepare(&request)?.rendered.into();
        Ok(Vec::new())
    }

    fn send(&mut self, step: &Value, expected: &[&Value]) -> Result<Vec<Compared>> {
        let mut compared = self.prefilled_preface(expected)?;
        let before = match &self.pending {
            Some(pending) => pending.clone(),
            None => self.closed()?,
        };
        let said = messages::read(&step["message"])?;
        let answer = emitted(expected);
        let asked = options::asked(expected);
        let (sampling, constraints) = options::said(&asked, &answer);
        let arguments = reported(&step["optional_args"]).or(&self.reported);
        let said = completed(&self.draft, said);
        let settings = Settings { sampling, constraints, arguments };
        self.recorder.will_say(&answer);
        let outcome = self.say(said, settings, is_pending(step));
        compared.extend(options::heard(&asked, &self.listener.heard()));
        let prefills = expected.iter().filter(|call| text(call, "expect_session_call") == "RunPrefillAsync");
        compared.extend(self.compare_prompt(&before, prefills.map(|call| &call["inputs"]), is_pending(step)));
        match (step["expect"].as_str(), outcome) {
            (None, outcome) => outcome?,
            (Some(expected), outcome) => {
                let found = if outcome.is_ok() { "ok" } else { "error" };
                compared.push((expected.into(), found.into()));
            }
        }
        Ok(compared)
    }

    /// Says messages, or computes them ahead as a draft.
    fn say(&mut self, said: Vec<Message>, settings: Settings, pending: bool) -> Result<()> {
        if self.is_orphaned(&said) {
            return self.say_to_the_model(said, settings, pending);
        }
        let request = TurnRequest::from(said.clone()).sampling(settings.sampling);
        let request = request.output(settings.constraints).arguments(settings.arguments);
        if pending {
            pollster::block_on(self.conversation.warm(request))?;
            self.draft = said;
            return Ok(());
        }
        let reply = self.conversation.ask(request)?;
        self.draft.clear();
        self.response = messages::reply(reply.message());
        Ok(())
    }

    /// Returns whether results are said where nothing was called, which a conversation refuses.
    fn is_orphaned(&self, said: &[Message]) -> bool {
        let history = self.history();
        let calls = history.iter().chain(said).flat_map(Message::tool_calls).count();
        calls == 0 && said.iter().flat_map(Message::tool_results).next().is_some()
    }

    /// Asks the model without the conversation, of which no answer becomes a part.
    fn say_to_the_model(&mut self, said: Vec<Message>, settings: Settings, pending: bool) -> Result<()> {
        let path = [self.history(), said.clone()].concat();
        let request = Request::new(self.preface.clone(), path).sampling(settings.sampling);
        let request = request.output(settings.constraints).arguments(settings.arguments);
        if pending {
            pollster::block_on(self.listener.warm(request.ending(PromptEnd::Closed)))?;
            self.draft = said;
            return Ok(());
        }
        let reply = pollster::block_on(async { self.listener.reply(request).await?.finish().await })?;
        self.draft.clear();
        self.response = messages::reply(&reply.complete()?.message);
        Ok(())
    }

    /// What LiteRT-LM computes before the first message is what stands before it.
    fn prefilled_preface(&mut self, expected: &[&Value]) -> Result<Vec<Compared>> {
        let Some(call) = expected.iter().find(|call| text(call, "expect_session_call") == "RunPrefill")
        else {
            return Ok(Vec::new());
        };
        let prefilled = joined(&call["inputs"]);
        let request = Request::new(self.preface.clone(), Vec::new()).ending(PromptEnd::Closed);
        let found = self.round.prepare(&request)?.rendered;
        self.pending = Some(prefilled.clone());
        Ok(vec![(prefilled.into(), found.into())])
    }

    /// Compares the whole prompt. What is computed of a pending message has its end as well, which is cut back when the
    /// message goes on: there LiteRT-LM's text must be how ours begins.
    fn compare_prompt<'a>(
        &mut self,
        before: &str,
        inputs: impl Iterator<Item = &'a Value>,
        pending: bool,
    ) -> Vec<Compared> {
        let (whole, _) = self.recorder.prompt().unwrap_or_default();
        let inputs: Vec<&Value> = inputs.collect();
        self.pending = None;
        let [.., inputs] = inputs.as_slice() else { return Vec::new() };
        if let Some(pattern) = inputs.pointer("/0/match") {
            return vec![(pattern.clone(), whole.into())];
        }
        if *inputs == "any" {
            return Vec::new();
        }
        let expected = format!("{before}{}", joined(inputs));
        let found = if pending && whole.starts_with(&expected) { expected.clone() } else { whole };
        self.pending = pending.then(|| expected.clone());
        vec![(expected.into(), found.into())]
    }

    fn check_configured(&mut self, asked: Configured, expected: &Value) -> Result<Compared> {
        match asked {
            Configured::Template => {
                self.render(&json!([]), PromptEnd::Closed)?;
                Ok((expected.clone(), self.rendered.clone()))
            }
            Configured::Preface => {
                let messages: Value = self.preface.messages.iter().map(messages::reply).collect();
                Ok((spoken(expected), messages))
            }
        }
    }

    fn check(&self, step: &Value) -> Option<Compared> {
        let expected = &step["expected"];
        let sizes =
            || [self.copy.as_ref(), Some(&self.conversation)].map(|one| one.map(|one| history(one).len()));
        match text(step, "check") {
            "response" if expected.is_object() => Some((expected.clone(), self.response.clone())),
            "history" => Some((spoken(expected), self.history().iter().map(messages::reply).collect())),
            // A row does not say which of two conversations it asks about.
            "history.size" => {
                let found = sizes().into_iter().flatten().find(|size| json!(size) == *expected);
                Some((expected.clone(), found.unwrap_or(self.history().len()).into()))
            }
            "rendered" => Some((expected.clone(), self.rendered.clone())),
            "value" => Some((expected.clone(), self.value.clone())),
            texts if texts.contains("RunTextScoring.GetTexts") => {
                Some((expected.clone(), self.value.clone()))
            }
            _ => None,
        }
    }
}

/// What a call tells beside its message. A map of C++ is a list of pairs, and writes truth as text.
fn reported(options: &Value) -> ProcessorArguments {
    let context = &options["extra_context"];
    let value = |value: &Value| match value.as_str() {
        Some("true") => json!(true),
        Some("false") => json!(false),
        _ => value.clone(),
    };
    let pairs = context["args"].as_array().into_iter().flatten();
    let pairs = pairs.filter_map(|pair| Some((pair[0].as_str()?.to_owned(), value(&pair[1]))));
    let plain =
        context.as_object().filter(|fields| !fields.contains_key("$new")).cloned().unwrap_or_default();
    pairs
        .chain(plain)
        .fold(ProcessorArguments::default(), |reported, (name, value)| reported.extra(name, value))
}

/// The texts that a mocked session gives back.
fn emitted(expected: &[&Value]) -> String {
    let emissions = expected.iter().filter_map(|call| call["session_emits"].as_array()).flatten();
    let events = emissions.filter_map(Value::as_array).flatten();
    events.filter_map(|event| event["texts"].as_array()).flatten().filter_map(Value::as_str).collect()
}

/// The text of a prefill's inputs.
fn joined(inputs: &Value) -> String {
    inputs.as_array().into_iter().flatten().filter_map(|input| input["text"].as_str()).collect()
}

/// Messages in one form, whether a content is a text or a list of one; what is no list of messages as it stands.
fn spoken(document: &Value) -> Value {
    messages::read(document)
        .map_or_else(|_| document.clone(), |messages| messages.iter().map(messages::reply).collect())
}

/// The messages from the first one to the head.
fn history(conversation: &Conversation) -> Vec<Message> {
    let nodes = pollster::block_on(conversation.history()).unwrap();
    nodes.into_iter().map(|node| node.message).collect()
}

/// A draft with what is said now: what continues in the role of its last message becomes a part of that.
fn completed(draft: &[Message], said: Vec<Message>) -> Vec<Message> {
    let mut all = draft.to_vec();
    for (index, message) in said.into_iter().enumerate() {
        match all.last_mut() {
            Some(last) if index == 0 && last.role == message.role && last.name == message.name => {
                for part in message.parts {
                    push_part(&mut last.parts, part);
                }
                last.extra.extend(message.extra);
            }
            _ => all.push(message),
        }
    }
    all
}

/// Joins texts, but for one that has fields of its own.
fn push_part(parts: &mut Vec<Part>, part: Part) {
    if let Some(last) = parts.last_mut() {
        let is_bare = last.extra.is_empty() && part.extra.is_empty() && last.source == part.source;
        if let (true, Content::Text(text), Content::Text(more)) = (is_bare, &mut last.content, &part.content)
        {
            text.push_str(more);
            return;
        }
    }
    parts.push(part);
}

/// A message rendered for a single turn: the text that is computed for it.
pub(crate) fn single_turn(row: &Row) -> Outcome {
    match single_turn_of(row) {
        Ok(compared) => compared,
        Err(reason) => Outcome::Skipped(reason),
    }
}

fn single_turn_of(row: &Row) -> std::result::Result<Outcome, String> {
    let words = |error: alloquy_core::Error| error.to_string();
    let template = templates::source(row, &row.input["template"])?;
    let family = families::with_template(text(&row.input["processor"], "type"), &template)?;
    let preface = messages::preface(&row.input["preface"]).map_err(words)?;
    let mut stage = Stage::new(family, template, preface).map_err(words)?;
    let history = messages::read(&row.input["history"]).map_err(words)?;
    if row.input["current_is_appending_message"] == true {
        stage.say(history, Settings::default(), true).map_err(words)?;
    } else {
        pollster::block_on(stage.conversation.add(history)).map_err(words)?;
    }
    let message = messages::read(&row.input["message"]).map_err(words)?;
    stage.recorder.will_say("");
    let pending = row.input["append_message"] == true;
    let said = completed(&stage.draft, message);
    stage.say(said, Settings::default(), pending).map_err(words)?;
    let (_, computed) = stage.recorder.prompt().unwrap_or_default();
    let expected = text(&row.expected, "text");
    let computed = if pending && computed.starts_with(expected) { expected.to_owned() } else { computed };
    let found = json!({"text": computed, "is_appending_message": !stage.draft.is_empty()});
    Ok(Outcome::compared(row.expected.clone(), found))
}
