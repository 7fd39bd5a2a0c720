//! What is asked in one turn, and whatever differs in it from the settings of the conversation.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::arguments::ProcessorArguments;
use crate::grammar::Grammar;
use crate::message::{Message, Role};
use crate::middleware::Middleware;
use crate::output::Guidance;
use crate::report::{FinishReason, ReplyFacts};
use crate::sampling::SamplingOptions;
use crate::stop::TaskGroup;
use crate::tool::Toolbox;
use crate::tree::{Address, Node, NodeStatus};
use crate::turn::TurnData;
use crate::{Error, ErrorKind, Result};

/// What is asked in one turn: messages, and whatever differs from the manager's settings this once.
///
/// ```
/// use alloquy_core::{SamplingOptions, TurnRequest};
///
/// let ask = TurnRequest::from("Surprise me")
///     .at("0.1".parse::<alloquy_core::tree::Address>()?)
///     .system_prompt("Rhyme.")
///     .sampling(SamplingOptions { temperature: Some(1.2), ..Default::default() });
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct TurnRequest {
    pub(crate) messages: Vec<Message>,
    pub(crate) at: Option<Address>,
    pub(crate) sampling: SamplingOptions,
    pub(crate) arguments: ProcessorArguments,
    pub(crate) guidance: Guidance,
    pub(crate) system_prompt: Option<String>,
    pub(crate) prompt: Option<String>,
    pub(crate) reply_facts: Option<ReplyFacts>,
    pub(crate) label: Option<String>,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) message_metadata: Map<String, Value>,
    pub(crate) turn_data: TurnData,
    pub(crate) model: Option<String>,
    pub(crate) tools: Option<Toolbox>,
    pub(crate) middleware: Vec<Arc<dyn Middleware>>,
    pub(crate) group: Option<TaskGroup>,
}

impl TurnRequest {
    /// Sets below which node this is said, or which node is answered, wherever the head is; it moves to the answer
    /// nevertheless.
    pub fn at(mut self, node: impl Into<Address>) -> Self {
        self.at = Some(node.into());
        self
    }

    /// Sets the form that the replies of this turn must have. Once the model has called tools it need not call more,
    /// and then answers in that form.
    pub fn guidance(mut self, guidance: Guidance) -> Self {
        self.guidance = guidance;
        self
    }

    /// Sets how this reply is sampled; what is absent the conversation decides, then the manager.
    pub fn sampling(mut self, sampling: SamplingOptions) -> Self {
        self.sampling = sampling;
        self
    }

