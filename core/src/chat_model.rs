//! Anything that answers: a model in this process, or a server. One request, one stream, one reply.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::arguments::ProcessorArguments;
use crate::error::excerpt;
use crate::media::Digest;
use crate::message::{Message, MessagePath, Role};
use crate::output::Guidance;
use crate::preface::Preface;
use crate::processor::Delta;
use crate::prompt::PreparedPrompt;
use crate::report::{
    CacheReport, CutHistory, Degradation, FinishReason, ReplyTiming, Score, Speculation, Usage,
};
use crate::sampling::{SampledLogprobs, SamplingOptions};
use crate::stop::StopSignal;
use crate::stream::Run;
use crate::template::Ending;
use crate::tokenizer::TokenId;
use crate::turn::TurnData;
use crate::{Error, ErrorKind, Result};

mod mapped_text;
mod models;
mod of_deltas;
mod origin;

pub use mapped_text::TextMap;
pub use models::Models;
pub use origin::Origin;

/// What a model is asked.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Request {
    /// Instructions, tools and template variables.
    pub preface: Preface,
    /// The messages from the first to the one to answer, and the ids that replies among them were sampled as.
    pub path: MessagePath,
    /// How to sample; what is absent the model decides.
    pub sampling: SamplingOptions,
    /// How the prompt ends.
    pub ending: Ending,
    /// Ends the reply early and keeps it.
    pub stop: StopSignal,
    /// The form that this one reply must have.
    pub guidance: Guidance,
    /// What the processor is told by the call and the conversation; what is absent the preface decides.
    pub arguments: ProcessorArguments,
    /// What the host hands to middleware and tools; models leave it aside.
    pub turn_data: TurnData,
    /// The ids that replies on the path were sampled as, in their order, where the path itself has none. A model that finds
    /// a reply's text in its prompt takes these in its place, so that it computes none of it again; others change nothing.
    pub replies: Vec<Vec<TokenId>>,
    /// Whose it is; `None` outside of a conversation.
    pub origin: Option<Origin>,
    /// Which of several models is to answer; `None` leaves that to the model. See [`Models`].
    pub model: Option<String>,
}

impl Request {
    /// Asks for an answer to `path`.
    pub fn new(preface: Preface, path: Vec<Message>) -> Self {
        Self::of(preface, path.into())
    }

    /// Asks for an answer to a path that others may hold too: no message of it is copied.
    pub fn of(preface: Preface, path: MessagePath) -> Self {
        Self { preface, path, ..Self::default() }
    }

    /// Sets how to sample.
    #[must_use]
    pub fn sampling(mut self, sampling: SamplingOptions) -> Self {
        self.sampling = sampling;
        self
    }

    /// Sets how the prompt ends.
    #[must_use]
    pub fn ending(mut self, ending: Ending) -> Self {
        self.ending = ending;
        self
    }

    /// Sets the form that the reply must have.
    #[must_use]
    pub fn guidance(mut self, guidance: Guidance) -> Self {
        self.guidance = guidance;
        self
    }

    /// Sets what the processor is told.
    #[must_use]
    pub fn arguments(mut self, arguments: ProcessorArguments) -> Self {
        self.arguments = arguments;
        self
    }

    /// Returns what the processor is told in the end: by the call and the conversation, then by the preface.
    pub fn joined_arguments(&self) -> ProcessorArguments {
        self.arguments.clone().or(&self.preface.arguments)
    }

    /// Puts `text` in the place of the first system message, or before all messages where there is none.
    pub fn replace_system_prompt(&mut self, text: &str) {
        let is_system = |message: &&mut Message| message.role == Role::System;
        let is_alone = self.preface.messages.is_empty();
        let is_first = self.path.first().is_some_and(|first| first.role == Role::System);
        if let Some(message) = self.preface.messages.iter_mut().find(is_system) {
            *message = Message::system(text);
        } else if is_alone && is_first {
            self.path.replace(0, Message::system(text));
        } else {
            self.preface.messages.insert(0, Message::system(text));
        }
    }

    /// Says whose it is.
    #[must_use]
    pub fn origin(mut self, origin: Origin) -> Self {
        self.origin = Some(origin);
        self
    }

