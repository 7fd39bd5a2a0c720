//! Finds everything that is wrong with a flow before it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use alloquy_core::prompt_library::{PromptLibrary, PromptName};
use serde_json::{Map, Value};

use crate::action::{Action, FlowAction, Text};
use crate::condition::{Condition, compiled};
use crate::flow::{Flow, State};
use crate::problem::{FlowProblem, Problems};
use crate::{schema, text};

/// The variables that every flow has.
const RESERVED: [&str; 4] = ["state", "visit", "step", "last"];

/// The prompts, tools and conditions that a host has. What is not set is not checked.
///
/// ```
/// use alloquy_flows::{Action, Flow, Known, State};
/// use serde_json::json;
///
/// let flow = Flow::new("order").state(State::new("price", Action::call("price", json!({}), "price")));
/// assert_eq!(flow.problems(), []);
/// let problems = flow.problems_with(&Known::default().tools(["weather".to_owned()]));
/// assert_eq!(problems[0].message, "there is no tool \"price\"; the tools are: weather");
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Known {
    prompts: Option<Arc<dyn PromptLibrary>>,
    tools: Option<BTreeSet<String>>,
    hosts: Option<BTreeSet<String>>,
}

impl Known {
    /// Sets the prompts.
    pub fn prompts(mut self, library: Arc<dyn PromptLibrary>) -> Self {
        self.prompts = Some(library);
        self
    }

    /// Sets the names of the tools.
    pub fn tools(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.tools = Some(names.into_iter().collect());
        self
    }

    /// Sets the names of the host's conditions.
    pub fn hosts<'a>(mut self, names: impl IntoIterator<Item = &'a String>) -> Self {
        self.hosts = Some(names.into_iter().cloned().collect());
        self
    }
}

impl Flow {
    /// Returns everything that is wrong with the flow, sorted by place.
    ///
    /// [`FlowProblem`] has an example.
    pub fn problems(&self) -> Vec<FlowProblem> {
        self.problems_with(&Known::default())
    }

    /// Returns everything that is wrong with the flow in a host with these prompts, tools and conditions.
    pub fn problems_with(&self, known: &Known) -> Vec<FlowProblem> {
        let mut problems =
            Problems { list: self.reading.problems.clone(), spots: self.reading.spots.clone() };
        let checks = Checks { root: self, known };
        checks.flow(self, "", &mut problems);
        for (name, flow) in &self.flows {
            let place = format!("flows.{name}.");
            if !flow.flows.is_empty() {
                problems.add(&format!("{place}flows"), "only the outermost flow has flows; move these there");
            }
            checks.flow(flow, &place, &mut problems);
        }
        checks.circles(&mut problems);
        let mut list = problems.list;
        list.sort_by(|one, other| (one.line, &one.place).cmp(&(other.line, &other.place)));
        list.dedup();
        list
    }
}

struct Checks<'a> {
    root: &'a Flow,
    known: &'a Known,
}

/// Returns names as a sentence lists them.
fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.into_iter().collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

