//! The arguments of prompts in a library: which library, which prompt, and its values.

use std::path::PathBuf;
use std::sync::Arc;

use alloquy::core::prompt_library::{PromptLibrary, PromptName, Values};
use alloquy::core::{Error, ErrorKind, Result};
use alloquy::prompts::FolderLibrary;
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The library of prompts.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Prompts")]
pub(crate) struct LibraryArguments {
    /// The folder of the prompts that --prompt and /prompt name, with system/, user/, messages/ and rag/
    #[arg(long, value_name = "FOLDER", env = "ALLOQUY_PROMPTS")]
    pub(crate) prompts: Option<PathBuf>,
}

impl LibraryArguments {
    /// Opens the library, if a folder is set.
    ///
    /// # Errors
    /// As [`FolderLibrary::open`].
    pub(crate) fn open_if_set(&self) -> Result<Option<Arc<dyn PromptLibrary>>> {
        match &self.prompts {
            Some(folder) => Ok(Some(Arc::new(FolderLibrary::open(folder)?))),
            None => Ok(None),
        }
    }

    /// Opens the library.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if no folder is set, and as [`FolderLibrary::open`].
    pub(crate) fn open(&self) -> Result<FolderLibrary> {
        match &self.prompts {
            Some(folder) => FolderLibrary::open(folder),
            None => {
                let message = "no folder of prompts is set: name one with --prompts FOLDER, or with the key prompts of the \
                               configuration file";
                Err(Error::new(ErrorKind::Invalid, message))
            }
        }
    }
}

/// The values of a prompt.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Prompts")]
pub(crate) struct ValueArguments {
    /// Give the prompt a value: NAME=TEXT, NAME=@FILE for the text of a file, or NAME:=JSON; may be repeated
    #[arg(long, value_name = "NAME=VALUE", env = "ALLOQUY_SET")]
    pub(crate) set: Vec<String>,
}

impl ValueArguments {
    /// Returns the values.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a text of another form, a file that cannot be read, and a value that is no JSON.
    pub(crate) fn values(&self) -> Result<Values> {
        values(self.set.iter().map(String::as_str))
    }
}

/// Reads values as people type them.
///
/// # Errors
/// As [`ValueArguments::values`].
pub(crate) fn values<'a>(typed: impl IntoIterator<Item = &'a str>) -> Result<Values> {
    let mut values = Values::new();
    for typed in typed {
        let (name, value) = value(typed)?;
        values = values.set(name, value);
    }
    Ok(values)
}

fn value(typed: &str) -> Result<(&str, Value)> {
    let Some((name, text)) = typed.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        let message = format!("{typed:?} is no value, expected NAME=TEXT, NAME=@FILE or NAME:=JSON");
        return Err(Error::new(ErrorKind::Invalid, message));
    };
    if let Some(name) = name.strip_suffix(':') {
        let value = serde_json::from_str(text).map_err(|source| {
            let message =
                format!("the value {text:?} of {name:?} is no JSON; write {name}={text} for a text");
            Error::new(ErrorKind::Invalid, message).with_source(source)
        })?;
        return Ok((name, value));
    }
    let Some(file) = text.strip_prefix('@') else { return Ok((name, text.into())) };
    if file.starts_with('@') {
        return Ok((name, file.into()));
    }
    let text = crate::file::any_text(&PathBuf::from(file)).map_err(|source| {
        let message = format!(
            "the value @{file} of {name:?} cannot be read; write {name}=@@… for a text that begins with @"
        );
        Error::new(ErrorKind::Invalid, message).with_source(source)
    })?;
    Ok((name, text.into()))
}

/// The prompt of a question.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Prompts")]
pub(crate) struct NamedPromptArguments {
    /// Ask with this prompt of the library: NAME, KIND/NAME or NAME@VERSION; what else is asked follows it
    #[arg(id = "prompt_name", long = "prompt", value_name = "NAME", env = "ALLOQUY_PROMPT_NAME")]
    pub(crate) prompt_name: Option<PromptName>,

    #[command(flatten)]
    pub(crate) values: ValueArguments,
}
