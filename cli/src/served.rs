//! The models of the server: opened as those of a chat are, when a request needs one.

use std::fmt;
use std::path::{Path, PathBuf};

use alloquy::core::{Error, ErrorKind, Result};
use alloquy_server::{ModelSource, OpenedModel, ServedModel};

use crate::arguments::{ContextArguments, ModelArguments};
use crate::found;
use crate::notes::Notes;
use crate::open;
use crate::pocket::POCKET;

/// A model of this machine.
#[derive(Clone)]
pub(crate) struct LocalModel {
    /// The name under which it is served.
    pub(crate) name: String,
    pub(crate) arguments: ModelArguments,
    pub(crate) overflow: ContextArguments,
    pub(crate) notes: Notes,
}

impl fmt::Debug for LocalModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LocalModel").field("model", &self.arguments.model).finish_non_exhaustive()
    }
}

impl LocalModel {
    /// Checks that the model can be described, without loading it, and returns the description on one line.
    ///
    /// # Errors
    /// Those of its files.
    pub(crate) fn check(&self) -> Result<String> {
        let description = open::describe(self.arguments.model.as_deref());
        description
            .map(|description| description.summary())
            .map_err(|error| error.context(format_args!("model {:?}", self.name)))
    }

    /// Returns the model as the server has it.
    pub(crate) fn served(self) -> ServedModel {
        ServedModel::new(self.name.clone(), self)
    }
}

impl ModelSource for LocalModel {
    /// Returns the size of the model's files, which is about what it takes in memory.
    fn memory(&self) -> u64 {
        match &self.arguments.model {
            Some(path) if path != Path::new(POCKET) => found::bytes(&found::resolved(path)),
            _ => 0,
        }
    }

    fn open(&self) -> Result<OpenedModel> {
        let builder = self.overflow.added_to(open::builder(&self.arguments, self.notes)?);
        let model = open::opened(builder, self.notes)?;
        let context_length = model.info().context_length;
        let tokens = model.clone();
        let mut opened =
            OpenedModel::new(model).tokens(move |token| tokens.language_model().tokenizer().bytes(token));
        opened.context_length = Some(context_length);
        Ok(opened)
    }
}

/// Reads `NAME=MODEL`, or a model that is served under the last part of its own name.
///
/// # Errors
/// [`ErrorKind::Invalid`] for an empty name or model.
pub(crate) fn named(argument: &str) -> Result<(String, PathBuf)> {
    let (name, model) = match argument.split_once('=') {
        Some((name, model)) => (name.to_owned(), model),
        None => (last_part(argument), argument),
    };
    if name.is_empty() || model.is_empty() {
        let message =
            format!("{argument:?} names no model: write NAME=MODEL, such as tea=models/qwen3, or MODEL");
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    Ok((name, PathBuf::from(model)))
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
            ("tea=models/qwen3", Some(("tea", "models/qwen3"))),
            ("models/qwen3/", Some(("qwen3", "models/qwen3/"))),
            ("pocket", Some(("pocket", "pocket"))),
            ("=models/qwen3", None),
            ("tea=", None),
            ("/", None),
        ];
        for (argument, expected) in cases {
            let named = named(argument).ok();
            let expected = expected.map(|(name, model)| (name.to_owned(), PathBuf::from(model)));
            assert_eq!(named, expected, "{argument}");
        }
    }
}
