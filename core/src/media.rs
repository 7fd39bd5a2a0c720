//! An image or an audio clip: shared bytes whose identity is their digest.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use crate::{Error, ErrorKind, Result};

mod kind;

pub use kind::MediaKind;

/// A SHA-256 digest, printed as 64 hexadecimal digits.
///
/// ```
/// use alloquy_core::media::Digest;
///
/// let digest = Digest::of(b"abc");
/// assert!(digest.to_string().starts_with("ba7816bf"));
/// assert_eq!(digest.to_string().parse::<Digest>()?, digest);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Computes the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Creates a digest from the bytes that [`Digest::as_bytes`] returned.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in &self.0 {
            write!(formatter, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.len() != 64 || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(invalid_digest(text));
        }
        let mut digest = [0; 32];
        for (index, byte) in digest.iter_mut().enumerate() {
            let pair = text.get(2 * index..2 * index + 2).ok_or_else(|| invalid_digest(text))?;
            *byte =
                u8::from_str_radix(pair, 16).map_err(|source| invalid_digest(text).with_source(source))?;
        }
        Ok(Self(digest))
    }
}

fn invalid_digest(text: &str) -> Error {
    Error::new(ErrorKind::Invalid, format!("digest {text:?} is not 64 lower-case hexadecimal digits"))
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// An image or an audio clip.
///
/// Two media are equal if their digests are equal. The bytes are shared, never printed, and not part of the serialised
/// form. A store keeps them once under their digest, and [`Media::with_bytes`] adds them again.
///
/// ```
/// use alloquy_core::Media;
///
/// let media = Media::new("image/png", b"not really an image".to_vec());
/// let stored = serde_json::to_string(&media)?;
/// let loaded: Media = serde_json::from_str(&stored)?;
/// assert_eq!(loaded, media);
/// assert!(loaded.bytes().is_none());
/// let restored = loaded.with_bytes(b"not really an image".to_vec())?;
/// assert_eq!(restored.bytes(), media.bytes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Serialize, Deserialize)]
pub struct Media {
    digest: Digest,
    #[serde(rename = "type")]
    media_type: String,
    #[serde(skip)]
    bytes: Option<Arc<[u8]>>,
    #[serde(skip)]
    frames: Option<Arc<[Media]>>,
    #[serde(skip)]
    time: Option<Duration>,
}

impl Media {
    /// Creates media of a MIME type such as `image/png` from its bytes.
    pub fn new(media_type: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        Self {
            digest: Digest::of(&bytes),
            media_type: media_type.into(),
            bytes: Some(bytes),
            frames: None,
            time: None,
        }
    }

    /// The images of a video, in their order, as one piece of media.
    ///
    /// ```
    /// use alloquy_core::Media;
    ///
    /// let frame = |byte| Media::new("image/png", vec![byte]);
    /// let video = Media::video(vec![frame(1), frame(2)]);
    /// assert_eq!(video.frames().map(<[Media]>::len), Some(2));
    /// assert_ne!(video, Media::video(vec![frame(2), frame(1)]));
    /// ```
    pub fn video(frames: impl Into<Arc<[Media]>>) -> Self {
        let frames = frames.into();
        let mut hasher = Sha256::new_with_prefix("frames");
        for frame in frames.iter() {
            hasher.update(frame.digest.as_bytes());
            if let Some(time) = frame.time {
                hasher.update(b"at");
                hasher.update(time.as_nanos().to_le_bytes());
            }
        }
        let digest = Digest(hasher.finalize().into());
        Self { digest, media_type: "video/frames".to_owned(), bytes: None, frames: Some(frames), time: None }
    }

    /// The same image as a frame that is shown at this time of its [video](Media::video).
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use alloquy_core::Media;
    ///
    /// let image = Media::new("image/png", vec![1]);
    /// let frame = image.clone().at(Duration::from_millis(500));
    /// assert_eq!((frame.time(), &frame), (Some(Duration::from_millis(500)), &image));
    /// assert_ne!(Media::video(vec![frame]), Media::video(vec![image]));
    /// ```
    #[must_use]
    pub fn at(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }

    /// Returns the same media without its bytes.
    #[must_use]
    pub fn without_bytes(self) -> Self {
        Self { bytes: None, frames: None, ..self }
    }

    /// Creates media of which only the digest is known.
    pub fn known_as(digest: Digest) -> Self {
        Self { digest, media_type: String::new(), bytes: None, frames: None, time: None }
    }

    /// Returns the digest of the bytes, which identifies the media.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the MIME type.
    pub fn media_type(&self) -> &str {
        &self.media_type
    }

    /// Returns the bytes, or `None` while they have not been loaded from a store.
    pub fn bytes(&self) -> Option<&Arc<[u8]>> {
        self.bytes.as_ref()
    }

    /// Returns the images of a [video](Media::video); `None` for everything else.
    pub fn frames(&self) -> Option<&[Media]> {
        self.frames.as_deref()
    }

    /// Returns when a frame is shown in its video, where that is known.
    pub fn time(&self) -> Option<Duration> {
        self.time
    }

    /// Adds the bytes that were loaded from a store.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if `bytes` have another digest.
    pub fn with_bytes(mut self, bytes: impl Into<Arc<[u8]>>) -> Result<Self> {
        let bytes = bytes.into();
        let found = Digest::of(&bytes);
        if found != self.digest {
            let message = format!("media {} holds bytes with the digest {found}", self.digest);
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        self.bytes = Some(bytes);
        Ok(self)
    }
}

impl PartialEq for Media {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for Media {}

impl fmt::Debug for Media {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Media({}, {})", self.media_type, self.digest)
    }
}
