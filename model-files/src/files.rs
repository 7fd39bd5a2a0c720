//! Holds a model's files in memory.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use alloquy_core::Result;

use crate::description::{DESCRIPTIONS, MORE_TEMPLATES};
use crate::error::model;
use crate::tokenizer_file::{TOKENIZER_JSON, TokenizerFile, tokenizer_among};

/// The files of a model in memory, for a program that embeds or unpacks its model.
///
/// The files have the same names as in a model's folder. A graph must contain its weights, not refer to another file.
///
/// ```no_run
/// use alloquy_model_files::{ModelFiles, describe_files};
///
/// let files = ModelFiles::new("little")
///     .file("model.onnx", std::fs::read("little/model.onnx").expect("a graph"))
///     .file("tokenizer.json", std::fs::read("little/tokenizer.json").expect("a tokenizer"))
///     .file("config.json", br#"{"max_position_embeddings": 512, "eos_token_id": 2}"#.as_slice());
/// assert_eq!(describe_files(&files)?.context_length, 512);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone)]
pub struct ModelFiles {
    name: String,
    files: BTreeMap<String, Cow<'static, [u8]>>,
}

impl ModelFiles {
    /// Creates a model without files. The name is for people.
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

    /// Returns the model's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the names of the files, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Returns whether the model has a file of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Removes a file and returns its bytes; `None` if the model has no file of this name.
    pub fn remove(&mut self, name: &str) -> Option<Cow<'static, [u8]>> {
        self.files.remove(name)
    }

    /// Returns a file that a model must have.
    ///
    /// # Errors
    /// [`ErrorKind::Model`](alloquy_core::ErrorKind::Model) if the model has no file of this name. The error lists the existing names.
    pub fn read(&self, name: &str) -> Result<&[u8]> {
        let Some(bytes) = self.files.get(name) else {
            return Err(model(format!("model {:?} has no {name}; it has {}", self.name, self.listed())));
        };
        Ok(bytes)
    }

    /// Returns the file of the tokenizer: `tokenizer.json`, or else a file of SentencePiece or tiktoken.
    ///
    /// # Errors
    /// As [`ModelFiles::read`].
    pub fn tokenizer(&self) -> Result<TokenizerFile> {
        let name = tokenizer_among(self.names()).unwrap_or(TOKENIZER_JSON);
        Ok(TokenizerFile::new(name, self.read(name)?))
    }

    /// Returns the texts of the description files, by name.
    ///
    /// # Errors
    /// [`ErrorKind::Model`](alloquy_core::ErrorKind::Model) for one that is not UTF-8.
    pub fn descriptions(&self) -> Result<BTreeMap<String, String>> {
        let mut descriptions = BTreeMap::new();
        for (name, bytes) in self.files.iter().filter(|(name, _)| is_description(name)) {
            let text = str::from_utf8(bytes)
                .map_err(|source| model(format!("{name} is not UTF-8")).with_source(source))?;
            descriptions.insert(name.clone(), text.to_owned());
        }
        Ok(descriptions)
    }

    /// Returns the names of the files as one text for an error: `config.json, model.onnx`, or `no file`.
    #[must_use]
    pub fn listed(&self) -> String {
        if self.files.is_empty() { "no file".to_owned() } else { self.names().collect::<Vec<_>>().join(", ") }
    }
}

fn is_description(name: &str) -> bool {
    let is_template = name.starts_with(&format!("{MORE_TEMPLATES}/")) && name.ends_with(".jinja");
    DESCRIPTIONS.contains(&name) || is_template
}

impl fmt::Debug for ModelFiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: BTreeMap<_, _> = self.files.iter().map(|(name, bytes)| (name, bytes.len())).collect();
        formatter.debug_struct("ModelFiles").field("name", &self.name).field("sizes", &sizes).finish()
    }
}
