//! A library from a folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::prompt_library::{Prompt, PromptKind, PromptLibrary, PromptName, PromptProblem};
use alloquy_core::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::config::add_value;
use crate::files::{Form, entries_of, value_of};
use crate::history::PromptHistory;
use crate::record::{PromptRecord, RetrievalRecord};
use crate::table::{Entries, Table};
use crate::version_files::read_histories;

/// A library from a folder with the folders `system`, `user`, `messages` and `rag`.
///
/// A file `NAME.yaml`, `NAME.yml`, `NAME.json` or `NAME.prompt` in one of them is the prompt `NAME`. A `.prompt` file has its settings
/// in a front matter, and then its template; it may also be in the folder itself, where its `role` decides its kind. A folder `NAME`
/// has the versions of a prompt: see [`VersionedLibrary`](crate::VersionedLibrary).
///
/// ```
/// use alloquy_core::prompt_library::{PromptLibrary, PromptName, Values};
/// use alloquy_prompts::FolderLibrary;
///
/// let folder = tempfile::tempdir()?;
/// std::fs::create_dir(folder.path().join("system"))?;
/// std::fs::write(folder.path().join("system/guide.yaml"), "template: You know {{city}}.\ndefaults: {city: Lisbon}\n")?;
/// std::fs::write(folder.path().join("system/broken.yaml"), "template: [\n")?;
/// std::fs::write(folder.path().join("ask.prompt"), "---\nmodel: qwen3\n---\nWhere is {{place}}?")?;
///
/// let library = FolderLibrary::open(folder.path())?;
/// let guide = library.prompt(&PromptName::system("guide"))?;
/// assert_eq!(guide.fill(&Values::new())?.text(), "You know Lisbon.");
/// assert_eq!(library.prompt(&"ask".parse()?)?.info().model.as_deref(), Some("qwen3"));
/// assert_eq!(library.problems()[0].place, "system/broken.yaml");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct FolderLibrary {
    folder: PathBuf,
    table: Table,
    records: BTreeMap<PromptName, PromptRecord>,
    histories: BTreeMap<PromptName, PromptHistory>,
}

impl FolderLibrary {
    /// Reads a folder. It is not read again: open it again to see changes.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is no such folder. What is wrong with a file is one of the library's
    /// [problems](PromptLibrary::problems).
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self> {
        let folder = folder.into();
        if !folder.is_dir() {
            let message = format!(
                "{} is no folder, expected one with system/, user/, messages/ or rag/",
                folder.display()
            );
            return Err(Error::new(ErrorKind::NotFound, message));
        }
        let mut entries = Entries::default();
        let mut files = BTreeMap::new();
        for path in entries_of(&folder, &mut entries, "")? {
            if path.is_file() && Form::of(&path) == Some(Form::Prompt) {
                read_file(&path, None, "", &mut entries, &mut files);
            }
        }
        for kind in PromptKind::ALL {
            let folder = folder.join(kind.as_str());
            if !folder.is_dir() {
                continue;
            }
            for path in entries_of(&folder, &mut entries, kind.as_str())? {
                if path.is_file() && Form::of(&path).is_some() {
                    read_file(&path, Some(kind), kind.as_str(), &mut entries, &mut files);
                }
            }
        }
        let histories = read_histories(&folder, &mut entries)?;
        for name in histories.keys() {
            if let Some(place) = files.get(name) {
                refuse_twice(&mut entries, name, place, &format!("{name}/"));
            }
        }
        let records = entries.records.clone();
        entries.histories.clone_from(&histories);
        Ok(Self { folder, table: Table::new(entries), records, histories })
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns a prompt without versions as its file has it.
    pub fn record(&self, name: &PromptName) -> Option<&PromptRecord> {
        self.records.get(name)
    }

    /// Returns the versions of a prompt.
    pub fn history(&self, name: &PromptName) -> Option<&PromptHistory> {
        self.histories.get(name)
    }

    /// Returns a retrieval.
    pub fn retrieval(&self, name: &str) -> Option<&RetrievalRecord> {
        let name = PromptName::new(PromptKind::Retrieval, name);
        self.records.get(&name)?.rag_configs.first()
    }

    /// Returns the retrievals whose documents a prompt shows: those to which it refers, and then its own.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a prompt, or a retrieval to which it refers, that does not exist.
    pub fn retrievals(&self, name: &PromptName) -> Result<Vec<&RetrievalRecord>> {
        let current = || self.histories.get(name).and_then(|history| history.version(history.current()?));
        let record = self.records.get(name).or_else(|| current().map(|version| &version.prompt));
        let Some(record) = record else {
            return Err(Error::new(ErrorKind::NotFound, format!("prompt {name} does not exist")));
        };
        let mut found = Vec::new();
        for reference in &record.rag_config_refs {
            let retrieval = self.retrieval(reference).ok_or_else(|| {
                let message =
                    format!("prompt {name} refers to the retrieval {reference:?}, which does not exist");
                Error::new(ErrorKind::NotFound, message)
            })?;
            found.push(retrieval);
        }
        found.extend(&record.rag_configs);
        Ok(found)
    }
}

/// Reads one file into the entries. `files` are the places of names so far.
fn read_file(
    path: &Path,
    kind: Option<PromptKind>,
    folder: &str,
    entries: &mut Entries,
    files: &mut BTreeMap<PromptName, String>,
) {
    let file = path.file_name().and_then(|name| name.to_str());
    let stem = path.file_stem().and_then(|name| name.to_str());
    let (Some(file), Some(stem)) = (file, stem) else {
        entries.problem(&path.to_string_lossy(), None, "the name is no UTF-8; rename the file");
        return;
    };
    let place = if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") };
    let value = value_of(path);
    let role = value.as_ref().ok().and_then(|value| value.get("role")).and_then(Value::as_str);
    let by_role = if role == Some("system") { PromptKind::System } else { PromptKind::User };
    let name = PromptName::new(kind.unwrap_or(by_role), stem);
    if let Some(other) = files.insert(name.clone(), place.clone()) {
        refuse_twice(entries, &name, &other, &place);
        return;
    }
    match value {
        Ok(value) => add_value(entries, name, &place, &value),
        Err(fault) => {
            entries.problem(&place, fault.line, fault.message.clone());
            let at = fault.line.map(|line| format!(":{line}")).unwrap_or_default();
            let message = format!("prompt {name} cannot be read: {place}{at}: {}", fault.message);
            entries.broken.insert(name, Error::new(ErrorKind::Invalid, message));
        }
    }
}

/// Refuses a name that two files have: neither of them is meant more than the other.
fn refuse_twice(entries: &mut Entries, name: &PromptName, one: &str, other: &str) {
    let message = format!("{one} and {other} are both prompt {name}; rename or remove one of them");
    entries.problem(other, None, message.clone());
    entries.records.remove(name);
    entries.broken.insert(name.clone(), Error::new(ErrorKind::Invalid, message));
}

impl PromptLibrary for FolderLibrary {
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
