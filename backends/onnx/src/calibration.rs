//! Measures on short texts how large a model's keys and values are, and how much it changes with other number types.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloquy_core::Result;
use alloquy_core::media::Digest;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::tokenizer::{TokenId, Tokenizer, TokenizerInput};
use alloquy_engine::{CancelToken, Session};
use alloquy_model_files::HuggingFaceTokenizer;

use crate::cache_element::CacheElement;
use crate::decoder::Decoder;
use crate::element::Element;
use crate::error::unsupported;
use crate::quantization_quality::{Comparison, QuantizationQuality};
use crate::session::OnnxSession;

/// The text whose keys and values are measured: prose, code, lists and numbers in several languages.
const MEASURED: &str = include_str!("texts/calibration.txt");

/// The texts on which a quantized model is compared with the export. None of them was measured.
const COMPARED: [&str; 3] =
    [include_str!("texts/prose.txt"), include_str!("texts/code.txt"), include_str!("texts/dialogue.txt")];

/// How many tokens of the measured text are used at most. With 64 tokens, scales cut off keys of other texts.
const MEASURED_TOKENS: usize = 512;

/// How many tokens of each compared text are used at most.
const COMPARED_TOKENS: usize = 128;

/// How many tokens are computed at once.
const CHUNK: usize = 128;

/// By how much a scale has room for more than was measured.
const SPARE: f32 = 1.25;

/// The greatest number of 8 bits, with a sign.
const GREATEST: f32 = 127.0;

/// The least scale: keys that are all zero must not be divided by zero.
const LEAST: f32 = 1e-6;

/// The texts as tokens of a model.
#[derive(Debug)]
pub(crate) struct Calibration {
    measured: Vec<PromptUnit>,
    compared: Vec<Vec<PromptUnit>>,
}

impl Calibration {
    /// Encodes the texts, each after the token that begins a text, if the model has one.
    pub(crate) fn new(
        tokenizer: &HuggingFaceTokenizer,
        bos: Option<TokenId>,
        context: usize,
    ) -> Result<Self> {
        let measured = encoded(tokenizer, bos, MEASURED, MEASURED_TOKENS.min(context))?;
        let mut compared = Vec::new();
        for text in COMPARED {
            compared.push(encoded(tokenizer, bos, text, COMPARED_TOKENS.min(context))?);
        }
        Ok(Self { measured, compared })
    }

    /// Returns a digest of the texts and of how they are used.
    pub(crate) fn digest() -> Digest {
        let mut texts =
            vec![format!("{MEASURED_TOKENS} {COMPARED_TOKENS} {CHUNK} {SPARE}"), MEASURED.to_owned()];
        texts.extend(COMPARED.map(str::to_owned));
        Digest::of(texts.join("\0").as_bytes())
    }

    /// Returns the scale of each cache for numbers of 8 bits, by the name of its input.
    pub(crate) fn scales(&self, decoder: &Arc<Decoder>) -> Result<BTreeMap<String, f32>> {
        let mut session = OnnxSession::new(Arc::clone(decoder), None, CHUNK)?;
        session.forward(&self.measured, &CancelToken::default())?;
        let mut bytes = Vec::new();
        session.snapshot(self.measured.len(), &mut bytes)?;
        // A snapshot ends with the caches, tensor by tensor, and the states.
        let layout = &decoder.layout;
        let positions = self.measured.len();
        let length = positions * layout.bytes_per_position() + layout.state_bytes();
        let mut rest = bytes.get(bytes.len().saturating_sub(length)..).unwrap_or_default();
        let mut scales = BTreeMap::new();
        for slot in &layout.slots {
            if slot.element != CacheElement::Float(Element::F32) {
                return Err(unsupported(format!(
                    "the cache {:?} is of {}, and only one of f32 can be kept in 8 bits",
                    slot.past,
                    slot.element.kind()
                )));
            }
            let tensor = rest.split_off(..positions * slot.bytes()).unwrap_or_default();
            let numbers = tensor.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes).abs());
            let greatest = numbers.fold(0.0, f32::max);
            if !greatest.is_finite() {
                return Err(unsupported(format!(
                    "the cache {:?} has numbers that are not finite",
                    slot.past
                )));
            }
            scales.insert(slot.past.clone(), (greatest * SPARE / GREATEST).max(LEAST));
        }
        Ok(scales)
    }

    /// Compares the probabilities of a quantized model with those of the export, token by token.
    pub(crate) fn quality(
        &self,
        exported: &Arc<Decoder>,
        quantized: &Arc<Decoder>,
    ) -> Result<QuantizationQuality> {
        let mut comparison = Comparison::default();
        for text in &self.compared {
            let mut expected = Vec::new();
            let mut session = OnnxSession::new(Arc::clone(exported), None, CHUNK)?;
            let keep = &mut |logits: &[f32]| expected.push(logits.to_vec());
            session.forward_each(text, &CancelToken::default(), keep)?;
            // Token by token, as replies are: every key that is read has been rounded.
            let mut session = OnnxSession::new(Arc::clone(quantized), None, CHUNK)?;
            for (unit, expected) in text.iter().zip(&expected) {
                let logits = session.forward(std::slice::from_ref(unit), &CancelToken::default())?;
                comparison.add(expected, logits);
            }
        }
        Ok(comparison.quality())
    }
}

fn encoded(
    tokenizer: &HuggingFaceTokenizer,
    bos: Option<TokenId>,
    text: &str,
    most: usize,
) -> Result<Vec<PromptUnit>> {
    let mut tokens: Vec<_> = bos.into_iter().collect();
    tokens.extend(tokenizer.encode(&[TokenizerInput::Literal(text)])?);
    tokens.truncate(most);
    Ok(tokens.into_iter().map(PromptUnit::Token).collect())
}
