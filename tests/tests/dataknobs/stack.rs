//! The middleware of a case. What dataknobs has built in is that of `alloquy-guards` here; what the cases have of their own
//! (`trace`, `append`, `raise`) is written here.
//!
//! dataknobs keeps what middleware notes of a response in a flat map that is not stored, but for the keys under `_persist`.
//! Here the flat map is the host's own, [`TurnFacts`], and what is stored are the facts of the reply.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::prompt_library::{Prompt, PromptLibrary as _, PromptName, Values};
use alloquy_core::report::Warning;
use alloquy_core::stream::EventStream;
use alloquy_core::{
    ChatModel as _, Content, Delta, Error, ErrorKind, Message, Owner, Preface, Reply, ReplyStream, Request,
    Result,
};
use alloquy_guards::facts::{AddFacts, TurnFacts};
use alloquy_guards::limits::{MemoryLimits, Rate, RateLimit, Scope};
use alloquy_guards::redact::{Pattern, REDACTION_FACT, RedactReplies, Redactor, Strategy};
use alloquy_guards::validate::{OnRejected, VALIDATION_FACT, ValidateReplies, Validator, Verdict};
use async_trait::async_trait;
use futures::StreamExt as _;
use serde_json::{Map, Value, json};

use crate::library;
use crate::model::{Events, Provider};
use crate::state::{list, noted};

/// The types that the runner knows.
const KNOWN: [&str; 9] = [
    "append",
    "content_filter",
    "metadata",
    "persist",
    "promote",
    "raise",
    "rate_limit",
    "trace",
    "validation",
];

/// The first type of middleware that the runner does not know.
pub(crate) fn unknown(setup: &Value) -> Option<&str> {
    for settings in list(setup, "middleware") {
        let name = settings["type"].as_str().unwrap_or("no type");
        if !KNOWN.contains(&name) {
            return Some(name);
        }
    }
    None
}

/// Whether a type of middleware is in the setup.
pub(crate) fn has(setup: &Value, name: &str) -> bool {
    list(setup, "middleware").iter().any(|settings| settings["type"] == name)
}

/// The middleware of a setup; the first is the outermost.
pub(crate) fn of(setup: &Value, events: &Events) -> Vec<Arc<dyn Middleware>> {
    let mut stack = Vec::new();
    for settings in list(setup, "middleware") {
        stack.extend(layers(settings, setup, events));
    }
    stack
}

/// The owner of the conversation: the client whose calls a limit counts, where it counts those of a client.
pub(crate) fn owner(setup: &Value) -> Owner {
    let scopes = list(setup, "middleware").iter().filter_map(|settings| settings["scope"].as_str());
    let mut clients = scopes.filter_map(|scope| setup["metadata"][scope].as_str());
    clients.next().map_or_else(Owner::local, |client| client.parse().unwrap())
}

/// What dataknobs calls the metadata of a response: the flat map, and under `_persist` what is stored, where something in the
/// setup stores.
pub(crate) fn response(setup: &Value, flat: &TurnFacts, reply: &Reply) -> Map<String, Value> {
    let mut response = flat.all();
    if has(setup, "persist") || has(setup, "promote") {
        response.insert("_persist".to_owned(), noted(&reply.facts).into());
    }
    response
}

/// What is promised of a reply that validators have let through, and was not kept: it was asked for again, and is marked.
pub(crate) fn unkept(setup: &Value, reply: &Reply) -> Option<String> {
    if !retries(setup) {
        return None;
    }
    let attempts = &reply.facts.get(VALIDATION_FACT)?["attempts"];
    let is_marked = reply.warnings.iter().any(|warning| matches!(warning, Warning::ReplyRejected { .. }));
    (*attempts != 2 || !is_marked).then(|| format!("after {attempts} attempts, a reply is shown unmarked"))
}

/// Whether a validator in the setup asks again.
pub(crate) fn retries(setup: &Value) -> bool {
    list(setup, "middleware").iter().any(|settings| settings["auto_retry"] == true)
}

