//! A library of prompts with versions.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::prompt_library::{
    Prompt, PromptLabel, PromptLibrary, PromptName, PromptProblem, VersionNumber,
};
use alloquy_core::{Error, ErrorKind, Result};

use crate::history::PromptHistory;
use crate::record::{PromptRecord, VersionRecord};
use crate::table::{Entries, Table};
use crate::version_files::{read_histories, write_history};

/// A library of prompts with versions: numbers never change, labels move.
///
/// It is in memory, or in a folder with `KIND/NAME/1.0.0.json` (or `.yaml`, `.yml`, `.prompt`) for each version and
/// `KIND/NAME/versions.json` for labels, states and tags. [`FolderLibrary`](crate::FolderLibrary) reads such folders too. One
/// program at a time may write to a folder.
///
/// ```
/// use alloquy_core::prompt_library::{PromptLabel, PromptLibrary, PromptName, Values};
/// use alloquy_prompts::{PromptRecord, VersionRecord, VersionedLibrary};
///
/// let folder = tempfile::tempdir()?;
/// let mut library = VersionedLibrary::open(folder.path())?;
/// let greet = PromptName::user("greet");
/// let first = library.create(&greet, None, PromptRecord::of_text("Hi."), VersionRecord::default())?;
/// library.move_label(&greet, PromptLabel::production(), first)?;
/// library.create(&greet, None, PromptRecord::of_text("Hello."), VersionRecord::default())?;
///
/// // Without a version, the label `production` decides.
/// let library = VersionedLibrary::open(folder.path())?;
/// assert_eq!(library.prompt(&greet)?.fill(&Values::new())?.text(), "Hi.");
/// assert_eq!(library.prompt(&"greet@1.0.1".parse()?)?.fill(&Values::new())?.text(), "Hello.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct VersionedLibrary {
    histories: BTreeMap<PromptName, PromptHistory>,
    folder: Option<PathBuf>,
    problems: Vec<PromptProblem>,
    table: Table,
}

impl VersionedLibrary {
    /// Creates an empty library in memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the versions in a folder, to which changes are written. A folder that does not exist is empty.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] if the folder cannot be read.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self> {
        let folder = folder.into();
        let mut entries = Entries::default();
        let histories = read_histories(&folder, &mut entries)?;
        let mut library =
            Self { histories, folder: Some(folder), problems: entries.problems, table: Table::default() };
        library.compile();
        Ok(library)
    }

    /// Adds a version, and returns its number: the next one, unless another one is given.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if the number exists, [`ErrorKind::Invalid`] for a name that is no file's name, and
    /// [`ErrorKind::Store`] if the folder cannot be written. Then nothing has changed.
    pub fn create(
        &mut self,
        name: &PromptName,
        number: Option<VersionNumber>,
        prompt: PromptRecord,
        record: VersionRecord,
    ) -> Result<VersionNumber> {
        must_name_a_file(name)?;
        let mut history = self.histories.get(name).cloned().unwrap_or_default();
        let number = history.create(number, prompt, record).map_err(|error| {
            Error::new(error.kind(), format!("prompt {name}: {error}")).with_source(error)
        })?;
        self.keep(name, history)?;
        Ok(number)
    }

    /// Moves a label to a version, and returns the version to which it pointed before.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is no such prompt or version; as [`VersionedLibrary::create`] for the folder.
    pub fn move_label(
        &mut self,
        name: &PromptName,
        label: PromptLabel,
        to: VersionNumber,
    ) -> Result<Option<VersionNumber>> {
        let mut history = self.known(name)?;
        let before = history.move_label(label, to).map_err(|error| {
            Error::new(error.kind(), format!("prompt {name}: {error}")).with_source(error)
        })?;
        self.keep(name, history)?;
        Ok(before)
    }

    /// Removes a label, and returns the version to which it pointed.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is no such prompt; as [`VersionedLibrary::create`] for the folder.
    pub fn remove_label(&mut self, name: &PromptName, label: &PromptLabel) -> Result<Option<VersionNumber>> {
        let mut history = self.known(name)?;
        let before = history.remove_label(label);
        self.keep(name, history)?;
        Ok(before)
    }

    /// Changes the state, the tags or another fact of a version. Its text stays.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is no such prompt or version; as [`VersionedLibrary::create`] for the folder.
    pub fn set_record(
        &mut self,
        name: &PromptName,
        number: VersionNumber,
        record: VersionRecord,
    ) -> Result<()> {
        let mut history = self.known(name)?;
        history.set_record(number, record)?;
        self.keep(name, history)
    }

    /// Returns the versions of a prompt.
    pub fn history(&self, name: &PromptName) -> Option<&PromptHistory> {
        self.histories.get(name)
    }

    fn known(&self, name: &PromptName) -> Result<PromptHistory> {
        self.histories.get(name).cloned().ok_or_else(|| {
            let names: Vec<_> = self.histories.keys().map(PromptName::to_string).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let message = format!("prompt {name} has no versions; those that have are: {known}");
            Error::new(ErrorKind::NotFound, message)
        })
    }

    /// Writes a history, and then takes it.
    fn keep(&mut self, name: &PromptName, history: PromptHistory) -> Result<()> {
        if let Some(folder) = &self.folder {
            write_history(folder, name, &history)?;
        }
        self.histories.insert(name.clone(), history);
        self.compile();
        Ok(())
    }

    fn compile(&mut self) {
        let entries = Entries {
            histories: self.histories.clone(),
            problems: self.problems.clone(),
            ..Entries::default()
        };
        self.table = Table::new(entries);
    }
}

/// Refuses a name that would be another path.
fn must_name_a_file(name: &PromptName) -> Result<()> {
    let is_file = !name.name.is_empty()
        && !name.name.starts_with('.')
        && !name.name.contains(['/', '\\', ':', '\0', '@'])
        && name.version.is_none();
    if is_file {
        return Ok(());
    }
    let message = format!(
        "{name} cannot have versions, expected a name without /, \\, :, @ and a dot in front, such as greet"
    );
    Err(Error::new(ErrorKind::Invalid, message))
}

impl PromptLibrary for VersionedLibrary {
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
