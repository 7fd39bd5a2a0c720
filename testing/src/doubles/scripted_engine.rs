//! An engine that follows a script.

use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::tokenizer::{SpecialToken, TokenId, Tokenizer, TokenizerInput, decode};
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::decoder::StateReader;
use alloquy_engine::media_processor::MediaProcessor;
use alloquy_engine::{CancelToken, Engine, Session};

use super::cached_prompt::CachedPrompt;
use super::{ByteTokenizer, ScriptedMedia};

/// An engine that answers a cue with a reply. Its sessions obey every law of [`session`](crate::laws::session).
///
/// The next token depends only on the units. Of all cues, the one that occurs last in the text so far counts. The text after
/// it is continued to the reply of that cue, and then ended. Without a cue the reply is empty.
///
/// ```
/// use alloquy_testing::ScriptedEngine;
///
/// let engine = ScriptedEngine::new([("<user>Hi<end><assistant>", "Hello!")]);
/// assert_eq!(engine.computed(), 0);
/// ```
#[derive(Clone, Debug)]
pub struct ScriptedEngine {
    model: ModelInfo,
    tokenizer: ByteTokenizer,
    script: Vec<(String, Vec<TokenId>)>,
    end: TokenId,
    media: Option<ScriptedMedia>,
    /// Whether the end of the reply is the second choice everywhere.
    may_end: bool,
    computed: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

/// The control tokens of [`TaggedTemplate`](super::TaggedTemplate); the first one ends a message.
pub(crate) const SPECIALS: [&str; 5] = ["<end>", "<system>", "<user>", "<assistant>", "<tool>"];

impl ScriptedEngine {
    /// Creates an engine from cues and their replies, with a context of 4096 units.
    pub fn new<'a>(script: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let tokenizer = ByteTokenizer::new(SPECIALS);
        let specials: Vec<SpecialToken> = tokenizer.specials().to_vec();
        let end = specials.first().map_or(0, |special| special.id);
        let mut replies = Vec::new();
        for (cue, reply) in script {
            let reply = tokenizer.encode(&[TokenizerInput::Text(reply)]).unwrap_or_default();
            replies.push((cue.to_owned(), reply));
        }
        let mut model = ModelInfo::default();
        model.name = "scripted".to_owned();
        model.context_length = 4096;
        model.vocabulary = tokenizer.vocabulary();
        model.stop_tokens = vec![end];
        model.specials = specials;
        Self {
            model,
            tokenizer,
            script: replies,
            end,
            media: None,
            may_end: false,
            computed: std::sync::Arc::default(),
        }
    }

