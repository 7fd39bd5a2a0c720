//! Flows: conversations with states and conditions as data, which resume in any process.
//!
//! A [`Flow`] is a definition: states, each of which does one thing, and transitions with conditions. It is read from YAML or built.
//! [`Flow::problems`] finds what is wrong with it before it runs. A [`FlowRunner`] runs it in a
//! [`Conversation`](alloquy_core::Conversation).
//!
//! | state | what it does |
//! |---|---|
//! | [`say`](Action::Say) | adds a message of the assistant, without a model |
//! | [`ask`](Action::Ask) | sends a message and gets a reply of the model |
//! | [`wait`](Action::Wait) | waits for an answer of a person |
//! | [`approve`](Action::Approve) | waits for the decision of another person |
//! | [`call`](Action::Call) | runs a tool |
//! | [`flow`](Action::Flow) | enters another flow, with variables of its own |
//! | [`fork`](Action::Fork) | enters several flows, each on a branch of the tree |
//! | [`end`](Action::End) | ends the flow without a message |
//!
//! # Example
//!
//! ```
//! use alloquy_core::Conversation;
//! use alloquy_flows::{Answer, Flow, FlowRunner, Progress, TracedStep};
//! use alloquy_testing::EchoModel; // repeats the last message
//!
//! # pollster::block_on(async {
//! let flow = Flow::from_yaml(
//!     "
//! name: order
//! variables: {drink: string, cups: integer}
//! states:
//!   drink:
//!     wait: {say: Tea or coffee?, expects: {enum: [tea, coffee]}, set: drink}
//!     to: cups
//!   cups:
//!     wait: {say: 'How many cups of {{drink}}?', expects: {type: integer, minimum: 1}, set: cups}
//!     to:
//!       - if: {at_least: {variable: cups, value: 10}}
//!         to: refusal
//!       - to: thanks
//!   thanks: {say: 'Here: {{cups}} cups of {{drink}}.'}
//!   refusal: {say: So many cups we do not have.}
//! ",
//! )?;
//! assert_eq!(flow.problems(), []);
//!
//! let conversation = Conversation::new(EchoModel);
//! let runner = FlowRunner::new(flow, conversation.clone());
//! assert_eq!(runner.run().await?.state(), "drink");
//! assert_eq!(runner.resume("tea").await?.state(), "cups");
//! let ended = runner.resume(Answer::value(2)).await?;
//! assert_eq!(ended, Progress::Ended { state: "thanks".to_owned() });
//!
//! // Every step is a node, and says why the flow came there.
//! let steps = TracedStep::all(&conversation.history().await?)?;
//! assert_eq!(steps[4].to_string(), "3. thanks: Here: 2 cups of tea. (always)");
//! # Ok::<(), alloquy_core::Error>(())
//! # })?;
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! # The position
//!
//! The position of a running flow is a fact of the nodes of its steps: [`FlowStep`]. [`Position::of`] reads it off a path, and
//! nothing else is stored. So every branch of the conversation has its own position, `undo` and `goto` move it, a fork and an export
//! carry it along, and another process continues with it.
//!
//! A step is chosen, done, and appended with the head's compare-and-set. After a crash in between, the same step is chosen again. A
//! tool then gets the same [`CallKey`]; a call whose result is stored does not run again. If two writers take a step at once, the head is at
//! one of them, and the other is a branch: [`Progress::Branched`].
//!
//! # Limits
//!
//! The crate has no clock and starts nothing by itself: a host that has a clock calls [`FlowRunner::due`] and
//! [`FlowRunner::run_late`].

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
mod needs;
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
mod waiting;
mod yaml;

/// The examples of `docs/flows.md`.
#[cfg(doctest)]
#[doc = include_str!("../../docs/flows.md")]
struct FlowsPage;

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
