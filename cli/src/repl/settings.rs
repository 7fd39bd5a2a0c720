//! The settings of a chat that `/set` changes: the names, values and limits are those of the flags.

use alloquy::core::{Error, ErrorKind, Result};
use clap::error::{ContextKind, ContextValue};
use clap::{Args, Command, FromArgMatches as _};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::arguments::{PromptArguments, SamplingArguments};
use crate::limits::count;
use crate::nearest::nearest;
use crate::settings::{entries, keys};

/// The value with which a setting is again as it was when the chat began.
pub(super) const DEFAULT: &str = "default";

/// What `/set` changes.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct ChatSettings {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) sampling: SamplingArguments,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) prompt: PromptArguments,

    /// Make the model answer after N tokens of thinking
    #[arg(long, value_parser = count::<usize>("thinking-budget"))]
    pub(crate) thinking_budget: Option<usize>,
}

impl ChatSettings {
    /// Returns these settings with another value for one of them; [`DEFAULT`] takes that of `begun`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a name or a value that the flags would not accept.
    pub(super) fn with(&self, name: &str, value: &str, begun: &Self) -> Result<Self> {
        let source = if value == DEFAULT { begun.clone() } else { parsed(name, value)? };
        let mut changed = entries(self)?;
        changed.shift_remove(name);
        if let Some(value) = entries(&source)?.shift_remove(name) {
            changed.insert(name.to_owned(), value);
        }
        let changed: Self = serde_json::from_value(Value::Object(changed)).map_err(|source| {
            Error::new(ErrorKind::Invalid, format!("{name} cannot be {value:?}")).with_source(source)
        })?;
        changed.sampling.options().validate()?;
        Ok(changed)
    }

    /// Returns the values that are set, by their names.
    pub(super) fn values(&self) -> Result<Map<String, Value>> {
        let mut values = entries(self)?;
        values.retain(|_, value| !value.is_null());
        Ok(values)
    }
}

/// Returns the names of all settings, in the order in which help lists them.
pub(super) fn names() -> Vec<String> {
    keys::<ChatSettings>()
}

/// Returns the valid values of a setting, where they are words.
pub(super) fn words(name: &str) -> Vec<String> {
    let command = command();
    let argument = command.get_arguments().find(|argument| argument.get_long() == Some(name));
    let values = argument.map(clap::Arg::get_possible_values).unwrap_or_default();
    values.iter().map(|value| value.get_name().to_owned()).collect()
}

/// Returns the name of a setting as the flags have it.
///
/// # Errors
/// [`ErrorKind::Invalid`] for a name that no setting has.
pub(super) fn known(typed: &str) -> Result<String> {
    let name = typed.trim_start_matches('-').replace('_', "-").to_lowercase();
    let names = names();
    if names.contains(&name) {
        return Ok(name);
    }
    let message = match (name.as_str(), nearest(&name, names.iter().map(String::as_str))) {
        ("system", _) => "the system prompt is no setting: use /system TEXT".to_owned(),
        ("model", _) => "the model is no setting: use /model NAME".to_owned(),
        (_, Some(near)) => format!("there is no setting {typed:?}, did you mean {near}? /set lists all"),
        (_, None) => format!("there is no setting {typed:?}, one of: {}", names.join(", ")),
    };
    Err(Error::new(ErrorKind::Invalid, message))
}

fn command() -> Command {
    let command = ChatSettings::augment_args(Command::new("set")).no_binary_name(true);
    // Variables of the environment counted when the chat began.
    command.mut_args(|argument| argument.env(clap::builder::Resettable::Reset))
}

/// Reads a value as the flag of this name does.
fn parsed(name: &str, value: &str) -> Result<ChatSettings> {
    let matches = command().try_get_matches_from([format!("--{name}={value}")]);
    let read = matches.and_then(|matches| ChatSettings::from_arg_matches(&matches));
    read.map_err(|error| {
        let expected = expected(&error).unwrap_or_else(|| "not valid".to_owned());
        Error::new(ErrorKind::Invalid, format!("{name} cannot be {value:?}, {expected}"))
    })
}

/// Returns what an error of a flag says of valid values.
fn expected(error: &clap::Error) -> Option<String> {
    if let Some(ContextValue::Strings(valid)) = error.get(ContextKind::ValidValue) {
        return Some(format!("expected one of: {}", valid.join(", ")));
    }
    Some(std::error::Error::source(error)?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(settings: &ChatSettings, name: &str, value: &str) -> Result<ChatSettings> {
        settings.with(&known(name)?, value, &ChatSettings::default())
    }

    #[test]
    fn a_setting_changes_alone_and_goes_back() {
        let settings = set(&ChatSettings::default(), "temperature", "0.7").unwrap();
        let settings = set(&settings, "max_tokens", "12").unwrap();
        let settings = set(&settings, "thinking", "off").unwrap();
        let settings = set(&settings, "stop", "USER: ").unwrap();
        let settings = set(&settings, "--thinking-budget", "9").unwrap();
        let values = Value::Object(settings.values().unwrap()).to_string();
        insta::assert_snapshot!(values, @r#"{"temperature":0.7,"max-tokens":12,"stop":["USER: "],"thinking":"off","thinking-budget":9}"#);
        let settings = set(&settings, "temperature", "default").unwrap();
        assert_eq!((settings.sampling.temperature, settings.sampling.max_tokens), (None, Some(12)));
    }

    #[test]
    fn a_bad_setting_says_what_would_be_good() {
        let bad = [
            ("temprature", "1"),
            ("colour", "red"),
            ("system", "Be brief."),
            ("temperature", "warm"),
            ("thinking", "maybe"),
            ("seed", "-1"),
            ("logit-bias", "x"),
        ];
        let errors =
            bad.map(|(name, value)| set(&ChatSettings::default(), name, value).unwrap_err().to_string());
        insta::assert_snapshot!(errors.join("\n"));
    }

    #[test]
    fn words_are_listed() {
        assert_eq!(words("thinking"), ["on", "off"]);
        assert!(words("temperature").is_empty());
    }
}
