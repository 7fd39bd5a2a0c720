//! Imports the flow definitions of dataknobs.

use alloquy_core::{Error, ErrorKind, Result};
use serde_json::{Map, Value, json};

use crate::action::{Action, Text};
use crate::condition::{Condition, Keyword, ModelQuestion, Sentiment};
use crate::flow::{Flow, Limits, State, Transition};
use crate::problem::FlowProblem;

/// A flow that was imported, and what could not be carried over.
///
/// [`Flow::from_dataknobs`] returns one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ImportedFlow {
    /// The flow.
    pub flow: Flow,
    /// What could not be carried over, with its place.
    pub left_out: Vec<FlowProblem>,
}

/// The state that every flow of dataknobs has.
const END: &str = "end";

/// How many transitions dataknobs allows by default.
const MOST_TRANSITIONS: u64 = 10;

impl Flow {
    /// Imports a flow definition of dataknobs: `name`, `initial_state`, `states` and `max_total_loops`; of a state `prompt_name`,
    /// `prompt_params`, `transitions`, `transition_conditions` and `max_loops`.
    ///
    /// Each state says its prompt as the assistant, as in dataknobs. A prompt may read `state`, `loop_count` and `response`, the text of
    /// the state before. Unlike there, states that are complete stay when a later one fails.
    ///
    /// ```
    /// use alloquy_flows::Flow;
    /// use serde_json::json;
    ///
    /// let imported = Flow::from_dataknobs(&json!({
    ///     "name": "support",
    ///     "initial_state": "greet",
    ///     "states": {
    ///         "greet": {
    ///             "prompt_name": "greet",
    ///             "transitions": {"wants_help": "help"},
    ///             "transition_conditions": {"wants_help": {"type": "keyword", "keywords": ["help"]}},
    ///             "on_enter": "count_visit",
    ///         },
    ///         "help": {"prompt_name": "help"},
    ///     },
    /// }))?;
    /// assert_eq!(imported.flow.states.len(), 2);
    /// assert_eq!(imported.left_out[0].place, "states.greet.on_enter");
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for what dataknobs refuses: a flow without name, states or a known initial state, a state without prompt,
    /// and a transition without its condition or to an unknown state.
    pub fn from_dataknobs(definition: &Value) -> Result<ImportedFlow> {
        let mut left_out = Vec::new();
        let name = text(definition, "name", "the flow")?;
        let mut flow = Flow::new(name);
        let states = definition.get("states").and_then(Value::as_object).filter(|states| !states.is_empty());
        let Some(states) = states else {
            return invalid("the flow has no states; expected at least one".to_owned());
        };
        let total = definition.get("max_total_loops").and_then(Value::as_u64).unwrap_or(MOST_TRANSITIONS);
        let mut limits = Limits::default().steps(usize::try_from(total).unwrap_or(usize::MAX));
        // Every loop has a limit there: the transitions of the flow.
        limits.visits = Some(limits.steps);
        limits.seconds =
            definition.get("timeout_seconds").and_then(Value::as_f64).map(|seconds| seconds.ceil() as u64);
        flow = flow.limits(limits);
        for (name, state) in states {
            flow = flow.state(state_of(name, state, states, &mut left_out)?);
        }
        if !states.contains_key(END) && flow.states.iter().any(leads_to_end) {
            flow = flow.state(State::new(END, Action::End));
        }
        let start = text(definition, "initial_state", "the flow")?;
        if !states.contains_key(start) {
            return invalid(format!("the initial state {start:?} is not among the states"));
        }
        let known = ["name", "initial_state", "states", "max_total_loops", "timeout_seconds"];
        unknown(definition, &known, "", &mut left_out);
        Ok(ImportedFlow { flow: flow.start(start), left_out })
    }
}

fn invalid<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Invalid, message))
}

fn text<'a>(value: &'a Value, name: &str, what: &str) -> Result<&'a str> {
    match value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()) {
        Some(text) => Ok(text),
        None => invalid(format!("{what} has no {name}; expected a text")),
    }
}

fn flag(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool).unwrap_or(false)
}

fn leads_to_end(state: &State) -> bool {
    state.transitions.iter().any(|transition| transition.to == END)
}

fn problem(left_out: &mut Vec<FlowProblem>, place: String, message: String) {
    left_out.push(FlowProblem { place, line: None, column: None, message, is_warning: true });
}

fn unknown(value: &Value, known: &[&str], place: &str, left_out: &mut Vec<FlowProblem>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        if !known.contains(&name.as_str()) && !is_empty {
            let message = format!("{value} has no counterpart here");
            problem(left_out, format!("{place}{name}"), message);
        }
    }
}

