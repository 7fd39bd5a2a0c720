//! The token that reads the metrics of a server with keys.

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Result};
use subtle::ConstantTimeEq as _;

/// The fewest characters of a token, so that it cannot be guessed.
const SHORTEST: usize = 16;

/// The token that reads the metrics. Only its digest is in memory.
#[derive(Clone, Debug)]
pub(crate) struct MetricsToken(Digest);

impl MetricsToken {
    /// # Errors
    /// [`ErrorKind::Invalid`] for a short one, and for one that no header can have.
    pub(crate) fn new(token: &str) -> Result<Self> {
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = "the token of the metrics has spaces or signs beside those of ASCII, which no header can have: \
                           create another one, such as with `openssl rand -hex 32`";
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        if token.len() < SHORTEST {
            let message = format!(
                "the token of the metrics has {} characters, expected at least {SHORTEST}: create one with `openssl rand -hex 32`",
                token.len()
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        Ok(Self(Digest::of(token.as_bytes())))
    }

    /// Compares in constant time.
    pub(crate) fn is(&self, presented: &str) -> bool {
        Digest::of(presented.as_bytes()).as_bytes().ct_eq(self.0.as_bytes()).into()
    }
}
