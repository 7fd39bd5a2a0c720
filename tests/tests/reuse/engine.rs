//! An engine that generates a script, and records every sequence that any of its sessions ever held.

use std::sync::{Arc, Mutex, MutexGuard};

use alloquy_core::Result;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::tokenizer::{TokenId, Tokenizer};
use alloquy_engine::{CancelToken, Engine, Session};
use alloquy_model_files::HuggingFaceTokenizer;

use crate::trie::{Place, Trie};

/// Clones share the script and the memory.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    model: ModelInfo,
    tokenizer: Arc<HuggingFaceTokenizer>,
    /// What each token adds to a text.
    texts: Arc<Vec<Vec<u8>>>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    reply: Vec<TokenId>,
    /// How many units stand before the reply.
    prompt: usize,
    units: Trie<TokenId>,
    /// The longest sequences that were held.
    sequences: Vec<Vec<TokenId>>,
}

/// What of a prompt was held in other tokens: whole words or parts of them, not letters that words begin with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Respelled {
    pub(crate) tokens: usize,
    /// Whether a control token stands there as plain text.
    pub(crate) as_text: bool,
    /// The tokens that were held from there, and those that stand in the prompt.
    pub(crate) before: String,
    pub(crate) after: String,
}

impl Replay {
    pub(crate) fn new(model: ModelInfo, tokenizer: HuggingFaceTokenizer) -> Self {
        let ids = 0..model.vocabulary as TokenId;
        let texts = ids.map(|id| tokenizer.bytes(id).unwrap_or_default()).collect();
        Self { model, tokenizer: Arc::new(tokenizer), texts: Arc::new(texts), state: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Sets what is said behind a prompt of so many units.
    pub(crate) fn will_say(&self, prompt: usize, reply: Vec<TokenId>) {
        let mut state = self.state();
        (state.prompt, state.reply) = (prompt, reply);
    }

    /// What of a prompt was held in other tokens, behind its first `held` ones.
    pub(crate) fn respelled(&self, prompt: &[TokenId], held: usize) -> Respelled {
        let state = self.state();
        let alike = |sequence: &&Vec<TokenId>| {
            let same = self.text(sequence).zip(self.text(prompt)).take_while(|(left, right)| left == right);
            same.count()
        };
        let Some(sequence) = state.sequences.iter().max_by_key(alike) else { return Respelled::default() };
        let place = common(sequence, prompt);
        let length = alike(&sequence);
        let was = self.ends(sequence, place, length);
        let now = self.ends(prompt, place, length);
        let border = now.iter().rev().find(|end| was.contains(end)).copied().unwrap_or(0);
        let count = |ends: &[usize]| place + ends.iter().take_while(|end| **end <= border).count();
        let was = count(&was);
        let now = count(&now);
        if now <= held {
            return Respelled::default();
        }
        let controls = |tokens: &[TokenId]| tokens.iter().filter(|token| self.is_control(**token)).count();
        let as_text = controls(&sequence[place..was]) != controls(&prompt[place..now]);
        let shown = |tokens: &[TokenId]| {
            let texts = tokens.iter().map(|token| String::from_utf8_lossy(&self.texts[*token as usize]));
            texts.collect::<Vec<_>>().join("|")
        };
        let before = shown(&sequence[place..]);
        let after = shown(&prompt[place..]);
        Respelled { tokens: now - held, as_text, before, after }
    }

    /// Where tokens behind `place` end in the text, up to `length`.
    fn ends(&self, tokens: &[TokenId], place: usize, length: usize) -> Vec<usize> {
        let mut end = self.text(&tokens[..place]).count();
        let ends = tokens[place..].iter().map(|token| {
            end += self.texts[*token as usize].len();
            end
        });
        ends.take_while(|end| *end <= length).collect()
    }

    fn text<'a>(&'a self, tokens: &'a [TokenId]) -> impl Iterator<Item = u8> + 'a {
        tokens.iter().flat_map(|token| self.texts[*token as usize].iter().copied())
    }

    fn is_control(&self, token: TokenId) -> bool {
        self.tokenizer.specials().iter().any(|special| special.id == token)
    }

    /// How many leading tokens of a prompt some session has held in this order, whenever that was.
    pub(crate) fn held(&self, prompt: &[TokenId]) -> usize {
        self.state().units.common(prompt.iter().copied())
    }
}

fn common<T: PartialEq>(left: &[T], right: &[T]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
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
        let mut state = self.state();
        state.sequences.push(Vec::new());
        let sequence = state.sequences.len() - 1;
        drop(state);
        Ok(Box::new(ReplaySession { engine: self.clone(), places: Vec::new(), sequence, logits }))
    }
}

#[derive(Clone, Debug)]
struct ReplaySession {
    engine: Replay,
    /// What is held, as places among all units that ever were.
    places: Vec<Place>,
    /// Which of the engine's sequences that is, unless it was cut since.
    sequence: usize,
    logits: Vec<f32>,
}

impl ReplaySession {
    fn take(&mut self, token: TokenId) {
        let mut state = self.engine.state();
        if state.sequences[self.sequence].len() > self.places.len() {
            let beginning = state.sequences[self.sequence][..self.places.len()].to_vec();
            self.sequence = state.sequences.len();
            state.sequences.push(beginning);
        }
        state.sequences[self.sequence].push(token);
        let place = state.units.step(self.places.last().copied().unwrap_or_default(), token);
        drop(state);
        self.places.push(place);
    }
}

impl Session for ReplaySession {
    fn length(&self) -> usize {
        self.places.len()
    }

    fn forward(&mut self, units: &[PromptUnit], cancel: &CancelToken) -> Result<&mut [f32]> {
        for unit in units {
            cancel.check()?;
            let PromptUnit::Token(token) = unit else { panic!("no media here") };
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
