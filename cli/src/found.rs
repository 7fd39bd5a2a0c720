//! The models on this machine, under the names that `--model` takes.

use std::fs;
use std::path::{Path, PathBuf};

use alloquy::ModelDescription;
use alloquy::core::{Error, ErrorKind, Result};
use alloquy::hub::{HubCache, HubFile, Listing, ModelName, Repository, Variant, Weights, variants};
use alloquy::model_files::TokenizerFile;

use crate::hub;
use crate::pocket::{POCKET, describe_pocket};

/// How deep below a folder a model may lie.
const DEPTH: usize = 4;

/// What separates folders in ALLOQUY_MODELS.
const SEPARATOR: char = if cfg!(windows) { ';' } else { ':' };

/// A model on this machine.
#[derive(Debug)]
pub(crate) struct Found {
    /// The name that `--model` takes.
    pub(crate) name: String,
    /// The folder or the graph; `None` for the built-in model.
    pub(crate) path: Option<PathBuf>,
    /// The size of its files.
    pub(crate) bytes: Option<u64>,
    /// The number types of its weights, as its files name them.
    pub(crate) weights: String,
    pub(crate) description: Result<ModelDescription>,
}

/// Lists the built-in model, those below the folders of ALLOQUY_MODELS, and those of the Hub's cache.
pub(crate) fn everywhere() -> Result<Vec<Found>> {
    let mut found: Vec<_> = built_in().into_iter().collect();
    for root in roots() {
        for path in below(&root)? {
            let name = path.strip_prefix(&root).ok().filter(|name| !name.as_os_str().is_empty());
            found.push(in_folder(name.unwrap_or(&path).display().to_string(), path.clone()));
        }
    }
    let cache = HubCache::from_env().map_err(hub::error)?;
    for model in cache.models().map_err(hub::error)? {
        let description = ModelDescription::read(&model.path);
        let path = Some(model.path);
        found.push(Found {
            name: model.name.to_string(),
            path,
            bytes: Some(model.bytes),
            weights: model.variant,
            description,
        });
    }
    Ok(found)
}

/// Lists the built-in model and those below folders.
pub(crate) fn in_folders(folders: &[PathBuf]) -> Result<Vec<Found>> {
    let mut found: Vec<_> = built_in().into_iter().collect();
    for folder in folders {
        for path in below(folder)? {
            found.push(in_folder(path.display().to_string(), path));
        }
    }
    Ok(found)
}

/// Finds a model by the name that lists show; `None` for a name that no list has.
pub(crate) fn by_name(name: &str) -> Result<Option<Found>> {
    if name == POCKET {
        return Ok(built_in());
    }
    let path = resolved(Path::new(name));
    if path.exists() {
        return Ok(Some(in_folder(name.to_owned(), path)));
    }
    let found = everywhere()?.into_iter().find(|found| found.name == name);
    if found.is_some() {
        return Ok(found);
    }
    // A model with one variant has two names.
    let Ok(parsed) = name.parse::<ModelName>() else { return Ok(None) };
    let model = HubCache::from_env().and_then(|cache| cache.find(&parsed)).map_err(hub::error)?;
    Ok(model.map(|model| Found {
        name: name.to_owned(),
        description: ModelDescription::read(&model.path),
        path: Some(model.path),
        bytes: Some(model.bytes),
        weights: model.variant,
    }))
}

/// Returns the path that a name means: itself, or one below a folder of ALLOQUY_MODELS.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    if path.exists() || path.is_absolute() {
        return path.to_owned();
    }
    let found = roots().into_iter().map(|root| root.join(path)).find(|path| path.exists());
    found.unwrap_or_else(|| path.to_owned())
}

/// Returns the folders of ALLOQUY_MODELS.
fn roots() -> Vec<PathBuf> {
    let value = std::env::var_os("ALLOQUY_MODELS").unwrap_or_default();
    let text = value.to_string_lossy();
    text.split(SEPARATOR).filter(|root| !root.is_empty()).map(PathBuf::from).collect()
}

/// Returns the built-in model.
fn built_in() -> Option<Found> {
    let description = describe_pocket()?;
    let weights = "int8".to_owned();
    Some(Found { name: POCKET.to_owned(), path: None, bytes: None, weights, description })
}

fn in_folder(name: String, path: PathBuf) -> Found {
    let description = ModelDescription::read(&path);
    let (bytes, weights) = contents(&path);
    Found { name, path: Some(path), bytes: Some(bytes), weights, description }
}

/// Returns the size of a model's files.
pub(crate) fn bytes(path: &Path) -> u64 {
    contents(path).0
}

/// Returns the size of a model's files and the number types of its weights.
fn contents(path: &Path) -> (u64, String) {
    let folder = if path.is_file() { path.parent().unwrap_or(path) } else { path };
    let mut files = Vec::new();
    list(folder, "", &mut files);
    let bytes = files.iter().map(|file| file.bytes).sum();
    // The name of the repository does not matter here.
    let Ok(repository) = "local/model".parse::<Repository>() else { return (bytes, String::new()) };
    let variants = variants(&Listing::new(repository, files));
    let weights: Vec<_> = variants.iter().map(weights_of).collect();
    (bytes, weights.join(", "))
}

/// Returns the number type of a variant; an export of ONNX Runtime GenAI has it in its name at most.
fn weights_of(variant: &Variant) -> String {
    match (&variant.graph, variant.weights) {
        (Some(_), _) => variant.name.clone(),
        (None, Weights::Other) => "-".to_owned(),
        (None, weights) => weights.to_string(),
    }
}

/// Lists the files of a folder and of its folder `onnx`.
fn list(root: &Path, below: &str, files: &mut Vec<HubFile>) {
    for path in entries(&root.join(below)) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = if below.is_empty() { name.into_owned() } else { format!("{below}/{name}") };
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => files.push(HubFile::new(name, metadata.len())),
            Ok(_) if name == "onnx" => list(root, &name, files),
            _ => {}
        }
    }
}

/// Returns the model folders at and below a folder. Folders that cannot be read are skipped, except the first one.
fn below(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Err(Error::new(ErrorKind::NotFound, format!("folder {folder:?} does not exist")));
    }
    let mut paths = Vec::new();
    walk(folder, DEPTH, &mut paths);
    Ok(paths)
}

fn walk(folder: &Path, depth: usize, paths: &mut Vec<PathBuf>) {
    if is_model(folder) {
        paths.push(folder.to_owned());
        return;
    }
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    let mut below: Vec<_> = entries(folder).filter(|path| path.is_dir()).collect();
    below.sort();
    for path in below {
        walk(&path, depth, paths);
    }
}

/// Returns whether a folder has a tokenizer and a graph, the latter in the folder itself or in `onnx`.
fn is_model(folder: &Path) -> bool {
    let has_tokenizer = entries(folder).any(|path| {
        path.is_file() && path.file_name().and_then(|name| name.to_str()).is_some_and(TokenizerFile::is_name)
    });
    has_tokenizer && (has_graph(folder) || has_graph(&folder.join("onnx")))
}

fn has_graph(folder: &Path) -> bool {
    entries(folder).any(|path| path.extension().is_some_and(|end| end == "onnx"))
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()))
}
