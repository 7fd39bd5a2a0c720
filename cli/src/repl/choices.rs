//! The commands of a chat that change its model and its settings.

use alloquy::Model;
use alloquy::core::{Conversation, Error, ErrorKind, SamplingOptions};
use serde_json::{Map, Value, json};

use super::session::{AfterError, Answerer, Repl};
use super::settings::{self, DEFAULT};
use super::typed_path::typed_path;
use crate::arguments::{SamplingArguments, is_address};
use crate::failure::Failure;
use crate::media;
use crate::open;
use crate::opener::ChosenModel;
use crate::settings::entries;

impl Repl {
    /// Shows which model answers.
    pub(super) fn show_model(&mut self) -> Result<(), Failure> {
        let Some(answerer) = &self.answerer else { return Err(no_model().into()) };
        let text = format!("{}\n", answerer.model.summary());
        let value = of_model(answerer);
        Ok(self.printer.show("model", &text, value)?)
    }

    /// Lets another model answer from here on. If it cannot be opened, the former one stays.
    pub(super) async fn change_model(&mut self, name: &str) -> Result<(), Failure> {
        let Some(answerer) = &self.answerer else { return Err(no_model().into()) };
        let opener = answerer.opener.of(chosen(name));
        let model = opener.open().map_err(|error| {
            // The cause is printed after this.
            Error::new(error.kind(), "the model stays as it is").with_source(error)
        })?;
        media::check(&model, &self.attached)?;
        let manager = opener.manager(&model)?;
        self.current.change_manager(manager).await?;
        self.current.set_arguments(self.settings.prompt.for_model(model.info(), self.notes));
        let computes = match self.current.chat() {
            Ok(_) => {
                "; it reads the whole conversation with the next question, as nothing is cached for it yet"
            }
            Err(_) => "",
        };
        self.notes.say(format_args!("{} answers from here on{computes}", opener.name()));
        open::warn(&model, self.notes);
        if let Some(answerer) = &mut self.answerer {
            answerer.model = model;
            answerer.opener = opener;
            let value = of_model(answerer);
            self.printer.show("model", "", value)?;
        }
        self.is_changed = true;
        Ok(())
    }

    /// Changes a setting for every later answer of this chat.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        let name = settings::known(name)?;
        if value.is_empty() {
            let message =
                format!("usage: /set {name} VALUE; {DEFAULT} is the value with which this chat began");
            return Err(Error::new(ErrorKind::Invalid, message).into());
        }
        let changed = self.settings.with(&name, value, &self.begun)?;
        if let Some(answerer) = &self.answerer {
            self.current.set_arguments(changed.prompt.for_model(answerer.model.info(), self.notes));
        }
        self.constraints.thinking_budget = changed.thinking_budget;
        let now = changed.values()?.shift_remove(&name);
        self.settings = changed;
        self.is_changed = true;
        match &now {
            Some(value) => self.notes.say(format_args!("{name} is {} from here on", shown(value))),
            None => self.notes.say(format_args!("{name} is the model's own from here on")),
        }
        Ok(self.printer.show("set", "", json!({"name": name, "value": now}))?)
    }

    /// Lists the settings, with the values that the model's authors recommend where there are no others.
    pub(super) async fn list_settings(&mut self) -> Result<(), Failure> {
        let here = self.settings.values()?;
        let whole = entries(&SamplingArguments::from(self.whole_sampling().await?))?;
        let mut text = String::new();
        let mut listed = Map::new();
        for name in settings::names() {
            let (value, origin) = match (here.get(&name), whole.get(&name).filter(|value| !value.is_null())) {
                (Some(value), _) => (value.clone(), "chat"),
                (None, Some(value)) => (value.clone(), "model"),
                (None, None) => (Value::Null, "default"),
            };
            text += &format!("{name:20} {origin:8} {}\n", shown(&value));
            listed.insert(name, json!({"value": value, "origin": origin}));
        }
        Ok(self.printer.show("settings", &text, json!({ "settings": listed }))?)
    }

    /// Generates the last answer again, and says so beforehand where it will be the same.
    pub(super) async fn retry(&mut self, chat: &Conversation) -> Result<(), Failure> {
        if self.after_error == AfterError::Continue
            && !self.is_changed
            && let Some(reason) = same_answer(&self.whole_sampling().await?)
        {
            self.notes.say(format_args!("the same answer will come, because {reason}"));
        }
        let request = self.with_settings(Vec::new());
        self.answer(chat.regenerate(request)).await
    }
}

/// Reads which model a person means: a name, or the address of a server and a name. `none` is the address of this machine.
fn chosen(typed: &str) -> ChosenModel {
    let (first, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    if !is_address(first) {
        return ChosenModel { url: None, name: Some(typed_path(typed)) };
    }
    let name = if rest.trim().is_empty() { None } else { Some(typed_path(rest)) };
    ChosenModel { url: Some(first.to_owned()), name }
}

/// Returns why an answer that is generated again is the same, and what changes that.
fn same_answer(sampling: &SamplingOptions) -> Option<String> {
    if sampling.temperature.unwrap_or_default() == 0.0 {
        return Some("the temperature is 0: /set temperature 0.7 lets answers differ".to_owned());
    }
    if sampling.top_k == Some(1) {
        return Some("top-k is 1: /set top-k 0 lets answers differ".to_owned());
    }
    let seed = sampling.seed?;
    Some(format!("the seed is {seed}: /set seed with another number gives another answer"))
}

fn no_model() -> Error {
    Error::new(ErrorKind::Unsupported, "the model of this chat cannot be changed")
}

fn of_model(answerer: &Answerer) -> Value {
    let model = &answerer.model;
    let tokens = model.tokens();
    json!({
        "name": answerer.opener.name(),
        "family": tokens.map(Model::family),
        "template": tokens.map(Model::template),
        "context": model.context_length(),
        "remote": answerer.opener.url(),
    })
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_drawn_differs() {
        let reason = |options: SamplingOptions| same_answer(&options).unwrap_or_default();
        assert!(reason(SamplingOptions::default()).starts_with("the temperature is 0"));
        let warm = SamplingOptions { temperature: Some(0.7), ..SamplingOptions::default() };
        assert_eq!(reason(warm.clone()), "");
        assert!(reason(SamplingOptions { top_k: Some(1), ..warm.clone() }).starts_with("top-k is 1"));
        assert!(reason(SamplingOptions { seed: Some(7), ..warm }).starts_with("the seed is 7"));
    }
}
