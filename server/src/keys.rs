//! Bearer keys: a file of their digests, with an owner and limits for each.

mod lock;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::SystemTime;

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Owner, Result};
use serde::{Deserialize, Serialize};
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};

use crate::times::unix_seconds;
use lock::KeyLock;

/// The beginning of every key, by which scanners of secrets find one.
const PREFIX: &str = "alq_";
/// How many random bytes a key has.
const SECRET_BYTES: usize = 32;
/// How many digits of the digest the id of a key has.
const ID_DIGITS: usize = 12;

/// The keys of a server, and the file that has them.
///
/// A key is 32 random bytes, and the file has their SHA-256. A digest that is slow to compute protects passwords, which can be
/// guessed; 256 random bits cannot be, so a fast one is as safe and costs no request anything.
///
/// ```
/// use alloquy_server::{KeyFile, KeyLimits};
///
/// let mut keys = KeyFile::default();
/// let secret = keys.add("ann".parse()?, KeyLimits::default())?;
/// assert!(secret.starts_with("alq_"));
/// assert_eq!(keys.find(&secret).map(|key| key.owner.as_str()), Some("ann"));
///
/// let id = keys.keys()[0].id.clone();
/// keys.revoke(&id)?;
/// assert!(keys.find(&secret).is_none());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyFile {
    keys: Vec<Key>,
}

/// One key, without its secret.
///
/// [`KeyFile`] has an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Key {
    /// Names the key in lists and logs.
    pub id: String,
    /// Whose conversations it opens.
    pub owner: Owner,
    /// The SHA-256 of the secret, in hexadecimal.
    sha256: String,
    /// When it was created, in seconds since 1970.
    pub created: u64,
    /// When it was revoked, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<u64>,
    /// How much its owner may use.
    #[serde(default)]
    pub limits: KeyLimits,
}

/// How much the owner of a key may use. What is absent is not limited, or limited by the server.
///
/// ```
/// use alloquy_server::KeyLimits;
///
/// let mut limits = KeyLimits::default();
/// limits.calls_per_minute = Some(60);
/// limits.tokens_per_day = Some(100_000);
/// assert_eq!(limits.running, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct KeyLimits {
    /// Calls of models a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_per_minute: Option<u32>,
    /// Tokens a day (UTC), of prompts and replies together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<u64>,
    /// Requests that are answered at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<usize>,
}

impl KeyLimits {
    /// Returns whether nothing is limited.
    ///
    /// ```
    /// assert!(alloquy_server::KeyLimits::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn validate(&self) -> Result<()> {
        let numbers = [
            ("calls_per_minute", self.calls_per_minute.map(u64::from)),
            ("tokens_per_day", self.tokens_per_day),
            ("running", self.running.map(|running| running as u64)),
        ];
        match numbers.iter().find(|(_, number)| *number == Some(0)) {
            Some((name, _)) => {
                let message = format!("{name} is 0, which allows nothing: at least 1, or revoke the key");
                Err(Error::new(ErrorKind::Invalid, message))
            }
            None => Ok(()),
        }
    }
}

