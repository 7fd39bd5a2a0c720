//! A chat model that follows a script: by cues in the prompt, or one reply after the other.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use alloquy_core::processor::{DataProcessor, ProcessorInput};
use alloquy_core::prompt::{PreparedPrompt, Prompt, PromptCounter};
use alloquy_core::report::{CacheReport, FinishReason, Warning};
use alloquy_core::stream::{Emitter, EventStream};
use alloquy_core::template::PromptTemplate;
use alloquy_core::{
    ChatModel, Content, Delta, Error, ErrorKind, Message, Reply, ReplyStream, Request, Result,
};
use async_trait::async_trait;

use super::scripted_engine::SPECIALS;
use super::{ByteTokenizer, TaggedProcessor, TaggedTemplate};

/// A chat model that answers by a script, without an engine or a thread.
///
/// There are two kinds of scripts:
///
/// * [`new`](Self::new) takes cues. A prompt, as [`TaggedTemplate`] renders it, is answered by the reply whose cue ends last in
///   it; of two that end at the same place, by the later one. [`TaggedProcessor`] parses the reply. Sampling options have no
///   effect, which each reply reports. A prompt is counted in bytes and control tokens, as in [`ByteTokenizer`].
/// * [`replying`](Self::replying) takes [`ScriptedReply`]s and returns one after the other, whatever the request. It has no
///   prompts.
///
/// ```
/// use alloquy_core::{ChatModel, Message, Preface, Request};
/// use alloquy_testing::ScriptedModel;
///
/// # pollster::block_on(async {
/// let model = ScriptedModel::new([
///     ("<user>Hi<end><assistant>", "Hello!"),
///     ("<user>What time is it?<end><assistant>", "call:clock {\"zone\":\"UTC\"}"),
/// ]);
/// let ask = |text: &str| model.reply(Request::new(Preface::default(), vec![Message::user(text)]));
/// assert_eq!(ask("Hi").await?.finish().await?.text(), "Hello!");
/// let calls = ask("What time is it?").await?.finish().await?.message;
/// assert_eq!(calls.tool_calls().next().map(|call| call.name.as_str()), Some("clock"));
/// assert!(ask("Who are you?").await.is_err());
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ScriptedModel {
    name: String,
    script: Script,
    context: usize,
}

#[derive(Clone, Debug)]
enum Script {
    /// Cues, each with its reply.
    Cues(Arc<[(String, String)]>),
    /// The remaining replies.
    Replies(Arc<Mutex<VecDeque<ScriptedReply>>>),
}

/// One reply of a script, and how it ends.
///
/// ```
/// use alloquy_core::{ChatModel, Message, Preface, Request};
/// use alloquy_testing::{ScriptedModel, ScriptedReply};
///
/// # pollster::block_on(async {
/// let model = ScriptedModel::replying([ScriptedReply::text("Hello!"), ScriptedReply::Fails("Hel".to_owned())]);
/// let request = Request::new(Preface::default(), vec![Message::user("Hi")]);
/// assert_eq!(model.reply(request.clone()).await?.finish().await?.text(), "Hello!");
/// assert!(model.reply(request).await?.finish().await.is_err());
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum ScriptedReply {
    /// A whole reply, with its facts. Each part of its message is a delta.
    Whole(Box<Reply>),
    /// Generates this text, and then fails.
    Fails(String),
    /// Generates this text, and nothing more until it is stopped or dropped.
    Hangs(String),
}

impl ScriptedReply {
    /// Makes a whole reply of a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::from(Reply::new(Message::assistant(text)))
    }
}

impl From<Reply> for ScriptedReply {
    fn from(reply: Reply) -> Self {
        Self::Whole(Box::new(reply))
    }
}

impl ScriptedModel {
    /// Answers a prompt that contains a cue with the reply of that cue.
    pub fn new<C: Into<String>, R: Into<String>>(script: impl IntoIterator<Item = (C, R)>) -> Self {
        let cues = script.into_iter().map(|(cue, reply)| (cue.into(), reply.into()));
        Self { name: "scripted".to_owned(), script: Script::Cues(cues.collect()), context: CONTEXT }
    }

    /// Answers with one of `replies` after the other. Once none is left, every request is an error. Clones share the replies.
    pub fn replying(replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        let replies = Arc::new(Mutex::new(replies.into_iter().collect()));
        Self { name: "scripted".to_owned(), script: Script::Replies(replies), context: CONTEXT }
    }

    /// Sets the model's name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets how many positions a prompt and its reply may take. The default is 4096. A longer prompt is refused.
    #[must_use]
    pub fn context_length(mut self, positions: usize) -> Self {
        self.context = positions;
        self
    }

    /// Prepares the prompt of a request.
    fn prepared(&self, request: &Request) -> Result<PreparedPrompt> {
        let arguments = request.joined_arguments();
        let source = ProcessorInput::new(&request.preface, &request.path, request.ending);
        let source = ProcessorInput { arguments: &arguments, ..source };
        let rendered = TaggedTemplate.render(&TaggedProcessor.template_input(source)?)?;
        let parts = TaggedProcessor.prompt_parts(&rendered, source)?;
        let prompt = Prompt::lower(&parts, &ByteTokenizer::new(SPECIALS))?;
        Ok(PreparedPrompt::new(rendered, parts, prompt, TaggedTemplate.digest(), self.context))
    }
}

/// How many positions a prompt and its reply may take by default.
const CONTEXT: usize = 4096;

