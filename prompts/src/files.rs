//! The files of a folder of prompts.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use alloquy_core::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::table::Entries;
use crate::yaml::{self, Fault};

/// How many bytes a file of a prompt may have.
const MOST_BYTES: u64 = 4 << 20;

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Yaml,
    Json,
    /// Settings in a front matter, and then the template.
    Prompt,
}

impl Form {
    /// Returns the form that a file's name says; `None` for other files.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "yaml" | "yml" => Some(Self::Yaml),
            "json" => Some(Self::Json),
            "prompt" => Some(Self::Prompt),
            _ => None,
        }
    }
}

/// Returns what is in a folder, sorted. An entry that cannot be read is a problem.
pub(crate) fn entries_of(folder: &Path, entries: &mut Entries, place: &str) -> Result<Vec<PathBuf>> {
    let read = fs::read_dir(folder).map_err(|source| {
        let message = format!("the folder {} cannot be read: {source}", folder.display());
        Error::new(ErrorKind::Store, message).with_source(source)
    })?;
    let mut paths = Vec::new();
    for entry in read {
        match entry {
            Ok(entry) => paths.push(entry.path()),
            Err(error) => entries.problem(place, None, format!("an entry cannot be read: {error}")),
        }
    }
    paths.sort();
    Ok(paths)
}

/// Reads the text of a file.
fn read_text(path: &Path) -> Result<String, Fault> {
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    if let Err(error) = read {
        return Err(Fault { line: None, message: format!("the file cannot be read: {error}") });
    }
    if bytes.len() as u64 > MOST_BYTES {
        let message = format!("the file has more than {MOST_BYTES} bytes, which no prompt needs");
        return Err(Fault { line: None, message });
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
        Fault { line: Some(line), message: "the file is no UTF-8; save it as UTF-8".to_owned() }
    })
}

/// Reads the value of a file.
pub(crate) fn value_of(path: &Path) -> Result<Value, Fault> {
    let text = read_text(path)?;
    match Form::of(path) {
        Some(Form::Prompt) => yaml::read_front_matter(&text),
        Some(Form::Json) => serde_json::from_str(&text).map_err(|error| {
            let line = if error.line() == 0 { None } else { Some(error.line()) };
            Fault { line, message: error.to_string() }
        }),
        Some(Form::Yaml) => yaml::read(&text),
        None => {
            let message =
                format!("expected a file .yaml, .yml, .json or .prompt of at most {MOST_BYTES} bytes");
            Err(Fault { line: None, message })
        }
    }
}

/// Writes a file as a whole: a reader sees the old content or the new one.
pub(crate) fn write_whole(path: &Path, text: &str) -> Result<()> {
    let part = path.with_extension("part");
    let written = fs::write(&part, text).and_then(|()| fs::rename(&part, path));
    written.map_err(|source| {
        let message = format!("{} cannot be written: {source}", path.display());
        Error::new(ErrorKind::Store, message).with_source(source)
    })
}
