//! A model whose files are in memory. Reads no disk and runs nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use alloquy_core::{Error, Result};

use crate::error::model;
use crate::folder::{DESCRIPTIONS, GRAPHS, MORE_TEMPLATES, graph_name, is_graph_of};

/// The files of a model in memory: embedded in a program, or unpacked by one.
///
/// They are those that a model's folder has, under the same names; a graph must hold its weights itself.
///
/// ```no_run
/// use alloquy_onnx::{ModelFiles, OnnxEngine};
///
/// let files = ModelFiles::new("little")
///     .file("model.onnx", std::fs::read("little/model.onnx").expect("a graph"))
///     .file("tokenizer.json", std::fs::read("little/tokenizer.json").expect("a tokenizer"))
///     .file("config.json", br#"{"max_position_embeddings": 512, "eos_token_id": 2}"#.as_slice());
/// let engine = OnnxEngine::of_files(files).load()?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone)]
pub struct ModelFiles {
    name: String,
    files: BTreeMap<String, Cow<'static, [u8]>>,
}

impl ModelFiles {
    /// Begins a model without files. The name is for people.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), files: BTreeMap::new() }
    }

    /// Adds a file, or replaces the one of that name. Bytes with a static lifetime are not copied.
    #[must_use]
    pub fn file(mut self, name: impl Into<String>, bytes: impl Into<Cow<'static, [u8]>>) -> Self {
        self.files.insert(name.into(), bytes.into());
        self
    }

    /// Returns the name for people.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the names of the files, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Returns a file that a model must have.
    pub(crate) fn read(&self, name: &str) -> Result<&[u8]> {
        let file = self.files.get(name).map(AsRef::as_ref);
        file.ok_or_else(|| model(format!("model {:?} has no {name}; it has {}", self.name, self.listed())))
    }

    /// Returns the texts of the description files, by name.
    pub(crate) fn descriptions(&self) -> Result<BTreeMap<String, String>> {
        let described = self.files.iter().filter(|(name, _)| is_description(name));
        let text = |(name, bytes): (&String, &Cow<'static, [u8]>)| match str::from_utf8(bytes) {
            Ok(text) => Ok((name.clone(), text.to_owned())),
            Err(source) => Err(model(format!("{name} is not UTF-8")).with_source(source)),
        };
        described.map(text).collect()
    }

    /// Takes the decoder's graph out, by the precedence of a folder: the one of `type_name`, the one that
    /// `genai_config.json` names, or else the plainest there is.
    pub(crate) fn take_graph(
        &mut self,
        type_name: Option<&str>,
        configured: Option<&str>,
    ) -> Result<(String, Cow<'static, [u8]>)> {
        let name = match (type_name, configured) {
            (None, Some(name)) => Some(name.to_owned()),
            (Some(type_name), _) => self.graph_of_type(type_name),
            (None, None) => self.graph_of_type("").or_else(|| self.graphs().next()),
        };
        let entry = name.and_then(|name| self.files.remove_entry(&name));
        entry.ok_or_else(|| self.without_graph(type_name.or(configured)))
    }

    /// Takes a graph out that stands beside the decoder's, by the precedence of a folder.
    pub(crate) fn take_beside(
        &mut self,
        name: &str,
        type_name: Option<&str>,
        configured: Option<&str>,
    ) -> Result<Option<(String, Cow<'static, [u8]>)>> {
        if let Some(configured) = configured {
            self.read(configured)?;
        }
        let is_there = |name: &String| self.files.contains_key(name);
        let typed = || type_name.map(|type_name| graph_name(name, type_name)).filter(is_there);
        let plain = || Some(graph_name(name, "")).filter(is_there);
        let any = || self.names().find(|file| is_graph_of(name, file)).map(str::to_owned);
        let found = configured.map(str::to_owned).or_else(typed).or_else(plain).or_else(any);
        Ok(found.and_then(|name| self.files.remove_entry(&name)))
    }

    fn graph_of_type(&self, type_name: &str) -> Option<String> {
        let mut names = GRAPHS.iter().map(|graph| graph_name(graph, type_name));
        names.find(|name| self.files.contains_key(name))
    }

    fn graphs(&self) -> impl Iterator<Item = String> {
        let is_decoder =
            |name: &&str| name.ends_with(".onnx") && GRAPHS.iter().any(|graph| name.starts_with(graph));
        self.names().filter(is_decoder).map(str::to_owned)
    }

    fn without_graph(&self, wanted: Option<&str>) -> Error {
        let wanted = wanted.map_or_else(String::new, |wanted| format!(" {wanted:?}"));
        model(format!("model {:?} has no decoder graph{wanted}; it has {}", self.name, self.listed()))
    }

    fn listed(&self) -> String {
        match self.files.is_empty() {
            true => "no file".to_owned(),
            false => self.names().collect::<Vec<_>>().join(", "),
        }
    }
}

fn is_description(name: &str) -> bool {
    let is_template = || name.starts_with(&format!("{MORE_TEMPLATES}/")) && name.ends_with(".jinja");
    DESCRIPTIONS.contains(&name) || is_template()
}

impl fmt::Debug for ModelFiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: BTreeMap<_, _> = self.files.iter().map(|(name, bytes)| (name, bytes.len())).collect();
        formatter.debug_struct("ModelFiles").field("name", &self.name).field("sizes", &sizes).finish()
    }
}
