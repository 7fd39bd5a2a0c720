//! Chooses the files of graphs and adapters in a model's folder.

use std::fs;
use std::path::{Path, PathBuf};

use alloquy_core::Result;
use alloquy_model_files::{ModelFolder, bounded};

use crate::adapter::{ADAPTER, ENDING};
use crate::draft_heads::is_draft_graph;
use crate::error::{model, unreadable};
use crate::graph_names::{GRAPHS, graph_name, is_decoder, is_graph_of};

/// Returns the decoder's graph. It is the one that the caller named, else the one of `type_name`, else the one that
/// `genai_config.json` names, else the one of 32-bit floats, else the first by name.
pub(crate) fn graph(
    folder: &ModelFolder,
    type_name: Option<&str>,
    configured: Option<&str>,
) -> Result<PathBuf> {
    let found = match (&folder.named, type_name, configured) {
        (Some(named), ..) => return Ok(named.clone()),
        (None, None, Some(name)) => Some(folder.inside(name)?).filter(|path| path.is_file()),
        _ => usual_graph(folder, type_name),
    };
    found.ok_or_else(|| without_graph(folder, "decoder graph", type_name.or(configured)))
}

/// Returns the graph of a model that reads whole texts. It is the one that the caller named, else the one of `type_name`, else the one of
/// 32-bit floats, else the first by name.
#[cfg(feature = "retrieval")]
pub(crate) fn text_graph(folder: &ModelFolder, type_name: Option<&str>) -> Result<PathBuf> {
    if let Some(named) = &folder.named {
        return Ok(named.clone());
    }
    usual_graph(folder, type_name).ok_or_else(|| without_graph(folder, "graph", type_name))
}

/// Returns the graph of `type_name`, else the one of 32-bit floats, else the first by name.
fn usual_graph(folder: &ModelFolder, type_name: Option<&str>) -> Option<PathBuf> {
    match type_name {
        Some(type_name) => graph_of_type(folder, type_name),
        None => graph_of_type(folder, "").or_else(|| graphs(folder).into_iter().next()),
    }
}

/// Returns another graph than the decoder's. It is the one that `genai_config.json` names, else the one of that
/// name and of `type_name`, else the one of 32-bit floats, else the first by name.
pub(crate) fn beside(
    folder: &ModelFolder,
    name: &str,
    type_name: Option<&str>,
    configured: Option<&str>,
) -> Result<Option<PathBuf>> {
    if let Some(configured) = configured {
        let path = folder.inside(configured)?;
        if !path.is_file() {
            return Err(model(format!("model folder {:?} has no {configured:?}", folder.root)));
        }
        return Ok(Some(path));
    }
    let typed = type_name.and_then(|type_name| file_of_type(folder, &[name], type_name));
    let found = typed.or_else(|| file_of_type(folder, &[name], ""));
    Ok(found.or_else(|| onnx_files(folder).into_iter().find(|path| is_graph_of(name, &file_name(path)))))
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

/// Returns all decoder graphs, sorted by name.
fn graphs(folder: &ModelFolder) -> Vec<PathBuf> {
    onnx_files(folder).into_iter().filter(|path| is_decoder(&file_name(path))).collect()
}

fn onnx_files(folder: &ModelFolder) -> Vec<PathBuf> {
    let folders = [folder.root.clone(), folder.root.join("onnx")];
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "onnx")).collect();
    paths.sort();
    paths
}

/// Returns the files of graphs that predict several tokens at once, sorted by name.
pub(crate) fn draft_graphs(folder: &ModelFolder) -> Vec<String> {
    onnx_files(folder).iter().map(|path| file_name(path)).filter(|name| is_draft_graph(name)).collect()
}

fn without_graph(folder: &ModelFolder, kind: &str, wanted: Option<&str>) -> alloquy_core::Error {
    let found: Vec<_> = onnx_files(folder).iter().map(|path| file_name(path)).collect();
    let found = if found.is_empty() { "no .onnx file".to_owned() } else { found.join(", ") };
    let wanted = wanted.map_or_else(String::new, |wanted| format!(" {wanted:?}"));
    model(format!("model folder {:?} has no {kind}{wanted}; it has {found}", folder.root))
}

/// Reads an adapter in the model's folder. A link that leads out of the folder is an error.
pub(crate) fn adapter(folder: &ModelFolder, name: &Path) -> Result<Vec<u8>> {
    let path = folder.root.join(name);
    if !path.exists() {
        return Err(without_adapter(folder, name));
    }
    if !canonical(&path)?.starts_with(canonical(&folder.fence)?) {
        return Err(model(format!("adapter {name:?} leads out of the model folder {:?}", folder.root)));
    }
    bounded::bytes(&path, ADAPTER)
}

fn canonical(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|source| unreadable(path, source))
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
