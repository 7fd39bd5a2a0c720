//! A chat model that follows a script: by what it is asked, or one reply after the other.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use alloquy_core::processor::{DataProcessor, PromptSource};
use alloquy_core::prompt::{PreparedPrompt, Prompt, PromptLength};
use alloquy_core::report::{CacheReport, Degradation, FinishReason};
use alloquy_core::stream::{Emit, Run};
use alloquy_core::template::PromptTemplate;
use alloquy_core::{
    ChatModel, Content, Delta, Error, ErrorKind, Message, Reply, ReplyStream, Request, Result,
};
use async_trait::async_trait;

use super::scripted_engine::SPECIALS;
use super::{ByteTokenizer, TaggedProcessor, TaggedTemplate};

/// Answers by a script, without tokens, an engine or a thread.
///
/// A script of texts has cues: a prompt as [`TaggedTemplate`] prints it is answered by the reply whose cue ends last in it, the
/// later of two that end in one place, as [`TaggedProcessor`] reads it. Sampling options have no effect on it, which each such
/// reply says. Its prompts are counted in bytes and control tokens, as [`ByteTokenizer`] has them. A script of
/// [`ScriptedReply`]s is played from its beginning, whatever is asked, and has no prompts.
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
    /// What is left of the replies.
    Replies(Arc<Mutex<VecDeque<ScriptedReply>>>),
}

/// One reply of a script, and how it ends.
#[derive(Clone, Debug)]
pub enum ScriptedReply {
    /// A whole reply, with whatever it says of itself; each part of its message is a delta.
    Whole(Box<Reply>),
    /// Says this, and fails then.
    Fails(String),
    /// Says this, and nothing more until it is stopped or dropped.
    Hangs(String),
}

impl ScriptedReply {
    /// A reply of this text.
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
    /// Answers a prompt that has a cue by the reply beside it.
    pub fn new<C: Into<String>, R: Into<String>>(script: impl IntoIterator<Item = (C, R)>) -> Self {
        let cues = script.into_iter().map(|(cue, reply)| (cue.into(), reply.into()));
        Self { name: "scripted".to_owned(), script: Script::Cues(cues.collect()), context: CONTEXT }
    }

    /// Gives one of `replies` after the other; once there is none left, every request is an error. Clones share them.
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

    /// Sets how many positions a prompt may take with its reply; 4096 unless set. A longer prompt is refused.
    #[must_use]
    pub fn context_length(mut self, positions: usize) -> Self {
        self.context = positions;
        self
    }

    /// Makes the prompt of a request.
    fn prepared(&self, request: &Request) -> Result<PreparedPrompt> {
        let arguments = request.joined_arguments();
        let source = PromptSource::new(&request.preface, &request.path, request.ending);
        let source = PromptSource { arguments: &arguments, ..source };
        let rendered = TaggedTemplate.render(&TaggedProcessor.template_input(source)?)?;
        let parts = TaggedProcessor.prompt_parts(&rendered, source)?;
        let prompt = Prompt::lower(&parts, &ByteTokenizer::new(SPECIALS))?;
        Ok(PreparedPrompt::new(rendered, parts, prompt, TaggedTemplate.digest(), self.context))
    }
}

/// How many positions a prompt may take with its reply.
const CONTEXT: usize = 4096;

/// Counts the prompts of a script of cues.
impl PromptLength for ScriptedModel {
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
                if request.guidance.grammar.is_some() {
                    let message = "a script has no other form than what it says";
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
                Ok(Run::new(|emit| say(text, request, emit)))
            }
            Script::Replies(replies) => {
                let next = replies.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                let ended = || Error::new(ErrorKind::Invalid, "the script has no more replies");
                let next = next.ok_or_else(ended)?;
                Ok(Run::new(|emit| play(next, request, emit)))
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

/// Returns the reply whose cue stands last in a prompt.
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

/// Says a text character by character.
async fn say(text: String, request: Request, mut emit: Emit<Delta>) -> Result<Reply> {
    let source = PromptSource::new(&request.preface, &request.path, request.ending);
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
        reply.degradations.push(Degradation::OptionIgnored { name: name.to_owned() });
    }
    Ok(reply)
}

/// Gives a reply of the script as it is, up to where it is stopped.
async fn play(reply: ScriptedReply, request: Request, mut emit: Emit<Delta>) -> Result<Reply> {
    match reply {
        ScriptedReply::Whole(reply) => whole(*reply, &request, emit).await,
        ScriptedReply::Fails(text) => {
            emit.send(Delta::Text(text)).await;
            Err(Error::new(ErrorKind::Backend, "the script says that the model fails here"))
        }
        ScriptedReply::Hangs(text) => {
            emit.send(Delta::Text(text.clone())).await;
            while !request.stop.is_stopped() {
                once_more().await;
            }
            Ok(cancelled(Message::assistant(text)))
        }
    }
}

async fn whole(reply: Reply, request: &Request, mut emit: Emit<Delta>) -> Result<Reply> {
    let mut said = Vec::new();
    for part in &reply.message.parts {
        if request.stop.is_stopped() {
            return Ok(cancelled(Message::new(reply.message.role, said)));
        }
        emit.send(delta(&part.content)?).await;
        said.push(part.content.clone());
    }
    Ok(reply)
}

/// The delta that joins to a part.
fn delta(part: &Content) -> Result<Delta> {
    match part.clone() {
        Content::Text(text) => Ok(Delta::Text(text)),
        Content::Thinking(text) => Ok(Delta::Thinking(text)),
        Content::Channel(said) => Ok(Delta::Channel(said)),
        Content::ToolCall(call) => Ok(Delta::ToolCall(call)),
        Content::Malformed(malformed) => Ok(Delta::Malformed(malformed)),
        other => Err(Error::new(ErrorKind::Invalid, format!("no model says {other:?}"))),
    }
}

fn cancelled(said: Message) -> Reply {
    ended(said, FinishReason::Cancelled)
}

fn ended(said: Message, finish: FinishReason) -> Reply {
    let mut reply = Reply::new(said);
    reply.finish = finish;
    reply
}

/// Lets whoever polls go on once, and is polled again.
async fn once_more() {
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
