//! Opens a model's folder and reads its description files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use alloquy_core::{Error, Result};

use crate::bounded;
use crate::description::{DESCRIPTIONS, MORE_TEMPLATES};
use crate::error::{model, unreadable};
use crate::tokenizer_file::{TOKENIZER_JSON, TokenizerFile, tokenizer_among};

/// How many bytes a tokenizer may have. The largest published ones have 40 MB.
const TOKENIZER: u64 = 256 << 20;

/// Files of tokenizers that are not read: the lists that `tokenizer.json` combines, and Mistral's.
const OTHER_TOKENIZERS: [&str; 3] = ["vocab.json", "vocab.txt", "tekken.json"];

/// How many bytes all other description files may have together. Some published models have 5 MB. A parsed file takes at most
/// sixteen times its length in memory.
const ALL_DESCRIPTIONS: u64 = 32 << 20;

/// How deep in a snapshot a model may be, with the snapshot itself.
const DEPTH: usize = 4;

/// How many bytes the name of a revision may have.
const REVISION: u64 = 64 << 10;

/// A model's folder: a downloaded repository of the Hugging Face Hub, or a folder of its local cache.
///
/// ```no_run
/// use alloquy_model_files::{Description, HuggingFaceTokenizer, ModelFolder};
///
/// let folder = ModelFolder::open("models/qwen3-0.6b".as_ref())?;
/// let tokenizer = HuggingFaceTokenizer::of_file(&folder.tokenizer()?, &Description::read(&folder.files)?)?;
/// println!("{}: {} tokens", folder.name, tokenizer.vocabulary());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct ModelFolder {
    /// A short name for people.
    pub name: String,
    /// The folder that contains the description files.
    pub root: PathBuf,
    /// The folder that contains all files of the model. In a local cache it is above `root`, whose files are links.
    pub fence: PathBuf,
    /// Texts of the description files, by name.
    pub files: BTreeMap<String, String>,
    /// The graph that the caller named instead of a folder, if it did.
    pub named: Option<PathBuf>,
}

impl ModelFolder {
    /// Opens a folder, a folder of a Hugging Face cache, or the folder around a `.onnx` file.
    ///
    /// # Errors
    /// [`ErrorKind::Model`](alloquy_core::ErrorKind::Model) when the path does not exist, or when a description file is
    /// too long, is no regular file, or is not UTF-8.
    pub fn open(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path).map_err(|source| unreadable(path, source))?;
        match path {
            path if path.is_dir() => Self::of_folder(&path, None),
            path if path.is_file() => Self::around(&path),
            path => Err(model(format!("model folder {path:?} does not exist"))),
        }
    }

    /// Opens the folder of a graph. A graph in `onnx/` belongs to the folder above if the tokenizer is there.
    fn around(graph: &Path) -> Result<Self> {
        if graph.extension().is_none_or(|extension| extension != "onnx") {
            return Err(model(format!("{graph:?} is neither a model folder nor a file that ends in .onnx")));
        }
        let folder = graph.parent().unwrap_or(graph);
        let above = folder.parent().filter(|_| folder.ends_with("onnx"));
        let root = above.filter(|above| has_tokenizer(above)).unwrap_or(folder);
        Self::of_folder(root, Some(graph.to_owned()))
    }

    fn of_folder(path: &Path, named: Option<PathBuf>) -> Result<Self> {
        let root = if path.join("snapshots").is_dir() { snapshot(path)? } else { path.to_owned() };
        let repository = cache_repository(&root);
        let fence = repository.unwrap_or(&root).to_owned();
        let name = repository.and_then(repository_name).unwrap_or_else(|| file_name(&root));
        let files = descriptions(&root)?;
        Ok(Self { name, root, fence, files, named })
    }

    /// Returns the path of a file that a description file names.
    ///
    /// # Errors
    /// [`ErrorKind::Model`](alloquy_core::ErrorKind::Model) for a name that leads out of the folder.
    pub fn inside(&self, name: &str) -> Result<PathBuf> {
        if bounded::goes_downwards(Path::new(name)) {
            Ok(self.root.join(name))
        } else {
            Err(model(format!("file name {name:?} leads out of the model folder {:?}", self.root)))
        }
    }

    /// Reads a file that a model must have, of at most `most` bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Model`](alloquy_core::ErrorKind::Model) when the file does not exist, or as [`bounded::bytes`].
    pub fn read(&self, name: &str, most: u64) -> Result<Vec<u8>> {
        let path = self.root.join(name);
        if is_absent(&path) {
            Err(model(format!("model folder {:?} has no {name}", self.root)))
        } else {
            bounded::bytes(&path, most)
        }
    }

    /// Reads the file of the tokenizer: `tokenizer.json`, or else a file of SentencePiece (`tokenizer.model`) or tiktoken
    /// (`qwen.tiktoken`).
    ///
    /// # Errors
    /// As [`ModelFolder::read`]. If the folder has a tokenizer in another format instead, such as `vocab.json`, the error
    /// names it and how to convert it.
    pub fn tokenizer(&self) -> Result<TokenizerFile> {
        let entries = fs::read_dir(&self.root).map_err(|source| unreadable(&self.root, source))?;
        let names: Vec<_> = entries.flatten().map(|entry| file_name(&entry.path())).collect();
        let found = tokenizer_among(names.iter().map(String::as_str));
        if found.is_none()
            && let Some(other) =
                OTHER_TOKENIZERS.into_iter().find(|other| names.iter().any(|name| name == other))
        {
            return Err(self.other_tokenizer(other));
        }
        let name = found.unwrap_or(TOKENIZER_JSON);
        Ok(TokenizerFile::new(name, self.read(name, TOKENIZER)?))
    }

    fn other_tokenizer(&self, other: &str) -> Error {
        model(format!(
            "model folder {:?} has {other}, which is not read, and none of {TOKENIZER_JSON}, tokenizer.model and *.tiktoken. \
             Transformers converts it: AutoTokenizer.from_pretrained(DIR, use_fast=True).save_pretrained(DIR)",
            self.root
        ))
    }
}

