//! Lists of messages in five formats, the dialects. Knows JSON and text; reads no file and no network.
//!
//! | dialect | name | reads | writes |
//! |---|---|---|---|
//! | [`Dialect::LiteRt`] | `litert` | a message, a list, a preface; Gemini contents too | a preface |
//! | [`Dialect::Gemini`] | `gemini` | contents, a request | a request |
//! | [`Dialect::OpenAi`] | `openai` | messages, a request | a request |
//! | [`Dialect::Aki`] | `aki` | a list, or the JSON string it travels in | a list |
//! | [`Dialect::ChatMl`] | `chatml` | marked text, a list of roles and texts | marked text |
//!
//! `docs/message-formats.md` says what each can express, what it tolerates and what it refuses. Three rules hold for all:
//!
//! * An unknown field of a message or of a part stays in its `extra`.
//! * What a message cannot hold, or a dialect cannot express, is an error that names its place.
//! * Reading what was written gives the transcript back.
//!
//! ```
//! use alloquy_formats::messages::{self, Dialect, MediaRules};
//! use serde_json::json;
//!
//! let document = json!([{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi"}]);
//! let transcript = messages::read(Dialect::OpenAi, &document, &MediaRules::default())?;
//! let text = messages::write_text(Dialect::ChatMl, &transcript)?;
//! assert_eq!(text, "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n");
//! # Ok::<(), alloquy_core::Error>(())
//! ```

use std::fmt;
use std::str::FromStr;

use alloquy_core::{Error, ErrorKind, Result};
use serde_json::Value;

mod openai_options;
mod transcript;

mod aki;
mod chatml;
mod gemini;
mod litert;
mod openai;

mod arguments;
mod calls;
mod fields;
mod further;
mod layout;
mod media;
mod mime;
mod place;
mod plain;
mod reader;
mod tools;

pub use media::{MediaReference, MediaRules, MediaSource, NoMediaSource};
pub use openai_options::OpenAiOptions;
pub use transcript::Transcript;

pub(crate) use arguments::read as read_arguments;

use self::reader::{Reader, json};

/// A format of messages.
///
/// ```
/// use alloquy_formats::messages::Dialect;
///
/// assert_eq!("openai".parse::<Dialect>()?, Dialect::OpenAi);
/// let error = "word".parse::<Dialect>().unwrap_err();
/// assert_eq!(error.to_string(), "unknown dialect \"word\", one of: litert, gemini, openai, aki, chatml");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// The messages of LiteRT-LM.
    LiteRt,
    /// The contents of the Gemini API.
    Gemini,
    /// The messages of OpenAI's chat API.
    OpenAi,
    /// The AKI chat context.
    Aki,
    /// ChatML.
    ChatMl,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Dialect; 5] =
        [Dialect::LiteRt, Dialect::Gemini, Dialect::OpenAi, Dialect::Aki, Dialect::ChatMl];

    /// Returns the name, as a command line accepts it.
    pub fn as_str(self) -> &'static str {
        match self {
            Dialect::LiteRt => "litert",
            Dialect::Gemini => "gemini",
            Dialect::OpenAi => "openai",
            Dialect::Aki => "aki",
            Dialect::ChatMl => "chatml",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Dialect {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Dialect::ALL.into_iter().find(|dialect| dialect.as_str() == name).ok_or_else(|| {
            let known = Dialect::ALL.map(Dialect::as_str).join(", ");
            Error::new(ErrorKind::Invalid, format!("unknown dialect {name:?}, one of: {known}"))
        })
    }
}

/// Reads a document; a string is the text of a dialect that has one.
///
/// # Errors
/// [`ErrorKind::Invalid`] for what is not a document of the dialect, or has more media than `rules` allow;
/// [`ErrorKind::Unsupported`] for what a message cannot hold. Either names the place, such as
/// `messages[2].content[1].image_url`.
///
/// ```
/// use alloquy_formats::messages::{self, Dialect, MediaRules};
/// use serde_json::json;
///
/// let document = json!([{"role": "bot", "content": "Hi"}]);
/// let error = messages::read(Dialect::Aki, &document, &MediaRules::default()).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "messages[0].role: unknown role \"bot\", one of: system, user, assistant"
/// );
/// ```
pub fn read(dialect: Dialect, document: &Value, rules: &MediaRules<'_>) -> Result<Transcript> {
    let mut reader = Reader::new(rules);
    match dialect {
        Dialect::LiteRt => litert::read(document, &mut reader),
        Dialect::Gemini => gemini::read(document, &mut reader),
        Dialect::OpenAi => openai::read(document, &mut reader),
        Dialect::Aki => aki::read(document, &mut reader),
        Dialect::ChatMl => chatml::read(document),
    }
}

/// Reads the text of a document: JSON, or ChatML, which is a list in JSON when it begins with `[`.
///
/// # Errors
/// [`ErrorKind::Invalid`] when the text is not JSON, and those of [`read`].
pub fn read_text(dialect: Dialect, text: &str, rules: &MediaRules<'_>) -> Result<Transcript> {
    let document = match dialect {
        Dialect::ChatMl if !text.trim_start().starts_with('[') => text.into(),
        Dialect::LiteRt | Dialect::Gemini | Dialect::OpenAi | Dialect::Aki | Dialect::ChatMl => json(text)?,
    };
    read(dialect, &document, rules)
}

/// Writes a transcript; ChatML is a string.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for what the dialect cannot express, [`ErrorKind::Invalid`] for media whose bytes
/// are not loaded. Either names the place, such as `messages[2].parts[1]`.
///
/// ```
/// use alloquy_formats::messages::{self, Dialect, Transcript};
/// use alloquy_core::Message;
/// use serde_json::json;
///
/// let transcript = Transcript::new(vec![Message::user("Hi")]);
/// let document = messages::write(Dialect::Gemini, &transcript)?;
/// assert_eq!(document, json!({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub fn write(dialect: Dialect, transcript: &Transcript) -> Result<Value> {
    match dialect {
        Dialect::LiteRt => litert::write(transcript),
        Dialect::Gemini => gemini::write(transcript),
        Dialect::OpenAi => openai::write(transcript),
        Dialect::Aki => aki::write(transcript),
        Dialect::ChatMl => chatml::write(transcript).map(Value::from),
    }
    .map_err(|error| error.context(format_args!("{dialect} cannot hold this transcript")))
}

/// Writes a transcript as the text of a document: JSON on one line, or ChatML.
///
/// # Errors
/// Those of [`write()`].
pub fn write_text(dialect: Dialect, transcript: &Transcript) -> Result<String> {
    Ok(match write(dialect, transcript)? {
        Value::String(text) => text,
        document => document.to_string(),
    })
}
