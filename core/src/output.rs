//! The output constraints of a reply: a grammar, tool calls, a thinking budget.

use serde::{Deserialize, Serialize};

use crate::grammar::Grammar;

/// The output constraints of one reply; by default there are none.
///
/// ```
/// use alloquy_core::grammar::Grammar;
/// use alloquy_core::output::{OutputConstraints, ParallelCalls, ToolChoice};
///
/// let constraints = OutputConstraints::default().grammar(Grammar::choice(["yes", "no"])).thinking_budget(256);
/// assert_eq!(constraints.thinking_budget, Some(256));
/// let one_call = OutputConstraints::default()
///     .tool_choice(ToolChoice::Required)
///     .parallel_calls(ParallelCalls::Forbidden);
/// assert_eq!(one_call.parallel_calls, ParallelCalls::Forbidden);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct OutputConstraints {
    /// The grammar of the answer: of what follows the thinking, if the model thinks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grammar: Option<Grammar>,
    /// Whether the model must, may or must not call tools; `None` leaves the calls and their notation to the model.
    /// With a grammar, `None` means no calls, and a reply with tools on offer reports it:
    /// [`Warning::ToolsExcluded`](crate::report::Warning::ToolsExcluded).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Whether one reply may call several tools; it has an effect only with `tool_choice`.
    pub parallel_calls: ParallelCalls,
    /// How many tokens the model may think before it has to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_budget: Option<usize>,
}

/// Whether a model must, may or must not call tools. Calls are then written as the model's family writes them, with
/// arguments that the tool's schema accepts.
///
/// ```
/// use alloquy_core::TurnRequest;
/// use alloquy_core::output::{OutputConstraints, ToolChoice};
/// use serde_json::json;
///
/// let choice = ToolChoice::Named("clock".to_owned());
/// assert_eq!(serde_json::to_value(&choice)?, json!({"named": "clock"}));
/// let constraints = OutputConstraints::default().tool_choice(choice);
/// let request = TurnRequest::from("Is it noon?").output(constraints);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolChoice {
    /// It may: text is free up to the first call.
    Auto,
    /// It must not.
    None,
    /// It must call at least one, and writes no other text.
    Required,
    /// It must call this tool.
    Named(String),
}

/// Whether one reply may call several tools.
///
/// [`OutputConstraints`] contains it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParallelCalls {
    /// As many as the model likes.
    #[default]
    Allowed,
    /// At most one.
    Forbidden,
}

impl OutputConstraints {
    /// Sets the grammar of the answer.
    #[must_use]
    pub fn grammar(mut self, grammar: Grammar) -> Self {
        self.grammar = Some(grammar);
        self
    }

    /// Sets whether the model calls tools.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = Some(choice);
        self
    }

    /// Sets whether one reply may call several tools.
    #[must_use]
    pub fn parallel_calls(mut self, parallel: ParallelCalls) -> Self {
        self.parallel_calls = parallel;
        self
    }

    /// Sets how many tokens the model may think.
    #[must_use]
    pub fn thinking_budget(mut self, tokens: usize) -> Self {
        self.thinking_budget = Some(tokens);
        self
    }

    /// Lifts the demand for a tool call after the first calls: it is for one call per turn, not for one in each reply.
    pub(crate) fn after_calls(&mut self) {
        if let Some(ToolChoice::Required | ToolChoice::Named(_)) = self.tool_choice {
            self.tool_choice = Some(ToolChoice::Auto);
        }
    }
}
