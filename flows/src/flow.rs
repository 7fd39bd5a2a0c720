//! A flow as data: its states, the transitions between them, its variables and limits.

use std::collections::BTreeMap;

use alloquy_core::media::Digest;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::action::Action;
use crate::condition::Condition;
use crate::problem::Reading;

/// A conversation as data: states, and the transitions between them.
///
/// It is read from YAML, or built:
///
/// ```
/// use alloquy_flows::{Action, Condition, Flow, State};
///
/// let read = Flow::from_yaml(
///     "
/// name: greeting
/// states:
///   hello:
///     say: Hello! Tea or coffee?
///     to: answer
///   answer:
///     wait:
///     to:
///       - if: {keyword: [tea]}
///         to: tea
///   tea:
///     say: Here is your tea.
/// ",
/// )?;
/// let built = Flow::new("greeting")
///     .state(State::new("hello", Action::say("Hello! Tea or coffee?")).to("answer"))
///     .state(State::new("answer", Action::wait()).to_if(Condition::keyword(["tea"]), "tea"))
///     .state(State::new("tea", Action::say("Here is your tea.")));
/// assert_eq!(read, built);
/// assert_eq!(built.problems(), []);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Flow {
    /// Its name, which the nodes of its steps store.
    pub name: String,
    /// The name of the first state.
    pub start: String,
    /// The variables, with their types and initial values.
    pub variables: BTreeMap<String, Variable>,
    /// When it stops by itself.
    pub limits: Limits,
    /// The states, in the author's order.
    pub states: Vec<State>,
    /// The flows that its states and those of these flows enter, by name.
    pub flows: BTreeMap<String, Flow>,
    #[serde(skip)]
    pub(crate) reading: Reading,
}

/// A state: what it does, and where the flow continues then.
///
/// [`Flow`] has an example.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct State {
    /// Its name.
    pub name: String,
    /// What it does.
    pub action: Action,
    /// Where the flow continues, in order: the first one whose condition holds is taken. Without any, the flow ends here.
    pub transitions: Vec<Transition>,
    /// How often the state may be entered, if not as often as [`Limits::visits`] says.
    pub visits: Option<usize>,
}

/// A transition to another state.
///
/// [`State::to_if`] adds one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Transition {
    /// When it is taken.
    pub condition: Condition,
    /// The name of the state that it leads to.
    pub to: String,
}

/// The limits of a flow.
///
/// [`Flow::limits`] sets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Limits {
    /// How many states may be entered, all together.
    pub steps: usize,
    /// How often each state may be entered.
    pub visits: Option<usize>,
    /// How many seconds may be between the first and the last step.
    pub seconds: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: STEPS, visits: None, seconds: None }
    }
}

/// How many flows may be inside each other.
pub(crate) const DEPTH: usize = 32;

/// How many states may be entered by default.
const STEPS: usize = 100;

impl Limits {
    /// Sets how many states may be entered, all together.
    #[must_use]
    pub fn steps(mut self, steps: usize) -> Self {
        self.steps = steps;
        self
    }

    /// Sets how often each state may be entered.
    #[must_use]
    pub fn visits(mut self, visits: usize) -> Self {
        self.visits = Some(visits);
        self
    }

    /// Sets how many seconds may be between the first and the last step.
    #[must_use]
    pub fn seconds(mut self, seconds: u64) -> Self {
        self.seconds = Some(seconds);
        self
    }
}

/// A variable of a flow.
///
/// [`Flow::variable`] adds one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Variable {
    /// The type of its values.
    #[serde(rename = "type")]
    pub kind: VariableType,
    /// Its value before a state sets it.
    pub default: Option<Value>,
}

/// The type of a variable.
///
/// ```
/// use alloquy_flows::VariableType;
/// use serde_json::json;
///
/// assert!(VariableType::Integer.allows(&json!(3)));
/// assert!(!VariableType::Integer.allows(&json!("three")));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum VariableType {
    /// Any JSON value.
    #[default]
    Any,
    /// A text.
    String,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
    /// A list.
    Array,
    /// An object.
    Object,
}

