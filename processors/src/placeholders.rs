//! Where media go in a prompt: texts that a template prints in their place. Knows no family and no encoder.

use std::collections::VecDeque;

use alloquy_core::media::MediaKind;
use alloquy_core::processor::{PromptPart, PromptSource};
use alloquy_core::{Error, ErrorKind, Media, Result};
use serde::{Deserialize, Serialize};

/// A text that a template prints where media go.
///
/// ```
/// use alloquy_core::media::MediaKind;
/// use alloquy_processors::Placeholder;
///
/// let place: Placeholder = serde_json::from_str(r#"{"kind": "image", "text": "<image>"}"#)?;
/// assert_eq!(place, Placeholder::new(MediaKind::Image, "<image>"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Placeholder {
    /// What goes there.
    pub kind: MediaKind,
    /// The text.
    pub text: String,
}

impl Placeholder {
    /// Creates the place of media of a kind.
    pub fn new(kind: MediaKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}

/// A [`Placeholder`] of a family of this crate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    kind: MediaKind,
    text: &'static str,
}

impl Place {
    pub(crate) fn placeholder(&self) -> Placeholder {
        Placeholder::new(self.kind, self.text)
    }
}

/// The place of an image.
pub(crate) const fn image(text: &'static str) -> Place {
    Place { text, kind: MediaKind::Image }
}

/// The place of audio.
pub(crate) const fn audio(text: &'static str) -> Place {
    Place { text, kind: MediaKind::Audio }
}

/// The place of a video.
pub(crate) const fn video(text: &'static str) -> Place {
    Place { text, kind: MediaKind::Video }
}

/// Says whether a conversation has media.
pub(crate) fn has_media(source: PromptSource<'_>) -> bool {
    media(source).next().is_some()
}

/// The media of a conversation, in the order in which they are shown.
fn media<'a>(source: PromptSource<'a>) -> impl Iterator<Item = (MediaKind, Media)> + 'a {
    let messages = source.preface.messages.iter().chain(source.path);
    let parts = messages.flat_map(|message| &message.parts);
    parts.filter_map(|part| Some((part.content.media_kind()?, part.content.shown()?)))
}

/// Puts the media of a conversation into their places in what the template printed; texts that must stay texts are none.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for media of a kind that has no placeholder in the family; [`ErrorKind::Template`] unless the
/// template printed as many places of each kind as there are media.
pub(crate) fn filled(
    parts: Vec<PromptPart>,
    source: PromptSource<'_>,
    placeholders: &[Placeholder],
    family: &str,
) -> Result<Vec<PromptPart>> {
    let mut waiting = Waiting { placeholders, kinds: MediaKind::ALL.map(|kind| (kind, Stock::default())) };
    for (kind, media) in media(source) {
        waiting.expect(kind, media, family)?;
    }
    let mut filled = Vec::new();
    for part in parts {
        match part {
            PromptPart::Text(text) => waiting.fill(&text, &mut filled),
            other => filled.push(other),
        }
    }
    waiting.check()?;
    Ok(filled)
}

/// The media of one kind.
#[derive(Default)]
struct Stock {
    media: VecDeque<Media>,
    /// How many there were.
    given: usize,
    /// How many places the template printed.
    places: usize,
}

/// Media that wait for their places.
struct Waiting<'a> {
    placeholders: &'a [Placeholder],
    kinds: [(MediaKind, Stock); 3],
}

impl Waiting<'_> {
    fn stock(&mut self, kind: MediaKind) -> Option<&mut Stock> {
        self.kinds.iter_mut().find(|(known, _)| *known == kind).map(|(_, stock)| stock)
    }

    fn expect(&mut self, kind: MediaKind, media: Media, family: &str) -> Result<()> {
        if !self.placeholders.iter().any(|placeholder| placeholder.kind == kind) {
            return Err(refused(self.placeholders, kind, family));
        }
        if let Some(stock) = self.stock(kind) {
            stock.media.push_back(media);
            stock.given += 1;
        }
        Ok(())
    }

    fn fill(&mut self, text: &str, filled: &mut Vec<PromptPart>) {
        let mut rest = text;
        while let Some((place, found)) = next_in(self.placeholders, rest) {
            let (before, behind) = rest.split_at(place);
            push_text(filled, before);
            rest = behind.get(found.text.len()..).unwrap_or_default();
            if let Some(stock) = self.stock(found.kind) {
                stock.places += 1;
                filled.extend(stock.media.pop_front().map(PromptPart::Media));
            }
        }
        push_text(filled, rest);
    }

    fn check(&self) -> Result<()> {
        let wrong = |(_, stock): &&(MediaKind, Stock)| stock.places != stock.given;
        let Some((kind, Stock { places, given, .. })) = self.kinds.iter().find(wrong) else { return Ok(()) };
        let texts = self.placeholders.iter().filter(|placeholder| placeholder.kind == *kind);
        let texts: Vec<_> = texts.map(|placeholder| placeholder.text.as_str()).collect();
        let message = format!(
            "the template printed {places} places of the kind {kind}, and the messages have {given} such media; looked for: {}",
            texts.join(", ")
        );
        Err(Error::new(ErrorKind::Template, message))
    }
}

/// The error of a family that has no place for media of a kind.
fn refused(placeholders: &[Placeholder], kind: MediaKind, family: &str) -> Error {
    let has = |kind: &MediaKind| placeholders.iter().any(|placeholder| placeholder.kind == *kind);
    let kinds: Vec<_> = MediaKind::ALL.into_iter().filter(has).map(MediaKind::as_str).collect();
    let message = match kinds.as_slice() {
        [] => format!("family {family:?} reads text, not pictures or sounds"),
        kinds => {
            format!("family {family:?} has no place for {kind} in a prompt; it takes: {}", kinds.join(", "))
        }
    };
    Error::new(ErrorKind::Unsupported, message)
}

/// The first placeholder in a text, the longest that begins there.
fn next_in<'p>(placeholders: &'p [Placeholder], text: &str) -> Option<(usize, &'p Placeholder)> {
    let found =
        placeholders.iter().filter_map(|placeholder| Some((text.find(&placeholder.text)?, placeholder)));
    found.min_by_key(|(place, placeholder)| (*place, std::cmp::Reverse(placeholder.text.len())))
}

fn push_text(parts: &mut Vec<PromptPart>, text: &str) {
    if !text.is_empty() {
        parts.push(PromptPart::Text(text.to_owned()));
    }
}
