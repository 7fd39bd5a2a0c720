//! The models of the server: opened as those of a chat are, when a request needs one.

use std::fmt;
use std::path::{Path, PathBuf};

use alloquy::core::{Error, ErrorKind, Result};
use alloquy_server::{ModelSource, OpenedModel, ServedModel};

use crate::arguments::{ContextArguments, ModelArguments, is_address};
use crate::found;
use crate::hub;
use crate::notes::Notes;
use crate::open;
use crate::pocket::POCKET;

/// A model of this machine, or of a server elsewhere.
#[derive(Clone)]
pub(crate) struct NamedModel {
    /// The name under which it is served.
    pub(crate) name: String,
    pub(crate) arguments: ModelArguments,
    pub(crate) overflow: ContextArguments,
    /// Whether owners share cached prompts.
    pub(crate) shares_cache: bool,
    pub(crate) notes: Notes,
}

impl fmt::Debug for NamedModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NamedModel").field("model", &self.arguments.model).finish_non_exhaustive()
    }
}

impl NamedModel {
    /// Describes the model on one line, without loading it or asking its server.
    ///
    /// # Errors
    /// Those of its files and of the settings.
    pub(crate) fn describe(&self) -> Result<String> {
        self.description().map_err(|error| error.context(format_args!("model {:?}", self.name)))
    }

    fn description(&self) -> Result<String> {
        let remote = &self.arguments.remote;
        let path = self.arguments.model.as_deref();
        match (remote.address()?, remote.remote_chat) {
            (None, _) => Ok(open::describe(path)?.summary()),
            (Some(url), Some(protocol)) => {
                self.overflow.check_endpoint()?;
                let model = path.map_or_else(String::new, |path| format!("{}, ", path.display()));
                Ok(format!("{model}{} of {url}", protocol.path()))
            }
            (Some(url), None) => {
                let Some(path) = path else { return Ok(format!("at {url}")) };
                hub::fetch_description(&found::resolved(path), self.notes)?;
                Ok(format!("{}, at {url}", open::describe_remote(path)?.summary()))
            }
        }
    }

    /// Asks the server of a remote model whether it is there.
    ///
    /// # Errors
    /// Those of the server.
    pub(crate) fn reach(&self) -> Result<()> {
        let remote = &self.arguments.remote;
        let Some(url) = remote.address()? else { return Ok(()) };
        let reached = if self.is_endpoint() {
            self.opened().map(drop)
        } else {
            pollster::block_on(remote.server(url)?.inspect(remote.dialect())).map(drop)
        };
        reached.map_err(|error| error.context(format_args!("model {:?}", self.name)))
    }

    /// Returns the model as the server has it.
    pub(crate) fn served(self) -> ServedModel {
        ServedModel::new(self.name.clone(), self)
    }

    /// Returns whether a server makes the prompts of the model, too.
    fn is_endpoint(&self) -> bool {
        let remote = &self.arguments.remote;
        remote.is_set() && remote.remote_chat.is_some()
    }

    fn opened(&self) -> Result<OpenedModel> {
        if self.is_endpoint() {
            return Ok(OpenedModel::new(open::for_turns(&self.arguments, &self.overflow, None, self.notes)?));
        }
        let builder = self.overflow.added_to(open::builder(&self.arguments, self.notes)?);
        let model = open::opened(builder.share_cache(self.shares_cache), self.notes)?;
        let context_length = model.info().context_length;
        let kinds = model.language_model().media_kinds();
        let (tokens, saved) = (model.clone(), model.clone());
        let mut opened =
            OpenedModel::new(model).tokens(move |token| tokens.language_model().tokenizer().bytes(token));
        // What a server of models has computed stays there.
        if !self.arguments.remote.is_set() {
            opened = opened.snapshots(saved);
        }
        opened.context_length = Some(context_length);
        opened.media = kinds;
        // A server of models has log-probabilities of what it samples alone.
        opened.scores = !self.arguments.remote.is_set();
        Ok(opened)
    }
}

impl ModelSource for NamedModel {
    /// Returns the size of the model's files, which is about what it takes in memory; 0 for a model elsewhere.
    fn memory(&self) -> u64 {
        match &self.arguments.model {
            Some(path) if path != Path::new(POCKET) && !self.arguments.remote.is_set() => {
                found::bytes(&found::resolved(path))
            }
            _ => 0,
        }
    }

    /// Returns all settings of the model, but for the key, which is read when the model is opened.
    fn identity(&self) -> Option<String> {
        let settings = serde_json::to_string(&(&self.arguments, &self.overflow)).ok()?;
        Some(format!("{settings} {} {}", self.shares_cache, self.arguments.remote.is_keyless))
    }

    fn open(&self) -> Result<OpenedModel> {
        self.opened()
    }
}

/// A model as it is written: its name here, its own name, and its server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrittenModel {
    pub(crate) name: String,
    pub(crate) model: PathBuf,
    /// `none` is this machine.
    pub(crate) server: Option<String>,
}

/// Reads `NAME=MODEL@URL`, where the address may be left out, and the name too: then it is the last part of the model's own.
///
/// # Errors
/// [`ErrorKind::Invalid`] for an empty name or model.
pub(crate) fn written(argument: &str) -> Result<WrittenModel> {
    // Names of models may have an @ too, before a revision.
    let (before, server) = match argument.rsplit_once('@') {
        Some((before, server)) if is_address(server) => (before, Some(server.to_owned())),
        _ => (argument, None),
    };
    let (name, model) = match before.split_once('=') {
        Some((name, model)) => (name.to_owned(), model),
        None => (last_part(before), before),
    };
    if name.is_empty() || model.is_empty() {
        let message = format!(
            "{argument:?} names no model: write NAME=MODEL, such as tea=models/qwen3, MODEL, or NAME=MODEL@URL for a model on a server"
        );
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    Ok(WrittenModel { name, model: PathBuf::from(model), server })
}

fn last_part(model: &str) -> String {
    let trimmed = model.trim_end_matches(['/', '\\']);
    trimmed.rsplit(['/', '\\']).next().unwrap_or(trimmed).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_the_name_that_is_given_or_the_last_part_of_its_own() {
        let cases = [
            ("tea=models/qwen3", Some(("tea", "models/qwen3", None))),
            ("models/qwen3/", Some(("qwen3", "models/qwen3/", None))),
            ("pocket", Some(("pocket", "pocket", None))),
            ("pocket@none", Some(("pocket", "pocket", Some("none")))),
            ("a/tea@main", Some(("tea@main", "a/tea@main", None))),
            ("a/tea@http://b:80/c=d", Some(("tea", "a/tea", Some("http://b:80/c=d")))),
            ("x=a/tea@main@https://b", Some(("x", "a/tea@main", Some("https://b")))),
            ("=models/qwen3", None),
            ("tea=", None),
            ("tea=@http://b", None),
            ("/", None),
        ];
        for (argument, expected) in cases {
            let written = written(argument).ok();
            let expected = expected.map(|(name, model, server)| WrittenModel {
                name: name.to_owned(),
                model: PathBuf::from(model),
                server: server.map(str::to_owned),
            });
            assert_eq!(written, expected, "{argument}");
        }
    }
}
