//! The arguments of a prompt beside its messages: thinking, and which text may become control tokens.

use std::collections::BTreeSet;

use alloquy::core::arguments::{
    InjectionPolicy, ProcessorArguments, TextSource, ThinkingHistory, ThinkingSwitch,
};
use alloquy::core::model_info::ModelInfo;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::notes::Notes;

/// How the model's prompt is rendered.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Prompt")]
pub(crate) struct PromptArguments {
    /// Whether the model thinks before it answers, where its template can say so: on or off
    #[arg(long, value_enum, value_name = "WHEN", env = "ALLOQUY_THINKING", hide_possible_values = true)]
    pub(crate) thinking: Option<Thinking>,

    /// Which earlier thinking the model sees: keep, strip-before-last-user or strip
    #[arg(
        long,
        value_enum,
        value_name = "WHICH",
        env = "ALLOQUY_THINKING_HISTORY",
        hide_possible_values = true
    )]
    pub(crate) thinking_history: Option<History>,

    /// Let this text be a control token, from any source; may be repeated
    #[arg(long, value_name = "TEXT", env = "ALLOQUY_ALLOW_CONTROL_TOKENS")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) allow_control_tokens: Vec<String>,

    /// Let text from this source be control tokens: system, user, assistant, tool, tool-specs, variables, value, retrieved,
    /// memory, output or all; may be repeated
    #[arg(long, value_enum, value_name = "SOURCE", env = "ALLOQUY_TRUST", hide_possible_values = true)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) trust: Vec<Source>,
}

/// Whether a model thinks.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Thinking {
    On,
    Off,
}

/// Which earlier thinking it sees.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum History {
    Keep,
    StripBeforeLastUser,
    Strip,
}

/// A source of text that may be trusted with control tokens.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Source {
    System,
    User,
    Assistant,
    Tool,
    ToolSpecs,
    Variables,
    Value,
    Retrieved,
    Memory,
    Output,
    All,
}

impl PromptArguments {
    /// Returns the arguments for the library, and notes the control tokens that `model` does not have.
    pub(crate) fn for_model(&self, model: &ModelInfo, notes: Notes) -> ProcessorArguments {
        let known: BTreeSet<_> =
            model.specials.iter().chain(&model.bos).map(|special| special.text.trim()).collect();
        for text in self.allow_control_tokens.iter().filter(|text| !known.contains(text.trim())) {
            notes.say(format_args!("{text:?} is no control token of this model: there is nothing to allow"));
        }
        let mut arguments = ProcessorArguments::default();
        arguments.thinking = self.thinking.map(Into::into);
        arguments.history = self.thinking_history.map(Into::into);
        // Without any of these arguments, the policy of the conversation applies.
        if !(self.allow_control_tokens.is_empty() && self.trust.is_empty()) {
            arguments.injection = Some(self.policy());
        }
        arguments
    }

    fn policy(&self) -> InjectionPolicy {
        let sources = self.trust.iter().flat_map(|source| source.sources());
        InjectionPolicy::trust(sources).and_allow(self.allow_control_tokens.iter().map(String::as_str))
    }
}

impl From<Thinking> for ThinkingSwitch {
    fn from(thinking: Thinking) -> Self {
        match thinking {
            Thinking::On => Self::On,
            Thinking::Off => Self::Off,
        }
    }
}

impl From<History> for ThinkingHistory {
    fn from(history: History) -> Self {
        match history {
            History::Keep => Self::Keep,
            History::StripBeforeLastUser => Self::StripBeforeLastUser,
            History::Strip => Self::Strip,
        }
    }
}

impl Source {
    fn sources(self) -> Vec<TextSource> {
        let source = match self {
            Source::System => TextSource::System,
            Source::User => TextSource::User,
            Source::Assistant => TextSource::Assistant,
            Source::Tool => TextSource::Tool,
            Source::ToolSpecs => TextSource::ToolSpecs,
            Source::Variables => TextSource::Variables,
            Source::Value => TextSource::Value,
            Source::Retrieved => TextSource::Retrieved,
            Source::Memory => TextSource::Memory,
            Source::Output => TextSource::Output,
            Source::All => return TextSource::ALL.to_vec(),
        };
        vec![source]
    }
}