    /// Sets a variable of the chat template for this turn, over that of the conversation and of the preface.
    pub fn extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.arguments.extra.insert(name.into(), value.into());
        self
    }

    /// Sets what the processor is told in this turn, over what was set before; what is absent the conversation
    /// decides, then the preface.
    pub fn arguments(mut self, arguments: ProcessorArguments) -> Self {
        self.arguments = arguments.or(&self.arguments);
        self
    }

    /// Puts instructions in the place of those of the conversation, for this turn alone. Nothing said is changed; the
    /// replies keep them as [`ReplyFacts::system_prompt`]. Messages that are added without a turn do not keep them.
    pub fn system_prompt(mut self, text: impl Into<String>) -> Self {
        self.system_prompt = Some(text.into());
        self
    }

    /// Remembers by which prompt these messages were made, as [`Node::prompt_name`](crate::Node::prompt_name).
    ///
    /// Whatever keeps prompts by name renders one into messages, and is said like everything else: it implements
    /// `Into<TurnRequest>`, which every way to say something takes.
    ///
    /// ```
    /// use alloquy_core::{Message, TurnRequest};
    ///
    /// /// A prompt that was filled in.
    /// struct Greeting<'a> {
    ///     name: &'a str,
    /// }
    ///
    /// impl From<Greeting<'_>> for TurnRequest {
    ///     fn from(greeting: Greeting<'_>) -> Self {
    ///         TurnRequest::from(Message::user(format!("I am {}.", greeting.name))).prompt("greeting")
    ///     }
    /// }
    /// # fn both(conversation: &alloquy_core::Conversation) {
    /// let turn = conversation.send(Greeting { name: "Ann" });
    /// # }
    /// ```
    pub fn prompt(mut self, name: impl Into<String>) -> Self {
        self.prompt = Some(name.into());
        self
    }

    /// Sets the facts of the last of these messages: a reply that was generated elsewhere. Its node keeps them as
    /// [`Node::reply`](crate::Node::reply), so it counts among what replies took and cost, and is interrupted if its finish
    /// reason says so. The replies of the turn have their own facts.
    ///
    /// # Errors
    /// A turn and [`Conversation::add`](crate::Conversation::add) fail with [`ErrorKind::Invalid`] where the last message is
    /// not of the role assistant.
    ///
    /// ```
    /// use alloquy_core::{Message, TurnRequest};
    /// use alloquy_core::report::{FinishReason, ReplyFacts, Usage};
    ///
    /// let mut facts = ReplyFacts::new("gpt-4o");
    /// facts.finish = Some(FinishReason::Stop);
    /// facts.usage = Some(Usage::new(12, 3));
    /// let reply = TurnRequest::from(Message::assistant("Hello!")).reply_facts(facts);
    /// # async fn add(conversation: &alloquy_core::Conversation, reply: TurnRequest) -> alloquy_core::Result<()> {
    /// conversation.add("Hi!").await?;
    /// conversation.add(reply).await?;
    /// # Ok(()) }
    /// ```
    pub fn reply_facts(mut self, facts: ReplyFacts) -> Self {
        self.reply_facts = Some(facts);
        self
    }

    /// Labels the replies of this turn, or the last message that is added; see [`Conversation::label`](crate::Conversation::label).
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets an entry of the metadata of this turn's replies, or of the last message that is added. Metadata is the host's
    /// alone: no name of it means anything to Alloquy.
    pub fn metadata(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(name.into(), value.into());
        self
    }

    /// Sets an entry of the metadata of each of these messages, such as where a question comes from;
    /// [`TurnRequest::metadata`] is that of the replies.
    ///
    /// ```
    /// use alloquy_core::{Conversation, TurnRequest};
    /// # use alloquy_testing::EchoModel;
    ///
    /// # pollster::block_on(async {
    /// let conversation = Conversation::new(EchoModel);
    /// conversation.send(TurnRequest::from("Hi").message_metadata("device", "phone").metadata("stars", 5)).await?;
    /// let history = conversation.history().await?;
    /// assert_eq!(history[0].metadata["device"], "phone");
    /// assert_eq!(history[1].metadata["stars"], 5);
    /// assert_eq!((history[0].metadata.len(), history[1].metadata.len()), (1, 1));
    /// # Ok::<(), alloquy_core::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn message_metadata(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.message_metadata.insert(name.into(), value.into());
        self
    }

    /// Sets the form of the answer, and leaves the rest of [`TurnRequest::guidance`] as it is.
    pub fn response_format(mut self, grammar: Grammar) -> Self {
        self.guidance.grammar = Some(grammar);
        self
    }

    /// Names the model that answers in this turn, of [several](crate::chat_model::Models); the node of each reply says which it was.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Sets the tools of this turn, in the place of the manager's.
    pub fn tools(mut self, tools: Toolbox) -> Self {
        self.tools = Some(tools);
        self
    }

    /// Adds a middleware for this turn, between those of the manager and the model.
    pub fn middleware(mut self, middleware: impl Middleware + 'static) -> Self {
        self.middleware.push(Arc::new(middleware));
        self
    }

    /// Hands something to the middleware and the tools of this turn; it is not stored.
    pub fn turn_data(mut self, data: TurnData) -> Self {
        self.turn_data = data;
        self
    }

    /// Takes the turn in a group, which can end it together with others. It runs from when it is begun until it has ended or
    /// is dropped.
    pub fn group(mut self, group: &TaskGroup) -> Self {
        self.group = Some(group.clone());
        self
    }

    /// Sets the metadata of a message of the question and names the prompt that made it; results of tools are made by no prompt.
    pub(crate) fn mark_message(&self, node: &mut Node) {
        node.metadata.clone_from(&self.message_metadata);
        if node.message.role != Role::Tool {
            node.prompt_name.clone_from(&self.prompt);
        }
    }

    /// Gives the last message its facts, where it is a reply that was generated elsewhere.
    pub(crate) fn mark_reply(&self, last: Option<&mut Node>) -> Result<()> {
        let Some(facts) = &self.reply_facts else { return Ok(()) };
        let model = &facts.model;
        let Some(last) = last else {
            let message = format!("facts of a reply of {model:?} without a message");
            return Err(Error::new(ErrorKind::Invalid, message));
        };
        let role = last.message.role;
        if role != Role::Assistant {
            let message =
                format!("facts of a reply of {model:?} for a message of role {role:?}, not assistant");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        if facts.finish.is_some_and(FinishReason::is_interrupted) {
            last.status = NodeStatus::Interrupted;
        }
        last.reply = Some(Box::new(facts.clone()));
        Ok(())
    }

    /// Labels a reply, or the last message that is added, and sets its metadata.
    pub(crate) fn mark(&self, node: &mut Node) {
        node.label.clone_from(&self.label);
        node.metadata.extend(self.metadata.clone());
    }
}

impl From<Vec<Message>> for TurnRequest {
    fn from(messages: Vec<Message>) -> Self {
        Self { messages, ..Self::default() }
    }
}

impl From<Message> for TurnRequest {
    fn from(message: Message) -> Self {
        Self::from(vec![message])
    }
}

impl From<&str> for TurnRequest {
    fn from(text: &str) -> Self {
        Self::from(Message::user(text))
    }
}

impl From<String> for TurnRequest {
    fn from(text: String) -> Self {
        Self::from(Message::user(text))
    }
}
