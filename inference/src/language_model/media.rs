//! Media in a prompt: the texts around each of them, and how many positions they take. Knows no family and no encoder.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use alloquy_core::media::MediaKind;
use alloquy_core::processor::{ProcessorInput, PromptPart};
use alloquy_core::prompt::{PlacedMedia, Prompt, PromptUnit};
use alloquy_core::report::Warning;
use alloquy_core::tokenizer::SpecialToken;
use alloquy_core::{Error, ErrorKind, Media, Result};
use alloquy_engine::decoder::Decoder;
use alloquy_engine::media_processor::{MediaOutline, MediaPlaceholder, MediaProcessor};

/// How many outlines are remembered.
const REMEMBERED: usize = 256;

/// The outlines of the latest media: a conversation shows its media again in each of its prompts.
#[derive(Debug, Default)]
pub(super) struct Outlines(Mutex<VecDeque<Arc<Known>>>);

/// A piece of media with its outline.
#[derive(Debug)]
struct Known {
    media: Media,
    kind: MediaKind,
    outline: MediaOutline,
    positions: usize,
}

impl Known {
    /// Compares the type of the media too, which says how the bytes are read.
    fn is_of(&self, media: &Media) -> bool {
        self.media == *media && self.media.media_type() == media.media_type()
    }

    fn of(decoder: &dyn Decoder, media: &Media) -> Result<Self> {
        let kind = taken(decoder, media)?;
        let processor = decoder.media().ok_or_else(|| takes_none(decoder, kind.as_str()))?;
        let outline = processor.outline(media).map_err(|error| named(error, kind, media))?;
        let positions = decoder.positions(&PromptUnit::Media(media.clone()));
        let positions = positions.map_err(|error| named(error, kind, media))?;
        // Without the bytes: a remembered outline does not keep them in memory.
        Ok(Self { media: media.clone().without_bytes(), kind, outline, positions })
    }

    /// Returns the control token at the positions of the media, if it is one.
    fn token(&self, decoder: &dyn Decoder) -> Option<SpecialToken> {
        let text = self.outline.pieces.iter().find_map(|piece| match piece {
            MediaPlaceholder::Positions { token, .. } => Some(token),
            MediaPlaceholder::Text(_) => None,
        })?;
        decoder.tokenizer().specials().iter().find(|special| special.text == *text).cloned()
    }
}

/// Names the media that an error is about.
fn named(error: Error, kind: MediaKind, media: &Media) -> Error {
    error.context(format_args!("the {kind} {}", media.digest()))
}

/// Refuses media of kinds that the model does not take, before a template has to find a place for them.
pub(super) fn check(decoder: &dyn Decoder, source: ProcessorInput<'_>) -> Result<()> {
    for message in source.preface.messages.iter().chain(source.path) {
        for part in &message.parts {
            if let Some(media) = part.content.shown() {
                taken(decoder, &media)?;
            }
        }
    }
    Ok(())
}

/// Returns the kind of a piece of media, which the model must take.
fn taken(decoder: &dyn Decoder, media: &Media) -> Result<MediaKind> {
    let Some(kind) = MediaKind::of(media) else {
        let sentence =
            format!("media of the type {:?} are not an image, audio clip or video", media.media_type());
        return Err(Error::new(ErrorKind::Unsupported, sentence));
    };
    let kinds = decoder.media().map(MediaProcessor::kinds).unwrap_or_default();
    if !kinds.contains(&kind) {
        return Err(takes_none(decoder, kind.as_str()));
    }
    Ok(kind)
}

fn takes_none(decoder: &dyn Decoder, kind: &str) -> Error {
    let kinds = decoder.media().map(MediaProcessor::kinds).unwrap_or_default();
    let taken: Vec<_> = std::iter::once("text").chain(kinds.iter().map(|kind| kind.as_str())).collect();
    let name = &decoder.model().name;
    let taken = taken.join(", ");
    Error::new(ErrorKind::Unsupported, format!("model {name:?} takes no {kind}; it takes: {taken}"))
}