impl VariableType {
    /// All types.
    pub const ALL: [Self; 7] =
        [Self::Any, Self::String, Self::Number, Self::Integer, Self::Boolean, Self::Array, Self::Object];

    /// Returns the name of the type.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::String => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    /// Returns whether a value has this type. Null has every type.
    pub fn allows(self, value: &Value) -> bool {
        match self {
            _ if value.is_null() => true,
            Self::Any => true,
            Self::String => value.is_string(),
            Self::Number => value.is_number(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Boolean => value.is_boolean(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
        }
    }
}

impl Flow {
    /// Creates a flow without states. The first state that is added is its start.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds a state.
    #[must_use]
    pub fn state(mut self, state: State) -> Self {
        if self.states.is_empty() && self.start.is_empty() {
            self.start.clone_from(&state.name);
        }
        self.states.push(state);
        self
    }

    /// Sets the first state, if it is not the first one that was added.
    #[must_use]
    pub fn start(mut self, name: impl Into<String>) -> Self {
        self.start = name.into();
        self
    }

    /// Adds a variable.
    ///
    /// ```
    /// use alloquy_flows::{Action, Flow, State, VariableType};
    ///
    /// let flow = Flow::new("order")
    ///     .variable("cups", VariableType::Integer, Some(2.into()))
    ///     .state(State::new("confirm", Action::say("You get {{cups}} cups.")));
    /// assert_eq!(flow.problems(), []);
    /// ```
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, kind: VariableType, default: Option<Value>) -> Self {
        self.variables.insert(name.into(), Variable { kind, default });
        self
    }

    /// Adds a flow that states may enter.
    #[must_use]
    pub fn flow(mut self, flow: Flow) -> Self {
        self.flows.insert(flow.name.clone(), flow);
        self
    }

    /// Sets the limits.
    ///
    /// ```
    /// use alloquy_flows::{Action, Flow, Limits, State};
    ///
    /// let again = State::new("again", Action::wait()).to("again");
    /// let flow = Flow::new("loop").state(again).limits(Limits::default().visits(3));
    /// assert_eq!(flow.problems(), []);
    /// ```
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Finds a state by name.
    pub fn find(&self, name: &str) -> Option<&State> {
        self.states.iter().find(|state| state.name == name)
    }

    /// Returns the digest of the whole definition. It changes with everything that changes what the flow does.
    pub fn digest(&self) -> Digest {
        // A flow has no value that does not serialise: its maps have texts as keys.
        Digest::of(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// Returns the values that the variables have before a state sets them.
    pub(crate) fn initial(&self) -> Map<String, Value> {
        let mut values = Map::new();
        for (name, variable) in &self.variables {
            if let Some(value) = &variable.default {
                values.insert(name.clone(), value.clone());
            }
        }
        values
    }

    /// Finds this flow or one of its sub-flows.
    pub(crate) fn named(&self, name: &str) -> Option<&Self> {
        if self.name == name { Some(self) } else { self.flows.get(name) }
    }
}

impl State {
    /// Creates a state at which a flow ends, until it gets transitions.
    pub fn new(name: impl Into<String>, action: Action) -> Self {
        Self { name: name.into(), action, transitions: Vec::new(), visits: None }
    }

    /// Adds a transition that is always taken, if none before it is.
    #[must_use]
    pub fn to(self, name: impl Into<String>) -> Self {
        self.to_if(Condition::Always, name)
    }

    /// Adds a transition that is taken if the condition holds, and if none before it is taken.
    #[must_use]
    pub fn to_if(mut self, condition: Condition, name: impl Into<String>) -> Self {
        self.transitions.push(Transition { condition, to: name.into() });
        self
    }

    /// Sets how often the state may be entered.
    ///
    /// ```
    /// use alloquy_flows::{Action, State};
    ///
    /// let state = State::new("again", Action::say("Once more.")).to("again").visits(3);
    /// assert_eq!(state.visits, Some(3));
    /// ```
    #[must_use]
    pub fn visits(mut self, visits: usize) -> Self {
        self.visits = Some(visits);
        self
    }
}
