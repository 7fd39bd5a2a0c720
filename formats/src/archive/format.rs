//! The formats of documents: their names, and which of them a document looks like. Reads no conversation.

use std::fmt;
use std::str::FromStr;

use alloquy_core::{Error, ErrorKind, Result};
use serde_json::Value;

use super::{dataknobs, markdown, native};

/// A document format of conversations.
///
/// ```
/// use alloquy_formats::archive::ArchiveFormat;
///
/// assert_eq!("dataknobs".parse::<ArchiveFormat>()?, ArchiveFormat::Dataknobs);
/// let error = "word".parse::<ArchiveFormat>().unwrap_err();
/// assert_eq!(error.to_string(), "unknown format \"word\", one of: alloquy, dataknobs, openai, chatml, markdown");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArchiveFormat {
    /// JSON that leaves nothing out; `docs/storage-format.md` describes it.
    Alloquy,
    /// The conversation states of dataknobs.
    Dataknobs,
    /// OpenAI's messages, a conversation per line.
    OpenAi,
    /// ChatML.
    ChatMl,
    /// Text to read.
    Markdown,
}

impl ArchiveFormat {
    /// Every format.
    pub const ALL: [Self; 5] = [Self::Alloquy, Self::Dataknobs, Self::OpenAi, Self::ChatMl, Self::Markdown];

    /// Returns the name, as a command line accepts it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Alloquy => "alloquy",
            Self::Dataknobs => "dataknobs",
            Self::OpenAi => "openai",
            Self::ChatMl => "chatml",
            Self::Markdown => "markdown",
        }
    }

    /// Guesses the format as [`of`](Self::of) does, and says why there is none.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for an empty document, for JSON that cannot be read, and for text that looks like no format.
    ///
    /// ```
    /// use alloquy_formats::archive::ArchiveFormat;
    ///
    /// assert_eq!(ArchiveFormat::recognized("<|im_start|>user")?, ArchiveFormat::ChatMl);
    /// let error = ArchiveFormat::recognized(r#"{"messages": [}"#).unwrap_err();
    /// assert_eq!(error.to_string(), "the document begins like JSON and cannot be read as JSON");
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn recognized(text: &str) -> Result<Self> {
        let start = text.trim_start();
        if start.is_empty() {
            return Err(Error::new(ErrorKind::Invalid, "the document is empty"));
        }
        if let Some(format) = Self::of(text) {
            return Ok(format);
        }
        let first = serde_json::Deserializer::from_str(start).into_iter::<Value>().next();
        match first {
            Some(Err(source)) if start.starts_with(['{', '[']) => {
                let message = "the document begins like JSON and cannot be read as JSON";
                Err(Error::new(ErrorKind::Invalid, message).with_source(source))
            }
            _ => {
                let known = Self::ALL.map(Self::as_str).join(", ");
                let message = format!("the document looks like no known format, which are: {known}");
                Err(Error::new(ErrorKind::Invalid, message))
            }
        }
    }

    /// Guesses the format from how a document looks; text without marks or headings is none.
    ///
    /// ```
    /// use alloquy_formats::archive::ArchiveFormat;
    ///
    /// assert_eq!(ArchiveFormat::of(r#"{"messages": []}"#), Some(ArchiveFormat::OpenAi));
    /// assert_eq!(ArchiveFormat::of("Dear diary"), None);
    /// ```
    pub fn of(text: &str) -> Option<Self> {
        let start = text.trim_start();
        if start.starts_with("<|im_start|>") {
            return Some(Self::ChatMl);
        }
        if start.starts_with(['{', '[']) {
            let first = serde_json::Deserializer::from_str(start).into_iter::<Value>().next()?.ok()?;
            return Some(Self::of_json(&first));
        }
        markdown::has_heading(text).then_some(Self::Markdown)
    }

    fn of_json(document: &Value) -> Self {
        match document {
            Value::Object(fields) if fields.contains_key(native::MARK) => Self::Alloquy,
            document if dataknobs::is_one(document) => Self::Dataknobs,
            _ => Self::OpenAi,
        }
    }
}

impl fmt::Display for ArchiveFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for ArchiveFormat {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            Error::new(ErrorKind::Invalid, format!("unknown format {name:?}, one of: {known}"))
        })
    }
}
