//! A row: where it comes from, what is given, what LiteRT-LM gives back.

use std::fs;
use std::path::{Path, PathBuf};

use alloquy_core::media::Digest;
use serde::Deserialize;
use serde_json::{Value, json};

/// What a file of cases holds.
#[derive(Debug, Deserialize)]
pub(crate) struct Row {
    /// File and line of the test it was made from.
    #[serde(default)]
    pub(crate) source: String,
    #[serde(default)]
    pub(crate) test: String,
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) input: Value,
    #[serde(default)]
    pub(crate) expected: Value,
    #[serde(skip)]
    pub(crate) place: Place,
}

/// Where a row stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// The folder that names of files in rows are relative to.
    pub(crate) folder: PathBuf,
    /// The name of the file.
    pub(crate) file: String,
    /// What tells the row from every other: the beginning of the digest of what it says.
    digest: String,
}

impl Row {
    /// What the row is called where people read it.
    pub(crate) fn id(&self) -> String {
        let source = self.source.rsplit('/').next().unwrap_or_default();
        format!("{} {} {} {}", self.place.file, source, self.test, self.place.digest)
    }

    /// What lists know the row by: what it gives and what it expects, whatever it is called and wherever it stands.
    pub(crate) fn digest(&self) -> &str {
        &self.place.digest
    }
}

/// Reads every row of every file of the folder, sorted by file. A file that is no list has none.
pub(crate) fn read(folder: &Path) -> Vec<Row> {
    let is_json = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(is_json).collect();
    paths.sort();
    paths.iter().flat_map(|path| read_file(folder, path)).collect()
}

fn read_file(folder: &Path, path: &Path) -> Vec<Row> {
    let file = path.file_name().unwrap().to_string_lossy().into_owned();
    let document: Value = serde_json::from_str(&fs::read_to_string(path).unwrap())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let rows = document.as_array().cloned().unwrap_or_default();
    if rows.is_empty() {
        println!("{file} holds no rows");
    }
    let row = |value: Value| {
        let said = json!([value["kind"], value["input"], value["expected"]]);
        let digest = Digest::of(said.to_string().as_bytes()).to_string()[..8].to_owned();
        let place = Place { folder: folder.to_owned(), file: file.clone(), digest };
        Row { place, ..serde_json::from_value(value).unwrap() }
    };
    rows.into_iter().map(row).collect()
}
