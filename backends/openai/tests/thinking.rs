//! Thinking on a server is that of the local generator, token by token: its budget, the tokens that end it, the answer after it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod matcher;
mod stub;

use std::sync::{Arc, Mutex};

use alloquy_core::grammar::Grammar;
use alloquy_core::prompt::{Prompt, PromptUnit};
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{ErrorKind, Result, SamplingOptions};
use alloquy_engine::Engine;
use alloquy_engine::decoder::{
    DecodeEnd, DecodeEventKind, DecodeRequest, Decoder, GuidedDecoding, ThinkingRule,
};
use alloquy_inference::Generator;
use alloquy_openai::{Dialect, RemoteDecoder};
use alloquy_testing::ScriptedEngine;
use futures::TryStreamExt;
use matcher::Anything;
use proptest::prelude::*;
use serde_json::{Value, json};
use stub::http::{respond, respond_with_events, serve};

/// What the prompt ends with.
const CUE: &str = "Think: ";

/// A server whose engine follows a script, and a decoder of it.
struct Scripted {
    local: Arc<Generator>,
    remote: RemoteDecoder,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Scripted {
    /// Connects to a server that thinks as `thought`, and answers after the marker.
    fn new(dialect: Dialect, thought: &str, marker: &str) -> Self {
        let engine = ScriptedEngine::new([(CUE, thought), (marker, "{\"sum\": 4}")]);
        let info = engine.model().clone();
        let local = Arc::new(Generator::new(Arc::new(engine.clone()), 4).unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (generator, seen) = (Arc::clone(&local), Arc::clone(&requests));
        let url = serve(move |stream, asked| {
            if asked.path != dialect_path(dialect) {
                respond(stream, 404, "", "{}");
                return;
            }
            seen.lock().unwrap().push(asked.body.clone());
            respond_with_events(stream, &stub::sse(dialect, &answer(dialect, &generator, &asked.body)));
        });
        let tokenizer = stub::tokenizer_of(&engine);
        let builder = RemoteDecoder::builder(url, "unused").tokenizer(tokenizer, info).dialect(dialect);
        let remote = pollster::block_on(builder.model("script").connect()).unwrap();
        Self { local, remote, requests }
    }
}

fn dialect_path(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::LlamaCpp => "/completion",
        Dialect::Sglang => "/generate",
        _ => "/v1/completions",
    }
}

/// Continues the prompt of a request by the script.
fn answer(dialect: Dialect, generator: &Generator, body: &Value) -> Vec<Value> {
    let prompt = body.get("prompt").or(body.get("input_ids")).unwrap();
    let ids: Vec<TokenId> = serde_json::from_value(prompt.clone()).unwrap();
    let params = body.get("sampling_params").unwrap_or(body);
    let limits = ["max_tokens", "n_predict", "max_new_tokens"];
    let limit = limits.iter().find_map(|name| params.get(*name)).and_then(Value::as_u64).unwrap();
    let prompt = Prompt { units: ids.into_iter().map(PromptUnit::Token).collect() };
    let request = DecodeRequest::new(prompt, usize::try_from(limit).unwrap());
    let events: Vec<_> = pollster::block_on(generator.decode(request).try_collect()).unwrap();
    let mut tokens = Vec::new();
    let mut is_stopped = false;
    for event in events {
        match event.kind {
            DecodeEventKind::Token { id, .. } => tokens.push(id),
            DecodeEventKind::Finished(end) => is_stopped = end != DecodeEnd::MaxTokens,
            _ => {}
        }
    }
    stub::events_of(dialect, &tokens, is_stopped, 0)
}

/// What happens, but for reports of the cache.
fn reply(
    decoder: &dyn Decoder,
    rule: &ThinkingRule,
    has_grammar: bool,
    limit: usize,
) -> Vec<DecodeEventKind> {
    let prompt = stub::prompt(CUE);
    let mut guided = GuidedDecoding::default();
    guided.thinking = Some(rule.clone());
    if has_grammar {
        guided.grammar = Some((Grammar::JsonSchema(json!({"type": "object"})), Box::new(Anything)));
    }
    let request = DecodeRequest::new(prompt, limit).guided(guided);
    let events: Vec<_> = pollster::block_on(decoder.decode(request).try_collect()).unwrap();
    let mut kinds = Vec::new();
    for event in events {
        match event.kind {
            DecodeEventKind::Prefilled(_) | DecodeEventKind::Cached(_) => {}
            // A server does not always say which stop token it was.
            DecodeEventKind::Finished(DecodeEnd::StopToken(_)) => {
                kinds.push(DecodeEventKind::Finished(DecodeEnd::StopToken(None)));
            }
            kind => kinds.push(kind),
        }
    }
    kinds
}

fn rule(is_open: bool, budget: Option<usize>) -> ThinkingRule {
    let mut rule = ThinkingRule::new("<think>\n", "\n</think>\n\n");
    rule.is_open = is_open;
    rule.budget = budget;
    rule
}

#[test]
fn thinking_is_cut_at_its_budget_in_every_dialect() {
    for dialect in Dialect::ALL {
        let scripted = Scripted::new(dialect, "two and two are four", "</think>\n\n");
        for (budget, has_grammar) in [(0, false), (5, false), (5, true), (0, true)] {
            let rule = rule(true, Some(budget));
            let remote = reply(&scripted.remote, &rule, has_grammar, 100);
            assert_eq!(
                remote,
                reply(&*scripted.local, &rule, has_grammar, 100),
                "{dialect:?} after {budget}"
            );
            assert!(remote.contains(&DecodeEventKind::ThinkingCut { tokens: budget }));
        }
        let requests = scripted.requests.lock().unwrap();
        assert_eq!(requests.len(), 8, "each reply is two requests");
        let [first, second] = &requests[4..6] else { panic!("the requests of one reply are missing") };
        let has_grammar = |request: &Value| request.to_string().contains("object");
        assert!(!has_grammar(first) && has_grammar(second), "the grammar begins after thinking");
    }
}

#[test]
fn thinking_that_ends_by_itself_needs_one_request_without_a_grammar() {
    let scripted = Scripted::new(Dialect::Vllm, "four\n</think>\n\n", "</think>\n\n");
    let rule = rule(true, Some(50));
    let kinds = reply(&scripted.remote, &rule, false, 100);
    assert_eq!(kinds, reply(&*scripted.local, &rule, false, 100));
    assert_eq!(scripted.requests.lock().unwrap().len(), 1);
}

#[test]
fn log_probabilities_of_forced_tokens_are_refused() {
    let scripted = Scripted::new(Dialect::Vllm, "four", "</think>\n\n");
    let mut guided = GuidedDecoding::default();
    guided.thinking = Some(rule(true, Some(2)));
    let sampling = SamplingOptions { logprobs: Some(1), ..SamplingOptions::default() };
    let request = DecodeRequest::new(stub::prompt(CUE), 5).guided(guided).sampling(sampling);
    let events: Result<Vec<_>> = pollster::block_on(scripted.remote.decode(request).try_collect());
    assert_eq!(events.unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn the_answer_draws_with_another_seed() {
    let scripted = Scripted::new(Dialect::Vllm, "two and two", "</think>\n\n");
    let mut guided = GuidedDecoding::default();
    guided.thinking = Some(rule(true, Some(3)));
    let sampling = SamplingOptions { temperature: Some(0.7), seed: Some(7), ..SamplingOptions::default() };
    let request = DecodeRequest::new(stub::prompt(CUE), 50).guided(guided).sampling(sampling);
    let _: Vec<_> = pollster::block_on(scripted.remote.decode(request).try_collect()).unwrap();
    let requests = scripted.requests.lock().unwrap();
    let seeds: Vec<&Value> = requests.iter().map(|request| &request["seed"]).collect();
    assert_eq!(seeds, [&json!(7), &json!(8)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever is thought, and wherever it has to end.
    #[test]
    fn thinking_is_that_of_the_local_generator(
        pieces in prop::collection::vec(
            prop::sample::select(vec!["a", " b", "\n", "<", "</", "think>", "</think>", "<think>", "{", "\n\n", "é"]),
            0..12,
        ),
        is_open in any::<bool>(),
        budget in prop::option::of(0_usize..20),
        has_grammar in any::<bool>(),
        limit in 1_usize..60,
    ) {
        // A grammar from the first token on is the server's to keep.
        prop_assume!(is_open || !has_grammar);
        let scripted = Scripted::new(Dialect::Vllm, &pieces.concat(), "</think>");
        let rule = rule(is_open, budget);
        let remote = reply(&scripted.remote, &rule, has_grammar, limit);
        prop_assert_eq!(remote, reply(&*scripted.local, &rule, has_grammar, limit));
    }
}
