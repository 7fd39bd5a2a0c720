//! What states do.

use std::collections::BTreeMap;

use alloquy_core::prompt_library::PromptName;
use serde::Serialize;
use serde_json::{Map, Value};

/// What a state does.
///
/// ```
/// use alloquy_flows::{Action, WaitAction};
/// use serde_json::json;
///
/// let mut wait = WaitAction::default();
/// wait.expects = Some(json!({"type": "integer", "minimum": 1}));
/// wait.set = Some("cups".to_owned());
/// assert_eq!(Action::Wait(wait).kind(), "wait");
/// assert_eq!(Action::say("Hello, {{name}}!").kind(), "say");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Action {
    /// Adds a message of the assistant, without a model.
    Say(Text),
    /// Sends a message of the user and gets a reply of the model.
    Ask(AskAction),
    /// Waits for an answer of a person.
    Wait(WaitAction),
    /// Waits until another person than those who answered so far agrees or refuses.
    Approve(ApproveAction),
    /// Runs a tool.
    Call(CallAction),
    /// Enters another flow, and continues when it has ended.
    Flow(FlowAction),
    /// Enters several flows, each on a branch of its own, and continues when all have ended.
    Fork(ForkAction),
    /// Does nothing: the flow ends here without a message.
    End,
}

/// The text of a message.
///
/// In an inline text `{{name}}` is the value of a variable, and `{{name.field}}` a field of it. A value is never read as a template.
/// Besides the variables there are `state`, `visit`, `step` and `last`, the text of the last message.
///
/// ```
/// use alloquy_flows::Text;
///
/// assert_eq!(Text::from("Hello, {{name}}!"), Text::Inline("Hello, {{name}}!".to_owned()));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Text {
    /// The text itself.
    Inline(String),
    /// A prompt of the library, and values for it besides the variables.
    Prompt {
        /// The prompt's name, such as `support/greeting` or `ask@1.0.0`.
        name: String,
        /// Values, which may refer to variables as `{{name}}`.
        with: Map<String, Value>,
    },
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::Inline(text.to_owned())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::Inline(text)
    }
}

impl From<PromptName> for Text {
    fn from(name: PromptName) -> Self {
        Self::Prompt { name: name.to_string(), with: Map::new() }
    }
}

/// Asks the model.
///
/// [`Action::ask`] creates one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AskAction {
    /// The message.
    pub text: Text,
    /// The name of the output, under which later prompts read the reply.
    pub output: Option<String>,
    /// The model that answers, if the conversation has several.
    pub model: Option<String>,
    /// The names of the tools that the model may call; by default, those of the manager.
    pub tools: Option<Vec<String>>,
    /// The JSON Schema of the reply.
    pub expects: Option<Value>,
    /// The variable that gets the reply: its text, or with `expects` its value.
    pub set: Option<String>,
}

/// Waits for an answer.
///
/// [`Action`] has an example.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WaitAction {
    /// What the assistant says first.
    pub text: Option<Text>,
    /// The JSON Schema of the answer; by default, any text.
    pub expects: Option<Value>,
    /// The variable that gets the answer.
    pub set: Option<String>,
    /// How many seconds after the last step the answer is due.
    pub deadline: Option<u64>,
    /// The state where the flow continues when the answer is late.
    pub late: Option<String>,
    /// The flow that an answer enters for which no transition is taken. It comes back here.
    pub otherwise: Option<String>,
}

/// Waits for an approval.
///
/// [`Action::approve`] creates one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ApproveAction {
    /// What is to be approved.
    pub text: Text,
    /// The variable that gets the decision, true or false.
    pub set: Option<String>,
    /// How many seconds after the last step the decision is due.
    pub deadline: Option<u64>,
    /// The state where the flow continues when the decision is late.
    pub late: Option<String>,
}

/// Runs a tool.
///
/// [`Action::call`] creates one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CallAction {
    /// The tool's name.
    pub tool: String,
    /// The arguments, which may refer to variables: `{{name}}` alone is the value itself, whatever its type.
    pub arguments: Map<String, Value>,
    /// The variable that gets the result.
    pub set: Option<String>,
}

/// Enters a flow.
///
/// [`Action::flow`] creates one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FlowAction {
    /// The flow's name.
    pub flow: String,
    /// The variables that it begins with; they may refer to variables as `{{name}}`.
    pub with: Map<String, Value>,
    /// The variables that are set when it ends, each to a variable of that flow.
    pub set: BTreeMap<String, String>,
}

/// Enters several flows.
///
/// [`Action::fork`] creates one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ForkAction {
    /// The branches by name, in order.
    pub branches: Vec<(String, FlowAction)>,
}

impl Action {
    /// Says a text as the assistant.
    pub fn say(text: impl Into<Text>) -> Self {
        Self::Say(text.into())
    }

    /// Asks the model.
    ///
    /// ```
    /// use alloquy_flows::Action;
    ///
    /// let Action::Ask(ask) = Action::ask("Is {{claim}} covered?") else { unreachable!() };
    /// assert_eq!(ask.output, None);
    /// ```
    pub fn ask(text: impl Into<Text>) -> Self {
        let text = text.into();
        Self::Ask(AskAction { text, output: None, model: None, tools: None, expects: None, set: None })
    }

