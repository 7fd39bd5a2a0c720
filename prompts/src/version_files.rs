//! Reads and writes the versions of prompts in a folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use alloquy_core::prompt_library::{PromptKind, PromptLabel, PromptName, VersionNumber};
use alloquy_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::files::{Form, entries_of, value_of, write_whole};
use crate::history::{PromptHistory, digest_of};
use crate::record::{PromptRecord, VersionRecord};
use crate::table::Entries;

/// The file with the labels and the records of a prompt's versions, without its extension.
const VERSIONS: &str = "versions";

/// The labels of a prompt, and the records of its versions.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct VersionsFile {
    labels: BTreeMap<PromptLabel, VersionNumber>,
    versions: BTreeMap<VersionNumber, VersionRecord>,
}

/// Reads the versions of all prompts in a library's folder: `KIND/NAME/1.0.0.yaml` and `KIND/NAME/versions.json`.
pub(crate) fn read_histories(
    folder: &Path,
    entries: &mut Entries,
) -> Result<BTreeMap<PromptName, PromptHistory>> {
    let mut histories = BTreeMap::new();
    for kind in PromptKind::ALL {
        let folder = folder.join(kind.as_str());
        if !folder.is_dir() {
            continue;
        }
        for path in entries_of(&folder, entries, kind.as_str())? {
            let name = path.file_name().and_then(|name| name.to_str());
            if let (Some(name), true) = (name, path.is_dir()) {
                let name = PromptName::new(kind, name);
                let history = read_history(&path, &name, entries)?;
                // A folder of something else is no prompt.
                if history.versions().next().is_some() {
                    histories.insert(name, history);
                }
            }
        }
    }
    Ok(histories)
}

fn read_history(folder: &Path, name: &PromptName, entries: &mut Entries) -> Result<PromptHistory> {
    let mut prompts: BTreeMap<VersionNumber, PromptRecord> = BTreeMap::new();
    let mut file = VersionsFile::default();
    for path in entries_of(folder, entries, &name.to_string())? {
        let stem = path.file_stem().and_then(|name| name.to_str());
        let (Some(stem), Some(_)) = (stem, Form::of(&path)) else { continue };
        let place = format!("{name}/{}", path.file_name().unwrap_or_default().to_string_lossy());
        let value = match value_of(&path) {
            Ok(value) => value,
            Err(fault) => {
                entries.problem(&place, fault.line, fault.message);
                continue;
            }
        };
        if stem == VERSIONS {
            match serde_json::from_value(value) {
                Ok(read) => file = read,
                Err(error) => entries.problem(&place, None, error.to_string()),
            }
            continue;
        }
        read_version(stem, &value, &place, &mut prompts, entries);
    }
    Ok(joined(prompts, file, name, entries))
}

fn read_version(
    stem: &str,
    value: &Value,
    place: &str,
    prompts: &mut BTreeMap<VersionNumber, PromptRecord>,
    entries: &mut Entries,
) {
    match (stem.parse::<VersionNumber>(), PromptRecord::from_json(value)) {
        (Err(error), _) | (_, Err(error)) => entries.problem(place, None, error.to_string()),
        (Ok(number), Ok(prompt)) => {
            if prompts.insert(number, prompt).is_some() {
                entries.problem(place, None, format!("version {number} has two files; remove one"));
            }
        }
    }
}

/// Joins the texts of versions with their records.
fn joined(
    prompts: BTreeMap<VersionNumber, PromptRecord>,
    mut file: VersionsFile,
    name: &PromptName,
    entries: &mut Entries,
) -> PromptHistory {
    let mut history = PromptHistory::default();
    for (number, prompt) in prompts {
        let record = file.versions.remove(&number).unwrap_or_default();
        let digest = digest_of(&prompt);
        if record.digest.as_ref().is_some_and(|stored| *stored != digest) {
            let message = format!(
                "version {number} was changed after it was created, but a version never changes; restore it and create a new one"
            );
            entries.problem(&format!("{name}@{number}"), None, message);
        }
        history.restore(number, prompt, record);
    }
    for number in file.versions.keys() {
        entries.problem(&format!("{name}@{number}"), None, "the version has a record and no file");
    }
    for (label, number) in file.labels {
        if let Err(error) = history.move_label(label.clone(), number) {
            entries.problem(&format!("{name}@{label}"), None, error.to_string());
        }
    }
    history
}

/// Writes the labels and the records of a prompt's versions, and the texts of versions that have no file yet.
pub(crate) fn write_history(folder: &Path, name: &PromptName, history: &PromptHistory) -> Result<()> {
    let folder = folder.join(name.kind.as_str()).join(&name.name);
    fs::create_dir_all(&folder).map_err(|source| {
        let message = format!("the folder {} cannot be created: {source}", folder.display());
        Error::new(ErrorKind::Store, message).with_source(source)
    })?;
    let mut file = VersionsFile { labels: history.labels().clone(), ..VersionsFile::default() };
    for (number, version) in history.versions() {
        file.versions.insert(number, version.record.clone());
        let exists = ["yaml", "yml", "json", "prompt"]
            .iter()
            .any(|extension| folder.join(format!("{number}.{extension}")).exists());
        if !exists {
            write_whole(&folder.join(format!("{number}.json")), &pretty(&version.prompt)?)?;
        }
    }
    // Readers prefer no form: another one would be read after this one and win.
    for extension in ["yaml", "yml"] {
        let other = folder.join(format!("{VERSIONS}.{extension}"));
        if other.exists() {
            let message =
                format!("{} exists, but the labels are written as JSON; convert it first", other.display());
            return Err(Error::new(ErrorKind::Conflict, message));
        }
    }
    write_whole(&folder.join(format!("{VERSIONS}.json")), &pretty(&file)?)
}

fn pretty(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value).map_err(|source| {
        Error::new(ErrorKind::Invalid, format!("the prompt cannot be written: {source}")).with_source(source)
    })?;
    Ok(text + "\n")
}
