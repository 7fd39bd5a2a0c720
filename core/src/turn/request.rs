//! The request of one turn: its messages, and its settings.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::arguments::ProcessorArguments;
use crate::chat_model::ReplyBeginning;
use crate::grammar::Grammar;
use crate::media::Digest;
use crate::message::{Message, Role};
use crate::middleware::Middleware;
use crate::output::OutputConstraints;
use crate::preface::ToolSpec;
use crate::prompt_library::{FilledPrompt, OUTPUT_KEY, PROMPT_KEY, Prompt, PromptName, Values};
use crate::report::{FinishReason, ReplyFacts, Warning};
use crate::sampling::SamplingOptions;
use crate::stop::TaskGroup;
use crate::tool::Toolbox;
use crate::tree::{Address, Node, NodeId, NodeStatus};
use crate::turn::TurnData;
use crate::{Error, ErrorKind, Result};

/// The messages of one turn, and the settings that differ from those of the conversation and the manager.
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
    pub(crate) expected_head: Option<Option<NodeId>>,
    pub(crate) sampling: SamplingOptions,
    pub(crate) arguments: ProcessorArguments,
    pub(crate) output: OutputConstraints,
    pub(crate) system_prompt: Option<String>,
    pub(crate) beginning: Option<ReplyBeginning>,
    pub(crate) prompt: Option<String>,
    pub(crate) named: Option<(NamedPrompt, Values)>,
    /// The keys of what was found for the prompt.
    pub(crate) keys: Vec<Digest>,
    /// What could not be found for the prompt.
    pub(crate) warnings: Vec<Warning>,
    pub(crate) reply_facts: Option<ReplyFacts>,
    pub(crate) last_id: Option<NodeId>,
    pub(crate) label: Option<String>,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) message_metadata: Map<String, Value>,
    pub(crate) turn_data: TurnData,
    pub(crate) model: Option<String>,
    pub(crate) tools: Option<Toolbox>,
    pub(crate) host_tools: Option<Vec<ToolSpec>>,
    pub(crate) middleware: Vec<Arc<dyn Middleware>>,
    pub(crate) group: Option<TaskGroup>,
}

/// A prompt that is filled in when the turn runs.
#[derive(Clone, Debug)]
pub(crate) enum NamedPrompt {
    /// One of the manager's library.
    Name(PromptName),
    /// This one.
    Prompt(Arc<dyn Prompt>),
}

impl TurnRequest {
    /// Sets the node that the messages follow, or that is answered, instead of the head. The head moves to the reply.
    pub fn at(mut self, node: impl Into<Address>) -> Self {
        self.at = Some(node.into());
        self
    }

    /// Moves the head only if it is still at `head`, which was read earlier. If another writer has moved it meanwhile, the
    /// messages and the reply are kept as a branch, and the outcome is [`HeadMove::Branched`](crate::store::HeadMove).
    ///
    /// Together with [`at`](Self::at) it makes a program that reads the path, decides, and adds messages safe against another one
    /// that does the same.
    ///
    /// ```
    /// use alloquy_core::store::HeadMove;
    /// use alloquy_core::{Conversation, TurnRequest};
    /// # use alloquy_testing::EchoModel;
    ///
    /// # pollster::block_on(async {
    /// let conversation = Conversation::new(EchoModel);
    /// let head = conversation.head().await?;
    /// let first = conversation.add(TurnRequest::from("One").at(head).expected_head(head)).await?;
    /// let second = conversation.add(TurnRequest::from("Two").at(head).expected_head(head)).await?;
    /// assert_eq!((first.head, second.head), (HeadMove::Moved, HeadMove::Branched { head: first.node }));
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn expected_head(mut self, head: Option<NodeId>) -> Self {
        self.expected_head = Some(head);
        self
    }

    /// Sets the output constraints of the replies of this turn. A demand for tool calls is fulfilled by the first ones.
    pub fn output(mut self, constraints: OutputConstraints) -> Self {
        self.output = constraints;
        self
    }

    /// Sets the sampling of this turn; the conversation and then the manager decide what is absent.
    pub fn sampling(mut self, sampling: SamplingOptions) -> Self {
        self.sampling = sampling;
        self
    }

