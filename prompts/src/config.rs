//! A library from configuration.

use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::prompt_library::{Prompt, PromptKind, PromptLibrary, PromptName, PromptProblem};
use alloquy_core::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::record::{PromptRecord, RetrievalRecord};
use crate::table::{Entries, Table};
use crate::yaml;

/// A library from a value: an object with `system`, `user`, `messages` and `rag`, each with prompts by name.
///
/// ```
/// use alloquy_core::prompt_library::{PromptLibrary, Values};
/// use alloquy_prompts::ConfigLibrary;
/// use serde_json::json;
///
/// let library = ConfigLibrary::from_json(&json!({
///     "user": {"greet": "I am {{name}}((, and I come from {{place}}))."},
/// }))?;
/// let prompt = library.prompt(&"greet".parse()?)?;
/// assert_eq!(prompt.fill(&Values::new().set("name", "Ann"))?.text(), "I am Ann.");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct ConfigLibrary {
    table: Table,
}

impl ConfigLibrary {
    /// Reads a library from a value. Prompts that are not valid are its [problems](PromptLibrary::problems).
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if the value, or one of its kinds, is no object.
    pub fn from_json(value: &Value) -> Result<Self> {
        let mut entries = Entries::default();
        let Value::Object(kinds) = value else {
            return Err(not_an_object("the library", value));
        };
        for (kind, prompts) in kinds {
            let Ok(kind) = kind.parse::<PromptKind>() else {
                entries.problem(kind, None, "no kind of prompt; expected system, user, messages or rag");
                continue;
            };
            let Value::Object(prompts) = prompts else {
                return Err(not_an_object(kind.as_str(), prompts));
            };
            for (name, value) in prompts {
                add(&mut entries, PromptName::new(kind, name.clone()), value);
            }
        }
        Ok(Self { table: Table::new(entries) })
    }

    /// Reads a library from YAML.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] with the line if the text is no YAML, and as [`ConfigLibrary::from_json`].
    pub fn from_yaml(text: &str) -> Result<Self> {
        let value = yaml::read(text).map_err(|fault| {
            let message = match fault.line {
                Some(line) => format!("the library is no valid YAML at line {line}: {}", fault.message),
                None => format!("the library is no valid YAML: {}", fault.message),
            };
            Error::new(ErrorKind::Invalid, message)
        })?;
        Self::from_json(&value)
    }
}

fn not_an_object(what: &str, value: &Value) -> Error {
    let message = format!("{what} is {value}, expected an object with prompts by name");
    Error::new(ErrorKind::Invalid, message)
}

/// Adds a prompt of a library whose place is its name.
fn add(entries: &mut Entries, name: PromptName, value: &Value) {
    let place = name.to_string();
    add_value(entries, name, &place, value);
}

/// Adds the prompt that a value describes, or what is wrong with it.
pub(crate) fn add_value(entries: &mut Entries, name: PromptName, place: &str, value: &Value) {
    let record = match name.kind {
        PromptKind::Retrieval => retrieval(value),
        _ => PromptRecord::from_json(value),
    };
    let unknown = match name.kind {
        PromptKind::Retrieval => RetrievalRecord::unknown_keys(value),
        _ => PromptRecord::unknown_keys(value),
    };
    for key in unknown {
        entries.problem(place, None, format!("{key:?} has no meaning here and is ignored"));
    }
    match record {
        Ok(record) => {
            entries.places.insert(name.clone(), place.to_owned());
            entries.records.insert(name, record);
        }
        Err(error) => {
            entries.problem(place, None, error.to_string());
            entries.broken.insert(name, error);
        }
    }
}

/// Reads a retrieval: its template is the query, and the rest is its metadata.
fn retrieval(value: &Value) -> Result<PromptRecord> {
    let record: RetrievalRecord = serde_json::from_value(value.clone()).map_err(|source| {
        let message = format!("the retrieval cannot be read: {source}");
        Error::new(ErrorKind::Invalid, message).with_source(source)
    })?;
    let mut prompt = PromptRecord::of_text(record.query.clone());
    prompt.rag_configs.push(record);
    Ok(prompt)
}

impl PromptLibrary for ConfigLibrary {
    fn prompt(&self, name: &PromptName) -> Result<Arc<dyn Prompt>> {
        self.table.prompt(name)
    }

    fn names(&self) -> Vec<PromptName> {
        self.table.names()
    }

    fn digest(&self) -> Digest {
        self.table.digest()
    }

    fn problems(&self) -> Vec<PromptProblem> {
        self.table.problems().to_vec()
    }
}
