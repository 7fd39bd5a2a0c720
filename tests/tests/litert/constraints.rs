//! Grammars: which texts and tokens a constraint allows.

use std::sync::Arc;

use alloquy_constraints::LlguidanceEngine;
use alloquy_core::grammar::{Grammar, GrammarCompiler, GrammarEngine, GrammarMatcher, MatcherState};
use alloquy_core::output::{ParallelCalls, ToolChoice};
use alloquy_core::template::PromptEnd;
use alloquy_core::tokenizer::{TokenId, Vocabulary};
use alloquy_core::{Preface, Result};
use alloquy_testing::ByteTokenizer;
use serde_json::{Map, Value, json};

use crate::families::{self, Family, source};
use crate::messages;
use crate::outcome::{self, Outcome};
use crate::row::Row;
use crate::spelling::Writer;
use crate::tokens::ListTokenizer;

/// A grammar over a vocabulary of a few texts, looked at behind some tokens.
pub(crate) fn grammar(row: &Row) -> Outcome {
    let vocabulary: Vec<&str> =
        row.input["vocab"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let eos = row.input["eos_id"].as_u64().unwrap_or_default() as TokenId;
    let text = row.input["constraint"].as_str().unwrap_or_default();
    let grammar = match row.input["type"].as_str() {
        Some("regex") => Grammar::Regex(text.to_owned()),
        Some("lark") => Grammar::Lark(text.to_owned()),
        Some("json_schema") => Grammar::JsonSchema(serde_json::from_str(text).unwrap()),
        other => return Outcome::skipped(format!("is a grammar of an unknown type {other:?}")),
    };
    let tokenizer = ListTokenizer::new(&vocabulary);
    let compiler =
        LlguidanceEngine::default().prepare(&Vocabulary::new(&tokenizer, vocabulary.len(), &[eos]));
    let found: Result<Vec<Value>> = compiler.and_then(|compiler| {
        let steps = row.expected.as_array().into_iter().flatten();
        steps.map(|step| looked_at(&*compiler, &grammar, step, vocabulary.len())).collect()
    });
    Outcome::compared(row.expected.clone(), found.map_or_else(|error| outcome::error(&error), Value::from))
}

/// What a step asks for, with what holds of it.
fn looked_at(compiler: &dyn GrammarCompiler, grammar: &Grammar, step: &Value, size: usize) -> Result<Value> {
    let mut constraint = compiler.compile(grammar)?;
    for token in ids(&step["after"]) {
        constraint.mask(&mut vec![0.0; size])?;
        constraint.accept(token)?;
    }
    let mut found = Map::new();
    for (name, asked) in step.as_object().into_iter().flatten() {
        let mut allowed = || {
            let mut logits = vec![0.0; size];
            constraint.mask(&mut logits).map(|()| logits)
        };
        let value = match name.as_str() {
            "allowed" => kept(asked, &allowed()?, f32::is_finite),
            "denied" => kept(asked, &allowed()?, |logit| !logit.is_finite()),
            "is_ended" => json!(constraint.progress()? == MatcherState::Complete),
            _ => asked.clone(),
        };
        found.insert(name.clone(), value);
    }
    Ok(found.into())
}

fn ids(value: &Value) -> Vec<TokenId> {
    value.as_array().into_iter().flatten().filter_map(|id| Some(id.as_u64()? as TokenId)).collect()
}

fn kept(asked: &Value, logits: &[f32], holds: impl Fn(f32) -> bool) -> Value {
    ids(asked).into_iter().filter(|id| holds(logits[*id as usize])).collect::<Vec<_>>().into()
}

/// Which texts the grammar of tool calls accepts, and which it rejects.
pub(crate) fn tool_calls(row: &Row, syntax: &str) -> Outcome {
    tool_calls_of(row, syntax).unwrap_or_else(Outcome::Skipped)
}

fn tool_calls_of(row: &Row, syntax: &str) -> std::result::Result<Outcome, String> {
    let overrides = row.input["options_overrides"].as_object();
    if overrides.is_some_and(|overrides| !overrides.is_empty()) {
        return Err("sets fences of its own; a family's are its own".to_owned());
    }
    let choice = match row.input["mode"].as_str() {
        Some("TextOnly") => ToolChoice::None,
        Some("TextAndOrFunctionCalls") => ToolChoice::Auto,
        Some("FunctionCallsOnly") => ToolChoice::Required,
        other => return Err(format!("is of an unknown mode {other:?}")),
    };
    let (family, start, end) = families::with_syntax(syntax, "")?;
    let tools = messages::tools(&row.input["tools"]).map_err(|error| error.to_string())?;
    let preface = Preface { tools, ..Preface::default() };
    let grammar = match grammar_of(&family, &preface, &choice) {
        Ok(Some(grammar)) => grammar,
        Ok(None) => return Err(format!("how {} writes calls is not known as a grammar", family.name())),
        Err(error) => return Ok(Outcome::compared(row.expected.clone(), outcome::error(&error))),
    };
    let compiler = bytes_compiler();
    let writer = Writer { family: &family, preface: &preface, fences: [start, end] };
    let accepts = |text: &str| accepted(&*compiler, &grammar, text, end);
    let mut accepted = Vec::new();
    let mut rejected = Vec::new();
    let mut instead = Map::new();
    for text in texts(row, "accepts") {
        if accepts(text) {
            accepted.push(text);
        } else {
            drop(instead.insert(text.to_owned(), writer.instead(text, accepts)));
        }
    }
    for text in texts(row, "rejects") {
        if accepts(text) {
            drop(instead.insert(text.to_owned(), writer.judged(text)));
        } else {
            rejected.push(text);
        }
    }
    let mut found = json!({"accepts": accepted, "rejects": rejected});
    if !instead.is_empty() {
        found["instead"] = instead.into();
    }
    Ok(Outcome::compared(row.expected.clone(), found))
}

fn texts<'a>(row: &'a Row, name: &str) -> impl Iterator<Item = &'a str> {
    row.expected[name].as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn grammar_of(family: &Family, preface: &Preface, choice: &ToolChoice) -> Result<Option<Grammar>> {
    if preface.tools.is_empty() && *choice == ToolChoice::Auto {
        return family.tool_grammar(
            source(preface, &[], PromptEnd::Generation),
            &ToolChoice::None,
            ParallelCalls::Allowed,
        );
    }
    family.tool_grammar(source(preface, &[], PromptEnd::Generation), choice, ParallelCalls::Allowed)
}

