//! The arguments of a processor beyond the messages: template variables, the thinking switch, and the injection policy.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::message::{Role, Source};

/// The arguments that a call, a conversation or a preface gives the processor beyond the messages.
///
/// The first of these that sets a value decides it: **the call, the conversation, the preface, the model's family and
/// template** ([`or`](Self::or) joins two of them). Each template variable is decided on its own.
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
    /// Which earlier thinking the model sees; `None` leaves that to the template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<ThinkingHistory>,
    /// Which text may become a control token; `None` means no text.
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

    /// Sets which earlier thinking the model sees.
    #[must_use]
    pub fn history(mut self, history: ThinkingHistory) -> Self {
        self.history = Some(history);
        self
    }

    /// Sets which text may become a control token.
    #[must_use]
    pub fn injection(mut self, injection: InjectionPolicy) -> Self {
        self.injection = Some(injection);
        self
    }

    /// Takes from `defaults` the values that are absent here.
    ///
    /// The thinking switch and the variables `enable_thinking` and `thinking` mean the same thing, so any of them here
    /// overrides all of them in `defaults`. An injection policy is taken as a whole: one that is set here replaces the
    /// other.
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

    /// Returns the variables for the chat template, including the thinking switch as `enable_thinking` and `thinking`.
    ///
    /// A variable of one of these names overrides the switch.
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

    /// Returns which text may become a control token; by default, no text.
    pub fn policy(&self) -> &InjectionPolicy {
        self.injection.as_ref().unwrap_or(&STRICT)
    }

    /// Returns whether nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn is_switch(name: &str) -> bool {
    ThinkingSwitch::VARIABLES.contains(&name)
}

/// Whether a model thinks before it answers; templates see it as `enable_thinking` and `thinking`.
///
/// [`ProcessorArguments`] contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingSwitch {
    /// It thinks.
    On,
    /// It answers at once.
    Off,
}

impl ThinkingSwitch {
    /// The template variables that switch thinking: `enable_thinking` in Qwen and GLM, `thinking` in DeepSeek and Kimi.
    pub const VARIABLES: [&str; 2] = ["enable_thinking", "thinking"];
}

/// Which of its earlier thinking, and of its text in other channels, a model sees again.
///
/// A message that the reply continues is not history: its thinking blocks stay.
///
/// [`ProcessorArguments`] contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingHistory {
    /// All of them, where the template can print them.
    Keep,
    /// Those since the last user message: what it thought between tool calls.
    StripBeforeLastUser,
    /// None.
    Strip,
}

static STRICT: InjectionPolicy = InjectionPolicy { tokens: BTreeSet::new(), sources: BTreeSet::new() };

/// Which text of a conversation may become control tokens. By default none may: what users, tools and documents write
/// stays text.
///
/// The author of an allowed text can end a turn and begin another one in any role. Each control token that was allowed
/// is reported as a [`Warning`](crate::report::Warning) of the reply.
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
    /// Allows these control tokens in every text.
    pub fn allow<T: Into<String>>(tokens: impl IntoIterator<Item = T>) -> Self {
        Self::default().and_allow(tokens)
    }

    /// Allows every control token in the texts of these sources.
    pub fn trust(sources: impl IntoIterator<Item = TextSource>) -> Self {
        Self::default().and_trust(sources)
    }

    /// Allows every control token in every text, like a tokenizer without this protection.
    pub fn unprotected() -> Self {
        Self::trust(TextSource::ALL)
    }

    /// Allows these control tokens too, in every text.
    #[must_use]
    pub fn and_allow<T: Into<String>>(mut self, tokens: impl IntoIterator<Item = T>) -> Self {
        self.tokens.extend(tokens.into_iter().map(Into::into));
        self
    }

    /// Allows every control token in the texts of these sources too.
    #[must_use]
    pub fn and_trust(mut self, sources: impl IntoIterator<Item = TextSource>) -> Self {
        self.sources.extend(sources);
        self
    }

    /// Returns whether a control token is allowed in a text of this source. White space around tokens does not count.
    pub fn lets(&self, source: TextSource, token: &str) -> bool {
        self.trusts(source) || self.tokens.iter().any(|allowed| allowed.trim() == token.trim())
    }

    /// Returns whether every control token is allowed in texts of this source.
    pub fn trusts(&self, source: TextSource) -> bool {
        self.sources.contains(&source)
    }

    /// Returns the control tokens that are allowed in every text.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        self.tokens.iter().map(String::as_str)
    }

    /// Returns the sources whose texts may contain control tokens.
    pub fn sources(&self) -> impl Iterator<Item = TextSource> {
        self.sources.iter().copied()
    }

    /// Returns whether no control token is allowed.
    pub fn is_strict(&self) -> bool {
        *self == STRICT
    }
}

/// Where a text of a prompt comes from.
///
/// An [`InjectionPolicy`] trusts sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TextSource {
    /// Messages of role system.
    System,
    /// Messages of role user.
    User,
    /// What the model generated.
    Assistant,
    /// Results of tools.
    Tool,
    /// The descriptions of tools: names, texts, schemas.
    ToolSpecs,
    /// Variables of the template, including documents.
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
    /// Every source.
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

    /// Returns the name in JSON.
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
