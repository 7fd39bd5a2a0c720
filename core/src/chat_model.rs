//! The trait of everything that answers, a local model or a server: one request, one stream, one reply.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::arguments::ProcessorArguments;
use crate::error::excerpt;
use crate::media::Digest;
use crate::message::{Message, MessagePath, Part, Role};
use crate::output::OutputConstraints;
use crate::preface::Preface;
use crate::processor::Delta;
use crate::prompt::PreparedPrompt;
use crate::report::{
    CacheReport, CutHistory, FinishReason, ReplyTiming, Speculation, TextScore, Usage, Warning,
};
use crate::sampling::{SamplingOptions, TokenLogprobs};
use crate::stop::StopSignal;
use crate::stream::EventStream;
use crate::template::PromptEnd;
use crate::tokenizer::TokenId;
use crate::turn::TurnData;
use crate::{Error, ErrorKind, Result};

mod beginning;
mod mapped_text;
mod models;
mod of_deltas;
mod origin;

pub use beginning::ReplyBeginning;
pub use mapped_text::TextMap;
pub use models::Models;
pub use origin::Origin;

/// A request to a model: the messages, and how to answer them.
///
/// ```
/// use alloquy_core::report::Warning;
/// use alloquy_core::{ChatModel, Message, Preface, Request, SamplingOptions};
/// use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let sampling = SamplingOptions { top_k: Some(20), ..SamplingOptions::default() };
/// let request = Request::new(Preface::system("Be brief."), vec![Message::user("Tea?")]).sampling(sampling);
/// let reply = EchoModel.reply(request).await?.finish().await?;
/// assert_eq!(reply.text(), "Tea?");
/// assert_eq!(reply.warnings, [Warning::OptionIgnored { name: "top_k".to_owned() }]);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Request {
    /// Instructions, tools and template variables.
    pub preface: Preface,
    /// The messages from the first to the one to answer, with the token ids of the replies among them.
    pub path: MessagePath,
    /// How to sample; the model decides what is absent.
    pub sampling: SamplingOptions,
    /// How the prompt ends.
    pub ending: PromptEnd,
    /// Ends the reply early; the text so far is kept.
    pub stop: StopSignal,
    /// The grammar or response format of this reply.
    pub output: OutputConstraints,
    /// The arguments of the call and the conversation for the processor; the preface decides what is absent.
    pub arguments: ProcessorArguments,
    /// What the host passes to middleware and tools; models ignore it.
    pub turn_data: TurnData,
    /// The token ids of the replies on the path, in their order, where the path itself has none. A model that finds a
    /// reply's text in its prompt uses these ids, so that the cached reply is not computed again. Ids that fit no text
    /// are ignored.
    pub replies: Vec<Vec<TokenId>>,
    /// What the reply begins with. Models for which [`ChatModel::takes_beginnings`] is `false` ignore it, and a turn refuses it.
    pub beginning: Option<ReplyBeginning>,
    /// The conversation that it comes from; `None` outside of one.
    pub origin: Option<Origin>,
    /// Which of several models is to answer; `None` leaves that to the model. See [`Models`].
    pub model: Option<String>,
}

impl Request {
    /// Requests a reply to `path`.
    pub fn new(preface: Preface, path: Vec<Message>) -> Self {
        Self::of(preface, path.into())
    }

    /// Requests a reply to a path that is shared with others: no message is copied.
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
    pub fn ending(mut self, ending: PromptEnd) -> Self {
        self.ending = ending;
        self
    }

    /// Sets the grammar or response format of the reply.
    #[must_use]
    pub fn output(mut self, constraints: OutputConstraints) -> Self {
        self.output = constraints;
        self
    }

    /// Sets the arguments for the processor.
    #[must_use]
    pub fn arguments(mut self, arguments: ProcessorArguments) -> Self {
        self.arguments = arguments;
        self
    }

    /// Returns the arguments for the processor: those of the call and the conversation, then those of the preface.
    pub fn joined_arguments(&self) -> ProcessorArguments {
        self.arguments.clone().or(&self.preface.arguments)
    }

    /// Replaces the first system message by `text`, or inserts one before all messages.
    pub fn replace_system_prompt(&mut self, text: &str) {
        let messages = &mut self.preface.messages;
        let is_alone = messages.is_empty();
        let is_first = self.path.first().is_some_and(|first| first.role == Role::System);
        if let Some(message) = messages.iter_mut().find(|message| message.role == Role::System) {
            *message = Message::system(text);
        } else if is_alone && is_first {
            self.path.replace(0, Message::system(text));
        } else {
            self.preface.messages.insert(0, Message::system(text));
        }
    }

