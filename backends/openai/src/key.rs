//! The key of a server, from where secrets are.

use std::fmt;
use std::path::Path;

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_model_files::bounded;

/// How many bytes the file of a key may have.
const FILE: u64 = 64 << 10;

/// The key that a server requires. It is never printed.
///
/// ```
/// use alloquy_openai::ApiKey;
///
/// let file = tempfile::NamedTempFile::new()?;
/// std::fs::write(file.path(), "secret\n")?;
/// let key = ApiKey::file(file.path())?;
/// assert_eq!(format!("{key:?}"), "ApiKey");
/// assert!(ApiKey::variable("NO_SUCH_VARIABLE").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ApiKey(String);

impl ApiKey {
    /// Reads the key from a variable of the environment.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the variable is not set, or has no key.
    pub fn variable(name: &str) -> Result<Self> {
        let Ok(key) = std::env::var(name) else {
            let message = format!("variable {name:?} has no key: set it to the key of the server");
            return Err(Error::new(ErrorKind::Invalid, message));
        };
        Self::checked(&key, &format!("variable {name:?}"))
    }

    /// Reads the key from a file. White space around it is ignored.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] when the file cannot be read, and [`ErrorKind::Invalid`] when it has no key.
    pub fn file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::checked(&bounded::text(path, FILE)?, &format!("file {path:?}"))
    }

    fn checked(key: &str, place: &str) -> Result<Self> {
        let key = key.trim();
        // A line break or a control character would end the header.
        if key.is_empty() || !key.chars().all(|character| character.is_ascii_graphic()) {
            let message = format!("{place} has no key: a key has visible ASCII characters and no spaces");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        Ok(Self(key.to_owned()))
    }

    /// Returns the key itself, for a header that has nothing else.
    pub(crate) fn secret(&self) -> &str {
        &self.0
    }

    /// Returns the value of the header that shows the key.
    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApiKey")
    }
}
