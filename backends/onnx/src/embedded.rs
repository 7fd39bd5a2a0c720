//! Graphs among a model's files in memory, by the precedence of a folder. Runs nothing.

use std::borrow::Cow;

use alloquy_core::{Error, Result};
use alloquy_model_files::ModelFiles;

use crate::error::model;
use crate::graph_names::{GRAPHS, graph_name, is_graph_of};

/// Takes the decoder's graph out, by the precedence of a folder: the one of `type_name`, the one that
/// `genai_config.json` names, or else the plainest there is.
pub(crate) fn take_graph(
    files: &mut ModelFiles,
    type_name: Option<&str>,
    configured: Option<&str>,
) -> Result<(String, Cow<'static, [u8]>)> {
    let name = match (type_name, configured) {
        (None, Some(name)) => Some(name.to_owned()),
        (Some(type_name), _) => graph_of_type(files, type_name),
        (None, None) => graph_of_type(files, "").or_else(|| graphs(files).next()),
    };
    let entry = name.and_then(|name| taken(files, name));
    entry.ok_or_else(|| without_graph(files, type_name.or(configured)))
}

/// Takes a graph out that stands beside the decoder's, by the precedence of a folder.
pub(crate) fn take_beside(
    files: &mut ModelFiles,
    name: &str,
    type_name: Option<&str>,
    configured: Option<&str>,
) -> Result<Option<(String, Cow<'static, [u8]>)>> {
    if let Some(configured) = configured {
        files.read(configured)?;
    }
    let is_there = |name: &String| files.has(name);
    let typed = || type_name.map(|type_name| graph_name(name, type_name)).filter(is_there);
    let plain = || Some(graph_name(name, "")).filter(is_there);
    let any = || files.names().find(|file| is_graph_of(name, file)).map(str::to_owned);
    let found = configured.map(str::to_owned).or_else(typed).or_else(plain).or_else(any);
    Ok(found.and_then(|name| taken(files, name)))
}

fn graph_of_type(files: &ModelFiles, type_name: &str) -> Option<String> {
    let mut names = GRAPHS.iter().map(|graph| graph_name(graph, type_name));
    names.find(|name| files.has(name))
}

fn graphs(files: &ModelFiles) -> impl Iterator<Item = String> {
    let is_decoder =
        |name: &&str| name.ends_with(".onnx") && GRAPHS.iter().any(|graph| name.starts_with(graph));
    files.names().filter(is_decoder).map(str::to_owned)
}

fn without_graph(files: &ModelFiles, wanted: Option<&str>) -> Error {
    let wanted = wanted.map_or_else(String::new, |wanted| format!(" {wanted:?}"));
    model(format!("model {:?} has no decoder graph{wanted}; it has {}", files.name(), files.listed()))
}

fn taken(files: &mut ModelFiles, name: String) -> Option<(String, Cow<'static, [u8]>)> {
    let bytes = files.remove(&name)?;
    Some((name, bytes))
}
