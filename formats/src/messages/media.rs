//! Media in documents: base64 and data URIs, checked before they are decoded. Reads no file and no network.

use std::fmt;

use alloquy_core::media::MediaKind;
use alloquy_core::{Content, Error, ErrorKind, Media, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::mime;
use super::place::{Place, quoted};

/// Where a document says that its media are, when it does not hold them itself.
///
/// [`MediaRules`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaReference<'a> {
    /// A file.
    Path(&'a str),
    /// An address with a scheme, such as `https://…`.
    Url(&'a str),
}

impl<'a> MediaReference<'a> {
    fn of(address: &'a str) -> Self {
        if address.contains("://") { MediaReference::Url(address) } else { MediaReference::Path(address) }
    }
}

impl fmt::Display for MediaReference<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MediaReference::Path(path) => write!(formatter, "the file {}", quoted(path)),
            MediaReference::Url(url) => write!(formatter, "the address {}", quoted(url)),
        }
    }
}

/// Fetches the media that a document only names: from the host's file system or network, under the host's rules.
///
/// Every closure of the same shape implements it; [`MediaRules`] has an example.
///
/// # Contract
/// The media has a MIME type of its kind. The implementation decides which folders and hosts may be read, because a
/// document is input from outside. An error keeps its kind and gets the place in the document in front.
pub trait MediaSource {
    /// Fetches a piece of media.
    ///
    /// # Errors
    /// Whatever the host decides, such as [`ErrorKind::NotFound`] or [`ErrorKind::Unsupported`].
    fn fetch(&self, kind: MediaKind, reference: MediaReference<'_>) -> Result<Media>;
}

impl<F: Fn(MediaKind, MediaReference<'_>) -> Result<Media>> MediaSource for F {
    fn fetch(&self, kind: MediaKind, reference: MediaReference<'_>) -> Result<Media> {
        self(kind, reference)
    }
}

/// The media source that refuses everything, and says what the host can do.
///
/// ```
/// use alloquy_core::ErrorKind;
/// use alloquy_core::media::MediaKind;
/// use alloquy_formats::messages::{MediaReference, MediaSource, NoMediaSource};
///
/// let error = NoMediaSource.fetch(MediaKind::Image, MediaReference::Path("cat.png")).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Unsupported);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMediaSource;

impl MediaSource for NoMediaSource {
    fn fetch(&self, kind: MediaKind, reference: MediaReference<'_>) -> Result<Media> {
        let sentence = format!(
            "the {kind} is {reference}, which is not read here: the host gives a media source, or puts the \
             bytes into the document as base64"
        );
        Err(Error::new(ErrorKind::Unsupported, sentence))
    }
}

/// Which media a reader accepts.
///
/// ```
/// use alloquy_core::{Media, Result};
/// use alloquy_core::media::MediaKind;
/// use alloquy_formats::messages::{self, Dialect, MediaReference, MediaRules};
/// use serde_json::json;
///
/// let fetch = |_: MediaKind, _: MediaReference<'_>| -> Result<Media> {
///     Ok(Media::new("image/png", b"what the host read".to_vec()))
/// };
/// let rules = MediaRules { source: &fetch, ..MediaRules::default() };
/// let document = json!([{"role": "user", "content": [{"type": "image", "path": "cat.png"}]}]);
/// let transcript = messages::read(Dialect::LiteRt, &document, &rules)?;
/// assert_eq!(transcript.messages[0].media().count(), 1);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct MediaRules<'a> {
    /// The most bytes of one piece, decoded.
    pub max_bytes: usize,
    /// The most bytes of all pieces of a document together, decoded.
    pub max_total_bytes: usize,
    /// The accepted kinds.
    pub kinds: &'a [MediaKind],
    /// The source of the media that the document only names.
    pub source: &'a dyn MediaSource,
}

