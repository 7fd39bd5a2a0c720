//! The names of models on the Hub.

use std::fmt;
use std::str::FromStr;

use crate::error::{HubError, Result};

/// How long an owner's or a repository's name may be.
///
/// Reference: `REPO_ID_REGEX` of huggingface_hub.
const LONGEST: usize = 96;

/// How long the name of a revision or a variant may be.
const LONGEST_EXTRA: usize = 256;

/// A repository of models on the Hub: `OWNER/NAME`.
///
/// ```
/// use alloquy_hub::Repository;
///
/// let repository: Repository = "onnx-community/Qwen3-0.6B-ONNX".parse()?;
/// assert_eq!(repository.owner(), "onnx-community");
/// assert_eq!(repository.name(), "Qwen3-0.6B-ONNX");
/// assert!("../../etc".parse::<Repository>().is_err());
/// # Ok::<(), alloquy_hub::HubError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Repository {
    owner: String,
    name: String,
}

impl Repository {
    /// Returns the user or the organisation that it belongs to.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Returns the name without its owner.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of its folder in the cache, such as `models--onnx-community--Qwen3-0.6B-ONNX`.
    pub fn folder(&self) -> String {
        format!("models--{}--{}", self.owner, self.name)
    }

    /// Reads the name of a folder in the cache; `None` for another one.
    pub(crate) fn of_folder(folder: &str) -> Option<Self> {
        let (owner, name) = folder.strip_prefix("models--")?.split_once("--")?;
        format!("{owner}/{name}").parse().ok()
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.owner, self.name)
    }
}

impl FromStr for Repository {
    type Err = HubError;

    fn from_str(text: &str) -> Result<Self> {
        let invalid = |reason| HubError::Name { name: text.to_owned(), reason };
        let Some((owner, name)) = text.split_once('/') else {
            return Err(invalid("it has no owner"));
        };
        for part in [owner, name] {
            if let Some(reason) = fault(part) {
                return Err(invalid(reason));
            }
        }
        Ok(Self { owner: owner.to_owned(), name: name.to_owned() })
    }
}

/// Returns what the Hub does not accept in an owner's or a repository's name.
fn fault(part: &str) -> Option<&'static str> {
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    if part.is_empty() {
        return Some("a part of it is empty");
    }
    if part.len() > LONGEST {
        return Some("a part of it is longer than 96 characters");
    }
    if !part.chars().all(is_allowed) {
        return Some("names have letters, digits, '-', '_' and '.' only");
    }
    if part.starts_with(['-', '.']) || part.ends_with(['-', '.']) {
        return Some("names neither begin nor end with '-' or '.'");
    }
    if part.contains("--") || part.contains("..") {
        return Some("names have neither \"--\" nor \"..\"");
    }
    None
}

/// A model on the Hub: a repository, and optionally a revision and a variant, as `OWNER/NAME@REVISION:VARIANT`.
///
/// ```
/// use alloquy_hub::ModelName;
///
/// let model: ModelName = "onnx-community/Qwen3-0.6B-ONNX:q4".parse()?;
/// assert_eq!(model.repository.name(), "Qwen3-0.6B-ONNX");
/// assert_eq!(model.revision(), "main");
/// assert_eq!(model.variant.as_deref(), Some("q4"));
/// assert_eq!(model.to_string(), "onnx-community/Qwen3-0.6B-ONNX:q4");
/// # Ok::<(), alloquy_hub::HubError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelName {
    /// The repository.
    pub repository: Repository,
    /// A branch, a tag or a commit; `None` is `main`.
    pub revision: Option<String>,
    /// The name of a variant; `None` leaves the choice to [`choose`](crate::choose).
    pub variant: Option<String>,
}

impl ModelName {
    /// Returns the branch, the tag or the commit.
    pub fn revision(&self) -> &str {
        self.revision.as_deref().unwrap_or("main")
    }

    /// Returns the same repository and revision with another variant.
    #[must_use]
    pub fn with_variant(mut self, variant: impl Into<String>) -> Self {
        self.variant = Some(variant.into());
        self
    }
}

impl From<Repository> for ModelName {
    fn from(repository: Repository) -> Self {
        Self { repository, revision: None, variant: None }
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.repository)?;
        if let Some(revision) = &self.revision {
            write!(formatter, "@{revision}")?;
        }
        if let Some(variant) = &self.variant {
            write!(formatter, ":{variant}")?;
        }
        Ok(())
    }
}

impl FromStr for ModelName {
    type Err = HubError;

    fn from_str(text: &str) -> Result<Self> {
        let (rest, variant) = match text.split_once(':') {
            Some((rest, variant)) => (rest, Some(variant)),
            None => (text, None),
        };
        let (repository, revision) = match rest.split_once('@') {
            Some((repository, revision)) => (repository, Some(revision)),
            None => (rest, None),
        };
        for extra in [revision, variant].into_iter().flatten() {
            if !is_extra(extra) {
                let reason = "a revision or a variant has letters, digits, '-', '_', '.' and '/' only";
                return Err(HubError::Name { name: text.to_owned(), reason });
            }
        }
        Ok(Self {
            repository: repository.parse()?,
            revision: revision.map(str::to_owned),
            variant: variant.map(str::to_owned),
        })
    }
}

/// Returns whether a text may name a revision or a variant. Revisions become paths of the cache, so they must not lead out of it.
pub(crate) fn is_extra(text: &str) -> bool {
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || "-_./".contains(character);
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.');
    text.len() <= LONGEST_EXTRA && text.chars().all(is_allowed) && text.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_hub_are_read_and_written() {
        for name in
            ["a/b", "HuggingFaceTB/SmolLM2-135M-Instruct", "x/y@v1.0", "x/y@refs/pr/3:cpu-int4", "x/y:q4f16"]
        {
            assert_eq!(name.parse::<ModelName>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let texts = [
            "",
            "a",
            "/",
            "a/",
            "/b",
            "a/b/c",
            "../b",
            "a/..",
            "a/b--c",
            "a/.b",
            "a/b-",
            "a b/c",
            "a/b@",
            "a/b:",
            "a/b@../x",
            "a/b@x/../../y",
            "C:\\models\\x",
            "a/b:q4:q8",
            "ä/b",
            "~/models",
            "./models/x",
        ];
        for text in texts {
            assert!(text.parse::<ModelName>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn folders_of_the_cache_are_read() {
        let repository: Repository = "a-b/c-d".parse().unwrap();
        assert_eq!(Repository::of_folder(&repository.folder()), Some(repository));
        assert_eq!(Repository::of_folder("datasets--a--b"), None);
    }
}
