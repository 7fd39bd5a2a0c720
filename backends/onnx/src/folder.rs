//! Graphs and adapters in a model's folder: which file each one is. Runs nothing.

use std::fs;
use std::path::{Path, PathBuf};

use alloquy_core::Result;
use alloquy_model_files::{ModelFolder, bounded};

use crate::adapter::{ADAPTER, ENDING};
use crate::error::{model, unreadable};
use crate::graph_names::{GRAPHS, graph_name, is_graph_of};

/// Returns the decoder's graph: the one the caller opened, the one of `type_name`, the one that
/// `genai_config.json` names, or else the plainest there is.
pub(crate) fn graph(
    folder: &ModelFolder,
    type_name: Option<&str>,
    configured: Option<&str>,
) -> Result<PathBuf> {
    let found = match (&folder.named, type_name, configured) {
        (Some(named), ..) => return Ok(named.clone()),
        (None, None, Some(name)) => Some(folder.inside(name)?).filter(|path| path.is_file()),
        (None, Some(type_name), _) => graph_of_type(folder, type_name),
        (None, None, None) => graph_of_type(folder, "").or_else(|| graphs(folder).into_iter().next()),
    };
    found.ok_or_else(|| without_graph(folder, type_name.or(configured)))
}

/// Returns a graph that stands beside the decoder's: the one that `genai_config.json` names, or else the one of that
/// name and of `type_name`, the plain one, the first by name.
pub(crate) fn beside(
    folder: &ModelFolder,
    name: &str,
    type_name: Option<&str>,
    configured: Option<&str>,
) -> Result<Option<PathBuf>> {
    if let Some(configured) = configured {
        let path = folder.inside(configured)?;
        return match path.is_file() {
            true => Ok(Some(path)),
            false => Err(model(format!("model folder {:?} has no {configured:?}", folder.root))),
        };
    }
    let plain = || file_of_type(folder, &[name], "");
    let is_one = |path: &PathBuf| is_graph_of(name, &file_name(path));
    let any = || onnx_files(folder).into_iter().find(is_one);
    let typed = type_name.and_then(|type_name| file_of_type(folder, &[name], type_name));
    Ok(typed.or_else(plain).or_else(any))
}

fn graph_of_type(folder: &ModelFolder, type_name: &str) -> Option<PathBuf> {
    file_of_type(folder, &GRAPHS, type_name)
}

fn file_of_type(folder: &ModelFolder, graphs: &[&str], type_name: &str) -> Option<PathBuf> {
    let names = graphs.iter().map(|graph| graph_name(graph, type_name));
    let folders = [folder.root.clone(), folder.root.join("onnx")];
    let mut paths = names.flat_map(|name| folders.clone().map(|folder| folder.join(&name)));
    paths.find(|path| path.is_file())
}

/// Returns every decoder graph, in the order of their names.
fn graphs(folder: &ModelFolder) -> Vec<PathBuf> {
    let is_decoder = |path: &PathBuf| {
        let name = file_name(path);
        name.ends_with(".onnx") && GRAPHS.iter().any(|graph| name.starts_with(graph))
    };
    onnx_files(folder).into_iter().filter(is_decoder).collect()
}

fn onnx_files(folder: &ModelFolder) -> Vec<PathBuf> {
    let folders = [folder.root.clone(), folder.root.join("onnx")];
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "onnx")).collect();
    paths.sort();
    paths
}

fn without_graph(folder: &ModelFolder, wanted: Option<&str>) -> alloquy_core::Error {
    let found: Vec<_> = onnx_files(folder).iter().map(|path| file_name(path)).collect();
    let found = if found.is_empty() { "no .onnx file".to_owned() } else { found.join(", ") };
    let wanted = wanted.map_or_else(String::new, |wanted| format!(" {wanted:?}"));
    model(format!("model folder {:?} has no decoder graph{wanted}; it has {found}", folder.root))
}

/// Reads an adapter of the model, which may not lie outside of the folder.
pub(crate) fn adapter(folder: &ModelFolder, name: &Path) -> Result<Vec<u8>> {
    let path = folder.root.join(name);
    if !path.exists() {
        return Err(without_adapter(folder, name));
    }
    let real = |path: &Path| path.canonicalize().map_err(|source| unreadable(path, source));
    match real(&path)?.starts_with(real(&folder.fence)?) {
        true => bounded::bytes(&path, ADAPTER),
        false => Err(model(format!("adapter {name:?} leads out of the model folder {:?}", folder.root))),
    }
}

fn without_adapter(folder: &ModelFolder, name: &Path) -> alloquy_core::Error {
    let entries = fs::read_dir(&folder.root).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let adapters = paths.filter(|path| path.extension().is_some_and(|end| end == ENDING));
    let mut found: Vec<_> = adapters.map(|path| file_name(&path)).collect();
    found.sort();
    let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
    model(format!("model folder {:?} has no adapter {name:?}; it has {found}", folder.root))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
