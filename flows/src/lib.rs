//! Flows: conversations with states and conditions as data.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing))]

mod act;
mod action;
mod checks;
mod condition;
mod dataknobs;
mod facts;
mod fields;
mod flow;
mod judges;
mod layout;
mod mermaid;
mod plan;
mod position;
mod problem;
mod progress;
mod reading;
mod reading_actions;
mod reading_conditions;
mod runner;
mod schema;
mod svg;
mod text;
mod trace;
mod yaml;

pub use act::CallKey;
pub use action::{Action, ApproveAction, AskAction, CallAction, FlowAction, ForkAction, Text, WaitAction};
pub use checks::Known;
pub use condition::{Condition, Keyword, ModelQuestion, Observation, Sentiment};
pub use dataknobs::ImportedFlow;
pub use facts::{Because, FLOW_KEY, FlowStep, StepBranch, StepFrame, StepKind, Takes};
pub use flow::{Flow, Limits, State, Transition, Variable, VariableType};
pub use judges::HostCondition;
pub use position::{Frame, Position};
pub use problem::FlowProblem;
pub use progress::{Answer, Progress, Wait};
pub use runner::FlowRunner;
pub use trace::TracedStep;
