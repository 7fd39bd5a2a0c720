//! A scripted engine that generates its script and records its input.

use std::sync::{Arc, Mutex};

use alloquy_constraints::LlguidanceEngine;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::tokenizer::{TokenId, Tokenizer, TokenizerInput, decode};
use alloquy_core::{ChatModel, Error, ErrorKind, Request, Result};
use alloquy_engine::{CancelToken, Engine, Session};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_testing::ByteTokenizer;
use serde_json::{Value, json};

use crate::families::Family;
use crate::{outcome, templates};

/// Ends a reply; no text of a row has it.
const END: &str = "<end of a scripted reply>";

/// An engine whose next reply is set before each call. Clones share the script.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    model: ModelInfo,
    tokenizer: Arc<dyn Tokenizer>,
    end: TokenId,
    script: Arc<Mutex<Script>>,
}

#[derive(Debug, Default)]
struct Script {
    reply: Vec<TokenId>,
    said: usize,
    /// What is said is followed by a failure.
    fails: bool,
    /// What the session held after the first forward since the reply was set.
    prompt: Option<Vec<PromptUnit>>,
    /// What that forward computed.
    computed: Vec<PromptUnit>,
}

impl Default for Recorder {
    fn default() -> Self {
        let tokenizer = ByteTokenizer::new([END]);
        let size = tokenizer.vocabulary();
        let end = tokenizer.specials()[0].id;
        Self::with_tokenizer(Arc::new(tokenizer), size, end)
    }
}

impl Recorder {
    /// Speaks in the tokens of another tokenizer.
    pub(crate) fn with_tokenizer(tokenizer: Arc<dyn Tokenizer>, vocabulary: usize, end: TokenId) -> Self {
        let mut model = ModelInfo::default();
        model.name = "recorder".to_owned();
        model.context_length = 1 << 16;
        model.vocabulary = vocabulary;
        model.stop_tokens = vec![end];
        model.specials = tokenizer.specials().to_vec();
        Self { model, tokenizer, end, script: Arc::default() }
    }

    /// Has room for no more units than this.
    pub(crate) fn with_context(mut self, units: usize) -> Self {
        self.model.context_length = units;
        self
    }

    /// Sets the next reply, and forgets the last prompt.
    pub(crate) fn will_say(&self, reply: &str) {
        self.will_say_tokens(self.tokenizer.encode(&[TokenizerInput::Literal(reply)]).unwrap());
    }

    /// As [`Recorder::will_say`], in tokens.
    pub(crate) fn will_say_tokens(&self, reply: Vec<TokenId>) {
        *self.script.lock().unwrap() = Script { reply, ..Script::default() };
    }

    /// As [`Recorder::will_say`], and then fails.
    pub(crate) fn will_say_and_fail(&self, reply: &str) {
        self.will_say(reply);
        self.script.lock().unwrap().fails = true;
    }

    /// The text of the whole prompt since the reply was set, and of the part that had to be computed.
    pub(crate) fn prompt(&self) -> Option<(String, String)> {
        let script = self.script.lock().unwrap();
        let prompt = script.prompt.as_ref()?;
        Some((self.text(prompt), self.text(&script.computed)))
    }

    /// The text of units; a medium is shown as its type.
    fn text(&self, units: &[PromptUnit]) -> String {
        let texts = units
            .chunk_by(|left, right| matches!((left, right), (PromptUnit::Token(_), PromptUnit::Token(_))));
        let text = |units: &[PromptUnit]| match units {
            [PromptUnit::Media(media)] => format!("<{}>", media.media_type()),
            tokens => decode(&*self.tokenizer, &tokens.iter().filter_map(token).collect::<Vec<_>>()).unwrap(),
        };
        texts.map(text).collect()
    }
}

fn token(unit: &PromptUnit) -> Option<TokenId> {
    match unit {
        PromptUnit::Token(token) => Some(*token),
        PromptUnit::Media(_) => None,
    }
}

impl Engine for Recorder {
    fn model(&self) -> &ModelInfo {
        &self.model
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        &*self.tokenizer
    }

    /// A prompt is recorded whole.
    fn prefill_chunk(&self) -> usize {
        usize::MAX
    }

    fn open(&self) -> Result<Box<dyn Session>> {
        let logits = vec![0.0; self.model.vocabulary];
        Ok(Box::new(RecorderSession { engine: self.clone(), units: Vec::new(), logits }))
    }
}

#[derive(Clone, Debug)]
struct RecorderSession {
    engine: Recorder,
    units: Vec<PromptUnit>,
    logits: Vec<f32>,
}

impl Session for RecorderSession {
    fn length(&self) -> usize {
        self.units.len()
    }

    fn forward(&mut self, units: &[PromptUnit], _cancel: &CancelToken) -> Result<&mut [f32]> {
        self.units.extend_from_slice(units);
        let mut script = self.engine.script.lock().unwrap();
        if script.prompt.is_none() {
            script.prompt = Some(self.units.clone());
            script.computed = units.to_vec();
        }
        if script.fails && script.said == script.reply.len() {
            return Err(Error::new(ErrorKind::Backend, "the script fails here"));
        }
        let next = script.reply.get(script.said).copied().unwrap_or(self.engine.end);
        script.said += 1;
        self.logits.fill(0.0);
        self.logits[next as usize] = 10.0;
        Ok(&mut self.logits)
    }

    fn logits(&mut self) -> &mut [f32] {
        &mut self.logits
    }

    fn truncate(&mut self, length: usize) -> Result<usize> {
        self.units.truncate(length);
        Ok(self.units.len())
    }

    fn fork(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(self.clone()))
    }
}

/// What a model of a family answers to a request that it refuses.
pub(crate) fn refusal(family: Family, request: Request) -> Value {
    let template = templates::template("{{ messages[0].content }}".to_owned(), &Value::Null).unwrap();
    let round = LanguageModel::builder(
        Generator::new(Arc::new(Recorder::default()), GeneratorOptions::default()).unwrap(),
    )
    .template(template)
    .processor(family);
    let round = round.grammars(LlguidanceEngine::default()).build().unwrap();
    match pollster::block_on(round.reply(request)) {
        Ok(_) => json!({"ok": "a reply begins"}),
        Err(error) => outcome::error(&error),
    }
}