impl KeyFile {
    /// Reads a file.
    ///
    /// ```
    /// use alloquy_server::KeyFile;
    ///
    /// let error = KeyFile::read("no/such/keys.json".as_ref()).unwrap_err();
    /// assert!(error.to_string().contains("alloquy keys add"), "{error}");
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] where there is no such file, and [`ErrorKind::Invalid`] for one that is damaged.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(|source| {
            let kind = match source.kind() {
                std::io::ErrorKind::NotFound => ErrorKind::NotFound,
                _ => ErrorKind::Invalid,
            };
            let message = format!("the file of keys {path:?} cannot be read; `alloquy keys add` creates it");
            Error::new(kind, message).with_source(source)
        })?;
        let file: Self = serde_json::from_str(&text).map_err(|source| {
            let message = format!("the file of keys {path:?} is not valid");
            Error::new(ErrorKind::Invalid, message).with_source(source)
        })?;
        for key in &file.keys {
            digest_of(&key.sha256)?;
            key.limits.validate()?;
        }
        Ok(file)
    }

    /// Changes a file, which begins as an empty one, and returns what `change` returns. Other processes that change it wait, so that
    /// no change is lost. Where `change` fails, the file stays as it was.
    ///
    /// ```
    /// use alloquy_server::{KeyFile, KeyLimits};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("keys.json");
    /// let secret = KeyFile::change(&path, |keys| keys.add("ann".parse()?, KeyLimits::default()))?;
    /// assert!(KeyFile::read(&path)?.find(&secret).is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of `change`, of [`KeyFile::read`] and of [`KeyFile::write`], and [`ErrorKind::Busy`] where another process does not end.
    pub fn change<T>(path: &Path, change: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let lock = KeyLock::of(path)?;
        let mut keys = match Self::read(path) {
            Err(error) if error.is_not_found() => Self::default(),
            read => read?,
        };
        let changed = change(&mut keys)?;
        keys.write(path)?;
        drop(lock);
        Ok(changed)
    }

    /// Writes a file, which only its owner can read. A failure leaves the former file as it was.
    ///
    /// ```
    /// use alloquy_server::{KeyFile, KeyLimits};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("keys.json");
    /// let mut keys = KeyFile::default();
    /// keys.add("ann".parse()?, KeyLimits::default())?;
    /// keys.write(&path)?;
    /// assert_eq!(KeyFile::read(&path)?, keys);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Store`] where the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).map_err(|source| {
            Error::new(ErrorKind::Store, "the keys cannot be written as JSON").with_source(source)
        })?;
        let temporary = path.with_extension(format!("{}.new", std::process::id()));
        let written = write_privately(&temporary, &text).and_then(|()| fs::rename(&temporary, path));
        written.map_err(|source| {
            // What is left of a failed attempt is useless, and its absence is no further error.
            let _ = fs::remove_file(&temporary);
            let message = format!("the file of keys {path:?} cannot be written");
            Error::new(ErrorKind::Store, message).with_source(source)
        })
    }

    /// Adds a key and returns its secret, which is stored nowhere.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for limits that allow nothing and for an owner with invisible characters, and
    /// [`ErrorKind::Backend`] where the system has no random bytes.
    pub fn add(&mut self, owner: Owner, limits: KeyLimits) -> Result<String> {
        limits.validate()?;
        owner.must_be_visible()?;
        let mut random = [0; SECRET_BYTES];
        getrandom::fill(&mut random).map_err(|source| {
            let message = format!("the system has no random bytes for a key: {source}");
            Error::new(ErrorKind::Backend, message)
        })?;
        let secret = format!("{PREFIX}{}", hexadecimal(&random));
        let sha256 = Digest::of(secret.as_bytes()).to_string();
        let id = format!("key_{}", sha256.chars().take(ID_DIGITS).collect::<String>());
        self.keys.push(Key {
            id,
            owner,
            sha256,
            created: unix_seconds(SystemTime::now()),
            revoked: None,
            limits,
        });
        Ok(secret)
    }

    /// Revokes a key by its id. It stays in the file, so that the list shows when.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] where no key has this id.
    pub fn revoke(&mut self, id: &str) -> Result<()> {
        let Some(key) = self.keys.iter_mut().find(|key| key.id == id) else {
            let message = format!("there is no key {id:?}; `alloquy keys list` shows their ids");
            return Err(Error::new(ErrorKind::NotFound, message));
        };
        key.revoked.get_or_insert_with(|| unix_seconds(SystemTime::now()));
        Ok(())
    }

    /// Returns the keys, in the order in which they were added.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Returns the key of a secret, unless it is revoked.
    ///
    /// The secret is compared with every key, and each comparison takes the same time, so that the time of an answer says
    /// nothing about the keys.
    pub fn find(&self, secret: &str) -> Option<&Key> {
        let presented = Digest::of(secret.as_bytes());
        let mut found = u64::MAX;
        for (index, key) in (0_u64..).zip(&self.keys) {
            let Ok(known) = digest_of(&key.sha256) else { continue };
            found.conditional_assign(&index, presented.as_bytes().ct_eq(known.as_bytes()));
        }
        let index = usize::try_from(found).ok()?;
        self.keys.get(index).filter(|key| key.revoked.is_none())
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// Reads a digest.
fn digest_of(text: &str) -> Result<Digest> {
    text.to_ascii_lowercase().parse().map_err(|source: Error| {
        let message = format!("sha256 {text:?} of a key is not 64 hexadecimal digits");
        Error::new(ErrorKind::Invalid, message).with_source(source)
    })
}

fn write_privately(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