/// Returns whether a folder has the file of a tokenizer.
fn has_tokenizer(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names: Vec<_> = entries.map(|entry| file_name(&entry.path())).collect();
    tokenizer_among(names.iter().map(String::as_str)).is_some()
}

/// Returns the snapshot of a cached repository that `refs/main` names, or the only one.
fn snapshot(repository: &Path) -> Result<PathBuf> {
    let snapshots = repository.join("snapshots");
    let revision = bounded::text(&repository.join("refs/main"), REVISION).ok();
    let main = revision.map(|revision| snapshots.join(revision.trim()));
    if let Some(main) = main.filter(|path| path.is_dir()) {
        return Ok(main);
    }
    let entries = fs::read_dir(&snapshots).map_err(|source| unreadable(&snapshots, source))?;
    let mut folders: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.sort();
    match folders.as_slice() {
        [only] => Ok(only.clone()),
        several => {
            let names: Vec<_> = several.iter().map(|path| file_name(path)).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Err(model(format!("{repository:?} has no refs/main to choose a snapshot by; it has {names}")))
        }
    }
}

/// Returns the repository's folder if `root` is a snapshot in a Hugging Face cache or a folder of one, whose files are links to
/// `blobs`: `models--owner--name` of `models--owner--name/snapshots/0123abcd`.
fn cache_repository(root: &Path) -> Option<&Path> {
    // A model may be some folders below the snapshot: repositories of ONNX Runtime GenAI have one for each kind of hardware.
    for folder in root.ancestors().take(DEPTH) {
        let snapshots = folder.parent().filter(|parent| parent.ends_with("snapshots"));
        let repository =
            snapshots.and_then(Path::parent).filter(|repository| repository.join("blobs").is_dir());
        if repository.is_some() {
            return repository;
        }
    }
    None
}

/// Turns `models--owner--name` into `owner/name`.
fn repository_name(repository: &Path) -> Option<String> {
    Some(file_name(repository).strip_prefix("models--")?.replacen("--", "/", 1))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Reads the description files and the further templates, within a limit on their lengths together.
fn descriptions(root: &Path) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    let mut left = ALL_DESCRIPTIONS;
    let mut names: Vec<String> = DESCRIPTIONS.iter().map(|name| (*name).to_owned()).collect();
    if let Ok(entries) = fs::read_dir(root.join(MORE_TEMPLATES)) {
        for entry in entries.flatten() {
            let name = file_name(&entry.path());
            if name.ends_with(".jinja") {
                names.push(format!("{MORE_TEMPLATES}/{name}"));
            }
        }
    }
    for name in names {
        let path = root.join(&name);
        if is_absent(&path) {
            continue;
        }
        let text = bounded::text(&path, ALL_DESCRIPTIONS)?;
        let Some(rest) = left.checked_sub(text.len() as u64) else {
            let message = format!(
                "the description files have more than {ALL_DESCRIPTIONS} bytes together; {path:?} is one of them"
            );
            return Err(model(message));
        };
        left = rest;
        files.insert(name, text);
    }
    Ok(files)
}

/// Returns whether a path does not exist, not even as a link to a missing file.
fn is_absent(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}
