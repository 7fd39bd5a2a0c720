//! Chooses graphs among a model's files in memory, in the same order as in a folder.

use std::borrow::Cow;

use alloquy_core::{Error, Result};
use alloquy_model_files::ModelFiles;

use crate::error::model;
use crate::graph_names::{GRAPHS, graph_name, is_decoder, is_graph_of};

/// Removes the decoder's graph from the files and returns it. It is the one of `type_name`, else the one that
/// `genai_config.json` names, else the one of 32-bit floats, else the first by name.
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

/// Removes another graph than the decoder's from the files and returns it, chosen as in a folder.
pub(crate) fn take_beside(
    files: &mut ModelFiles,
    name: &str,
    type_name: Option<&str>,
    configured: Option<&str>,
) -> Result<Option<(String, Cow<'static, [u8]>)>> {
    if let Some(configured) = configured {
        files.read(configured)?;
        return Ok(taken(files, configured.to_owned()));
    }
    let typed = type_name.map(|type_name| graph_name(name, type_name));
    let plain = graph_name(name, "");
    let found = match typed {
        Some(typed) if files.has(&typed) => Some(typed),
        _ if files.has(&plain) => Some(plain),
        _ => files.names().find(|file| is_graph_of(name, file)).map(str::to_owned),
    };
    Ok(found.and_then(|name| taken(files, name)))
}

fn graph_of_type(files: &ModelFiles, type_name: &str) -> Option<String> {
    let mut names = GRAPHS.iter().map(|graph| graph_name(graph, type_name));
    names.find(|name| files.has(name))
}

fn graphs(files: &ModelFiles) -> impl Iterator<Item = String> {
    files.names().filter(|name| is_decoder(name)).map(str::to_owned)
}

fn without_graph(files: &ModelFiles, wanted: Option<&str>) -> Error {
    let wanted = wanted.map_or_else(String::new, |wanted| format!(" {wanted:?}"));
    model(format!("model {:?} has no decoder graph{wanted}; it has {}", files.name(), files.listed()))
}

fn taken(files: &mut ModelFiles, name: String) -> Option<(String, Cow<'static, [u8]>)> {
    let bytes = files.remove(&name)?;
    Some((name, bytes))
}
