//! Reads flows from YAML by hand, so that each unknown field and each wrong type has its line.

use std::collections::BTreeMap;

use alloquy_core::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::fields::Fields;
use crate::flow::{Flow, Limits, State, Transition, Variable, VariableType};
use crate::problem::{Problems, Reading};
use crate::yaml::{Content, Located};
use crate::{reading_actions, reading_conditions};

impl Flow {
    /// Reads a flow from YAML or JSON. What is wrong with its content is among [`Flow::problems`].
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind) for a text that is no YAML, with its line.
    pub fn from_yaml(text: &str) -> Result<Self> {
        read(text)
    }
}

/// Reads a flow. What is wrong with its content is kept in it.
fn read(text: &str) -> Result<Flow> {
    let located = Located::read(text)?;
    let Content::Fields(_) = &located.content else {
        let message = format!("the flow is {}, expected an object with name and states", located.value());
        return Err(Error::new(ErrorKind::Invalid, message));
    };
    let mut problems = Problems::default();
    let mut flow = flow(&located, "", "", &mut problems);
    flow.reading = Reading { spots: problems.spots, problems: problems.list };
    Ok(flow)
}

/// Reads a flow. A flow inside of another one has the name under which it is there.
fn flow(located: &Located, place: &str, name: &str, problems: &mut Problems) -> Flow {
    let Some(mut fields) = Fields::of(located, place, problems) else { return Flow::new(name) };
    let mut flow = Flow::new(fields.text("name", problems).unwrap_or_else(|| name.to_owned()));
    if !name.is_empty() && flow.name != name {
        problems.add(place, format!("the flow is called {:?} and {name:?}; leave its name out", flow.name));
        name.clone_into(&mut flow.name);
    }
    if let Some((at, limits)) = fields.take("limits") {
        flow.limits = read_limits(limits, &at, problems);
    }
    if let Some((at, variables)) = fields.take("variables") {
        for (name, variable) in members(variables, &at, problems) {
            flow.variables
                .insert(name.to_owned(), read_variable(variable, &format!("{at}.{name}"), problems));
        }
    }
    if let Some((at, states)) = fields.take("states") {
        for (name, state) in members(states, &at, problems) {
            flow = flow.state(read_state(name, state, &format!("{at}.{name}"), problems));
        }
    }
    if let Some(start) = fields.text("start", problems) {
        flow.start = start;
    }
    if let Some((at, flows)) = fields.take("flows") {
        let mut inner = BTreeMap::new();
        for (name, located) in members(flows, &at, problems) {
            inner.insert(name.to_owned(), self::flow(located, &format!("{at}.{name}"), name, problems));
        }
        flow.flows = inner;
    }
    fields.finish(problems);
    flow
}

/// Returns the members of an object, in order.
fn members<'a>(located: &'a Located, place: &str, problems: &mut Problems) -> Vec<(&'a str, &'a Located)> {
    match &located.content {
        Content::Fields(fields) => {
            for (name, member) in fields {
                problems.at(&format!("{place}.{name}"), member.spot);
            }
            fields.iter().map(|(name, member)| (name.as_str(), member)).collect()
        }
        Content::Scalar(Value::Null) => Vec::new(),
        _ => {
            problems.add(place, format!("it is {}, expected an object of names", located.value()));
            Vec::new()
        }
    }
}

fn read_limits(located: &Located, place: &str, problems: &mut Problems) -> Limits {
    let mut limits = Limits::default();
    let Some(mut fields) = Fields::of(located, place, problems) else { return limits };
    if let Some(steps) = fields.count("steps", problems) {
        limits.steps = steps;
    }
    limits.visits = fields.count("visits", problems);
    limits.seconds = fields.count("seconds", problems).map(|seconds| seconds as u64);
    fields.finish(problems);
    limits
}

fn read_variable(located: &Located, place: &str, problems: &mut Problems) -> Variable {
    let mut variable = Variable::default();
    match &located.content {
        Content::Scalar(Value::Null) => {}
        Content::Scalar(Value::String(kind)) => variable.kind = read_type(kind, place, problems),
        _ => {
            let Some(mut fields) = Fields::of(located, place, problems) else { return variable };
            if let Some(kind) = fields.text("type", problems) {
                variable.kind = read_type(&kind, place, problems);
            }
            variable.default = fields.value("default");
            fields.finish(problems);
        }
    }
    variable
}

fn read_type(name: &str, place: &str, problems: &mut Problems) -> VariableType {
    let found = VariableType::ALL.into_iter().find(|kind| kind.as_str() == name);
    found.unwrap_or_else(|| {
        let names: Vec<_> = VariableType::ALL.into_iter().map(VariableType::as_str).collect();
        problems.add(place, format!("{name:?} is no type; the types are: {}", names.join(", ")));
        VariableType::Any
    })
}

fn read_state(name: &str, located: &Located, place: &str, problems: &mut Problems) -> State {
    let nothing = State::new(name, crate::action::Action::say(""));
    let Some(mut fields) = Fields::of(located, place, problems) else { return nothing };
    let Some(action) = reading_actions::action(&mut fields, problems) else { return nothing };
    let mut state = State::new(name, action);
    state.visits = fields.count("visits", problems);
    if let Some((at, to)) = fields.take("to") {
        state.transitions = read_transitions(to, &at, problems);
    }
    fields.finish(problems);
    state
}

fn read_transitions(located: &Located, place: &str, problems: &mut Problems) -> Vec<Transition> {
    let items = match &located.content {
        Content::List(items) => items.as_slice(),
        _ => std::slice::from_ref(located),
    };
    let mut transitions = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let at = format!("{place}.{index}");
        problems.at(&at, item.spot);
        if let Content::Scalar(Value::String(to)) = &item.content {
            transitions.push(Transition { condition: Default::default(), to: to.clone() });
            continue;
        }
        let Some(mut fields) = Fields::of(item, &at, problems) else { continue };
        let condition = match fields.take("if") {
            Some((at, condition)) => reading_conditions::condition(condition, &at, problems),
            None => Default::default(),
        };
        match fields.text("to", problems) {
            Some(to) => transitions.push(Transition { condition, to }),
            None => problems.add(&at, "the transition leads nowhere; expected to with the name of a state"),
        }
        fields.finish(problems);
    }
    transitions
}
