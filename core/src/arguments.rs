//! What one call tells the processor beyond its messages: template variables, thinking, and what text may do.
//! Knows no family and no template.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::message::{Role, Source};

/// What a call, a conversation or a preface tells the processor beside its messages.
///
/// What is absent is decided by whoever comes next: **the call, the conversation, the preface, the model's family
/// and template**, in this order ([`or`](Self::or) joins two of them). Template variables are decided one by one.
///
/// ```
/// use alloquy_core::arguments::{InjectionPolicy, ProcessorArguments, ThinkingHistory, ThinkingSwitch};
///
/// let call = ProcessorArguments::default().thinking(ThinkingSwitch::Off);
/// let preface = ProcessorArguments::default()
///     .extra("enable_thinking", true)
///     .extra("date_string", "2026-01-01")
///     .history(ThinkingHistory::Strip);
/// let arguments = call.or(&preface);
/// assert_eq!(arguments.variables()["enable_thinking"], false);
/// assert_eq!(arguments.variables()["date_string"], "2026-01-01");
/// assert_eq!(arguments.history, Some(ThinkingHistory::Strip));
/// assert_eq!(arguments.policy(), &InjectionPolicy::default());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProcessorArguments {
    /// Variables for the chat template, such as `date_string` or `documents`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
    /// Whether the model thinks before it answers; `None` leaves that to the template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingSwitch>,
    /// Which earlier thoughts the model sees; `None` leaves that to the template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<ThinkingHistory>,
    /// What text may become a control token; `None` is none of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injection: Option<InjectionPolicy>,
}

impl ProcessorArguments {
    /// Sets a variable of the chat template.
    #[must_use]
    pub fn extra(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }

    /// Sets whether the model thinks before it answers.
    #[must_use]
    pub fn thinking(mut self, thinking: ThinkingSwitch) -> Self {
        self.thinking = Some(thinking);
        self
    }

    /// Sets which earlier thoughts the model sees.
    #[must_use]
    pub fn history(mut self, history: ThinkingHistory) -> Self {
        self.history = Some(history);
        self
    }

    /// Sets what text may become a control token.
    #[must_use]
    pub fn injection(mut self, injection: InjectionPolicy) -> Self {
        self.injection = Some(injection);
        self
    }

    /// Takes from `defaults` what is absent here.
    ///
    /// The switch of thinking and the variables `enable_thinking` and `thinking` say the same thing, so any of them
    /// here decides against all of `defaults`. An injection policy is taken as a whole: one that is set here replaces the other.
    #[must_use]
    pub fn or(mut self, defaults: &Self) -> Self {
        let decided = self.thinking.is_some() || self.sets_switch();
        if !decided {
            self.thinking = defaults.thinking;
        }
        for (name, value) in &defaults.extra {
            if !(self.extra.contains_key(name) || decided && is_switch(name)) {
                self.extra.insert(name.clone(), value.clone());
            }
        }
        self.history = self.history.or(defaults.history);
        self.injection = self.injection.or_else(|| defaults.injection.clone());
        self
    }

    /// Returns the variables for the chat template, with the switch of thinking among them as `enable_thinking` and
    /// `thinking`.
    ///
    /// Where a variable is set by one of these names, it is that which counts, and the switch beside it does not.
    pub fn variables(&self) -> Map<String, Value> {
        let mut variables = self.extra.clone();
        if let Some(thinking) = self.thinking.filter(|_| !self.sets_switch()) {
            let value = Value::Bool(thinking == ThinkingSwitch::On);
            variables.extend(ThinkingSwitch::VARIABLES.map(|name| (name.to_owned(), value.clone())));
        }
        variables
    }

    fn sets_switch(&self) -> bool {
        ThinkingSwitch::VARIABLES.iter().any(|name| self.extra.contains_key(*name))
    }

    /// Returns what text may become a control token: none of it, unless something was set.
    pub fn policy(&self) -> &InjectionPolicy {
        self.injection.as_ref().unwrap_or(&STRICT)
    }

    /// Says whether nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn is_switch(name: &str) -> bool {
    ThinkingSwitch::VARIABLES.contains(&name)
}

/// Whether a model thinks before it answers; templates see it as `enable_thinking` and `thinking`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingSwitch {
    /// It thinks.
    On,
    /// It answers at once.
    Off,
}

impl ThinkingSwitch {
    /// The variables by which chat templates let a model think, or not: Qwen's and GLM's, then DeepSeek's and Kimi's.
    pub const VARIABLES: [&str; 2] = ["enable_thinking", "thinking"];
}

/// Which of its earlier thoughts a model sees again, and what it said in other channels.
///
/// A message that the reply goes on writing is no history: its thoughts stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingHistory {
    /// All of them, where the template can print them.
    Keep,
    /// Those since the last message of the user's: what it thought between calls of tools.
    StripBeforeLastUser,
    /// None.
    Strip,
}