impl Checks<'_> {
    /// Checks a flow. `place` is empty, or ends with a dot.
    fn flow(&self, flow: &Flow, place: &str, problems: &mut Problems) {
        if flow.name.is_empty() {
            problems.add(&format!("{place}name"), "the flow has no name; expected a text");
        }
        if flow.states.is_empty() {
            problems.add(&format!("{place}states"), "the flow has no states; expected at least one");
            return;
        }
        if flow.find(&flow.start).is_none() {
            problems.add(&format!("{place}start"), no_state(flow, &flow.start));
        }
        let mut seen = BTreeSet::new();
        for state in &flow.states {
            let at = format!("{place}states.{}", state.name);
            if !seen.insert(&state.name) {
                problems.add(&at, format!("there are two states {:?}; rename one", state.name));
            }
            self.state(flow, state, &at, problems);
        }
        for (name, variable) in &flow.variables {
            let at = format!("{place}variables.{name}");
            if RESERVED.contains(&name.as_str()) {
                problems.add(&at, format!("{name:?} is the name of a value that every flow has; rename it"));
            }
            if let Some(value) = variable.default.as_ref().filter(|value| !variable.kind.allows(value)) {
                let kind = variable.kind.as_str();
                problems.add(&at, format!("the default is {value}, expected type {kind}"));
            }
        }
        if flow.find(&flow.start).is_some() {
            reachable(flow, place, problems);
        }
        self.loops(flow, place, problems);
    }

    fn state(&self, flow: &Flow, state: &State, at: &str, problems: &mut Problems) {
        for (index, transition) in state.transitions.iter().enumerate() {
            if flow.find(&transition.to).is_none() {
                problems.add(&format!("{at}.to"), no_state(flow, &transition.to));
            }
            let place = format!("{at}.to.{index}");
            self.condition(flow, &transition.condition, &place, problems);
            let is_last = index + 1 == state.transitions.len();
            if transition.condition == Condition::Always && !is_last {
                problems.warn(&place, "the transitions after this one are never taken, because it always is");
            }
            let silent = flow.find(&transition.to).is_some_and(|to| to.action.is_silent());
            if silent && transition.condition.asks() {
                let message = format!(
                    "the state {:?} stores nothing when it is entered, so the answer of a model or the host that leads there would be \
                     requested again; give it a text",
                    transition.to
                );
                problems.add(&place, message);
            }
        }
        if let Some(late) = state.action.late() {
            if flow.find(late).is_none() {
                problems.add(&format!("{at}.late"), no_state(flow, late));
            }
            if state.action.deadline().is_none() {
                problems.add(
                    &format!("{at}.late"),
                    "there is no deadline after which an answer is late; add one",
                );
            }
        }
        if let Some(text) = state.action.text() {
            self.text(flow, text, at, problems);
        }
        self.action(flow, &state.action, at, problems);
    }

    fn text(&self, flow: &Flow, text: &Text, at: &str, problems: &mut Problems) {
        match text {
            Text::Inline(text) => {
                for name in text::names(text) {
                    self.variable(flow, name, at, problems);
                }
            }
            Text::Prompt { name, with } => {
                self.values(flow, with, at, problems);
                let parsed = match name.parse::<PromptName>() {
                    Ok(parsed) => parsed,
                    Err(error) => return problems.add(at, error.to_string()),
                };
                if let Some(Err(error)) = self.known.prompts.as_ref().map(|library| library.prompt(&parsed)) {
                    problems.add(at, error.to_string());
                }
            }
        }
    }

    fn values(&self, flow: &Flow, values: &Map<String, Value>, at: &str, problems: &mut Problems) {
        for value in values.values() {
            for name in text::names_in(value) {
                self.variable(flow, name, at, problems);
            }
        }
    }

    /// Checks that a variable has a chance of a value. A flow without declared variables gets them from its host.
    fn variable(&self, flow: &Flow, name: &str, at: &str, problems: &mut Problems) {
        let is_open = flow.variables.is_empty();
        if is_open || RESERVED.contains(&name) || flow.variables.contains_key(name) {
            return;
        }
        let names = flow.variables.keys().map(String::as_str);
        problems.add(at, format!("there is no variable {name:?}; the variables are: {}", listed(names)));
    }

    fn action(&self, flow: &Flow, action: &Action, at: &str, problems: &mut Problems) {
        match action {
            Action::Ask(ask) => {
                self.schema(ask.expects.as_ref(), at, problems);
                for tool in ask.tools.iter().flatten() {
                    self.tool(tool, at, problems);
                }
                self.set(flow, ask.set.as_deref(), at, problems);
            }
            Action::Wait(wait) => {
                self.schema(wait.expects.as_ref(), at, problems);
                self.set(flow, wait.set.as_deref(), at, problems);
                if let Some(name) = &wait.otherwise {
                    self.entered(name, &FlowAction::new(name), flow, at, problems);
                }
            }
            Action::Approve(approve) => self.set(flow, approve.set.as_deref(), at, problems),
            Action::Call(call) => {
                self.tool(&call.tool, at, problems);
                self.values(flow, &call.arguments, at, problems);
                self.set(flow, call.set.as_deref(), at, problems);
            }
            Action::Flow(entered) => self.entered(&entered.flow, entered, flow, at, problems),
            Action::Fork(fork) => {
                let mut names = BTreeSet::new();
                if fork.branches.is_empty() {
                    problems.add(at, "the fork has no branches; expected at least one");
                }
                for (name, entered) in &fork.branches {
                    if !names.insert(name) {
                        problems.add(at, format!("there are two branches {name:?}; rename one"));
                    }
                    self.entered(&entered.flow, entered, flow, at, problems);
                    if self.forks(&entered.flow, &mut BTreeSet::new()) {
                        let message = format!(
                            "the branch {name:?} forks again, which is not possible; use a flow before or after"
                        );
                        problems.add(at, message);
                    }
                }
            }
            Action::End if !targets_of(flow, at).is_empty() => {
                problems.add(at, "the state ends the flow, and has transitions; remove one of the two");
            }
            Action::Say(_) | Action::End => {}
        }
    }

    fn schema(&self, expects: Option<&Value>, at: &str, problems: &mut Problems) {
        if let Some(Err(error)) = expects.map(schema::must_be_schema) {
            problems.add(&format!("{at}.expects"), error.to_string());
        }
    }

    fn tool(&self, name: &str, at: &str, problems: &mut Problems) {
        let Some(tools) = self.known.tools.as_ref().filter(|tools| !tools.contains(name)) else { return };
        let names = tools.iter().map(String::as_str);
        problems.add(at, format!("there is no tool {name:?}; the tools are: {}", listed(names)));
    }

    fn set(&self, flow: &Flow, name: Option<&str>, at: &str, problems: &mut Problems) {
        let Some(name) = name else { return };
        if RESERVED.contains(&name) {
            problems.add(at, format!("{name:?} is a value that every flow has, and cannot be set"));
        } else if !flow.variables.is_empty() && !flow.variables.contains_key(name) {
            let names = flow.variables.keys().map(String::as_str);
            problems.add(
                at,
                format!("there is no variable {name:?} to set; the variables are: {}", listed(names)),
            );
        }
    }

    fn entered(&self, name: &str, entered: &FlowAction, flow: &Flow, at: &str, problems: &mut Problems) {
        self.values(flow, &entered.with, at, problems);
        for name in entered.set.keys() {
            self.set(flow, Some(name), at, problems);
        }
        let Some(inner) = self.root.flows.get(name) else {
            let names = self.root.flows.keys().map(String::as_str);
            return problems
                .add(at, format!("there is no flow {name:?} to enter; the flows are: {}", listed(names)));
        };
        if inner.variables.is_empty() {
            return;
        }
        for name in entered.with.keys().chain(entered.set.values()) {
            if !inner.variables.contains_key(name) {
                let names = inner.variables.keys().map(String::as_str);
                let message = format!(
                    "the flow {:?} has no variable {name:?}; its variables are: {}",
                    inner.name,
                    listed(names)
                );
                problems.add(at, message);
            }
        }
    }

    /// Whether a flow, or one that it enters, forks.
    fn forks<'b>(&'b self, name: &'b str, seen: &mut BTreeSet<&'b str>) -> bool {
        let Some(flow) = self.root.flows.get(name).filter(|_| seen.insert(name)) else { return false };
        flow.states.iter().any(|state| {
            matches!(state.action, Action::Fork(_))
                || state.action.enters().into_iter().any(|inner| self.forks(inner, seen))
        })
    }

    fn condition(&self, flow: &Flow, condition: &Condition, at: &str, problems: &mut Problems) {
        match condition {
            Condition::Matches(pattern) => {
                if let Err(error) = compiled(pattern) {
                    problems.add(at, error.to_string());
                }
            }
            Condition::Schema(expects) => self.schema(Some(expects), at, problems),
            Condition::Equals { variable: Some(name), .. } | Condition::AtLeast { variable: name, .. } => {
                self.variable(flow, name, at, problems);
            }
            Condition::Model(question) if !question.options.contains(&question.is) => {
                let options = listed(question.options.iter().map(String::as_str));
                problems.add(at, format!("the answer {:?} is not among the options: {options}", question.is));
            }
            Condition::Host(name) => {
                if let Some(hosts) = self.known.hosts.as_ref().filter(|hosts| !hosts.contains(name)) {
                    let names = hosts.iter().map(String::as_str);
                    problems.add(
                        at,
                        format!("the host has no condition {name:?}; its conditions are: {}", listed(names)),
                    );
                }
            }
            Condition::All(parts) | Condition::Any(parts) => {
                for part in parts {
                    self.condition(flow, part, at, problems);
                }
            }
            Condition::Not(part) => self.condition(flow, part, at, problems),
            _ => {}
        }
    }

    /// Finds loops that nothing limits: circles of transitions without a state that waits for a person or has a limit of visits.
    fn loops(&self, flow: &Flow, place: &str, problems: &mut Problems) {
        let is_limited = flow.limits.visits.is_some();
        if is_limited {
            return;
        }
        let free = flow.states.iter().filter(|state| state.visits.is_none() && !state.action.waits());
        let free: BTreeMap<&str, &State> = free.map(|state| (state.name.as_str(), state)).collect();
        for (name, state) in &free {
            let mut reached = BTreeSet::new();
            let mut open: Vec<&str> = targets(state);
            while let Some(to) = open.pop() {
                if let Some(next) = free.get(to).filter(|_| reached.insert(to)) {
                    open.extend(targets(next));
                }
            }
            if reached.contains(name) {
                let message = "the flow can come back here without waiting for a person, and nothing limits how often; \
                               set visits here or among the limits";
                problems.add(&format!("{place}states.{name}"), message);
            }
        }
    }

    /// Finds flows that enter themselves.
    fn circles(&self, problems: &mut Problems) {
        for name in self.root.flows.keys() {
            let mut reached = BTreeSet::new();
            let mut open = vec![name.as_str()];
            while let Some(next) = open.pop() {
                let Some(flow) = self.root.flows.get(next) else { continue };
                for state in &flow.states {
                    for inner in state.action.enters() {
                        if reached.insert(inner) {
                            open.push(inner);
                        }
                    }
                }
            }
            if reached.contains(name.as_str()) {
                problems.add(
                    &format!("flows.{name}"),
                    "the flow enters itself, so it may never end; use a transition instead",
                );
            }
        }
    }
}

