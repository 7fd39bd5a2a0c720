//! An engine that says what it is told, and remembers every sequence that any of its sessions ever held.

use std::sync::{Arc, Mutex, MutexGuard};

use alloquy_core::{Cancel, Engine, ModelInfo, Result, Session, TokenId, Tokenizer, Unit};
use alloquy_onnx::HuggingFaceTokenizer;

use crate::trie::{Place, Trie};

/// Clones share the script and the memory.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    model: ModelInfo,
    tokenizer: Arc<HuggingFaceTokenizer>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    reply: Vec<TokenId>,
    /// How many units stand before the reply.
    prompt: usize,
    units: Trie<TokenId>,
    text: Trie<u8>,
}

/// How much of a prompt some session has held, whenever that was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// Its leading tokens that were held in this order.
    pub(crate) units: usize,
    /// Its leading tokens whose text was held in this order, in whichever tokens.
    pub(crate) text: usize,
}

impl Replay {
    pub(crate) fn new(model: ModelInfo, tokenizer: HuggingFaceTokenizer) -> Self {
        Self { model, tokenizer: Arc::new(tokenizer), state: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Sets what is said behind a prompt of so many units.
    pub(crate) fn will_say(&self, prompt: usize, reply: Vec<TokenId>) {
        let mut state = self.state();
        (state.prompt, state.reply) = (prompt, reply);
    }

    pub(crate) fn held(&self, prompt: &[TokenId]) -> Held {
        let state = self.state();
        let bytes: Vec<_> = prompt.iter().map(|token| self.bytes(*token)).collect();
        let mut rest = state.text.common(bytes.iter().flatten().copied());
        let whole = bytes.iter().take_while(|bytes| {
            let fits = bytes.len() <= rest;
            rest = rest.saturating_sub(bytes.len());
            fits
        });
        Held { text: whole.count(), units: state.units.common(prompt.iter().copied()) }
    }

    fn bytes(&self, token: TokenId) -> Vec<u8> {
        self.tokenizer.bytes(token).unwrap_or_default()
    }
}

impl Engine for Replay {
    fn model(&self) -> &ModelInfo {
        &self.model
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        &*self.tokenizer
    }

    fn open(&self) -> Result<Box<dyn Session>> {
        let logits = vec![0.0; self.model.vocabulary];
        Ok(Box::new(ReplaySession { engine: self.clone(), places: Vec::new(), logits }))
    }
}

#[derive(Clone, Debug)]
struct ReplaySession {
    engine: Replay,
    /// What is held, as places among all units and all text that ever were.
    places: Vec<(Place, Place)>,
    logits: Vec<f32>,
}

impl ReplaySession {
    fn take(&mut self, token: TokenId) {
        let bytes = self.engine.bytes(token);
        let mut state = self.engine.state();
        let (unit, text) = self.places.last().copied().unwrap_or_default();
        let unit = state.units.step(unit, token);
        let text = bytes.into_iter().fold(text, |text, byte| state.text.step(text, byte));
        drop(state);
        self.places.push((unit, text));
    }
}

impl Session for ReplaySession {
    fn resident(&self) -> usize {
        self.places.len()
    }

    fn forward(&mut self, units: &[Unit], cancel: &Cancel) -> Result<&mut [f32]> {
        for unit in units {
            cancel.check()?;
            let Unit::Token(token) = unit else { panic!("no media here") };
            self.take(*token);
        }
        let end = self.engine.model.stop_tokens[0];
        let state = self.engine.state();
        let said = self.places.len().checked_sub(state.prompt);
        let next = said.and_then(|said| state.reply.get(said)).copied().unwrap_or(end);
        drop(state);
        self.logits.fill(0.0);
        // Nothing else is ever drawn.
        self.logits[next as usize] = 100.0;
        Ok(&mut self.logits)
    }

    fn logits(&mut self) -> &mut [f32] {
        &mut self.logits
    }

    fn truncate(&mut self, length: usize) -> Result<usize> {
        self.places.truncate(length);
        Ok(self.places.len())
    }

    fn fork(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(self.clone()))
    }
}