/// What is said of a call that fails as dataknobs says it: our words, or those of the middleware of a case.
pub(crate) fn failure(error: &Value) -> Option<&str> {
    let message = error["message"].as_str()?;
    match error["type"].as_str()? {
        "RateLimitError" => Some("the limit of calls of"),
        "ValueError" => message.strip_prefix("Response failed validation: "),
        "RuntimeError" => Some(message),
        _ => None,
    }
}

fn layers(settings: &Value, setup: &Value, events: &Events) -> Vec<Arc<dyn Middleware>> {
    let text = |name: &str| settings[name].as_str().unwrap_or_default().to_owned();
    let fields = |name: &str| settings[name].as_object().cloned().unwrap_or_default();
    match settings["type"].as_str().unwrap() {
        "trace" => vec![Arc::new(Trace { name: text("name"), events: events.clone() })],
        "append" => vec![Arc::new(Append { text: text("text"), suffix: text("suffix") })],
        "raise" => vec![Arc::new(Raise { when: text("when") })],
        "metadata" => {
            let noted = fields("response");
            vec![Arc::new(Mark(fields("request"))), Arc::new(Flat::new(move |_| noted.clone()))]
        }
        "persist" => {
            let flat = Map::from_iter([("flat_key".to_owned(), json!("not persisted"))]);
            vec![Arc::new(persist(&fields("values"))), Arc::new(Flat::new(move |_| flat.clone()))]
        }
        "promote" => {
            let keys = list(settings, "keys").iter().filter_map(Value::as_str);
            vec![Arc::new(AddFacts::new().of_turn(keys))]
        }
        "content_filter" => vec![Arc::new(Flat::new(filtered)), Arc::new(filter(settings))],
        "rate_limit" => limit(settings),
        "validation" => vec![Arc::new(validation(settings, setup))],
        name => panic!("{name} is not one of {KNOWN:?}"),
    }
}

fn persist(values: &Map<String, Value>) -> AddFacts {
    let none: [&str; 0] = [];
    let mut facts = AddFacts::new().of_turn(none);
    for (name, value) in values {
        facts = facts.fixed(name, value.clone());
    }
    facts
}

fn filter(settings: &Value) -> RedactReplies {
    let replacement = replacement(settings);
    let flags = if settings["case_sensitive"] == false { "(?i)" } else { "" };
    let mut patterns = Vec::new();
    for word in list(settings, "words").iter().filter_map(Value::as_str) {
        let pattern = Pattern::new(word, format!("{flags}{}", regex::escape(word)));
        patterns.push(pattern.strategy(Strategy::Replace(replacement.to_owned())));
    }
    RedactReplies::new(Redactor::new(patterns).unwrap())
}

/// What replaces a word of a filter.
pub(crate) fn replacement(settings: &Value) -> &str {
    settings["replacement"].as_str().unwrap_or("[FILTERED]")
}

/// The flag of a response in which words were replaced.
fn filtered(reply: &Reply) -> Map<String, Value> {
    let flag = reply.facts.contains_key(REDACTION_FACT).then(|| ("content_filtered".to_owned(), true.into()));
    flag.into_iter().collect()
}

/// The limit, and inside of it what counts the calls that it lets through.
fn limit(settings: &Value) -> Vec<Arc<dyn Middleware>> {
    let most = settings["max"].as_u64().unwrap();
    let window = Duration::from_secs(settings["window"].as_u64().unwrap());
    let rate = Rate::new(u32::try_from(most).unwrap(), window).unwrap();
    let scope = if settings["scope"].is_string() { Scope::Owner } else { Scope::Conversation };
    let count = AtomicU64::new(0);
    let counted = move |_: &Reply| {
        let count = count.fetch_add(1, Ordering::Relaxed) + 1;
        let noted = json!({"rate_limit_count": count, "rate_limit_max": most,
            "rate_limit_remaining": most.saturating_sub(count)});
        noted.as_object().cloned().unwrap_or_default()
    };
    let limit = RateLimit::new(rate, scope, Arc::new(MemoryLimits::default()));
    vec![Arc::new(limit), Arc::new(Flat::new(counted))]
}

