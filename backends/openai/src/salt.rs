//! Salts: what separates the caches of owners on one server.

use std::fmt;

use alloquy_core::{Error, ErrorKind, Result};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The secret from which the salt of each owner is made, so that no owner can find out what another one has in the cache.
///
/// ```
/// use alloquy_openai::SaltSecret;
///
/// assert_eq!(format!("{:?}", SaltSecret::new("secret")), "SaltSecret");
/// ```
#[derive(Clone)]
pub struct SaltSecret(Vec<u8>);

impl SaltSecret {
    /// Takes the bytes of a secret. At least 32 random ones are recommended.
    pub fn new(secret: impl Into<Vec<u8>>) -> Self {
        Self(secret.into())
    }

    /// Makes a secret of 32 random bytes, for the caches of one process: after a restart, every prompt is new to the server.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`] where the system has no random bytes.
    pub fn random() -> Result<Self> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(|source| {
            let message = format!("the system has no random bytes for a secret: {source}");
            Error::new(ErrorKind::Backend, message)
        })?;
        Ok(Self::new(secret))
    }

    /// Returns the salt of an owner: HMAC-SHA-256 of the name, in hexadecimal.
    pub(crate) fn of(&self, owner: &str) -> String {
        // Keys of any length are valid.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return String::new() };
        mac.update(owner.as_bytes());
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for SaltSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SaltSecret")
    }
}
