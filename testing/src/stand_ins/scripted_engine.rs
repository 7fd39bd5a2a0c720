//! An engine that follows a script, with sessions that obey every law.

use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::Unit;
use alloquy_core::tokenizer::{Piece, SpecialToken, TokenId, Tokenizer, decode};
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::decoder::StateReader;
use alloquy_engine::media_processor::MediaProcessor;
use alloquy_engine::{Cancel, Engine, Session};

use super::resident::Resident;
use super::{ByteTokenizer, ScriptedMedia};

/// An engine that answers a cue with a reply.
///
/// Its next token depends on the units alone: of all cues, the one that occurs last in the text so far counts;
/// what follows it is continued towards its reply, and then ended. Without a cue the reply is empty.
///
/// ```
/// use alloquy_testing::ScriptedEngine;
///
/// let engine = ScriptedEngine::new([("<user>Hi<end><assistant>", "Hello!")]);
/// assert_eq!(engine.forwarded(), 0);
/// ```
#[derive(Clone, Debug)]
pub struct ScriptedEngine {
    model: ModelInfo,
    tokenizer: ByteTokenizer,
    script: Vec<(String, Vec<TokenId>)>,
    end: TokenId,
    media: Option<ScriptedMedia>,
    forwarded: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

/// The control tokens of [`TaggedTemplate`](super::TaggedTemplate); the first one ends a message.
pub(crate) const SPECIALS: [&str; 5] = ["<end>", "<system>", "<user>", "<assistant>", "<tool>"];

impl ScriptedEngine {
    /// Creates an engine from cues and their replies, with a context of 4096 units.
    pub fn new<'a>(script: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let tokenizer = ByteTokenizer::new(SPECIALS);
        let specials: Vec<SpecialToken> = tokenizer.specials().to_vec();
        let end = specials.first().map_or(0, |special| special.id);
        let encode = |text: &str| tokenizer.encode(&[Piece::Text(text)]).unwrap_or_default();
        let script = script.into_iter().map(|(cue, reply)| (cue.to_owned(), encode(reply))).collect();
        let mut model = ModelInfo::default();
        model.name = "scripted".to_owned();
        model.context_length = 4096;
        model.vocabulary = tokenizer.vocabulary();
        model.stop_tokens = vec![end];
        model.specials = specials;
        Self { model, tokenizer, script, end, media: None, forwarded: std::sync::Arc::default() }
    }

    /// Lets it take media, with the control tokens that stand around them. Replies are taken for texts without these.
    ///
    /// ```
    /// use alloquy_testing::{ScriptedEngine, ScriptedMedia};
    /// use alloquy_core::Media;
    /// use alloquy_engine::Engine;
    /// use alloquy_core::prompt::Unit;
    ///
    /// let engine = ScriptedEngine::new([]).media(ScriptedMedia::default());
    /// let picture = Unit::Media(Media::new("image/png", vec![1, 2, 3]));
    /// assert_eq!(engine.positions(&picture)?, 3);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn media(mut self, media: ScriptedMedia) -> Self {
        self.tokenizer = ByteTokenizer::new(SPECIALS.into_iter().chain(ScriptedMedia::SPECIALS));
        self.model.specials = self.tokenizer.specials().to_vec();
        self.model.vocabulary = self.tokenizer.vocabulary();
        self.media = Some(media);
        self
    }

    /// Sets how many units fit.
    #[must_use]
    pub fn context_length(mut self, units: usize) -> Self {
        self.model.context_length = units;
        self
    }

    /// Returns how many units all sessions together have computed.
    pub fn forwarded(&self) -> usize {
        self.forwarded.load(std::sync::atomic::Ordering::Relaxed)
    }

    fn next_token(&self, units: &[Unit]) -> Result<TokenId> {
        let tokens: Vec<_> = units.iter().filter_map(token).collect();
        let text = decode(&self.tokenizer, &tokens)?;
        let place = |cue: &str| text.rfind(cue).map(|start| start + cue.len());
        let cued = self.script.iter().filter_map(|(cue, reply)| Some((place(cue)?, reply)));
        let Some((start, reply)) = cued.max_by_key(|(start, _)| *start) else {
            return Ok(self.end);
        };
        let said = self.tokenizer.encode(&[Piece::Text(text.get(start..).unwrap_or_default())])?;
        let follows = reply.starts_with(&said);
        Ok(reply.get(said.len()).copied().filter(|_| follows).unwrap_or(self.end))
    }
}

fn token(unit: &Unit) -> Option<TokenId> {
    match unit {
        Unit::Token(token) => Some(*token),
        Unit::Media(_) => None,
    }
}

impl Engine for ScriptedEngine {
    fn model(&self) -> &ModelInfo {
        &self.model
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        &self.tokenizer
    }

    fn identity(&self) -> Option<Digest> {
        Some(Digest::of(format!("{:?} {:?}", self.model, self.script).as_bytes()))
    }

    fn media(&self) -> Option<&dyn MediaProcessor> {
        self.media.as_ref().map(|media| media as &dyn MediaProcessor)
    }

    fn positions(&self, unit: &Unit) -> Result<usize> {
        match (unit, &self.media) {
            (Unit::Media(shown), Some(media)) => media.outline(shown).map(|outline| outline.features()),
            (Unit::Media(_), None) => Err(Error::new(ErrorKind::Unsupported, "the script has no media")),
            (Unit::Token(_), _) => Ok(1),
        }
    }

    fn open(&self) -> Result<Box<dyn Session>> {
        let logits = vec![0.0; self.model.vocabulary];
        let held = Resident::new(self.model.context_length).showing(self.media.clone());
        Ok(Box::new(ScriptedSession { engine: self.clone(), held, logits }))
    }
}

#[derive(Clone, Debug)]
struct ScriptedSession {
    engine: ScriptedEngine,
    held: Resident,
    logits: Vec<f32>,
}

impl Session for ScriptedSession {
    fn resident(&self) -> usize {
        self.held.units.len()
    }

    fn forward(&mut self, units: &[Unit], cancel: &Cancel) -> Result<&mut [f32]> {
        let forwarded = &self.engine.forwarded;
        self.held.take(units, cancel, || {
            forwarded.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        })?;
        let next = self.engine.next_token(&self.held.units)?;
        self.logits.fill(0.0);
        if let Some(logit) = self.logits.get_mut(next as usize) {
            *logit = 10.0;
        }
        Ok(&mut self.logits)
    }

    fn logits(&mut self) -> &mut [f32] {
        &mut self.logits
    }

    fn truncate(&mut self, length: usize) -> Result<usize> {
        Ok(self.held.truncate(length))
    }

    fn fork(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(self.clone()))
    }

    fn snapshot(&self, length: usize, into: &mut Vec<u8>) -> Result<()> {
        self.held.snapshot(length, into)
    }

    fn restore(&mut self, units: &[Unit], state: &mut StateReader<'_>) -> Result<()> {
        self.held.restore(units, state)
    }
}