    /// Sets a variable of the chat template for this turn. It overrides those of the conversation and the preface.
    pub fn extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.arguments.extra.insert(name.into(), value.into());
        self
    }

    /// Sets arguments for the processor in this turn. They override arguments that were set before; the conversation
    /// and then the preface decide what is absent.
    pub fn arguments(mut self, arguments: ProcessorArguments) -> Self {
        self.arguments = arguments.or(&self.arguments);
        self
    }

    /// Replaces the system prompt for this turn only. No stored message changes; the nodes of the replies store it as
    /// [`ReplyFacts::system_prompt`]. Messages that are added without a turn do not store it.
    pub fn system_prompt(mut self, text: impl Into<String>) -> Self {
        self.system_prompt = Some(text.into());
        self
    }

    /// Sets what the first reply of this turn begins with: a reply that was cut is continued, or the host writes its first words.
    /// The node has the whole reply. [`ReplyBeginning`] has an example.
    ///
    /// # Errors
    /// The turn fails with [`ErrorKind::Unsupported`] where the model [takes none](crate::ChatModel::takes_beginnings), and together
    /// with a grammar.
    pub fn beginning(mut self, beginning: ReplyBeginning) -> Self {
        self.beginning = Some(beginning);
        self
    }

    /// Stores the name of the prompt that created these messages as [`Node::prompt_name`](crate::Node::prompt_name).
    ///
    /// A library of prompts renders a prompt to messages and implements `Into<TurnRequest>`, which every method that
    /// sends messages accepts.
    ///
    /// ```
    /// use alloquy_core::{Message, TurnRequest};
    ///
    /// /// A prompt with its values.
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

    /// Sends a prompt of the manager's library, filled in with `values`, before the other messages of this turn. Its nodes store
    /// its name, version and digest below [`PROMPT_KEY`].
    ///
    /// Besides `values` the prompt may read the named outputs of earlier replies ([`TurnRequest::output_name`]; the nearest one on
    /// the path counts), and these names, unless `values` has them:
    ///
    /// | name | value |
    /// |---|---|
    /// | `system` | the text of the system prompt |
    /// | `history` | the messages so far, a list of `{role, content}` |
    /// | `last_response` | the text of the last reply |
    /// | `memory` | nothing, unless the host sets it |
    ///
    /// # Errors
    /// The turn fails with [`ErrorKind::NotFound`] if the prompt does not exist, with [`ErrorKind::Invalid`] if the manager has no
    /// library or the prompt cannot be filled in. Nothing is stored then.
    /// [`ManagerBuilder::prompts`](crate::manager::ManagerBuilder::prompts) has an example.
    pub fn prompt_name(mut self, name: PromptName, values: Values) -> Self {
        self.named = Some((NamedPrompt::Name(name), values));
        self
    }

    /// Sends a prompt that need not be in the manager's library, like [`TurnRequest::prompt_name`]: it may read the same values, and
    /// the [value sources](crate::manager::ManagerBuilder::value_source) of the manager find what it asks for.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use alloquy_core::prompt_library::{Prompt, Values};
    /// use alloquy_core::{Conversation, TurnRequest};
    ///
    /// # async fn ask(conversation: Conversation, prompt: Arc<dyn Prompt>) -> alloquy_core::Result<()> {
    /// let turn = conversation.send(TurnRequest::default().fill_prompt(prompt, Values::new().set("topic", "tea"))).await?;
    /// # Ok(()) }
    /// ```
    pub fn fill_prompt(mut self, prompt: Arc<dyn Prompt>, values: Values) -> Self {
        self.named = Some((NamedPrompt::Prompt(prompt), values));
        self
    }

    /// Gives the replies of this turn a name, under which later prompts on the same path read the text of the last one as a value.
    /// It is stored as the entry [`OUTPUT_KEY`] of their metadata.
    ///
    /// ```
    /// use alloquy_core::prompt_library::Values;
    /// use alloquy_core::{Conversation, TurnRequest};
    /// # use alloquy_testing::EchoModel;
    ///
    /// # pollster::block_on(async {
    /// let conversation = Conversation::new(EchoModel);
    /// conversation.send(TurnRequest::from("Invent a plot.").output_name("plot")).await?;
    /// let values = Values::new().or_outputs(&conversation.history().await?);
    /// assert_eq!(values.get("plot").unwrap().value, "Invent a plot.");
    /// # Ok::<(), alloquy_core::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn output_name(self, name: impl Into<String>) -> Self {
        self.metadata(OUTPUT_KEY, name.into())
    }

    /// Sets the facts of the last of these messages: a reply that was generated elsewhere. Its node stores them as
    /// [`Node::reply`](crate::Node::reply), so its usage and cost count, and its finish reason decides whether it is
    /// interrupted. The replies of the turn have their own facts.
    ///
    /// # Errors
    /// A turn and [`Conversation::add`](crate::Conversation::add) fail with [`ErrorKind::Invalid`] if the last message
    /// does not have the role assistant.
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

    /// Sets the id of the last of these messages, for a host that names the node before it is stored.
    ///
    /// ```
    /// use alloquy_core::{Conversation, NodeId, TurnRequest};
    /// # use alloquy_testing::EchoModel;
    ///
    /// # pollster::block_on(async {
    /// let id = NodeId::new();
    /// let reply = Conversation::new(EchoModel).send(TurnRequest::from("Tea?").last_message_id(id)).await?;
    /// assert_eq!(reply.answers, Some(id));
    /// # Ok::<(), alloquy_core::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The turn fails with [`ErrorKind::Conflict`] if another node of the conversation has this id.
    pub fn last_message_id(mut self, id: NodeId) -> Self {
        self.last_id = Some(id);
        self
    }

    /// Labels the replies of this turn, or the last message that is added; see [`Conversation::label`](crate::Conversation::label).
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets an entry of the metadata of this turn's replies, or of the last message that is added. Metadata belongs to
    /// the host: Alloquy never interprets its keys.
    pub fn metadata(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(name.into(), value.into());
        self
    }

    /// Sets an entry of the metadata of each of these messages; [`TurnRequest::metadata`] sets that of the replies.
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

    /// Sets the grammar of the reply, and leaves the rest of [`TurnRequest::output`] as it is.
    pub fn response_format(mut self, grammar: Grammar) -> Self {
        self.output.grammar = Some(grammar);
        self
    }

    /// Sets which of [several models](crate::chat_model::Models) answers in this turn. The node of each reply stores
    /// its name.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Sets the tools of this turn instead of those of the manager.
    pub fn tools(mut self, tools: Toolbox) -> Self {
        self.tools = Some(tools);
        self
    }

    /// Sets the tools that the host runs in this turn, instead of those of the preface. The stored preface does not change.
    ///
    /// ```
    /// use alloquy_core::turn::TurnEnd;
    /// use alloquy_core::{Conversation, ToolSpec, TurnRequest};
    /// # use alloquy_core::message::ToolCall;
    /// # use alloquy_core::{Content, Message, Reply, Role};
    /// # use alloquy_testing::{ScriptedModel, ScriptedReply};
    /// use serde_json::json;
    ///
    /// # pollster::block_on(async {
    /// # let call = Content::ToolCall(ToolCall::new("call_1", "weather", json!({"city": "Oslo"})));
    /// # let called = Reply::new(Message::new(Role::Assistant, vec![call]));
    /// # let model = ScriptedModel::replying([ScriptedReply::from(called)]);
    /// let conversation = Conversation::new(model);
    /// let weather = ToolSpec::new("weather", "The weather in a city", json!({"type": "object"}));
    /// let reply = conversation.send(TurnRequest::from("How is Oslo?").host_tools(vec![weather])).await?;
    /// assert_eq!((reply.end, reply.pending.len()), (TurnEnd::HostCalls, 1));
    /// # Ok::<(), alloquy_core::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn host_tools(mut self, tools: Vec<ToolSpec>) -> Self {
        self.host_tools = Some(tools);
        self
    }

    /// Adds a middleware for this turn, between those of the manager and the model.
    pub fn middleware(mut self, middleware: impl Middleware + 'static) -> Self {
        self.middleware.push(Arc::new(middleware));
        self
    }

    /// Passes values to the middleware and the tools of this turn; they are not stored.
    pub fn turn_data(mut self, data: TurnData) -> Self {
        self.turn_data = data;
        self
    }

    /// Adds the turn to a group, which can cancel it together with others. It is running in the group until it ends or
    /// is dropped.
    pub fn group(mut self, group: &TaskGroup) -> Self {
        self.group = Some(group.clone());
        self
    }

    /// Returns where the head must be so that this request moves it. `head` is where it is now.
    pub(crate) fn head_to_move(&self, head: Option<NodeId>) -> Option<NodeId> {
        self.expected_head.unwrap_or(head)
    }

    /// Sets the metadata of a message and the name of the prompt that created it; no prompt creates tool results.
    pub(crate) fn mark_message(&self, node: &mut Node) {
        node.metadata.clone_from(&self.message_metadata);
        if node.message.role != Role::Tool {
            node.prompt_name.clone_from(&self.prompt);
        }
    }

    /// Sets the facts of the last message, if it is a reply that was generated elsewhere.
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

impl From<FilledPrompt> for TurnRequest {
    fn from(filled: FilledPrompt) -> Self {
        let request = Self::from(filled.to_messages()).prompt(filled.facts.name.clone());
        request.message_metadata(PROMPT_KEY, filled.facts.to_json())
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
