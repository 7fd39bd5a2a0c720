//! How far a flow ran.

use std::time::SystemTime;

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, NodeId, Result};
use serde::Serialize;
use serde_json::Value;

use crate::schema;

/// How far a flow ran. Whatever the outcome, the steps that were taken are stored.
///
/// ```
/// use alloquy_core::Conversation;
/// use alloquy_flows::{Action, Flow, FlowRunner, Progress, State};
/// # use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let flow = Flow::new("greeting").state(State::new("hello", Action::say("Hello!")));
/// let progress = FlowRunner::new(flow, Conversation::new(EchoModel)).run().await?;
/// assert_eq!(progress, Progress::Ended { state: "hello".to_owned() });
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "progress", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Progress {
    /// The flow ended.
    Ended {
        /// The last state.
        state: String,
    },
    /// The flow waits for an answer: [`FlowRunner::resume`](crate::FlowRunner::resume).
    Waiting {
        /// The state that waits.
        state: String,
        /// The JSON Schema of the answer; `None` for any text.
        expects: Option<Value>,
        /// Everything that is waited for, first of all this. There are several on the branches of a fork.
        waits: Vec<Wait>,
    },
    /// No transition of the state is taken.
    Stuck {
        /// The state.
        state: String,
        /// Why each transition is not taken.
        why: Vec<String>,
    },
    /// The limit of steps was reached.
    TooManySteps {
        /// The state that was not entered.
        state: String,
        /// The limit.
        steps: usize,
    },
    /// The limit of visits to a state was reached.
    TooManyVisits {
        /// The state that was not entered.
        state: String,
        /// The limit.
        visits: usize,
    },
    /// The limit of time was reached.
    TimedOut {
        /// The state that was not entered.
        state: String,
        /// The limit in seconds.
        seconds: u64,
    },
    /// The definition has changed, and the state where the flow is does no longer exist.
    Changed {
        /// The digest of the definition by which the last step was taken.
        before: Digest,
        /// The digest of the definition now.
        now: Digest,
        /// The state that does no longer exist.
        state: String,
    },
    /// Another writer moved the head meanwhile. The step is stored on a branch, and the head is on that of the other.
    Branched {
        /// The state of the step.
        state: String,
        /// Its node.
        node: NodeId,
    },
}

impl Progress {
    /// Returns the name of the state.
    pub fn state(&self) -> &str {
        match self {
            Self::Ended { state }
            | Self::Waiting { state, .. }
            | Self::Stuck { state, .. }
            | Self::TooManySteps { state, .. }
            | Self::TooManyVisits { state, .. }
            | Self::TimedOut { state, .. }
            | Self::Changed { state, .. }
            | Self::Branched { state, .. } => state,
        }
    }
}

/// A state that waits for an answer.
///
/// [`Progress::Waiting`] has them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Wait {
    /// The state.
    pub state: String,
    /// The flow of the state.
    pub flow: String,
    /// The branch of a fork on which it is.
    pub branch: Option<String>,
    /// The JSON Schema of the answer; `None` for any text.
    pub expects: Option<Value>,
    /// Whether the answer is the decision of another person.
    pub is_approval: bool,
    /// The node that the answer follows; `None` before the first one.
    pub node: Option<NodeId>,
    /// Since when it waits; `None` before the first step.
    #[serde(skip)]
    pub since: Option<SystemTime>,
    /// When the answer is due.
    #[serde(skip)]
    pub due: Option<SystemTime>,
    /// The state where the flow continues when the answer is late.
    pub late: Option<String>,
}

impl Wait {
    /// Reads an answer that a person typed: yes or no for an approval, a text where the schema accepts one, and else JSON.
    ///
    /// ```
    /// use alloquy_core::Conversation;
    /// use alloquy_flows::{Answer, Flow, FlowRunner};
    /// # use alloquy_testing::EchoModel;
    ///
    /// # pollster::block_on(async {
    /// let flow = Flow::from_yaml("name: cups\nstates:\n  cups: {wait: {say: How many?, expects: {type: integer}}}\n")?;
    /// let runner = FlowRunner::new(flow, Conversation::new(EchoModel));
    /// runner.run().await?;
    /// let wait = runner.waits().await?.remove(0);
    /// assert_eq!(wait.read("2")?, Answer::value(2).state("cups"));
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a decision that is neither yes nor no.
    pub fn read(&self, typed: &str) -> Result<Answer> {
        let value = if self.is_approval { decision(typed)?.into() } else { self.value(typed) };
        let mut answer = Answer::value(value).state(&self.state);
        answer.branch.clone_from(&self.branch);
        Ok(answer)
    }

    fn value(&self, typed: &str) -> Value {
        let text = Value::from(typed);
        let Some(schema) = &self.expects else { return text };
        if schema::check(&text, schema).is_ok() {
            return text;
        }
        serde_json::from_str(typed).unwrap_or(text)
    }
}

fn decision(typed: &str) -> Result<bool> {
    match typed.trim().to_lowercase().as_str() {
        "y" | "yes" | "true" => Ok(true),
        "n" | "no" | "false" => Ok(false),
        _ => Err(Error::new(ErrorKind::Invalid, format!("{typed:?} is no decision, expected yes or no"))),
    }
}

/// An answer to a flow.
///
/// ```
/// use alloquy_flows::Answer;
/// use serde_json::json;
///
/// let text = Answer::from("The window is broken.");
/// let decision = Answer::value(json!(true)).by("Bea").state("approval");
/// assert_ne!(text, decision);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Answer {
    pub(crate) value: Value,
    pub(crate) by: Option<String>,
    pub(crate) state: Option<String>,
    pub(crate) branch: Option<String>,
}

impl Answer {
    /// Answers with a JSON value.
    pub fn value(value: impl Into<Value>) -> Self {
        Self { value: value.into(), by: None, state: None, branch: None }
    }

    /// Sets who answers. An approval needs it.
    pub fn by(mut self, name: impl Into<String>) -> Self {
        self.by = Some(name.into());
        self
    }

    /// Sets the state that the answer is for. It is refused if that state does not wait.
    pub fn state(mut self, name: impl Into<String>) -> Self {
        self.state = Some(name.into());
        self
    }

    /// Sets the branch of a fork that the answer is for.
    pub fn branch(mut self, name: impl Into<String>) -> Self {
        self.branch = Some(name.into());
        self
    }
}

impl From<&str> for Answer {
    fn from(text: &str) -> Self {
        Self::value(text)
    }
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        Self::value(text)
    }
}
