//! The versions of one prompt, and the labels that point to them.

use std::collections::BTreeMap;

use alloquy_core::media::Digest;
use alloquy_core::prompt_library::{PromptLabel, VersionNumber};
use alloquy_core::{Error, ErrorKind, Result};

use crate::record::{PromptRecord, VersionRecord};

/// The versions of a prompt, and its labels.
///
/// ```
/// use alloquy_core::prompt_library::{PromptLabel, VersionNumber};
/// use alloquy_prompts::{PromptHistory, PromptRecord, VersionRecord};
///
/// let mut history = PromptHistory::default();
/// let first = history.create(None, PromptRecord::of_text("Hi."), VersionRecord::default())?;
/// let second = history.create(None, PromptRecord::of_text("Hello."), VersionRecord::default())?;
/// assert_eq!((first, second), (VersionNumber(1, 0, 0), VersionNumber(1, 0, 1)));
/// assert_eq!(history.current(), Some(second));
///
/// // Rollback is moving a label.
/// history.move_label(PromptLabel::production(), first)?;
/// assert_eq!(history.current(), Some(first));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PromptHistory {
    versions: BTreeMap<VersionNumber, VersionedPrompt>,
    labels: BTreeMap<PromptLabel, VersionNumber>,
}

/// A version of a prompt.
///
/// [`PromptHistory`] has them.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct VersionedPrompt {
    /// The prompt, which never changes.
    pub prompt: PromptRecord,
    /// What is known of the version; its state and its tags may change.
    pub record: VersionRecord,
}

impl PromptHistory {
    /// Returns the versions, the lowest first.
    pub fn versions(&self) -> impl Iterator<Item = (VersionNumber, &VersionedPrompt)> {
        self.versions.iter().map(|(number, version)| (*number, version))
    }

    /// Returns a version.
    pub fn version(&self, number: VersionNumber) -> Option<&VersionedPrompt> {
        self.versions.get(&number)
    }

    /// Returns the labels, and the versions to which they point.
    pub fn labels(&self) -> &BTreeMap<PromptLabel, VersionNumber> {
        &self.labels
    }

    /// Returns the version that a name without one means: that of the label `production`, or else the highest one that is active.
    pub fn current(&self) -> Option<VersionNumber> {
        self.labels.get(&PromptLabel::production()).copied().or_else(|| self.latest())
    }

    fn latest(&self) -> Option<VersionNumber> {
        let mut versions = self.versions.iter().rev();
        versions.find(|(_, version)| version.record.status.is_current()).map(|(number, _)| *number)
    }

    /// Returns the number that a new version has unless another one is given: the next patch of the latest active version.
    pub fn next_number(&self) -> VersionNumber {
        let latest = self.latest().or_else(|| self.versions.keys().next_back().copied());
        match latest {
            Some(VersionNumber(major, minor, patch)) => VersionNumber(major, minor, patch.saturating_add(1)),
            None => VersionNumber(1, 0, 0),
        }
    }

    /// Adds a version and returns its number.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if the number exists: a version never changes.
    pub fn create(
        &mut self,
        number: Option<VersionNumber>,
        prompt: PromptRecord,
        record: VersionRecord,
    ) -> Result<VersionNumber> {
        let number = number.unwrap_or_else(|| self.next_number());
        if self.versions.contains_key(&number) {
            let message = format!(
                "version {number} exists, and a version never changes; create version {}",
                self.next_number()
            );
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        let mut record = record;
        record.digest = Some(digest_of(&prompt));
        self.versions.insert(number, VersionedPrompt { prompt, record });
        Ok(number)
    }

    /// Moves a label to a version, and returns the version to which it pointed before.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is no such version.
    pub fn move_label(&mut self, label: PromptLabel, to: VersionNumber) -> Result<Option<VersionNumber>> {
        self.must_have(to)?;
        Ok(self.labels.insert(label, to))
    }

    /// Removes a label, and returns the version to which it pointed.
    pub fn remove_label(&mut self, label: &PromptLabel) -> Option<VersionNumber> {
        self.labels.remove(label)
    }

    /// Changes the state, the tags or another fact of a version. Its text and its digest stay.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is no such version.
    pub fn set_record(&mut self, number: VersionNumber, record: VersionRecord) -> Result<()> {
        self.must_have(number)?;
        if let Some(version) = self.versions.get_mut(&number) {
            let digest = version.record.digest.take();
            version.record = record;
            version.record.tags.sort();
            version.record.tags.dedup();
            version.record.digest = digest;
        }
        Ok(())
    }

    fn must_have(&self, number: VersionNumber) -> Result<()> {
        if self.versions.contains_key(&number) {
            return Ok(());
        }
        let numbers: Vec<_> = self.versions.keys().map(VersionNumber::to_string).collect();
        let known = if numbers.is_empty() { "none".to_owned() } else { numbers.join(", ") };
        let message = format!("version {number} does not exist; the versions are: {known}");
        Err(Error::new(ErrorKind::NotFound, message))
    }

    /// Adds a version as it was stored.
    pub(crate) fn restore(&mut self, number: VersionNumber, prompt: PromptRecord, record: VersionRecord) {
        self.versions.insert(number, VersionedPrompt { prompt, record });
    }
}

/// Returns the digest of a record that must not change.
pub(crate) fn digest_of(prompt: &PromptRecord) -> String {
    Digest::of(serde_json::to_string(prompt).unwrap_or_default().as_bytes()).to_string()
}
