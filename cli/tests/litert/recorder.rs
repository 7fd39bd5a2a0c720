//! A scripted engine that answers what it was told to say next, and remembers what it was given.

use std::sync::{Arc, Mutex};

use alloquy_core::testing::ByteTokenizer;
use alloquy_core::{
    Cancel, Engine, ModelInfo, Piece, Result, Session, SpecialToken, TokenId, Tokenizer, Unit, decode,
};

/// Ends a reply; no text of a row has it.
const END: &str = "<end of a scripted reply>";

/// An engine whose next reply is set before each call. Clones share the script.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    model: ModelInfo,
    tokenizer: ByteTokenizer,
    end: TokenId,
    script: Arc<Mutex<Script>>,
}

#[derive(Debug, Default)]
struct Script {
    reply: Vec<TokenId>,
    said: usize,
    /// What the session held after the first forward since the reply was set.
    prompt: Option<Vec<Unit>>,
    /// What that forward computed.
    forwarded: Vec<Unit>,
}

impl Default for Recorder {
    fn default() -> Self {
        let tokenizer = ByteTokenizer::new([END]);
        let specials: Vec<SpecialToken> = tokenizer.specials().to_vec();
        let end = specials[0].id;
        let mut model = ModelInfo::default();
        model.name = "recorder".to_owned();
        model.context_length = 1 << 16;
        model.vocabulary = tokenizer.vocabulary();
        model.stop_tokens = vec![end];
        model.specials = specials;
        Self { model, tokenizer, end, script: Arc::default() }
    }
}

impl Recorder {
    /// Sets the next reply, and forgets the last prompt.
    pub(crate) fn will_say(&self, reply: &str) {
        let reply = self.tokenizer.encode(&[Piece::Literal(reply)]).unwrap();
        *self.script.lock().unwrap() = Script { reply, ..Script::default() };
    }

    /// The text of the whole prompt since the reply was set, and of the part that had to be computed.
    pub(crate) fn prompt(&self) -> Option<(String, String)> {
        let script = self.script.lock().unwrap();
        let prompt = script.prompt.as_ref()?;
        Some((self.text(prompt), self.text(&script.forwarded)))
    }

    /// The text of units; a medium is shown as its type.
    fn text(&self, units: &[Unit]) -> String {
        let texts = units.chunk_by(|left, right| matches!((left, right), (Unit::Token(_), Unit::Token(_))));
        let text = |units: &[Unit]| match units {
            [Unit::Media(media)] => format!("<{}>", media.media_type()),
            tokens => decode(&self.tokenizer, &tokens.iter().filter_map(token).collect::<Vec<_>>()).unwrap(),
        };
        texts.map(text).collect()
    }
}

fn token(unit: &Unit) -> Option<TokenId> {
    match unit {
        Unit::Token(token) => Some(*token),
        Unit::Media(_) => None,
    }
}

impl Engine for Recorder {
    fn model(&self) -> &ModelInfo {
        &self.model
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        &self.tokenizer
    }

    fn open(&self) -> Result<Box<dyn Session>> {
        let logits = vec![0.0; self.model.vocabulary];
        Ok(Box::new(RecorderSession { engine: self.clone(), units: Vec::new(), logits }))
    }
}

#[derive(Clone, Debug)]
struct RecorderSession {
    engine: Recorder,
    units: Vec<Unit>,
    logits: Vec<f32>,
}

impl Session for RecorderSession {
    fn resident(&self) -> usize {
        self.units.len()
    }

    fn forward(&mut self, units: &[Unit], _cancel: &Cancel) -> Result<&mut [f32]> {
        self.units.extend_from_slice(units);
        let mut script = self.engine.script.lock().unwrap();
        if script.prompt.is_none() {
            script.prompt = Some(self.units.clone());
            script.forwarded = units.to_vec();
        }
        let next = script.reply.get(script.said).copied().unwrap_or(self.engine.end);
        script.said += 1;
        self.logits.fill(0.0);
        self.logits[next as usize] = 10.0;
        Ok(&mut self.logits)
    }

    fn truncate(&mut self, length: usize) -> Result<usize> {
        self.units.truncate(length);
        Ok(self.units.len())
    }

    fn fork(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(self.clone()))
    }
}
