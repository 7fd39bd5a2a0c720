//! An engine that generates noise: every token is about as likely as every other.

use std::hash::{DefaultHasher, Hash, Hasher};

use alloquy_core::Result;
use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::tokenizer::{SpecialToken, Tokenizer};
use alloquy_engine::decoder::StateReader;
use alloquy_engine::{CancelToken, Engine, Session};

use super::ByteTokenizer;
use super::cached_prompt::CachedPrompt;

/// An engine whose logits are noise. With it, a grammar alone decides what a reply looks like.
///
/// The noise depends only on the units. The tokens are the bytes, `<end>`, and the given control tokens.
///
/// ```
/// use alloquy_engine::Engine;
/// use alloquy_core::tokenizer::Tokenizer;
/// use alloquy_testing::NoiseEngine;
///
/// let engine = NoiseEngine::new(["<think>", "</think>"]);
/// assert_eq!(engine.tokenizer().specials()[0].text, "<end>");
/// ```
#[derive(Clone, Debug)]
pub struct NoiseEngine {
    model: ModelInfo,
    tokenizer: ByteTokenizer,
}

impl NoiseEngine {
    /// Creates an engine with a context of 4096 units, and with these control tokens in addition to `<end>`.
    pub fn new<'a>(specials: impl IntoIterator<Item = &'a str>) -> Self {
        let tokenizer = ByteTokenizer::new(std::iter::once("<end>").chain(specials));
        let specials: Vec<SpecialToken> = tokenizer.specials().to_vec();
        let mut model = ModelInfo::default();
        model.name = "noise".to_owned();
        model.context_length = 4096;
        model.vocabulary = tokenizer.vocabulary();
        model.stop_tokens = specials.first().map(|end| end.id).into_iter().collect();
        model.specials = specials;
        Self { model, tokenizer }
    }
}

impl Engine for NoiseEngine {
    fn model(&self) -> &ModelInfo {
        &self.model
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        &self.tokenizer
    }

    fn identity(&self) -> Option<Digest> {
        Some(Digest::of(format!("{:?}", self.model).as_bytes()))
    }

    fn open(&self) -> Result<Box<dyn Session>> {
        let logits = vec![0.0; self.model.vocabulary];
        Ok(Box::new(NoiseSession { held: CachedPrompt::new(self.model.context_length), logits }))
    }
}

#[derive(Clone, Debug)]
struct NoiseSession {
    held: CachedPrompt,
    logits: Vec<f32>,
}

impl NoiseSession {
    fn seed(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for unit in &self.held.units {
            match unit {
                PromptUnit::Token(token) => token.hash(&mut hasher),
                PromptUnit::Media(media) => format!("{media:?}").hash(&mut hasher),
            }
        }
        hasher.finish()
    }
}

impl Session for NoiseSession {
    fn length(&self) -> usize {
        self.held.units.len()
    }

    fn forward(&mut self, units: &[PromptUnit], cancel: &CancelToken) -> Result<&mut [f32]> {
        self.held.take(units, cancel, || ())?;
        let mut state = self.seed();
        for logit in &mut self.logits {
            // The linear congruential generator of Knuth's MMIX, of which the high bits are the random ones.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *logit = (state >> 40) as f32 / (1_u64 << 24) as f32;
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