fn state_of(
    name: &str,
    value: &Value,
    states: &Map<String, Value>,
    left_out: &mut Vec<FlowProblem>,
) -> Result<State> {
    let prompt = text(value, "prompt_name", &format!("the state {name:?}"))?;
    let mut with = value.get("prompt_params").and_then(Value::as_object).cloned().unwrap_or_default();
    with.insert("loop_count".to_owned(), json!("{{visit}}"));
    with.insert("response".to_owned(), json!("{{last}}"));
    let action = Action::Say(Text::Prompt { name: format!("user/{prompt}"), with });
    let mut state = State::new(name, action);
    let visits = value.get("max_loops").and_then(Value::as_u64);
    state.visits = visits.and_then(|visits| usize::try_from(visits).ok());
    for (label, to) in value.get("transitions").and_then(Value::as_object).into_iter().flatten() {
        let to = to.as_str().unwrap_or_default();
        if !states.contains_key(to) && to != END {
            return invalid(format!("the state {name:?} leads to {to:?}, which is not among the states"));
        }
        let Some(condition) = value.get("transition_conditions").and_then(|all| all.get(label)) else {
            return invalid(format!("the transition {label:?} of the state {name:?} has no condition"));
        };
        let place = format!("states.{name}.transition_conditions.{label}");
        match imported_condition(condition) {
            Ok(condition) => state.transitions.push(Transition { condition, to: to.to_owned() }),
            Err(error) => problem(left_out, place, format!("{error}; the transition is left out")),
        }
    }
    let known = ["prompt_name", "prompt_params", "transitions", "transition_conditions", "max_loops"];
    unknown(value, &known, &format!("states.{name}."), left_out);
    Ok(state)
}

impl Condition {
    /// Imports a condition of dataknobs: `always`, `keyword`, `regex`, `context_equals`, `context_ge`, `composite`, `sentiment`,
    /// `llm_classifier`, whose question has no `{{response}}`
    /// because the model reads the text before it.
    ///
    /// ```
    /// use alloquy_flows::{Condition, Observation};
    /// use serde_json::json;
    ///
    /// let condition = Condition::from_dataknobs(&json!({"type": "keyword", "keywords": ["help"]}))?;
    /// assert!(condition.holds(&Observation::new("I need HELP"))?);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a condition of another type, such as a function of Python.
    pub fn from_dataknobs(condition: &Value) -> Result<Self> {
        imported_condition(condition)
    }
}

fn imported_condition(value: &Value) -> Result<Condition> {
    let kind = text(value, "type", "the condition")?;
    Ok(match kind {
        "always" => Condition::Always,
        "keyword" => {
            let case = flag(value, "case_sensitive");
            let word = flag(value, "match_whole_word");
            Condition::Keyword(Keyword { any: texts(value, "keywords"), case, word })
        }
        "regex" => {
            let pattern = text(value, "pattern", "the condition")?;
            let flags = if flag(value, "ignore_case") { "(?i)" } else { "" };
            Condition::Matches(format!("{flags}{pattern}"))
        }
        "context_equals" => {
            Condition::equals(variable(value)?, value.get("value").cloned().unwrap_or_default())
        }
        "context_ge" => match value.get("value").and_then(Value::as_f64) {
            Some(least) => Condition::AtLeast { variable: variable(value)?, value: least },
            None => return invalid(format!("the condition {value} has no number to compare with")),
        },
        "composite" => {
            let mut parts = Vec::new();
            for part in value.get("conditions").and_then(Value::as_array).into_iter().flatten() {
                parts.push(imported_condition(part)?);
            }
            match value.get("operator").and_then(Value::as_str).unwrap_or("and") {
                "and" => Condition::All(parts),
                "or" => Condition::Any(parts),
                other => return invalid(format!("the operator {other:?} is neither and nor or")),
            }
        }
        "sentiment" => {
            let is = match value.get("expected").and_then(Value::as_str) {
                Some("positive") => Sentiment::Positive,
                Some("negative") => Sentiment::Negative,
                Some("neutral") => Sentiment::Neutral,
                other => return invalid(format!("{other:?} is none of positive, negative and neutral")),
            };
            let threshold = value.get("threshold").and_then(Value::as_f64).unwrap_or(0.5);
            Condition::Sentiment { is, threshold }
        }
        "llm_classifier" | "llm" => {
            let question = text(value, "classifier_prompt", "the condition")?
                .replace("{{response}}", "")
                .trim()
                .to_owned();
            let is = text(value, "expected_value", "the condition")?;
            let mut options = texts(value, "categories");
            if options.is_empty() {
                options = vec![is.to_owned(), format!("not {is}")];
            }
            Condition::Model(ModelQuestion::new(question, options, is))
        }
        other => return invalid(format!("the condition {other:?} has no counterpart here")),
    })
}

/// Returns the variable of a condition. What dataknobs counts and records is called otherwise here.
fn variable(value: &Value) -> Result<String> {
    Ok(match text(value, "key", "the condition")? {
        "loop_count" => "visit".to_owned(),
        "response" => "last".to_owned(),
        other => other.to_owned(),
    })
}

fn texts(value: &Value, name: &str) -> Vec<String> {
    let items = value.get(name).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
}
