//! An engine that guesses the tokens of another one.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use alloquy_core::Result;
use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::tokenizer::Tokenizer;
use alloquy_engine::{CancelToken, Engine, Session};

/// How sure it is of each token: the logit of one, where all others have 0.
const SURE: f32 = 12.0;

/// A draft model for tests: it is sure of one next token, which is the likeliest of another engine in a share of all cases.
///
/// Whether it is right depends only on the units. Its sessions can be cut anywhere, or only where they were marked.
///
/// ```
/// use std::sync::Arc;
/// use alloquy_core::prompt::PromptUnit;
/// use alloquy_engine::{CancelToken, Engine};
/// use alloquy_testing::{GuessingEngine, ScriptedEngine};
///
/// let engine = GuessingEngine::new(Arc::new(ScriptedEngine::new([("Hi", "ya")])), 1.0);
/// let mut session = engine.open()?;
/// let units = [72, 105].map(PromptUnit::Token);
/// let logits = session.forward(&units, &CancelToken::default())?;
/// assert!(logits[usize::from(b'y')] > 10.0);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct GuessingEngine {
    engine: Arc<dyn Engine>,
    right: f64,
    rewinds: bool,
}

impl GuessingEngine {
    /// Creates an engine that guesses the tokens of `engine`, and is right in this share of all cases.
    pub fn new(engine: Arc<dyn Engine>, right: f64) -> Self {
        Self { engine, right, rewinds: true }
    }

    /// Makes sessions return to marked lengths alone, as those of a model with states do.
    #[must_use]
    pub fn with_state(mut self) -> Self {
        self.rewinds = false;
        self
    }
}

impl Engine for GuessingEngine {
    fn model(&self) -> &ModelInfo {
        self.engine.model()
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        self.engine.tokenizer()
    }

    fn identity(&self) -> Option<Digest> {
        self.engine.identity()
    }

    fn open(&self) -> Result<Box<dyn Session>> {
        let session = self.engine.open()?;
        let marks = (!self.rewinds).then(Vec::new);
        Ok(Box::new(GuessingSession {
            session,
            right: self.right,
            hashes: Vec::new(),
            marks,
            logits: Vec::new(),
        }))
    }
}

struct GuessingSession {
    session: Box<dyn Session>,
    right: f64,
    /// The hash of each prefix.
    hashes: Vec<u64>,
    /// The marked lengths; `None` where all can be returned to.
    marks: Option<Vec<usize>>,
    logits: Vec<f32>,
}

impl GuessingSession {
    /// Returns whether the next guess is right, and a number that any other guess depends on.
    fn fate(&self) -> (bool, usize) {
        let mut hasher = DefaultHasher::new();
        self.hashes.last().hash(&mut hasher);
        let hash = hasher.finish();
        // The upper 32 bits as a number below 1.
        let drawn = (hash >> 32) as f64 / f64::from(u32::MAX);
        (drawn < self.right, (hash & 0xFFFF) as usize)
    }
}

impl Session for GuessingSession {
    fn length(&self) -> usize {
        self.session.length()
    }

    fn forward(&mut self, units: &[PromptUnit], cancel: &CancelToken) -> Result<&mut [f32]> {
        let before = self.session.length();
        let computed = self.session.forward(units, cancel).map(|logits| logits.to_vec());
        for unit in units.iter().take(self.session.length() - before) {
            let mut hasher = DefaultHasher::new();
            self.hashes.last().hash(&mut hasher);
            match unit {
                PromptUnit::Token(token) => token.hash(&mut hasher),
                PromptUnit::Media(media) => media.digest().as_bytes().hash(&mut hasher),
            }
            self.hashes.push(hasher.finish());
        }
        let logits = computed?;
        let best = logits.iter().enumerate().max_by(|left, right| left.1.total_cmp(right.1));
        let best = best.map_or(0, |(token, _)| token);
        let (is_right, other) = self.fate();
        let guess = if is_right { best } else { (best + 1 + other) % logits.len().max(1) };
        self.logits.clear();
        self.logits.resize(logits.len(), 0.0);
        if let Some(logit) = self.logits.get_mut(guess) {
            *logit = SURE;
        }
        Ok(&mut self.logits)
    }

    fn logits(&mut self) -> &mut [f32] {
        &mut self.logits
    }

    fn truncate(&mut self, length: usize) -> Result<usize> {
        let kept = self.session.truncate(self.reaches(length))?;
        self.hashes.truncate(kept);
        if let Some(marks) = &mut self.marks {
            marks.retain(|mark| *mark <= kept);
        }
        Ok(kept)
    }

    fn rewinds(&self) -> bool {
        self.marks.is_none()
    }

    fn reaches(&self, length: usize) -> usize {
        let length = length.min(self.length());
        match &self.marks {
            Some(marks) if length < self.length() => {
                marks.iter().copied().filter(|mark| *mark <= length).max().unwrap_or(0)
            }
            _ => length,
        }
    }

    fn mark(&mut self) {
        let length = self.length();
        if let Some(marks) = &mut self.marks {
            marks.push(length);
        }
    }

    fn bytes(&self) -> usize {
        self.session.bytes()
    }

    fn fork(&self) -> Result<Box<dyn Session>> {
        let session = self.session.fork()?;
        let (hashes, marks, logits) = (self.hashes.clone(), self.marks.clone(), self.logits.clone());
        Ok(Box::new(Self { session, right: self.right, hashes, marks, logits }))
    }
}