/// Returns the targets of the state at a place.
fn targets_of<'a>(flow: &'a Flow, at: &str) -> Vec<&'a str> {
    let name = at.rsplit_once("states.").map_or(at, |(_, name)| name);
    flow.find(name).map(targets).unwrap_or_default()
}

fn targets(state: &State) -> Vec<&str> {
    state.transitions.iter().map(|transition| transition.to.as_str()).chain(state.action.late()).collect()
}

fn no_state(flow: &Flow, name: &str) -> String {
    let names = flow.states.iter().map(|state| state.name.as_str());
    format!("there is no state {name:?}; the states are: {}", listed(names))
}

/// Finds states that nothing leads to, and states from which no end is reached.
fn reachable(flow: &Flow, place: &str, problems: &mut Problems) {
    let mut reached = BTreeSet::new();
    let mut open = vec![flow.start.as_str()];
    while let Some(name) = open.pop() {
        if let Some(state) = flow.find(name).filter(|_| reached.insert(name)) {
            open.extend(targets(state));
        }
    }
    // Backwards from the ends, and from the states that a person leaves.
    let mut ends: BTreeSet<&str> = BTreeSet::new();
    loop {
        let before = ends.len();
        for state in &flow.states {
            let is_end = state.transitions.is_empty()
                || targets(state).iter().any(|to| ends.contains(to) || flow.find(to).is_none());
            if is_end || state.action.waits() {
                ends.insert(&state.name);
            }
        }
        if ends.len() == before {
            break;
        }
    }
    for state in &flow.states {
        let at = format!("{place}states.{}", state.name);
        if !reached.contains(state.name.as_str()) {
            problems.warn(
                &at,
                format!(
                    "nothing leads to this state from the start {:?}; add a transition, or remove it",
                    flow.start
                ),
            );
        } else if !ends.contains(state.name.as_str()) {
            problems
                .add(&at, "no end is reached from here, and no state that waits; add a transition to one");
        }
    }
}