static STRICT: InjectionPolicy = InjectionPolicy { tokens: BTreeSet::new(), sources: BTreeSet::new() };

/// Which text of a conversation may become control tokens. The default is none: whatever people, tools and documents
/// write stays text.
///
/// Whoever can write a text that is let through can end a turn and begin another in anybody's name. Each control
/// token that was let through is told as a [`Degradation`](crate::report::Degradation) of the reply.
///
/// ```
/// use alloquy_core::arguments::{InjectionPolicy, TextSource};
///
/// let policy = InjectionPolicy::allow(["<think>", "</think>"]).and_trust([TextSource::System]);
/// assert!(policy.lets(TextSource::User, "<think>"));
/// assert!(policy.lets(TextSource::System, "<|im_end|>"));
/// assert!(!policy.lets(TextSource::User, "<|im_end|>"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InjectionPolicy {
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    tokens: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    sources: BTreeSet<TextSource>,
}

impl InjectionPolicy {
    /// Lets these control tokens through, whoever writes them.
    pub fn allow<T: Into<String>>(tokens: impl IntoIterator<Item = T>) -> Self {
        Self::default().and_allow(tokens)
    }

    /// Lets every control token through that these sources write.
    pub fn trust(sources: impl IntoIterator<Item = TextSource>) -> Self {
        Self::default().and_trust(sources)
    }

    /// Lets everything through, as a tokenizer without this protection does.
    pub fn unprotected() -> Self {
        Self::trust(TextSource::ALL)
    }

    /// Lets these control tokens through too, whoever writes them.
    #[must_use]
    pub fn and_allow<T: Into<String>>(mut self, tokens: impl IntoIterator<Item = T>) -> Self {
        self.tokens.extend(tokens.into_iter().map(Into::into));
        self
    }

    /// Lets every control token through that these sources write, too.
    #[must_use]
    pub fn and_trust(mut self, sources: impl IntoIterator<Item = TextSource>) -> Self {
        self.sources.extend(sources);
        self
    }

    /// Says whether a control token in a text of this source is let through. White space around tokens does not count.
    pub fn lets(&self, source: TextSource, token: &str) -> bool {
        self.trusts(source) || self.tokens.iter().any(|allowed| allowed.trim() == token.trim())
    }

    /// Says whether every control token is let through that this source writes.
    pub fn trusts(&self, source: TextSource) -> bool {
        self.sources.contains(&source)
    }

    /// Returns the control tokens that are let through whoever writes them.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        self.tokens.iter().map(String::as_str)
    }

    /// Returns who may write control tokens.
    pub fn sources(&self) -> impl Iterator<Item = TextSource> {
        self.sources.iter().copied()
    }

    /// Says whether nothing is let through.
    pub fn is_strict(&self) -> bool {
        *self == STRICT
    }
}

/// Where a text of a prompt comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TextSource {
    /// Messages of role system.
    System,
    /// Messages of role user.
    User,
    /// What the model said.
    Assistant,
    /// What tools answered.
    Tool,
    /// What describes the tools: names, descriptions, schemas.
    ToolSpecs,
    /// Variables of the template, documents among them.
    Variables,
    /// Parts that are [values of a prompt](Source::Value).
    Value,
    /// Parts that are [retrieved documents](Source::Retrieved).
    Retrieved,
    /// Parts that are [notes from memory](Source::Memory).
    Memory,
    /// Parts that are [outputs of earlier replies](Source::Output).
    Output,
}

impl TextSource {
    /// Every source there is.
    pub const ALL: [Self; 10] = [
        Self::System,
        Self::User,
        Self::Assistant,
        Self::Tool,
        Self::ToolSpecs,
        Self::Variables,
        Self::Value,
        Self::Retrieved,
        Self::Memory,
        Self::Output,
    ];

    /// Returns the name as it is written in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::ToolSpecs => "tool_specs",
            Self::Variables => "variables",
            Self::Value => "value",
            Self::Retrieved => "retrieved",
            Self::Memory => "memory",
            Self::Output => "output",
        }
    }
}

impl From<&Source> for TextSource {
    fn from(source: &Source) -> Self {
        match source {
            Source::Value(_) => Self::Value,
            Source::Retrieved { .. } => Self::Retrieved,
            Source::Memory { .. } => Self::Memory,
            Source::Tool { .. } => Self::Tool,
            Source::Output { .. } => Self::Output,
        }
    }
}

impl From<Role> for TextSource {
    fn from(role: Role) -> Self {
        match role {
            Role::System => Self::System,
            Role::User => Self::User,
            Role::Assistant => Self::Assistant,
            Role::Tool => Self::Tool,
        }
    }
}