fn validation(settings: &Value, setup: &Value) -> ValidateReplies {
    let name = settings["prompt"].as_str().unwrap();
    let prompt = library::of(setup).prompt(&PromptName::user(name)).unwrap();
    let asked = Asked { prompt, provider: Provider::new(settings) };
    if settings["auto_retry"] == true {
        return ValidateReplies::new(asked).rejected(OnRejected::LetThrough);
    }
    ValidateReplies::new(asked).attempts(NonZeroU32::MIN)
}

/// Asks another model by a prompt, which answers VALID or something else.
struct Asked {
    prompt: Arc<dyn Prompt>,
    provider: Provider,
}

#[async_trait]
impl Validator for Asked {
    async fn validate(&self, _: &Request, reply: &Reply) -> Result<Verdict> {
        let question = self.prompt.fill(&Values::new().set("response", reply.text()))?;
        let asked = Request::new(Preface::default(), question.to_messages());
        let answer = self.provider.reply(asked).await?.finish().await?.text();
        if answer == "VALID" { Ok(Verdict::Valid) } else { Ok(Verdict::Invalid(answer)) }
    }
}

/// Logs each request with the number of its messages, and each response.
#[derive(Debug)]
struct Trace {
    name: String,
    events: Events,
}

#[async_trait]
impl Middleware for Trace {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let (name, events) = (self.name.clone(), self.events.clone());
        let messages = request.preface.messages.len() + request.path.len();
        events.add(format!("{name}.request({messages})"));
        let stream = next.call(request).await?;
        Ok(stream.map_result(move |reply| {
            events.add(format!("{name}.response({})", reply.text()));
            Ok(reply)
        }))
    }
}

/// Adds a system message to the request, and a suffix to the response.
#[derive(Debug)]
struct Append {
    text: String,
    suffix: String,
}

#[async_trait]
impl Middleware for Append {
    async fn handle(&self, mut request: Request, next: Next<'_>) -> Result<ReplyStream> {
        request.path.push(Message::system(&self.text));
        let suffix = self.suffix.clone();
        let mut stream = next.call(request).await?;
        Ok(EventStream::new(move |mut emit| async move {
            while let Some(delta) = stream.next().await {
                emit.send(delta).await;
            }
            let mut reply = stream.finish().await?;
            emit.send(Delta::Text(suffix.clone())).await;
            let text = reply.text() + &suffix;
            reply.message.parts = vec![Content::Text(text).into()];
            Ok(reply)
        }))
    }
}

/// Fails before the call, or after it.
#[derive(Debug)]
struct Raise {
    when: String,
}

#[async_trait]
impl Middleware for Raise {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let error = Error::new(ErrorKind::Backend, format!("middleware {} failure", self.when));
        if self.when == "request" {
            return Err(error);
        }
        Ok(next.call(request).await?.map_result(|_| Err(error)))
    }
}

/// Writes fields into the messages of its copy of the request.
#[derive(Debug)]
struct Mark(Map<String, Value>);

#[async_trait]
impl Middleware for Mark {
    async fn handle(&self, mut request: Request, next: Next<'_>) -> Result<ReplyStream> {
        for message in request.path.to_mut().iter_mut() {
            message.extra.insert("metadata".to_owned(), self.0.clone().into());
        }
        next.call(request).await
    }
}

type Noted = dyn Fn(&Reply) -> Map<String, Value> + Send + Sync;

/// Notes something of each response in the flat map.
struct Flat(Arc<Noted>);

impl Flat {
    fn new(noted: impl Fn(&Reply) -> Map<String, Value> + Send + Sync + 'static) -> Self {
        Self(Arc::new(noted))
    }
}

impl fmt::Debug for Flat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Flat")
    }
}

#[async_trait]
impl Middleware for Flat {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let facts = request.turn_data.get::<TurnFacts>().cloned().unwrap_or_default();
        let noted = Arc::clone(&self.0);
        let stream = next.call(request).await?;
        Ok(stream.map_result(move |reply| {
            for (name, value) in noted(&reply) {
                facts.set(name, value);
            }
            Ok(reply)
        }))
    }
}