    /// Names the model that is to answer, of several.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Checks that the request names no other model than `model` is or has.
    pub(crate) fn must_name_one_of(&self, model: &dyn ChatModel) -> Result<()> {
        let Some(name) = &self.model else { return Ok(()) };
        let names = model.names();
        if names.contains(&name.as_str()) {
            return Ok(());
        }
        let message = format!("there is no model {name:?}, one of: {}", names.join(", "));
        Err(Error::new(ErrorKind::NotFound, message))
    }

    /// Sets the ids that replies on the path were sampled as.
    #[must_use]
    pub fn replies(mut self, replies: Vec<Vec<TokenId>>) -> Self {
        self.replies = replies;
        self
    }

    /// Listens to a signal that ends the reply early.
    #[must_use]
    pub fn stop(mut self, stop: StopSignal) -> Self {
        self.stop = stop;
        self
    }
}

/// A whole reply.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// What the model said.
    pub message: Message,
    /// The ids it was sampled as, the ending one left out; empty where a server does not say.
    pub tokens: Vec<TokenId>,
    /// Why it ended.
    pub finish: FinishReason,
    /// The stop text that ended it.
    pub stop_string: Option<String>,
    /// What went wrong midway, where something did.
    pub error: Option<String>,
    /// The log-probabilities of [`Reply::tokens`], one for each, where [`SamplingOptions::logprobs`] asks for them.
    pub logprobs: Vec<SampledLogprobs>,
    /// How many tokens it took; zero throughout where the model does not say.
    pub usage: Usage,
    /// What the KV cache was good for, where known.
    pub cache: Option<CacheReport>,
    /// How well its tokens were guessed ahead; `None` where they were not.
    pub speculation: Option<Speculation>,
    /// How long it took, where known. No node remembers it: the same reply takes another time elsewhere.
    pub timing: Option<ReplyTiming>,
    /// The seed of the draw; `None` when greedy or unknown.
    pub seed: Option<u64>,
    /// The digest of the template that rendered its prompt; `None` for models that keep theirs to themselves.
    pub template: Option<Digest>,
    /// What was not done as asked.
    pub degradations: Vec<Degradation>,
    /// Where the history of its prompt began, where a policy for a full context left some of it out.
    pub cut: Option<CutHistory>,
    /// What middleware notes of it, such as `alloquy.redaction`. The node keeps it in [`ReplyFacts::facts`](crate::report::ReplyFacts::facts).
    pub facts: Map<String, Value>,
}

impl Reply {
    /// Returns the text of the message.
    pub fn text(&self) -> String {
        self.message.text()
    }

    /// Reads the text as JSON of a type.
    ///
    /// ```
    /// use alloquy_core::{Message, Reply};
    ///
    /// let reply = Reply::new(Message::assistant("[1, 2, 3]"));
    /// assert_eq!(reply.parse::<Vec<u8>>()?, [1, 2, 3]);
    /// let error = reply.parse::<bool>().unwrap_err();
    /// assert!(error.to_string().starts_with("the reply \"[1, 2, 3]\" does not fit: invalid type: sequence"));
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) with the text, and with the reason why the reply ended where it did not end by
    /// itself.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        let text = self.text();
        serde_json::from_str(&text).map_err(|source| {
            let ended = match self.finish {
                FinishReason::Length => ", and it ended at its limit of tokens",
                FinishReason::ContextFull => ", and it ended where the context was full",
                FinishReason::StopString => ", and a stop text ended it",
                FinishReason::ToolCalls => ", and it asks for tools",
                FinishReason::Cancelled => ", and it was cancelled",
                FinishReason::Error => ", and the model failed midway",
                FinishReason::Stop => "",
            };
            let message = format!("the reply {:?} does not fit: {source}{ended}", excerpt(&text));
            Error::new(ErrorKind::Invalid, message).with_source(source)
        })
    }

    /// Returns the reply unless it failed midway.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`](crate::ErrorKind) with what went wrong; what was said until then is lost.
    pub fn complete(self) -> Result<Self> {
        match self.error {
            Some(error) => Err(Error::new(ErrorKind::Backend, error)),
            None => Ok(self),
        }
    }

    /// Creates a reply that ended by itself, with nothing known of its cost.
    ///
    /// A reply is `#[non_exhaustive]`, so other crates set the fields that differ:
    ///
    /// ```
    /// use alloquy_core::{Message, Reply};
    /// use alloquy_core::report::{FinishReason, Usage};
    ///
    /// let mut reply = Reply::new(Message::assistant("Hello!"));
    /// reply.finish = FinishReason::Length;
    /// reply.usage = Usage::new(12, 3);
    /// ```
    pub fn new(message: Message) -> Self {
        Self {
            message,
            tokens: Vec::new(),
            finish: FinishReason::Stop,
            stop_string: None,
            error: None,
            logprobs: Vec::new(),
            usage: Usage::default(),
            cache: None,
            speculation: None,
            timing: None,
            seed: None,
            template: None,
            degradations: Vec::new(),
            cut: None,
            facts: Map::new(),
        }
    }
}