fn bytes_compiler() -> Arc<dyn GrammarCompiler> {
    let tokenizer = ByteTokenizer::new([END]);
    let size = tokenizer.vocabulary();
    LlguidanceEngine::default().prepare(&Vocabulary::new(&tokenizer, size, &[size as TokenId - 1])).unwrap()
}

const END: &str = "<end of a reply>";

/// The token that ends a reply with calls, in LiteRT-LM's grammars a text of its own.
pub(crate) const RESPONSE: &str = "<start_function_response>";

/// Says whether a whole text is in the grammar, byte by byte. A call is the end of a reply where the token follows that
/// ends one.
fn accepted(compiler: &dyn GrammarCompiler, grammar: &Grammar, text: &str, end: &str) -> bool {
    if text.ends_with(end) && end.starts_with('<') {
        return false;
    }
    let text = text.strip_suffix(RESPONSE).unwrap_or(text);
    let mut constraint = compiler.compile(grammar).unwrap();
    text.bytes().all(|byte| takes(&mut *constraint, TokenId::from(byte)))
        && constraint.progress().is_ok_and(|progress| progress != MatcherState::Open)
}

fn takes(constraint: &mut dyn GrammarMatcher, token: TokenId) -> bool {
    let mut logits = vec![0.0; 257];
    constraint.mask(&mut logits).is_ok()
        && logits[token as usize].is_finite()
        && constraint.accept(token).is_ok()
}

/// A grammar of calls without tools to call.
pub(crate) fn no_tools(row: &Row) -> Outcome {
    let (family, ..) = match families::with_syntax("fc", "") {
        Ok(found) => found,
        Err(reason) => return Outcome::Skipped(reason),
    };
    let required = row.input.to_string().contains("FunctionCallsOnly");
    if row.input["args"][0] != json!([]) || !required {
        return Outcome::skipped("is a call of C++ that is not known");
    }
    let constraints = alloquy_core::output::OutputConstraints::default().tool_choice(ToolChoice::Required);
    let request = alloquy_core::Request::new(Preface::default(), vec!["probe".into()]).output(constraints);
    let found = crate::recorder::refusal(family, request);
    Outcome::compared(row.expected.clone(), found)
}
