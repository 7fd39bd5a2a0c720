//! Media in a prompt: what stands around each piece, and how many positions it takes. Knows no family and no encoder.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use alloquy_core::media::MediaKind;
use alloquy_core::processor::{PromptPart, PromptSource};
use alloquy_core::prompt::{PlacedMedia, Prompt, Unit};
use alloquy_core::report::Degradation;
use alloquy_core::tokenizer::SpecialToken;
use alloquy_core::{Error, ErrorKind, Media, Result};
use alloquy_engine::decoder::Decoder;
use alloquy_engine::media_processor::{MediaOutline, MediaPiece, MediaProcessor};

/// How many outlines are remembered.
const REMEMBERED: usize = 256;

/// What stands for the media that were seen lately: a conversation shows them again in each of its prompts.
#[derive(Debug, Default)]
pub(super) struct Outlines(Mutex<VecDeque<Arc<Known>>>);

/// A piece of media and what stands for it.
#[derive(Debug)]
struct Known {
    media: Media,
    kind: MediaKind,
    outline: MediaOutline,
    positions: usize,
}

impl Known {
    /// The media is compared by its type, too: it says how the bytes are read.
    fn is_of(&self, media: &Media) -> bool {
        self.media == *media && self.media.media_type() == media.media_type()
    }

    fn of(decoder: &dyn Decoder, media: &Media) -> Result<Self> {
        let kind = taken(decoder, media)?;
        let shown = |error: Error| error.context(format_args!("the {kind} {}", media.digest()));
        let processor = decoder.media().ok_or_else(|| takes_none(decoder, kind.as_str()))?;
        let outline = processor.outline(media).map_err(shown)?;
        let positions = decoder.positions(&Unit::Media(media.clone())).map_err(shown)?;
        // The bytes are not kept alive for it.
        Ok(Self { media: media.clone().without_bytes(), kind, outline, positions })
    }

    /// The control token that stands at the positions, where it is one.
    fn token(&self, decoder: &dyn Decoder) -> Option<SpecialToken> {
        let text = self.outline.pieces.iter().find_map(|piece| match piece {
            MediaPiece::Positions { token, .. } => Some(token),
            MediaPiece::Text(_) => None,
        })?;
        decoder.tokenizer().specials().iter().find(|special| special.text == *text).cloned()
    }
}

/// Refuses media of kinds that the model does not take, before a template has to find a place for them.
pub(super) fn check(decoder: &dyn Decoder, source: PromptSource<'_>) -> Result<()> {
    let messages = source.preface.messages.iter().chain(source.path);
    let mut media = messages.flat_map(|message| &message.parts).filter_map(|part| part.content.shown());
    media.try_for_each(|media| taken(decoder, &media).map(drop))
}

fn taken(decoder: &dyn Decoder, media: &Media) -> Result<MediaKind> {
    let unknown = || {
        let sentence = format!("media of the type {:?} are no picture, sound or film", media.media_type());
        Error::new(ErrorKind::Unsupported, sentence)
    };
    let kind = MediaKind::of(media).ok_or_else(unknown)?;
    let kinds = decoder.media().map(MediaProcessor::kinds).unwrap_or_default();
    match kinds.contains(&kind) {
        true => Ok(kind),
        false => Err(takes_none(decoder, kind.as_str())),
    }
}

fn takes_none(decoder: &dyn Decoder, kind: &str) -> Error {
    let kinds = decoder.media().map(MediaProcessor::kinds).unwrap_or_default();
    let taken: Vec<_> = std::iter::once("text").chain(kinds.iter().map(|kind| kind.as_str())).collect();
    let (name, taken) = (&decoder.model().name, taken.join(", "));
    Error::new(ErrorKind::Unsupported, format!("model {name:?} takes no {kind}; it takes: {taken}"))
}

impl Outlines {
    fn known(&self, decoder: &dyn Decoder, media: &Media) -> Result<Arc<Known>> {
        if let Some(known) = self.find(media) {
            return Ok(known);
        }
        // Without the lock: a picture may take a while, and two prompts that show it at once do no harm.
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

    /// Puts the texts around the media of a prompt, and adds what was not done as these would have it.
    pub(super) fn expand(
        &self,
        decoder: &dyn Decoder,
        parts: Vec<PromptPart>,
        told: &mut Vec<Degradation>,
    ) -> Result<Vec<PromptPart>> {
        let mut expanded = Expanded { decoder, parts: Vec::with_capacity(parts.len()), ended: None };
        for part in parts {
            match part {
                PromptPart::Media(media) => {
                    let known = self.known(decoder, &media)?;
                    let news = known.outline.degradations.iter().filter(|news| !told.contains(news));
                    told.extend(news.cloned().collect::<Vec<_>>());
                    expanded.media(media, &known.outline);
                }
                other => expanded.push(other),
            }
        }
        Ok(expanded.parts)
    }

    /// Lowers parts whose media have their texts around them.
    pub(super) fn lower(&self, decoder: &dyn Decoder, parts: &[PromptPart]) -> Result<Prompt> {
        let token = |media: &Media| self.known(decoder, media).ok()?.token(decoder);
        Prompt::lower_among(parts, decoder.tokenizer(), &token)
    }

    /// Says where media stand in a prompt, and what they take.
    pub(super) fn placed(&self, decoder: &dyn Decoder, prompt: &Prompt) -> Result<Vec<PlacedMedia>> {
        let place = |(unit, media): (usize, &Media)| {
            let known = self.known(decoder, media)?;
            Ok(PlacedMedia::new(unit, known.kind, media.clone(), known.positions))
        };
        let media = prompt.units.iter().enumerate().filter_map(|(index, unit)| match unit {
            Unit::Media(media) => Some((index, media)),
            Unit::Token(_) => None,
        });
        media.map(place).collect()
    }
}

/// Parts that are put together.
struct Expanded<'a> {
    decoder: &'a dyn Decoder,
    parts: Vec<PromptPart>,
    /// The control token that ends the media before, where nothing stands behind them yet.
    ended: Option<String>,
}

impl Expanded<'_> {
    fn media(&mut self, media: Media, outline: &MediaOutline) {
        self.ended = None;
        let begun = self.special(|text| outline.before.ends_with(text));
        if let (Some(begun), Some(PromptPart::Text(text))) = (begun, self.parts.last_mut()) {
            // A template may print what begins the media; it is said once.
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

    /// Adds text, joined to what stands before it.
    fn text(&mut self, text: &str) {
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(PromptPart::Text(before)) => before.push_str(text),
            _ => self.parts.push(PromptPart::Text(text.to_owned())),
        }
    }

    /// The longest control token that a text ends or begins with.
    fn special(&self, is_there: impl Fn(&str) -> bool) -> Option<String> {
        let specials = self.decoder.tokenizer().specials().iter().map(|special| special.text.as_str());
        let blank = |text: &&str| !text.trim().is_empty();
        specials.filter(blank).filter(|text| is_there(text)).max_by_key(|text| text.len()).map(str::to_owned)
    }
}