/// A reply that is being written: deltas, then the whole.
pub type ReplyStream = Run<Delta, Reply>;

/// Answers requests.
///
/// # Contract
/// The deltas of a reply join to its message. A request that cannot be answered at all fails in `reply`, before
/// the first delta. Dropping the stream ends the work and leaves the model usable; the stop signal ends the
/// reply and keeps it. `laws::chat_model` checks it.
///
/// **No runtime is promised.** A model is polled by whoever waits: in a task of some runtime, or in a thread without one, as
/// [`Conversation::ask`](crate::Conversation::ask) does. A model whose client needs a runtime, such as tokio's, either has one
/// of its own and waits for what runs there, or fails in `reply` with [`ErrorKind::Backend`](crate::ErrorKind) where there is
/// none. Should it panic all the same, the turn ends with that error, and nothing that was said before is lost.
#[async_trait]
pub trait ChatModel: Send + Sync + Debug {
    /// Returns the model's name.
    fn name(&self) -> &str;

    /// Returns the names that [`Request::model`] may have here: of one model its own. A turn that names another is
    /// refused before it reaches the model.
    fn names(&self) -> Vec<&str> {
        vec![self.name()]
    }

    /// Starts a reply.
    ///
    /// # Errors
    /// Template, tokenizer and backend errors, and [`ErrorKind::ContextOverflow`](crate::ErrorKind).
    async fn reply(&self, request: Request) -> Result<ReplyStream>;

    /// Returns the prompt that this request would give, without running the model; `None` for models that keep theirs to
    /// themselves.
    ///
    /// # Errors
    /// Those of the template, the processor and the tokenizer.
    fn prompt(&self, request: &Request) -> Result<Option<PreparedPrompt>> {
        let _ = request;
        Ok(None)
    }

    /// Computes the prompt ahead of its reply, where that saves time later; returns what it found cached.
    ///
    /// # Errors
    /// As [`ChatModel::reply`].
    async fn warm(&self, request: Request) -> Result<Option<CacheReport>>;

    /// Says how likely each of `targets` is as the reply to a request, token by token.
    ///
    /// Nothing is said, and what the model holds of conversations stays as it is: the next reply reuses as much as it
    /// would have without.
    ///
    /// # Errors
    /// As [`ChatModel::reply`]; [`ErrorKind::Unsupported`](crate::ErrorKind) unless the model can score.
    async fn score(&self, request: Request, targets: &[String]) -> Result<Vec<Score>> {
        let _ = (request, targets);
        let message = format!("model {:?} does not say how likely texts are", self.name());
        Err(Error::new(ErrorKind::Unsupported, message))
    }
}

/// A model that is shared.
// A method that is provided later is passed on too.
#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl<M: ChatModel + ?Sized> ChatModel for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn names(&self) -> Vec<&str> {
        (**self).names()
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        (**self).reply(request).await
    }

    fn prompt(&self, request: &Request) -> Result<Option<PreparedPrompt>> {
        (**self).prompt(request)
    }

    async fn warm(&self, request: Request) -> Result<Option<CacheReport>> {
        (**self).warm(request).await
    }

    async fn score(&self, request: Request, targets: &[String]) -> Result<Vec<Score>> {
        (**self).score(request, targets).await
    }
}