    /// Inserts a part in front of the text of the last user message, such as documents for a question. Returns whether there is such
    /// a message. What is before the message stays in the cache.
    ///
    /// ```
    /// use alloquy_core::{Content, Message, Part, Preface, Request};
    ///
    /// let mut request = Request::new(Preface::default(), vec![Message::user("Where?")]);
    /// assert!(request.insert_before_question(Part::from(Content::Text("Tea grows in Assam. ".into()))));
    /// assert_eq!(request.path[0].text(), "Tea grows in Assam. Where?");
    /// ```
    pub fn insert_before_question(&mut self, part: Part) -> bool {
        let place = self.path.iter().rposition(|message| message.role == Role::User);
        let Some((place, question)) = place.and_then(|place| Some((place, self.path.get(place)?))) else {
            return false;
        };
        let mut question = question.clone();
        let text = question.parts.iter().position(|part| part.as_text().is_some());
        question.parts.insert(text.unwrap_or(question.parts.len()), part);
        self.path.replace(place, question);
        true
    }

    /// Sets the conversation that it comes from.
    #[must_use]
    pub fn origin(mut self, origin: Origin) -> Self {
        self.origin = Some(origin);
        self
    }

    /// Sets which of several models answers.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Checks that the model that the request names is `model` or one of its models.
    pub(crate) fn must_name_one_of(&self, model: &dyn ChatModel) -> Result<()> {
        let Some(name) = &self.model else { return Ok(()) };
        let names = model.names();
        if names.contains(&name.as_str()) {
            return Ok(());
        }
        let message = format!("there is no model {name:?}, one of: {}", names.join(", "));
        Err(Error::new(ErrorKind::NotFound, message))
    }

    /// Sets the token ids of the replies on the path.
    #[must_use]
    pub fn replies(mut self, replies: Vec<Vec<TokenId>>) -> Self {
        self.replies = replies;
        self
    }

    /// Sets what the reply begins with. [`ReplyBeginning`] has an example.
    #[must_use]
    pub fn beginning(mut self, beginning: ReplyBeginning) -> Self {
        self.beginning = Some(beginning);
        self
    }