impl Outlines {
    fn known(&self, decoder: &dyn Decoder, media: &Media) -> Result<Arc<Known>> {
        if let Some(known) = self.find(media) {
            return Ok(known);
        }
        // Without the lock: an image may take a while. Two concurrent prompts may both process it, which does no harm.
        let known = Arc::new(Known::of(decoder, media)?);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push_back(Arc::clone(&known));
        while all.len() > REMEMBERED {
            all.pop_front();
        }
        Ok(known)
    }

    fn find(&self, media: &Media) -> Option<Arc<Known>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().find(|known| known.is_of(media)).cloned()
    }

    /// Puts the texts around the media of a prompt, and adds the warnings about these media to `reported` once each.
    pub(super) fn expand(
        &self,
        decoder: &dyn Decoder,
        parts: Vec<PromptPart>,
        reported: &mut Vec<Warning>,
    ) -> Result<Vec<PromptPart>> {
        let mut expanded = Expanded { decoder, parts: Vec::with_capacity(parts.len()), ended: None };
        for part in parts {
            match part {
                PromptPart::Media(media) => {
                    let known = self.known(decoder, &media)?;
                    for warning in &known.outline.warnings {
                        if !reported.contains(warning) {
                            reported.push(warning.clone());
                        }
                    }
                    expanded.media(media, &known.outline);
                }
                other => expanded.push(other),
            }
        }
        Ok(expanded.parts)
    }

    /// Encodes parts whose media have their texts around them.
    pub(super) fn lower(&self, decoder: &dyn Decoder, parts: &[PromptPart]) -> Result<Prompt> {
        Prompt::lower_among(parts, decoder.tokenizer(), &|media| {
            self.known(decoder, media).ok()?.token(decoder)
        })
    }

    /// Returns where media are in a prompt, and how many positions they take.
    pub(super) fn placed(&self, decoder: &dyn Decoder, prompt: &Prompt) -> Result<Vec<PlacedMedia>> {
        let mut placed = Vec::new();
        for (index, unit) in prompt.units.iter().enumerate() {
            if let PromptUnit::Media(media) = unit {
                let known = self.known(decoder, media)?;
                placed.push(PlacedMedia::new(index, known.kind, media.clone(), known.positions));
            }
        }
        Ok(placed)
    }
}

/// Parts of a prompt with the texts around their media.
struct Expanded<'a> {
    decoder: &'a dyn Decoder,
    parts: Vec<PromptPart>,
    /// The control token that ends the media before, as long as nothing follows it.
    ended: Option<String>,
}

impl Expanded<'_> {
    fn media(&mut self, media: Media, outline: &MediaOutline) {
        self.ended = None;
        let begun = self.special(|text| outline.before.ends_with(text));
        if let (Some(begun), Some(PromptPart::Text(text))) = (begun, self.parts.last_mut()) {
            // A template may print `<start_of_image>` itself, which the outline has too: the prompt has it once.
            if let Some(rest) = text.strip_suffix(begun.as_str()) {
                *text = rest.to_owned();
            }
        }
        self.text(&outline.before);
        self.parts.push(PromptPart::Media(media));
        self.ended = self.special(|text| outline.after.starts_with(text));
        self.text(&outline.after);
    }

    fn push(&mut self, part: PromptPart) {
        let ended = self.ended.take();
        match part {
            PromptPart::Text(text) => {
                let rest = ended.and_then(|ended| text.strip_prefix(ended.as_str()));
                self.text(rest.unwrap_or(&text));
            }
            other => self.parts.push(other),
        }
    }

    /// Adds text, joined to the text before it.
    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(PromptPart::Text(before)) => before.push_str(text),
            _ => self.parts.push(PromptPart::Text(text.to_owned())),
        }
    }

    /// Returns the longest control token for which `is_there` holds.
    fn special(&self, is_there: impl Fn(&str) -> bool) -> Option<String> {
        let specials = self.decoder.tokenizer().specials().iter().map(|special| special.text.as_str());
        let found = specials.filter(|text| !text.trim().is_empty() && is_there(text));
        found.max_by_key(|text| text.len()).map(str::to_owned)
    }
}