/// Counts the prompts of a script of cues.
impl PromptCounter for ScriptedModel {
    fn units(&self, request: &Request) -> Result<usize> {
        Ok(self.prepared(request)?.positions())
    }
}

#[async_trait]
impl ChatModel for ScriptedModel {
    fn name(&self) -> &str {
        &self.name
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        request.sampling.validate()?;
        match &self.script {
            Script::Cues(cues) => {
                if request.output.grammar.is_some() {
                    let message = "a scripted model cannot follow a grammar";
                    return Err(Error::new(ErrorKind::Unsupported, message));
                }
                let prompt = self.prepared(&request)?;
                if prompt.positions() >= self.context {
                    let message = format!(
                        "the prompt has {} tokens and the model's context {}: no room for a reply",
                        prompt.positions(),
                        self.context
                    );
                    return Err(Error::new(ErrorKind::ContextOverflow, message));
                }
                let text = cued(cues, &prompt.rendered)?;
                Ok(EventStream::new(|emit| generate(text, request, emit)))
            }
            Script::Replies(replies) => {
                let next = replies.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                let Some(next) = next else {
                    return Err(Error::new(ErrorKind::Invalid, "the script has no more replies"));
                };
                Ok(EventStream::new(|emit| play(next, request, emit)))
            }
        }
    }

    fn prompt(&self, request: &Request) -> Result<Option<PreparedPrompt>> {
        match self.script {
            Script::Cues(_) => self.prepared(request).map(Some),
            Script::Replies(_) => Ok(None),
        }
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

/// Returns the reply whose cue ends last in a prompt.
fn cued(cues: &[(String, String)], prompt: &str) -> Result<String> {
    let mut last: Option<(usize, &String)> = None;
    for (cue, reply) in cues {
        let Some(start) = prompt.rfind(cue.as_str()) else { continue };
        let end = start + cue.len();
        if last.is_none_or(|(latest, _)| end >= latest) {
            last = Some((end, reply));
        }
    }
    match last {
        Some((_, reply)) => Ok(reply.clone()),
        None => Err(Error::new(ErrorKind::Invalid, format!("the script has no cue in {prompt:?}"))),
    }
}

/// Generates a text character by character.
async fn generate(text: String, request: Request, mut emit: Emitter<Delta>) -> Result<Reply> {
    let source = ProcessorInput::new(&request.preface, &request.path, request.ending);
    let mut parser = TaggedProcessor.reply_parser("", source);
    let mut finish = FinishReason::Stop;
    let mut buffer = [0; 4];
    for character in text.chars() {
        if request.stop.is_stopped() {
            finish = FinishReason::Cancelled;
            break;
        }
        for delta in parser.push(character.encode_utf8(&mut buffer)) {
            emit.send(delta).await;
        }
    }
    let (rest, message) = parser.finish();
    emit.send_all(rest).await;
    if finish == FinishReason::Stop && message.tool_calls().next().is_some() {
        finish = FinishReason::ToolCalls;
    }
    let mut reply = ended(message, finish);
    for name in request.sampling.names() {
        reply.warnings.push(Warning::OptionIgnored { name: name.to_owned() });
    }
    Ok(reply)
}

/// Plays a reply of the script until it ends or is cancelled.
async fn play(reply: ScriptedReply, request: Request, mut emit: Emitter<Delta>) -> Result<Reply> {
    match reply {
        ScriptedReply::Whole(reply) => whole(*reply, &request, emit).await,
        ScriptedReply::Fails(text) => {
            emit.send(Delta::Text(text)).await;
            Err(Error::new(ErrorKind::Backend, "the model fails here, as scripted"))
        }
        ScriptedReply::Hangs(text) => {
            emit.send(Delta::Text(text.clone())).await;
            while !request.stop.is_stopped() {
                yield_now().await;
            }
            Ok(cancelled(Message::assistant(text)))
        }
    }
}

async fn whole(reply: Reply, request: &Request, mut emit: Emitter<Delta>) -> Result<Reply> {
    let mut sent = Vec::new();
    for part in &reply.message.parts {
        if request.stop.is_stopped() {
            return Ok(cancelled(Message::new(reply.message.role, sent)));
        }
        emit.send(delta(&part.content)?).await;
        sent.push(part.content.clone());
    }
    Ok(reply)
}

/// Returns the delta that makes a part.
fn delta(part: &Content) -> Result<Delta> {
    match part.clone() {
        Content::Text(text) => Ok(Delta::Text(text)),
        Content::Thinking(text) => Ok(Delta::Thinking(text)),
        Content::Channel(text) => Ok(Delta::Channel(text)),
        Content::ToolCall(call) => Ok(Delta::ToolCall(call)),
        Content::Malformed(malformed) => Ok(Delta::Malformed(malformed)),
        other => Err(Error::new(ErrorKind::Invalid, format!("no model generates {other:?}"))),
    }
}

fn cancelled(message: Message) -> Reply {
    ended(message, FinishReason::Cancelled)
}

fn ended(message: Message, finish: FinishReason) -> Reply {
    let mut reply = Reply::new(message);
    reply.finish = finish;
    reply
}

/// Returns to the executor once, and asks to be polled again.
async fn yield_now() {
    let mut has_waited = false;
    std::future::poll_fn(|context| {
        if has_waited {
            return std::task::Poll::Ready(());
        }
        has_waited = true;
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}