impl Default for MediaRules<'_> {
    /// Accepts every kind, 32 MiB a piece, 128 MiB a document, and fetches nothing.
    fn default() -> Self {
        Self {
            max_bytes: 32 << 20,
            max_total_bytes: 128 << 20,
            kinds: &MediaKind::ALL,
            source: &NoMediaSource,
        }
    }
}

impl fmt::Debug for MediaRules<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("MediaRules")
            .field("max_bytes", &self.max_bytes)
            .field("max_total_bytes", &self.max_total_bytes)
            .field("kinds", &self.kinds)
            .finish_non_exhaustive()
    }
}

/// Takes a document's media one after another, under the rules.
pub(super) struct Intake<'a> {
    rules: &'a MediaRules<'a>,
    total: usize,
}

impl<'a> Intake<'a> {
    pub(super) fn new(rules: &'a MediaRules<'a>) -> Self {
        Self { rules, total: 0 }
    }

    /// Takes a data URI, or has the source fetch what the address names.
    pub(super) fn address(&mut self, kind: MediaKind, address: &str, place: &Place<'_>) -> Result<Content> {
        match address.split_at_checked(5) {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("data:") => self.data_uri(kind, rest, place),
            _ => self.fetched(kind, MediaReference::of(address), place),
        }
    }

    /// Takes an image of a video.
    pub(super) fn frame(&mut self, address: &str, place: &Place<'_>) -> Result<Media> {
        match self.among_frames(address, place)? {
            Content::Image(media) => Ok(media),
            _ => Err(place.invalid("a video is a list of images")),
        }
    }

    /// The images of a video are taken where videos are.
    fn among_frames(&mut self, address: &str, place: &Place<'_>) -> Result<Content> {
        let rules = MediaRules { kinds: &MediaKind::ALL, ..*self.rules };
        let mut intake = Intake { rules: &rules, total: self.total };
        let part = intake.address(MediaKind::Image, address, place)?;
        self.total = intake.total;
        Ok(part)
    }

    fn data_uri(&mut self, kind: MediaKind, rest: &str, place: &Place<'_>) -> Result<Content> {
        let (head, data) = rest.split_once(',').ok_or_else(|| place.invalid("the data URI has no comma"))?;
        let Some(media_type) = head.strip_suffix(";base64") else {
            return Err(place.unsupported("the data URI is not base64"));
        };
        self.base64(kind, media_type, data, place)
    }

    /// Takes base64 whose MIME type is known.
    pub(super) fn base64(
        &mut self,
        kind: MediaKind,
        media_type: &str,
        data: &str,
        place: &Place<'_>,
    ) -> Result<Content> {
        self.allow(kind, place)?;
        let media_type = mime::normal(media_type).ok_or_else(|| {
            place.invalid(format_args!("{} is not a MIME type such as {kind}/…", quoted(media_type)))
        })?;
        check_kind(kind, &media_type, place)?;
        let bytes = self.decode(data, place)?;
        Ok(kind.part(Media::new(media_type, bytes)))
    }

    /// Takes base64 without a MIME type, which the first bytes determine.
    pub(super) fn blob(&mut self, kind: MediaKind, data: &str, place: &Place<'_>) -> Result<Content> {
        self.allow(kind, place)?;
        let bytes = self.decode(data, place)?;
        let media_type = kind.type_of(&bytes).ok_or_else(|| {
            let known = kind.known_types().join(", ");
            place.invalid(format_args!(
                "the {kind} has no \"mime_type\" and does not begin as one of: {known}"
            ))
        })?;
        Ok(kind.part(Media::new(media_type, bytes)))
    }

    pub(super) fn fetched(
        &mut self,
        kind: MediaKind,
        reference: MediaReference<'_>,
        place: &Place<'_>,
    ) -> Result<Content> {
        self.allow(kind, place)?;
        let media = self.rules.source.fetch(kind, reference).map_err(|error| error.context(place))?;
        check_kind(kind, media.media_type(), place)?;
        self.charge(media.bytes().map_or(0, |bytes| bytes.len()), place)?;
        Ok(kind.part(media))
    }

