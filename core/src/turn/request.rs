//! What is asked in one turn, and whatever differs in it from the settings of the conversation.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::address::Address;
use crate::arguments::ProcessorArguments;
use crate::grammar::Grammar;
use crate::guidance::Guidance;
use crate::message::{Message, Role};
use crate::middleware::Middleware;
use crate::sampling::SamplingOptions;
use crate::task_group::TaskGroup;
use crate::tool::Toolbox;
use crate::tree::Node;
use crate::turn_data::TurnData;

/// What is asked in one turn: messages, and whatever differs from the manager's settings this once.
///
/// ```
/// use alloquy_core::{SamplingOptions, TurnRequest};
///
/// let ask = TurnRequest::from("Surprise me")
///     .at("0.1".parse::<alloquy_core::Address>()?)
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
    pub(crate) label: Option<String>,
    pub(crate) metadata: Map<String, Value>,
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
    /// replies keep them as [`ReplyFacts::system_prompt`](crate::ReplyFacts::system_prompt).
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

    /// Sets the form of the answer, and leaves the rest of [`TurnRequest::guidance`] as it is.
    pub fn response_format(mut self, grammar: Grammar) -> Self {
        self.guidance.grammar = Some(grammar);
        self
    }

    /// Names the model that answers in this turn, of [several](crate::Models); the node of each reply says which it was.
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

    /// Names the prompt that made a message of the question; results of tools are made by no prompt.
    pub(crate) fn mark_prompt(&self, node: &mut Node) {
        if node.message.role != Role::Tool {
            node.prompt_name.clone_from(&self.prompt);
        }
    }

    /// Labels a reply, or the last message that is added, and sets its metadata.
    pub(crate) fn mark(&self, node: &mut Node) {
        node.label.clone_from(&self.label);
        node.metadata.clone_from(&self.metadata);
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
