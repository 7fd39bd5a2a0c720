//! Opens a model's folder: where it is, and the texts that describe the model. Runs nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use alloquy_core::{Error, Result};

use crate::bounded;
use crate::description::{DESCRIPTIONS, MORE_TEMPLATES};
use crate::error::{model, unreadable};

/// How long a tokenizer may be; the largest that are published have 40 MB.
const TOKENIZER: u64 = 256 << 20;
const TOKENIZER_FILE: &str = "tokenizer.json";

/// Files of tokenizers of other forms: of SentencePiece, of tiktoken, and the lists that `tokenizer.json` has in one.
const OTHER_TOKENIZERS: [&str; 5] =
    ["tokenizer.model", "sentencepiece.bpe.model", "tiktoken.model", "vocab.json", "vocab.txt"];

/// How long all other description files of a model may be together; some that are published have 5 MB. Parsed, a file takes
/// sixteen times its length at most.
const ALL_DESCRIPTIONS: u64 = 32 << 20;

/// How long the name of a revision may be.
const REVISION: u64 = 64 << 10;

/// A model's folder, as a repository of the Hugging Face Hub has it, or a folder of its local cache.
///
/// ```no_run
/// use alloquy_model_files::{HuggingFaceTokenizer, ModelFolder};
///
/// let folder = ModelFolder::open("models/qwen3-0.6b".as_ref())?;
/// let tokenizer = HuggingFaceTokenizer::from_json(&folder.tokenizer()?)?;
/// println!("{}: {} tokens", folder.name, tokenizer.vocabulary());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct ModelFolder {
    /// A short name for people.
    pub name: String,
    /// The folder that holds the descriptions.
    pub root: PathBuf,
    /// The folder that no file of the model may lie outside of.
    pub fence: PathBuf,
    /// Texts of the description files, by name.
    pub files: BTreeMap<String, String>,
    /// The graph that the caller named, if it named one.
    pub named: Option<PathBuf>,
}

impl ModelFolder {
    /// Opens a folder, a folder of a Hugging Face cache, or the folder around a `.onnx` file.
    ///
    /// # Errors
    /// [`ErrorKind::Model`](alloquy_core::ErrorKind::Model) when there is none, or when a description file is too long, is no
    /// regular file, or is not UTF-8.
    pub fn open(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path).map_err(|source| unreadable(path, source))?;
        match path {
            path if path.is_dir() => Self::of_folder(&path, None),
            path if path.is_file() => Self::around(&path),
            path => Err(model(format!("model folder {path:?} does not exist"))),
        }
    }

    fn around(graph: &Path) -> Result<Self> {
        if graph.extension().is_none_or(|extension| extension != "onnx") {
            return Err(model(format!("{graph:?} is neither a model folder nor a file that ends in .onnx")));
        }
        let folder = graph.parent().unwrap_or(graph);
        let above = folder.parent().filter(|_| folder.ends_with("onnx"));
        let root = above.filter(|above| above.join("tokenizer.json").exists()).unwrap_or(folder);
        Self::of_folder(root, Some(graph.to_owned()))
    }

    fn of_folder(path: &Path, named: Option<PathBuf>) -> Result<Self> {
        let root = match path.join("snapshots").is_dir() {
            true => snapshot(path)?,
            false => path.to_owned(),
        };
        let repository = cache_repository(&root);
        let fence = repository.unwrap_or(&root).to_owned();
        let name = repository.and_then(repository_name).unwrap_or_else(|| file_name(&root));
        let files = descriptions(&root)?;
        Ok(Self { name, root, fence, files, named })
    }

    /// Returns the path of a file that a description names, which may not lead out of the folder.
    ///
    /// # Errors
    /// [`ErrorKind::Model`](alloquy_core::ErrorKind::Model) for a name that would.
    pub fn inside(&self, name: &str) -> Result<PathBuf> {
        match bounded::goes_downwards(Path::new(name)) {
            true => Ok(self.root.join(name)),
            false => Err(model(format!("file name {name:?} leads out of the model folder {:?}", self.root))),
        }
    }

    /// Reads a file of at most so many bytes that a model must have.
    ///
    /// # Errors
    /// [`ErrorKind::Model`](alloquy_core::ErrorKind::Model) when there is none, or as [`bounded::bytes`].
    pub fn read(&self, name: &str, most: u64) -> Result<Vec<u8>> {
        let path = self.root.join(name);
        match is_absent(&path) {
            true => Err(model(format!("model folder {:?} has no {name}", self.root))),
            false => bounded::bytes(&path, most),
        }
    }

    /// Reads `tokenizer.json`.
    ///
    /// # Errors
    /// As [`ModelFolder::read`]; where there is another tokenizer's file, such as SentencePiece's `tokenizer.model`, it names it
    /// and how to convert it.
    pub fn tokenizer(&self) -> Result<Vec<u8>> {
        let there_is = |name: &str| !is_absent(&self.root.join(name));
        match OTHER_TOKENIZERS.into_iter().find(|other| there_is(other)) {
            Some(other) if !there_is(TOKENIZER_FILE) => Err(self.other_tokenizer(other)),
            _ => self.read(TOKENIZER_FILE, TOKENIZER),
        }
    }

    fn other_tokenizer(&self, other: &str) -> Error {
        model(format!(
            "model folder {:?} has {other} and no {TOKENIZER_FILE}, which alone is read. Transformers converts it: \
             AutoTokenizer.from_pretrained(DIR, use_fast=True).save_pretrained(DIR)",
            self.root
        ))
    }
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

/// Returns the repository's folder when `root` is a snapshot in a Hugging Face cache. The snapshot's files are
/// links into its `blobs`.
fn cache_repository(root: &Path) -> Option<&Path> {
    let snapshots = root.parent().filter(|parent| parent.ends_with("snapshots"))?;
    snapshots.parent().filter(|repository| repository.join("blobs").is_dir())
}

/// Turns `models--owner--name` into `owner/name`.
fn repository_name(repository: &Path) -> Option<String> {
    Some(file_name(repository).strip_prefix("models--")?.replacen("--", "/", 1))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn descriptions(root: &Path) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    let mut left = ALL_DESCRIPTIONS;
    let more = fs::read_dir(root.join(MORE_TEMPLATES)).ok();
    let more = more.into_iter().flatten().filter_map(|entry| Some(file_name(&entry.ok()?.path())));
    let more = more.filter(|name| name.ends_with(".jinja")).map(|name| format!("{MORE_TEMPLATES}/{name}"));
    for name in DESCRIPTIONS.iter().map(|name| (*name).to_owned()).chain(more) {
        let path = root.join(&name);
        if is_absent(&path) {
            continue;
        }
        let text = bounded::text(&path, ALL_DESCRIPTIONS)?;
        left = left.checked_sub(text.len() as u64).ok_or_else(|| {
            let most = ALL_DESCRIPTIONS;
            model(format!(
                "the description files have more than {most} bytes together, of which {path:?} is one"
            ))
        })?;
        files.insert(name, text);
    }
    Ok(files)
}

/// Says whether there is nothing at a path, not even a link that leads nowhere.
fn is_absent(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}