    pub(super) fn allow(&self, kind: MediaKind, place: &Place<'_>) -> Result<()> {
        if self.rules.kinds.contains(&kind) {
            return Ok(());
        }
        let taken: Vec<_> = self.rules.kinds.iter().map(|kind| kind.as_str()).collect();
        let taken = if taken.is_empty() { "none".to_owned() } else { taken.join(", ") };
        Err(place.unsupported(format_args!("media of the kind {kind} are not taken here; taken: {taken}")))
    }

    /// Decodes base64; the bytes are charged before they are decoded.
    fn decode(&mut self, data: &str, place: &Place<'_>) -> Result<Vec<u8>> {
        let padding = data.bytes().rev().take(2).take_while(|byte| *byte == b'=').count();
        let decoded = (data.len().div_ceil(4) * 3).saturating_sub(padding);
        if decoded == 0 {
            return Err(place.invalid("the media are empty"));
        }
        self.charge(decoded, place)?;
        STANDARD.decode(data).map_err(|source| place.invalid("the media are not base64").with_source(source))
    }

    fn charge(&mut self, bytes: usize, place: &Place<'_>) -> Result<()> {
        let MediaRules { max_bytes, max_total_bytes, .. } = *self.rules;
        if bytes > max_bytes {
            let sentence = format!("the media have {bytes} bytes, of which one piece may have {max_bytes}");
            return Err(place.invalid(sentence));
        }
        self.total = self.total.saturating_add(bytes);
        if self.total > max_total_bytes {
            let total = self.total;
            let sentence = format!(
                "the media come to {total} bytes here, of which a document may have {max_total_bytes}"
            );
            return Err(place.invalid(sentence));
        }
        Ok(())
    }
}

fn check_kind(kind: MediaKind, media_type: &str, place: &Place<'_>) -> Result<()> {
    if MediaKind::of_type(media_type) == Some(kind) {
        return Ok(());
    }
    Err(place.invalid(format_args!("the {kind} has the MIME type {}", quoted(media_type))))
}

/// Media to be written: the bytes are loaded, and a reader accepts the MIME type.
pub(super) struct Outgoing<'a> {
    pub(super) kind: MediaKind,
    pub(super) media_type: &'a str,
    bytes: &'a [u8],
}

impl<'a> Outgoing<'a> {
    pub(super) fn of(kind: MediaKind, media: &'a Media, place: &Place<'_>) -> Result<Self> {
        let bytes =
            media.bytes().map(|bytes| &**bytes).filter(|bytes| !bytes.is_empty()).ok_or_else(|| {
                place.invalid(format_args!("the bytes of the {kind} {} are not loaded", media.digest()))
            })?;
        let media_type = media.media_type();
        if MediaKind::of_type(media_type) != Some(kind)
            || mime::normal(media_type).as_deref() != Some(media_type)
        {
            let sentence =
                format!("media of the MIME type {} cannot be written as {kind}", quoted(media_type));
            return Err(place.unsupported(sentence));
        }
        Ok(Self { kind, media_type, bytes })
    }

    /// A video can be written while it is one file; the images it was sampled to cannot.
    pub(super) fn video(frames: &'a [Media], place: &Place<'_>) -> Result<Self> {
        match frames {
            [media] => Self::of(MediaKind::Video, media, place),
            _ => {
                let sentence = format!("a video of {} images cannot be written", frames.len());
                Err(place.unsupported(sentence))
            }
        }
    }

    pub(super) fn base64(&self) -> String {
        STANDARD.encode(self.bytes)
    }

    pub(super) fn data_uri(&self) -> String {
        format!("data:{};base64,{}", self.media_type, self.base64())
    }

    /// Returns whether the first bytes determine the MIME type.
    pub(super) fn has_evident_type(&self) -> bool {
        self.kind.type_of(self.bytes) == Some(self.media_type)
    }
}
