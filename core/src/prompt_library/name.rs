//! The names of prompts, and their versions.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind, Result};

/// What a prompt is for.
///
/// ```
/// use alloquy_core::prompt_library::PromptKind;
///
/// assert_eq!(PromptKind::System.as_str(), "system");
/// assert_eq!("messages".parse::<PromptKind>()?, PromptKind::Messages);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PromptKind {
    /// A system prompt.
    System,
    /// A message of the user.
    User,
    /// Several messages with a role each.
    Messages,
    /// How documents are searched for and shown. Its text is the query.
    #[serde(rename = "rag")]
    Retrieval,
}

impl PromptKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::System, Self::User, Self::Messages, Self::Retrieval];

    /// Returns the name of the kind, which is also that of its folder in a library of files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Messages => "messages",
            Self::Retrieval => "rag",
        }
    }
}

impl fmt::Display for PromptKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for PromptKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or_else(|| {
            let message =
                format!("{text:?} is no kind of prompt, expected one of system, user, messages and rag");
            Error::new(ErrorKind::Invalid, message)
        })
    }
}

/// The number of a version, such as `1.2.0`. A prompt with a number never changes.
///
/// ```
/// use alloquy_core::prompt_library::VersionNumber;
///
/// let version: VersionNumber = "1.9.0".parse()?;
/// assert!(version < VersionNumber(1, 10, 0));
/// assert_eq!(version.to_string(), "1.9.0");
/// assert!("1.0".parse::<VersionNumber>().is_err());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VersionNumber(
    /// The major number.
    pub u64,
    /// The minor number.
    pub u64,
    /// The patch number.
    pub u64,
);

impl fmt::Display for VersionNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl FromStr for VersionNumber {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut numbers = text.split('.').map(number);
        match (numbers.next(), numbers.next(), numbers.next(), numbers.next()) {
            (Some(Some(major)), Some(Some(minor)), Some(Some(patch)), None) => Ok(Self(major, minor, patch)),
            _ => {
                let message = format!("{text:?} is no version, expected three numbers such as 1.0.0");
                Err(Error::new(ErrorKind::Invalid, message))
            }
        }
    }
}

/// Reads a number of digits alone, without a zero in front.
fn number(text: &str) -> Option<u64> {
    let canonical = text == "0" || !text.starts_with('0');
    if canonical && text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

impl Serialize for VersionNumber {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for VersionNumber {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A label, such as `production`: a name for a version that can be moved to another one.
///
/// It begins with a letter and consists of letters, digits, `-` and `_`, so that no label looks like a number.
///
/// ```
/// use alloquy_core::prompt_library::PromptLabel;
///
/// let label: PromptLabel = "canary".parse()?;
/// assert_eq!(label.as_str(), "canary");
/// assert!("1.0.0".parse::<PromptLabel>().is_err());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct PromptLabel(String);

impl PromptLabel {
    /// Returns the label `production`, which is taken unless a name says otherwise.
    pub fn production() -> Self {
        Self("production".to_owned())
    }

    /// Returns the label as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PromptLabel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for PromptLabel {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let starts = text.starts_with(|first: char| first.is_ascii_alphabetic());
        let rest = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        if starts && rest {
            return Ok(Self(text.to_owned()));
        }
        let message = format!(
            "{text:?} is no label, expected a letter and then letters, digits, - and _, such as production"
        );
        Err(Error::new(ErrorKind::Invalid, message))
    }
}

impl<'de> Deserialize<'de> for PromptLabel {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Which version of a prompt is meant: a number, or the number to which a label points.
///
/// ```
/// use alloquy_core::prompt_library::{PromptVersion, VersionNumber};
///
/// assert_eq!("1.2.0".parse::<PromptVersion>()?, PromptVersion::Number(VersionNumber(1, 2, 0)));
/// assert!(matches!("canary".parse::<PromptVersion>()?, PromptVersion::Label(_)));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PromptVersion {
    /// This version, for ever.
    Number(VersionNumber),
    /// The version to which this label points now.
    Label(PromptLabel),
}

impl fmt::Display for PromptVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(formatter),
            Self::Label(label) => label.fmt(formatter),
        }
    }
}

impl FromStr for PromptVersion {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Ok(number) = text.parse() {
            return Ok(Self::Number(number));
        }
        text.parse().map(Self::Label).map_err(|_| {
            let message =
                format!("{text:?} is no version of a prompt, expected a number such as 1.0.0 or a label");
            Error::new(ErrorKind::Invalid, message)
        })
    }
}

/// The name of a prompt in a library: its kind, its name, and which version is meant.
///
/// As text it is `kind/name` or `kind/name@version`; without a kind it is a prompt for the user's message.
///
/// ```
/// use alloquy_core::prompt_library::{PromptKind, PromptName};
///
/// let name: PromptName = "system/support@1.2.0".parse()?;
/// assert_eq!((name.kind, name.name.as_str()), (PromptKind::System, "support"));
/// assert_eq!(name.to_string(), "system/support@1.2.0");
/// assert_eq!("greeting".parse::<PromptName>()?, PromptName::user("greeting"));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PromptName {
    /// What the prompt is for.
    pub kind: PromptKind,
    /// The name within its kind.
    pub name: String,
    /// The version; `None` means the label `production`, or the only version that there is.
    pub version: Option<PromptVersion>,
}

impl PromptName {
    /// Names a prompt of a kind.
    pub fn new(kind: PromptKind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into(), version: None }
    }

    /// Names a system prompt.
    pub fn system(name: impl Into<String>) -> Self {
        Self::new(PromptKind::System, name)
    }

    /// Names a prompt for the user's message.
    pub fn user(name: impl Into<String>) -> Self {
        Self::new(PromptKind::User, name)
    }

    /// Names a prompt of several messages.
    pub fn messages(name: impl Into<String>) -> Self {
        Self::new(PromptKind::Messages, name)
    }

    /// Sets the version.
    #[must_use]
    pub fn at(mut self, version: PromptVersion) -> Self {
        self.version = Some(version);
        self
    }
}

impl fmt::Display for PromptName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.kind, self.name)?;
        match &self.version {
            Some(version) => write!(formatter, "@{version}"),
            None => Ok(()),
        }
    }
}

impl FromStr for PromptName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (path, version) = match text.rsplit_once('@') {
            Some((path, version)) => (path, Some(version.parse()?)),
            None => (text, None),
        };
        let kind = path.split_once('/').and_then(|(kind, name)| Some((kind.parse().ok()?, name)));
        let (kind, name) = kind.unwrap_or((PromptKind::User, path));
        if name.is_empty() {
            let message = format!(
                "{text:?} names no prompt, expected a name such as greeting, system/support or greeting@1.0.0"
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        Ok(Self { kind, name: name.to_owned(), version })
    }
}