    /// Waits for an answer, without saying anything first.
    pub fn wait() -> Self {
        Self::Wait(WaitAction::default())
    }

    /// Waits for the decision of another person about this text.
    ///
    /// ```
    /// use alloquy_flows::Action;
    ///
    /// assert_eq!(Action::approve("Pay {{amount}}?").kind(), "approve");
    /// ```
    pub fn approve(text: impl Into<Text>) -> Self {
        Self::Approve(ApproveAction { text: text.into(), set: None, deadline: None, late: None })
    }

    /// Runs a tool and sets a variable to its result.
    ///
    /// ```
    /// use alloquy_flows::Action;
    /// use serde_json::json;
    ///
    /// let action = Action::call("lookup", json!({"policy": "{{policy}}"}), "contract");
    /// assert_eq!(action.kind(), "call");
    /// ```
    pub fn call(tool: impl Into<String>, arguments: Value, set: impl Into<String>) -> Self {
        let arguments = match arguments {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        Self::Call(CallAction { tool: tool.into(), arguments, set: Some(set.into()) })
    }

    /// Enters a flow.
    ///
    /// ```
    /// use alloquy_flows::Action;
    ///
    /// assert_eq!(Action::flow("help").kind(), "flow");
    /// ```
    pub fn flow(name: impl Into<String>) -> Self {
        Self::Flow(FlowAction::new(name))
    }

    /// Enters several flows, each on a branch of its own.
    ///
    /// ```
    /// use alloquy_flows::{Action, FlowAction};
    ///
    /// let both = Action::fork([("price", FlowAction::new("price")), ("law", FlowAction::new("law"))]);
    /// assert_eq!(both.kind(), "fork");
    /// ```
    pub fn fork<N: Into<String>>(branches: impl IntoIterator<Item = (N, FlowAction)>) -> Self {
        let branches = branches.into_iter().map(|(name, flow)| (name.into(), flow)).collect();
        Self::Fork(ForkAction { branches })
    }

    /// Returns the name of this kind of action.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Say(_) => "say",
            Self::Ask(_) => "ask",
            Self::Wait(_) => "wait",
            Self::Approve(_) => "approve",
            Self::Call(_) => "call",
            Self::Flow(_) => "flow",
            Self::Fork(_) => "fork",
            Self::End => "end",
        }
    }

    /// Returns the text of its message.
    pub(crate) fn text(&self) -> Option<&Text> {
        match self {
            Self::Say(text) => Some(text),
            Self::Ask(ask) => Some(&ask.text),
            Self::Wait(wait) => wait.text.as_ref(),
            Self::Approve(approve) => Some(&approve.text),
            Self::Call(_) | Self::Flow(_) | Self::Fork(_) | Self::End => None,
        }
    }

    /// Returns the deadline of an answer in seconds, and the state of a late one.
    pub(crate) fn deadline(&self) -> Option<(u64, Option<&str>)> {
        match self {
            Self::Wait(wait) => Some((wait.deadline?, wait.late.as_deref())),
            Self::Approve(approve) => Some((approve.deadline?, approve.late.as_deref())),
            _ => None,
        }
    }

    /// Returns the states that it names besides the transitions.
    pub(crate) fn late(&self) -> Option<&str> {
        match self {
            Self::Wait(wait) => wait.late.as_deref(),
            Self::Approve(approve) => approve.late.as_deref(),
            _ => None,
        }
    }

    /// Returns the flows that it enters.
    pub(crate) fn enters(&self) -> Vec<&str> {
        match self {
            Self::Flow(entered) => vec![entered.flow.as_str()],
            Self::Fork(fork) => fork.branches.iter().map(|(_, entered)| entered.flow.as_str()).collect(),
            Self::Wait(wait) => wait.otherwise.as_deref().into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Returns whether the state stores nothing when it is entered.
    pub(crate) fn is_silent(&self) -> bool {
        matches!(self, Self::End) || self.waits() && self.text().is_none()
    }

    /// Returns whether it waits for a person.
    pub(crate) fn waits(&self) -> bool {
        matches!(self, Self::Wait(_) | Self::Approve(_))
    }
}

impl FlowAction {
    /// Enters a flow with its own initial values.
    pub fn new(flow: impl Into<String>) -> Self {
        Self { flow: flow.into(), with: Map::new(), set: BTreeMap::new() }
    }

    /// Sets a variable that the flow begins with.
    ///
    /// ```
    /// use alloquy_flows::FlowAction;
    ///
    /// let price = FlowAction::new("price").with("item", "{{item}}").set("total", "price");
    /// assert_eq!(price.set["total"], "price");
    /// ```
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.with.insert(name.into(), value.into());
        self
    }

    /// Sets a variable to one of the flow when it ends.
    #[must_use]
    pub fn set(mut self, name: impl Into<String>, inner: impl Into<String>) -> Self {
        self.set.insert(name.into(), inner.into());
        self
    }
}