    /// Adds control tokens to the vocabulary, also to the replies of the script.
    ///
    /// ```
    /// use alloquy_engine::Engine;
    /// use alloquy_testing::ScriptedEngine;
    ///
    /// let engine = ScriptedEngine::new([("Go!", "<call>now</call>")]).specials(["<call>", "</call>"]);
    /// assert_eq!(engine.model().specials.last().map(|special| special.text.as_str()), Some("</call>"));
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn specials<'a>(mut self, specials: impl IntoIterator<Item = &'a str>) -> Self {
        let mut texts: Vec<_> = self.model.specials.iter().map(|special| special.text.clone()).collect();
        texts.extend(specials.into_iter().map(str::to_owned));
        let tokenizer = ByteTokenizer::new(texts.iter().map(String::as_str));
        for (_, reply) in &mut self.script {
            let text = decode(&self.tokenizer, reply).unwrap_or_default();
            *reply = tokenizer.encode(&[TokenizerInput::Text(&text)]).unwrap_or_default();
        }
        self.model.specials = tokenizer.specials().to_vec();
        self.model.vocabulary = tokenizer.vocabulary();
        self.tokenizer = tokenizer;
        self
    }

    /// Makes the end of the reply the second choice everywhere. So a reply whose next token is excluded ends there.
    #[must_use]
    pub fn ends_otherwise(mut self) -> Self {
        self.may_end = true;
        self
    }

    /// Makes it accept media, and adds the control tokens around them to the vocabulary. Replies contain none of these.
    ///
    /// ```
    /// use alloquy_testing::{ScriptedEngine, ScriptedMedia};
    /// use alloquy_core::Media;
    /// use alloquy_engine::Engine;
    /// use alloquy_core::prompt::PromptUnit;
    ///
    /// let engine = ScriptedEngine::new([]).media(ScriptedMedia::default());
    /// let image = PromptUnit::Media(Media::new("image/png", vec![1, 2, 3]));
    /// assert_eq!(engine.positions(&image)?, 3);
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

    /// Sets how many units the context holds.
    #[must_use]
    pub fn context_length(mut self, units: usize) -> Self {
        self.model.context_length = units;
        self
    }

    /// Returns how many units all sessions together have computed.
    pub fn computed(&self) -> usize {
        self.computed.load(std::sync::atomic::Ordering::Relaxed)
    }

    fn next_token(&self, units: &[PromptUnit]) -> TokenId {
        // Bytes, because the tokens so far may end within a character.
        let mut text = Vec::new();
        for token in units.iter().filter_map(token) {
            text.extend(self.bytes(token));
        }
        // The reply of the cue that ends last, and what follows the cue: after `<user>Hi<end><assistant>Hel` this is `Hel`.
        let mut last: Option<(usize, &[TokenId])> = None;
        for (cue, reply) in &self.script {
            let found = text.windows(cue.len().max(1)).rposition(|window| window == cue.as_bytes());
            let Some(start) = found else { continue };
            let end = start + cue.len();
            if last.is_none_or(|(latest, _)| end >= latest) {
                last = Some((end, reply));
            }
        }
        let Some((start, reply)) = last else { return self.end };
        let mut generated = text.get(start..).unwrap_or_default();
        for &token in reply {
            if generated.is_empty() {
                return token;
            }
            match generated.strip_prefix(self.bytes(token).as_slice()) {
                Some(rest) => generated = rest,
                None => return self.end,
            }
        }
        self.end
    }

    fn bytes(&self, token: TokenId) -> Vec<u8> {
        self.tokenizer.bytes(token).unwrap_or_default()
    }
}

fn token(unit: &PromptUnit) -> Option<TokenId> {
    match unit {
        PromptUnit::Token(token) => Some(*token),
        PromptUnit::Media(_) => None,
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

    fn positions(&self, unit: &PromptUnit) -> Result<usize> {
        match (unit, &self.media) {
            (PromptUnit::Media(shown), Some(media)) => media.outline(shown).map(|outline| outline.features()),
            (PromptUnit::Media(_), None) => {
                Err(Error::new(ErrorKind::Unsupported, "the script has no media"))
            }
            (PromptUnit::Token(_), _) => Ok(1),
        }
    }

    fn open(&self) -> Result<Box<dyn Session>> {
        let logits = vec![0.0; self.model.vocabulary];
        let held = CachedPrompt::new(self.model.context_length).showing(self.media.clone());
        Ok(Box::new(ScriptedSession { engine: self.clone(), held, logits }))
    }
}

#[derive(Clone, Debug)]
struct ScriptedSession {
    engine: ScriptedEngine,
    held: CachedPrompt,
    logits: Vec<f32>,
}

impl Session for ScriptedSession {
    fn length(&self) -> usize {
        self.held.units.len()
    }

    fn forward(&mut self, units: &[PromptUnit], cancel: &CancelToken) -> Result<&mut [f32]> {
        let computed = &self.engine.computed;
        self.held.take(units, cancel, || {
            computed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        })?;
        let next = self.engine.next_token(&self.held.units);
        self.logits.fill(0.0);
        if self.engine.may_end
            && let Some(logit) = self.logits.get_mut(self.engine.end as usize)
        {
            *logit = 5.0;
        }
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

    fn restore(&mut self, units: &[PromptUnit], state: &mut StateReader<'_>) -> Result<()> {
        self.held.restore(units, state)
    }
}
