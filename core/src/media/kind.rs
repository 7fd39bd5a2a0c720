//! The kinds of media, and the detection of MIME types by their first bytes.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Media;
use crate::{Error, ErrorKind, Result};

/// The kind of a piece of media.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaKind {
    /// An image.
    Image,
    /// An audio clip.
    Audio,
    /// A video.
    Video,
}

impl MediaKind {
    /// Every kind.
    pub const ALL: [MediaKind; 3] = [MediaKind::Image, MediaKind::Audio, MediaKind::Video];

    /// Returns the name, with which the MIME types of this kind begin.
    ///
    /// ```
    /// use alloquy_core::media::MediaKind;
    ///
    /// assert_eq!(MediaKind::Image.as_str(), "image");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            MediaKind::Image => "image",
            MediaKind::Audio => "audio",
            MediaKind::Video => "video",
        }
    }

    /// Returns the kind that the MIME type of media names.
    ///
    /// ```
    /// use alloquy_core::Media;
    /// use alloquy_core::media::MediaKind;
    ///
    /// assert_eq!(MediaKind::of(&Media::new("audio/wav", vec![1])), Some(MediaKind::Audio));
    /// assert_eq!(MediaKind::of(&Media::video(Vec::new())), Some(MediaKind::Video));
    /// ```
    pub fn of(media: &Media) -> Option<Self> {
        Self::of_type(media.media_type())
    }

    /// Returns the kind that a MIME type names.
    ///
    /// ```
    /// use alloquy_core::media::MediaKind;
    ///
    /// assert_eq!(MediaKind::of_type("image/png"), Some(MediaKind::Image));
    /// assert_eq!(MediaKind::of_type("text/plain"), None);
    /// ```
    pub fn of_type(media_type: &str) -> Option<Self> {
        let (top, _) = media_type.split_once('/')?;
        Self::ALL.into_iter().find(|kind| kind.as_str() == top)
    }

    /// Detects the MIME type of media of this kind by its first bytes.
    ///
    /// ```
    /// use alloquy_core::media::MediaKind;
    ///
    /// assert_eq!(MediaKind::Audio.type_of(b"fLaC and so on"), Some("audio/flac"));
    /// assert_eq!(MediaKind::Image.type_of(b"fLaC and so on"), None);
    /// ```
    pub fn type_of(self, bytes: &[u8]) -> Option<&'static str> {
        for signature in &SIGNATURES {
            if signature.kind == self && signature.matches(bytes) {
                return Some(signature.media_type);
            }
        }
        None
    }

    /// Returns the MIME types of this kind that [`MediaKind::type_of`] detects.
    pub fn known_types(self) -> Vec<&'static str> {
        let of_kind = SIGNATURES.iter().filter(|signature| signature.kind == self);
        let mut known: Vec<_> = of_kind.map(|signature| signature.media_type).collect();
        known.dedup();
        known
    }

    /// Creates media of this kind from bytes, and detects their MIME type.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for bytes of an unknown format; the message lists the known ones.
    ///
    /// ```
    /// use alloquy_core::media::MediaKind;
    ///
    /// let audio = MediaKind::Audio.media(b"fLaC and so on".to_vec())?;
    /// assert_eq!(audio.media_type(), "audio/flac");
    /// assert!(MediaKind::Image.media(b"fLaC and so on".to_vec()).is_err());
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn media(self, bytes: Vec<u8>) -> Result<Media> {
        let Some(media_type) = self.type_of(&bytes) else {
            let known = self.known_types().join(", ");
            let article = if self == Self::Video { "a" } else { "an" };
            let sentence = format!("not {article} {self} file of a known format ({known})");
            return Err(Error::new(ErrorKind::Invalid, sentence));
        };
        Ok(Media::new(media_type, bytes))
    }
}

impl fmt::Display for MediaKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// How a format begins: bytes at an offset, and bytes at a second one for containers that share the first.
struct Signature {
    kind: MediaKind,
    media_type: &'static str,
    marks: &'static [(usize, &'static [u8])],
}

impl Signature {
    fn matches(&self, bytes: &[u8]) -> bool {
        self.marks
            .iter()
            .all(|(offset, mark)| bytes.get(*offset..).is_some_and(|rest| rest.starts_with(mark)))
    }
}

const fn begins(
    kind: MediaKind,
    media_type: &'static str,
    marks: &'static [(usize, &'static [u8])],
) -> Signature {
    Signature { kind, media_type, marks }
}

/// The formats that decoders of media read, and similar ones, by their specifications.
static SIGNATURES: [Signature; 26] = [
    begins(MediaKind::Image, "image/png", &[(0, b"\x89PNG\r\n\x1a\n")]),
    begins(MediaKind::Image, "image/jpeg", &[(0, b"\xff\xd8\xff")]),
    begins(MediaKind::Image, "image/gif", &[(0, b"GIF8")]),
    begins(MediaKind::Image, "image/webp", &[(0, b"RIFF"), (8, b"WEBP")]),
    begins(MediaKind::Image, "image/bmp", &[(0, b"BM")]),
    begins(MediaKind::Image, "image/tiff", &[(0, b"II*\0")]),
    begins(MediaKind::Image, "image/tiff", &[(0, b"MM\0*")]),
    begins(MediaKind::Image, "image/x-icon", &[(0, b"\0\0\x01\0")]),
    begins(MediaKind::Image, "image/x-portable-pixmap", &[(0, b"P6")]),
    begins(MediaKind::Image, "image/x-portable-graymap", &[(0, b"P5")]),
    begins(MediaKind::Audio, "audio/wav", &[(0, b"RIFF"), (8, b"WAVE")]),
    begins(MediaKind::Audio, "audio/mpeg", &[(0, b"ID3")]),
    begins(MediaKind::Audio, "audio/mpeg", &[(0, b"\xff\xfb")]),
    begins(MediaKind::Audio, "audio/mpeg", &[(0, b"\xff\xf3")]),
    begins(MediaKind::Audio, "audio/mpeg", &[(0, b"\xff\xf2")]),
    begins(MediaKind::Audio, "audio/flac", &[(0, b"fLaC")]),
    begins(MediaKind::Audio, "audio/ogg", &[(0, b"OggS")]),
    begins(MediaKind::Audio, "audio/mp4", &[(4, b"ftyp")]),
    begins(MediaKind::Audio, "audio/aac", &[(0, b"\xff\xf1")]),
    begins(MediaKind::Audio, "audio/aac", &[(0, b"\xff\xf9")]),
    begins(MediaKind::Audio, "audio/aiff", &[(0, b"FORM"), (8, b"AIFF")]),
    begins(MediaKind::Audio, "audio/aiff", &[(0, b"FORM"), (8, b"AIFC")]),
    begins(MediaKind::Audio, "audio/x-caf", &[(0, b"caff")]),
    begins(MediaKind::Audio, "audio/webm", &[(0, b"\x1a\x45\xdf\xa3")]),
    begins(MediaKind::Video, "video/mp4", &[(4, b"ftyp")]),
    begins(MediaKind::Video, "video/webm", &[(0, b"\x1a\x45\xdf\xa3")]),
];