    /// Sets the signal that ends the reply early.
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
    /// What the model generated.
    pub message: Message,
    /// Its token ids without the end token; empty where a server does not report them.
    pub tokens: Vec<TokenId>,
    /// How many of these were given by [`Request::beginning`].
    pub begun: usize,
    /// Why it ended.
    pub finish: FinishReason,
    /// The stop text that ended it.
    pub stop_string: Option<String>,
    /// What failed midway, if something did.
    pub error: Option<String>,
    /// The log-probabilities of [`Reply::tokens`], one for each after the [first ones that were given](Reply::begun), where
    /// [`SamplingOptions::logprobs`] asks for them.
    pub logprobs: Vec<TokenLogprobs>,
    /// How many tokens it took; all zero where the model does not report them.
    pub usage: Usage,
    /// How much of the prompt was cached, where known.
    pub cache: Option<CacheReport>,
    /// How many draft tokens were accepted; `None` without speculative decoding.
    pub speculation: Option<Speculation>,
    /// How long it took, where known. It is not stored with the node.
    pub timing: Option<ReplyTiming>,
    /// The seed of the draw; `None` when greedy or unknown.
    pub seed: Option<u64>,
    /// The digest of the template that rendered its prompt; `None` for models that do not report it.
    pub template: Option<Digest>,
    /// What was not done as asked.
    pub warnings: Vec<Warning>,
    /// Where the history in its prompt began, if a policy for a full context left some of it out.
    pub cut: Option<CutHistory>,
    /// What middleware noted about it, such as `alloquy.redaction`. The node stores it in
    /// [`ReplyFacts::facts`](crate::report::ReplyFacts::facts).
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
    /// [`ErrorKind::Invalid`](crate::ErrorKind) with the text and, if the reply did not end by itself, with the reason
    /// why it ended.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        let text = self.text();
        serde_json::from_str(&text).map_err(|source| {
            let ended = match self.finish {
                FinishReason::Length => ", and it ended at its limit of tokens",
                FinishReason::ContextFull => ", and it ended where the context was full",
                FinishReason::StopString => ", and a stop text ended it",
                FinishReason::Repetition => ", and it repeated itself until it was ended",
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
    /// [`ErrorKind::Backend`](crate::ErrorKind) with what failed; the text so far is lost.
    pub fn complete(self) -> Result<Self> {
        match self.error {
            Some(error) => Err(Error::new(ErrorKind::Backend, error)),
            None => Ok(self),
        }
    }

    /// Creates a reply that ended by itself, without usage, timing or cache report.
    ///
    /// `Reply` is `#[non_exhaustive]`, so other crates set the fields that differ:
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
            begun: 0,
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
            warnings: Vec::new(),
            cut: None,
            facts: Map::new(),
        }
    }
}

/// A reply that is being generated: deltas, then the whole reply.
///
/// ```
/// use alloquy_core::{Delta, Message, Reply, ReplyStream};
/// use futures::StreamExt;
///
/// # pollster::block_on(async {
/// // A model creates it in `ChatModel::reply`.
/// let mut stream = ReplyStream::new(|mut emit| async move {
///     emit.send(Delta::Text("Good ".to_owned())).await;
///     emit.send(Delta::Text("morning".to_owned())).await;
///     Ok(Reply::new(Message::assistant("Good morning")))
/// });
/// assert_eq!(stream.next().await, Some(Delta::Text("Good ".to_owned())));
/// assert_eq!(stream.finish().await?.text(), "Good morning");
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub type ReplyStream = EventStream<Delta, Reply>;

/// Answers requests.
///
/// # Contract
/// The deltas of a reply join to its message. A request that cannot be answered at all fails in `reply`, before the
/// first delta. Dropping the stream ends the work and leaves the model usable. The stop signal ends the reply, and its
/// text so far is kept. `laws::chat_model` checks this contract.
///
/// **No runtime is promised.** The caller polls the model: in a task of some runtime, or in a thread without one, as
/// [`Conversation::ask`](crate::Conversation::ask) does. A model whose client needs a runtime, such as tokio's, has one
/// of its own and waits for what runs there. Or it fails in `reply` with [`ErrorKind::Backend`](crate::ErrorKind) where
/// there is no runtime. If it panics all the same, the turn ends with that error, and no stored message is lost.
#[async_trait]
pub trait ChatModel: Send + Sync + Debug {
    /// Returns the model's name.
    fn name(&self) -> &str;

    /// Returns the names that [`Request::model`] may have here: by default the model's own name. A turn that names
    /// another model fails before it reaches this one.
    fn names(&self) -> Vec<&str> {
        vec![self.name()]
    }

    /// Returns whether [`Request::beginning`] has an effect; by default it has none.
    fn takes_beginnings(&self) -> bool {
        false
    }

    /// Starts a reply.
    ///
    /// # Errors
    /// Template, tokenizer and backend errors, and [`ErrorKind::ContextOverflow`](crate::ErrorKind).
    async fn reply(&self, request: Request) -> Result<ReplyStream>;

    /// Returns the prompt of a request without running the model; `None` for models that do not report it.
    ///
    /// # Errors
    /// Those of the template, the processor and the tokenizer.
    fn prompt(&self, request: &Request) -> Result<Option<PreparedPrompt>> {
        let _ = request;
        Ok(None)
    }

    /// Computes the prompt ahead of its reply and returns how much of it was cached already.
    ///
    /// # Errors
    /// As [`ChatModel::reply`].
    async fn warm(&self, request: Request) -> Result<Option<CacheReport>>;

    /// Returns how likely each of `targets` is as the reply to a request, token by token.
    ///
    /// Nothing is generated, and what is cached stays cached.
    ///
    /// # Errors
    /// As [`ChatModel::reply`]; [`ErrorKind::Unsupported`](crate::ErrorKind) unless the model can score.
    async fn score(&self, request: Request, targets: &[String]) -> Result<Vec<TextScore>> {
        let _ = (request, targets);
        let message = format!("model {:?} cannot score texts", self.name());
        Err(Error::new(ErrorKind::Unsupported, message))
    }
}

/// A model that is shared.
// Every method is computed, also one that the trait gets later.
#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl<M: ChatModel + ?Sized> ChatModel for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn names(&self) -> Vec<&str> {
        (**self).names()
    }

    fn takes_beginnings(&self) -> bool {
        (**self).takes_beginnings()
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

    async fn score(&self, request: Request, targets: &[String]) -> Result<Vec<TextScore>> {
        (**self).score(request, targets).await
    }
}
