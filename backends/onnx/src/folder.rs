//! A model's folder: which graph to run, and the texts that describe it. Runs nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use alloquy_core::Result;

use crate::adapter::ENDING;
use crate::error::{model, unreadable};
use crate::file;

/// The description files that are read, where they exist.
pub(crate) const DESCRIPTIONS: &[&str] = &[
    "config.json",
    "generation_config.json",
    "genai_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "processor_config.json",
    "preprocessor_config.json",
    "video_preprocessor_config.json",
    "mlc-chat-config.json",
];

pub(crate) const MORE_TEMPLATES: &str = "additional_chat_templates";

/// The names of a decoder's graph, without type and ending, the most usual first.
pub(crate) const GRAPHS: [&str; 2] = ["model", "decoder_model_merged"];

/// A model's folder.
#[derive(Debug)]
pub(crate) struct ModelFolder {
    /// A short name for people.
    pub(crate) name: String,
    /// The folder that holds the descriptions.
    pub(crate) root: PathBuf,
    /// The folder that no file of the model may lie outside of.
    pub(crate) fence: PathBuf,
    /// Texts of the description files, by name.
    pub(crate) files: BTreeMap<String, String>,
    /// The graph that the caller named, if it named one.
    named: Option<PathBuf>,
}

impl ModelFolder {
    /// Opens a folder, a folder of a Hugging Face cache, or the folder around a `.onnx` file.
    pub(crate) fn open(path: &Path) -> Result<Self> {
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

    /// Returns the decoder's graph: the one the caller opened, the one of `type_name`, the one that
    /// `genai_config.json` names, or else the plainest there is.
    pub(crate) fn graph(&self, type_name: Option<&str>, configured: Option<&str>) -> Result<PathBuf> {
        let found = match (&self.named, type_name, configured) {
            (Some(named), ..) => return Ok(named.clone()),
            (None, None, Some(name)) => Some(self.inside(name)?).filter(|path| path.is_file()),
            (None, Some(type_name), _) => self.graph_of_type(type_name),
            (None, None, None) => self.graph_of_type("").or_else(|| self.graphs().into_iter().next()),
        };
        found.ok_or_else(|| self.without_graph(type_name.or(configured)))
    }

    /// Returns a graph that stands beside the decoder's: the one that `genai_config.json` names, or else the one of that
    /// name and of `type_name`, the plain one, the first by name.
    pub(crate) fn beside(
        &self,
        name: &str,
        type_name: Option<&str>,
        configured: Option<&str>,
    ) -> Result<Option<PathBuf>> {
        if let Some(configured) = configured {
            let path = self.inside(configured)?;
            return match path.is_file() {
                true => Ok(Some(path)),
                false => Err(model(format!("model folder {:?} has no {configured:?}", self.root))),
            };
        }
        let plain = || self.file_of_type(&[name], "");
        let is_one = |path: &PathBuf| is_graph_of(name, &file_name(path));
        let any = || self.onnx_files().into_iter().find(is_one);
        let typed = type_name.and_then(|type_name| self.file_of_type(&[name], type_name));
        Ok(typed.or_else(plain).or_else(any))
    }

    fn graph_of_type(&self, type_name: &str) -> Option<PathBuf> {
        self.file_of_type(&GRAPHS, type_name)
    }

    fn file_of_type(&self, graphs: &[&str], type_name: &str) -> Option<PathBuf> {
        let names = graphs.iter().map(|graph| graph_name(graph, type_name));
        let folders = [self.root.clone(), self.root.join("onnx")];
        let mut paths = names.flat_map(|name| folders.clone().map(|folder| folder.join(&name)));
        paths.find(|path| path.is_file())
    }

    /// Returns every decoder graph, in the order of their names.
    fn graphs(&self) -> Vec<PathBuf> {
        let is_decoder = |path: &PathBuf| {
            let name = file_name(path);
            name.ends_with(".onnx") && GRAPHS.iter().any(|graph| name.starts_with(graph))
        };
        self.onnx_files().into_iter().filter(is_decoder).collect()
    }

    fn onnx_files(&self) -> Vec<PathBuf> {
        let folders = [self.root.clone(), self.root.join("onnx")];
        let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut paths: Vec<_> =
            paths.filter(|path| path.extension().is_some_and(|end| end == "onnx")).collect();
        paths.sort();
        paths
    }

    fn without_graph(&self, wanted: Option<&str>) -> alloquy_core::Error {
        let found: Vec<_> = self.onnx_files().iter().map(|path| file_name(path)).collect();
        let found = if found.is_empty() { "no .onnx file".to_owned() } else { found.join(", ") };
        let wanted = wanted.map_or_else(String::new, |wanted| format!(" {wanted:?}"));
        model(format!("model folder {:?} has no decoder graph{wanted}; it has {found}", self.root))
    }

    /// Returns the path of a file that a description names, which may not lead out of the folder.
    pub(crate) fn inside(&self, name: &str) -> Result<PathBuf> {
        match is_plain(Path::new(name)) {
            true => Ok(self.root.join(name)),
            false => Err(model(format!("file name {name:?} leads out of the model folder {:?}", self.root))),
        }
    }

    /// Reads an adapter of the model, which may not lie outside of the folder.
    pub(crate) fn adapter(&self, name: &Path) -> Result<Vec<u8>> {
        let path = self.root.join(name);
        if !path.exists() {
            return Err(self.without_adapter(name));
        }
        let real = |path: &Path| path.canonicalize().map_err(|source| unreadable(path, source));
        match real(&path)?.starts_with(real(&self.fence)?) {
            true => file::bytes(&path, file::ADAPTER),
            false => Err(model(format!("adapter {name:?} leads out of the model folder {:?}", self.root))),
        }
    }

    fn without_adapter(&self, name: &Path) -> alloquy_core::Error {
        let entries = fs::read_dir(&self.root).into_iter().flatten();
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let adapters = paths.filter(|path| path.extension().is_some_and(|end| end == ENDING));
        let mut found: Vec<_> = adapters.map(|path| file_name(&path)).collect();
        found.sort();
        let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
        model(format!("model folder {:?} has no adapter {name:?}; it has {found}", self.root))
    }

    /// Reads a file of at most so many bytes that a model must have.
    pub(crate) fn read(&self, name: &str, most: u64) -> Result<Vec<u8>> {
        let path = self.root.join(name);
        match is_absent(&path) {
            true => Err(model(format!("model folder {:?} has no {name}", self.root))),
            false => file::bytes(&path, most),
        }
    }
}

/// Returns how exporters name a graph of a number type; the plain one is of 32-bit floats.
pub(crate) fn graph_name(graph: &str, type_name: &str) -> String {
    match type_name {
        "" | "fp32" => format!("{graph}.onnx"),
        type_name => format!("{graph}_{type_name}.onnx"),
    }
}

/// Says whether a file is a graph of that name, of whatever type.
pub(crate) fn is_graph_of(graph: &str, file: &str) -> bool {
    let rest = file.strip_prefix(graph).and_then(|rest| rest.strip_suffix(".onnx"));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// Returns the type of a decoder's graph, as its file is named.
pub(crate) fn type_of(file: &str) -> Option<&str> {
    let stem = file.strip_suffix(".onnx")?;
    let named = GRAPHS.iter().find_map(|graph| stem.strip_prefix(graph)?.strip_prefix('_'));
    named.filter(|type_name| !type_name.is_empty())
}

/// Says whether a relative path goes only downwards.
pub(crate) fn is_plain(path: &Path) -> bool {
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    !path.as_os_str().is_empty() && path.components().all(plain)
}

/// Returns the snapshot of a cached repository that `refs/main` names, or the only one.
fn snapshot(repository: &Path) -> Result<PathBuf> {
    let snapshots = repository.join("snapshots");
    let revision = file::text(&repository.join("refs/main"), file::NOTE).ok();
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
    let mut left = file::DESCRIPTIONS;
    let more = fs::read_dir(root.join(MORE_TEMPLATES)).ok();
    let more = more.into_iter().flatten().filter_map(|entry| Some(file_name(&entry.ok()?.path())));
    let more = more.filter(|name| name.ends_with(".jinja")).map(|name| format!("{MORE_TEMPLATES}/{name}"));
    for name in DESCRIPTIONS.iter().map(|name| (*name).to_owned()).chain(more) {
        let path = root.join(&name);
        if is_absent(&path) {
            continue;
        }
        let text = file::text(&path, file::DESCRIPTIONS)?;
        left = left.checked_sub(text.len() as u64).ok_or_else(|| {
            let most = file::DESCRIPTIONS;
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
