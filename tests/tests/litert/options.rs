//! The decoding options of a row: those of the conversation, and those that reach the model.

use std::sync::{Arc, Mutex};

use alloquy_core::grammar::Grammar;
use alloquy_core::output::OutputConstraints;
use alloquy_core::report::{CacheReport, TextScore};
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{ChatModel, ReplyStream, Request, Result, SamplingOptions};
use alloquy_inference::LanguageModel;
use serde_json::{Value, json};

use crate::symbols::{arguments, name, numbers};

/// Options by the names that LiteRT-LM reads them by.
pub(crate) type Asked<'a> = Vec<(&'a str, &'a Value)>;

/// The options that the arguments of an expected call have to have.
pub(crate) fn asked<'a>(expected: &[&'a Value]) -> Asked<'a> {
    let mut found = Vec::new();
    expected.iter().for_each(|call| properties(&call["args"], &mut found));
    found
}

fn properties<'a>(value: &'a Value, found: &mut Asked<'a>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| properties(item, found)),
        Value::Object(fields) => {
            if let (Some("testing::Property"), [property, value]) = (name(value), arguments(value)) {
                let property = property["$sym"].as_str().unwrap_or_default();
                found.push((property.rsplit("::").next().unwrap_or_default(), value));
            }
            fields.values().for_each(|value| properties(value, found));
        }
        _ => {}
    }
}

/// Says them, for a reply that is `text`.
pub(crate) fn said(asked: &Asked<'_>, text: &str) -> (SamplingOptions, OutputConstraints) {
    let mut sampling = SamplingOptions::default();
    let mut constraints = OutputConstraints::default();
    for (name, value) in asked {
        let number = value.as_f64().map(|number| number as f32);
        let size = value.as_u64().map(|size| size as usize);
        match *name {
            "repetition_penalty" => sampling.repetition_penalty = number,
            "presence_penalty" => sampling.presence_penalty = number,
            "frequency_penalty" => sampling.frequency_penalty = number,
            "window_size" => sampling.penalty_window = size,
            "no_repeat_ngram_size" => sampling.no_repeat_ngram = size,
            "suppress_tokens" => sampling.suppress = tokens(value),
            "GetMaxOutputTokens" => sampling.max_tokens = size,
            "GetThinkingTokenBudget" => constraints.thinking_budget = size,
            "GetConstraint" => constraints.grammar = Some(Grammar::choice([text])),
            _ => {}
        }
    }
    (sampling, constraints)
}

fn tokens(value: &Value) -> Vec<TokenId> {
    arguments(value).iter().filter_map(|token| token.as_u64().map(|token| token as TokenId)).collect()
}

/// The options that the model got, each beside the expected one.
pub(crate) fn heard(asked: &Asked<'_>, request: &Request) -> Vec<(Value, Value)> {
    let short = |value: Option<f32>| json!(value.and_then(|value| value.to_string().parse::<f64>().ok()));
    let sampling = &request.sampling;
    let constraints = &request.output;
    let one = |(name, wanted): &(&str, &Value)| {
        let found = match *name {
            "repetition_penalty" => short(sampling.repetition_penalty),
            "presence_penalty" => short(sampling.presence_penalty),
            "frequency_penalty" => short(sampling.frequency_penalty),
            "window_size" => json!(sampling.penalty_window),
            "no_repeat_ngram_size" => json!(sampling.no_repeat_ngram),
            "suppress_tokens" => {
                let wanted = numbers(&json!(arguments(wanted)))?;
                return Some((json!({"unordered": wanted}), json!(sampling.suppress)));
            }
            "GetMaxOutputTokens" => json!(sampling.max_tokens),
            "GetThinkingTokenBudget" => json!(constraints.thinking_budget),
            "GetConstraint" => return Some((json!(true), json!(constraints.grammar.is_some()))),
            _ => return None,
        };
        Some(((*wanted).clone(), found))
    };
    asked.iter().filter_map(one).collect()
}

/// A model that remembers the last request for a reply. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Listener {
    round: LanguageModel,
    heard: Arc<Mutex<Request>>,
}

impl Listener {
    pub(crate) fn new(round: LanguageModel) -> Self {
        Self { round, heard: Arc::default() }
    }

    pub(crate) fn heard(&self) -> Request {
        self.heard.lock().unwrap().clone()
    }
}

#[async_trait::async_trait]
impl ChatModel for Listener {
    fn name(&self) -> &str {
        self.round.name()
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        *self.heard.lock().unwrap() = request.clone();
        self.round.reply(request).await
    }

    async fn warm(&self, request: Request) -> Result<Option<CacheReport>> {
        self.round.warm(request).await
    }

    async fn score(&self, request: Request, targets: &[String]) -> Result<Vec<TextScore>> {
        self.round.score(request, targets).await
    }
}
