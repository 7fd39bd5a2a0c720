//! A bound on thinking: what may come next is what a reply says when the model wants to say it.

use std::sync::Arc;

use alloquy_core::grammar::{Grammar, GrammarCompiler, GrammarEngine, GrammarMatcher, MatcherState};
use alloquy_core::output::OutputConstraints;
use alloquy_core::processor::{Channel, DataProcessor, ProcessorInput, PromptPart, ReplyParser};
use alloquy_core::template::TemplateInput;
use alloquy_core::tokenizer::{TokenId, Vocabulary};
use alloquy_core::{Message, Preface, Reply, Request, Result};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use serde_json::{Map, Value, json};

use crate::families::{self, Family};
use crate::outcome::{self, Outcome};
use crate::recorder::Recorder;
use crate::row::Row;
use crate::tokens::ListTokenizer;
use crate::{counters, templates};

/// A bound, the tokens that open and close a thinking block, and the tokens said so far.
pub(crate) fn run(row: &Row) -> Outcome {
    let said = ids(&row.input["feed"]);
    let mut found = Map::new();
    for name in row.expected.as_object().into_iter().flatten().map(|(name, _)| name.clone()) {
        let value = match name.as_str() {
            "state" => counters::state(&row.input, &row.expected["state"], &said),
            "mask" => masked(row, &said, row.expected["mask"].as_object()),
            _ => ended(row, &said).map(|mut ended| ended[&name].take()),
        };
        found.insert(name, value.unwrap_or_else(|error| outcome::error(&error)));
    }
    Outcome::compared(row.expected.clone(), found)
}

pub(crate) fn ids(value: &Value) -> Vec<TokenId> {
    value.as_array().into_iter().flatten().filter_map(|id| Some(id.as_u64()? as TokenId)).collect()
}

/// Of the tokens that a row asks about, those that the reply says when the model wants to say them next, or not.
fn masked(row: &Row, said: &[TokenId], mask: Option<&Map<String, Value>>) -> Result<Value> {
    let mut found = Map::new();
    for (name, asked) in mask.into_iter().flatten() {
        let mut kept = Vec::new();
        for token in ids(asked) {
            let wanted = [said, &[token]].concat();
            let next = reply(&row.input, &wanted)?.tokens.get(said.len()).copied();
            if (next == Some(token)) == (name == "allowed") {
                kept.push(token);
            }
        }
        found.insert(name.clone(), kept.into());
    }
    Ok(found.into())
}

/// Whether the reply ends where the row says it does, and not before.
fn ended(row: &Row, said: &[TokenId]) -> Result<Value> {
    let tokens = reply(&row.input, &[said, &[FILLER]].concat())?.tokens;
    let before = said.len() - 1;
    Ok(json!({"is_ended": tokens.len() <= said.len(), "is_ended_before_last": tokens.len() < before}))
}

/// A token that no row speaks of.
const FILLER: TokenId = 2;
const END: TokenId = 1;

/// Token 1 ends a reply; every other is a letter of its own.
fn vocabulary(size: u64) -> Vec<String> {
    let text = |id: u64| match id {
        1 => "<end>".to_owned(),
        id => char::from_u32(0x4E00 + id as u32).unwrap_or_default().to_string(),
    };
    (0..size).map(text).collect()
}

/// The reply of a model that wants to say `wanted`.
pub(crate) fn reply(input: &Value, wanted: &[TokenId]) -> Result<Reply> {
    let vocabulary = vocabulary(input["vocab_size"].as_u64().unwrap_or(100));
    let marker =
        |name: &str| ids(&input[name]).iter().map(|id| vocabulary[*id as usize].as_str()).collect::<String>();
    let channel = Channel::new(Channel::THINKING, marker("start_tokens"), marker("end_tokens"));
    let recorder = Recorder::with_tokenizer(Arc::new(ListTokenizer::new(&vocabulary)), vocabulary.len(), END);
    recorder.will_say_tokens(wanted.to_vec());
    let forced = input["user_constraint"].get("forces").map(ids);
    let mut constraints =
        OutputConstraints::default().thinking_budget(input["budget"].as_u64().unwrap_or(0) as usize);
    if forced.is_some() {
        constraints = constraints.grammar(Grammar::choice(["anything"]));
    }
    let round =
        LanguageModel::builder(Generator::new(Arc::new(recorder), GeneratorOptions::default()).unwrap())
            .template(templates::template("{{ messages[0].content }}".to_owned(), &Value::Null)?)
            .processor(Thinker { family: families::named("generic").unwrap(), channels: vec![channel] })
            .grammars(Forcing(forced.unwrap_or_default()))
            .build()?;
    let question = Message::user(vocabulary[3].as_str());
    let mut request = Request::new(Preface::default(), vec![question]).output(constraints);
    request.sampling.max_tokens = Some(wanted.len() + 8);
    pollster::block_on(async { alloquy_core::ChatModel::reply(&round, request).await?.finish().await })
}

/// A family with a channel of the row's making.
#[derive(Debug)]
struct Thinker {
    family: Family,
    channels: Vec<Channel>,
}

impl DataProcessor for Thinker {
    fn name(&self) -> &str {
        self.family.name()
    }

    fn template_input(&self, source: ProcessorInput<'_>) -> Result<TemplateInput> {
        self.family.template_input(source)
    }

    fn prompt_parts(&self, rendered: &str, source: ProcessorInput<'_>) -> Result<Vec<PromptPart>> {
        self.family.prompt_parts(rendered, source)
    }

    fn reply_parser(&self, rendered: &str, source: ProcessorInput<'_>) -> Box<dyn ReplyParser> {
        self.family.reply_parser(rendered, source)
    }

    fn stop_strings(&self) -> Vec<String> {
        self.family.stop_strings()
    }

    fn channels(&self) -> &[Channel] {
        &self.channels
    }
}

/// A caller's own constraint: these tokens, one after the other.
#[derive(Clone, Debug)]
struct Forcing(Vec<TokenId>);

impl GrammarEngine for Forcing {
    fn prepare(&self, _vocabulary: &Vocabulary) -> Result<Arc<dyn GrammarCompiler>> {
        Ok(Arc::new(self.clone()))
    }
}

impl GrammarCompiler for Forcing {
    fn compile(&self, _grammar: &Grammar) -> Result<Box<dyn GrammarMatcher>> {
        let tokens = self.0.iter().copied().filter(|token| *token != END).collect();
        Ok(Box::new(Forced { tokens, said: 0 }))
    }
}

#[derive(Clone, Debug)]
struct Forced {
    tokens: Vec<TokenId>,
    said: usize,
}

impl GrammarMatcher for Forced {
    fn mask(&mut self, logits: &mut [f32]) -> Result<()> {
        let next = self.tokens.get(self.said).copied().unwrap_or(END) as usize;
        let others = logits.iter_mut().enumerate().filter(|(token, _)| *token != next);
        others.for_each(|(_, logit)| *logit = f32::NEG_INFINITY);
        Ok(())
    }

    fn accept(&mut self, _token: TokenId) -> Result<()> {
        self.said += 1;
        Ok(())
    }

    fn progress(&mut self) -> Result<MatcherState> {
        Ok(if self.said < self.tokens.len() { MatcherState::Open } else { MatcherState::MayEnd })
    }

    fn fork(&self) -> Box<dyn GrammarMatcher> {
        Box::new(self.clone())
    }
}
