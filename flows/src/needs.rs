//! What a flow needs of a host before it runs.

use std::collections::BTreeSet;

use crate::action::Action;
use crate::condition::Condition;
use crate::flow::Flow;

impl Flow {
    /// Returns whether a state or a condition asks a model. A host can run another flow without one.
    ///
    /// ```
    /// use alloquy_flows::{Action, Flow, State};
    ///
    /// let hello = Flow::new("hello").state(State::new("hello", Action::say("Hello!")));
    /// let poem = Flow::new("poem").state(State::new("poem", Action::ask("Write a poem.")));
    /// assert!(!hello.asks_model() && poem.asks_model());
    /// ```
    pub fn asks_model(&self) -> bool {
        let is_asked = self.states.iter().any(|state| {
            let has_question = state.transitions.iter().any(|transition| asks(&transition.condition));
            has_question || matches!(state.action, Action::Ask(_))
        });
        is_asked || self.flows.values().any(Self::asks_model)
    }

    /// Returns the names of the tools that states call. The tools of [`AskAction::tools`](crate::AskAction::tools), which a model may
    /// call, are not among them.
    ///
    /// ```
    /// use alloquy_flows::{Action, Flow, State};
    /// use serde_json::json;
    ///
    /// let flow = Flow::new("order").state(State::new("price", Action::call("price", json!({}), "price")));
    /// assert!(flow.called_tools().contains("price"));
    /// ```
    pub fn called_tools(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        for state in &self.states {
            if let Action::Call(call) = &state.action {
                names.insert(call.tool.as_str());
            }
        }
        for flow in self.flows.values() {
            names.extend(flow.called_tools());
        }
        names
    }
}

fn asks(condition: &Condition) -> bool {
    match condition {
        Condition::Model(_) => true,
        Condition::All(conditions) | Condition::Any(conditions) => conditions.iter().any(asks),
        Condition::Not(condition) => asks(condition),
        _ => false,
    }
}
