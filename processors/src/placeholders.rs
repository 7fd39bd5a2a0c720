//! Puts media into a prompt, in the place of the texts that a template prints for them.

use std::collections::VecDeque;

use alloquy_core::media::MediaKind;
use alloquy_core::processor::{ProcessorInput, PromptPart};
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
    /// The kind of the media.
    pub kind: MediaKind,
    /// The text.
    pub text: String,
}

impl Placeholder {
    /// Creates the placeholder of a kind of media.
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

/// Returns the placeholder of an image.
pub(crate) const fn image(text: &'static str) -> Place {
    Place { text, kind: MediaKind::Image }
}

/// Returns the placeholder of audio.
pub(crate) const fn audio(text: &'static str) -> Place {
    Place { text, kind: MediaKind::Audio }
}

/// Returns the placeholder of a video.
pub(crate) const fn video(text: &'static str) -> Place {
    Place { text, kind: MediaKind::Video }
}

/// Returns whether a conversation has media.
pub(crate) fn has_media(source: ProcessorInput<'_>) -> bool {
    media(source).next().is_some()
}

/// Returns the media of a conversation, in the order in which they are shown.
fn media<'a>(source: ProcessorInput<'a>) -> impl Iterator<Item = (MediaKind, Media)> + 'a {
    let messages = source.preface.messages.iter().chain(source.path);
    let parts = messages.flat_map(|message| &message.parts);
    parts.filter_map(|part| Some((part.content.media_kind()?, part.content.shown()?)))
}

/// Replaces the placeholders in a rendered prompt by the media of the conversation, in their order. Literal parts have no
/// placeholders.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for media of a kind that has no placeholder in the family; [`ErrorKind::Template`] if the
/// template printed more or fewer placeholders of a kind than the conversation has media.
pub(crate) fn filled(
    parts: Vec<PromptPart>,
    source: ProcessorInput<'_>,
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
    /// How many the conversation has.
    given: usize,
    /// How many placeholders the template printed.
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

    /// Adds media to those that wait for their places.
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

    /// Puts media into the places in a text.
    fn fill(&mut self, text: &str, filled: &mut Vec<PromptPart>) {
        let mut rest = text;
        while let Some((place, found)) = next_in(self.placeholders, rest) {
            push_text(filled, rest.get(..place).unwrap_or_default());
            rest = rest.get(place + found.text.len()..).unwrap_or_default();
            if let Some(stock) = self.stock(found.kind) {
                stock.places += 1;
                filled.extend(stock.media.pop_front().map(PromptPart::Media));
            }
        }
        push_text(filled, rest);
    }

    /// Returns an error if media are left, or if there were too many places.
    fn check(&self) -> Result<()> {
        let wrong = self.kinds.iter().find(|(_, stock)| stock.places != stock.given);
        let Some((kind, Stock { places, given, .. })) = wrong else { return Ok(()) };
        let texts = self.placeholders.iter().filter(|placeholder| placeholder.kind == *kind);
        let texts: Vec<_> = texts.map(|placeholder| placeholder.text.as_str()).collect();
        let message = format!(
            "the template printed {places} places of the kind {kind}, and the messages have {given} such media; looked for: {}",
            texts.join(", ")
        );
        Err(Error::new(ErrorKind::Template, message))
    }
}

/// Returns the error for media of a kind that has no placeholder in a family.
fn refused(placeholders: &[Placeholder], kind: MediaKind, family: &str) -> Error {
    let mut kinds = Vec::new();
    for known in MediaKind::ALL {
        if placeholders.iter().any(|placeholder| placeholder.kind == known) {
            kinds.push(known.as_str());
        }
    }
    let message = match kinds.as_slice() {
        [] => format!("family {family:?} reads text, not images or audio clips"),
        kinds => {
            format!("family {family:?} has no place for {kind} in a prompt; it takes: {}", kinds.join(", "))
        }
    };
    Error::new(ErrorKind::Unsupported, message)
}

/// Returns the first placeholder in a text and its place. Of several that begin there, it is the longest.
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
