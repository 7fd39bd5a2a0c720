//! Thinking before an answer that has a form: the form waits for their end, and a budget brings it.

use alloquy_core::grammar::Grammar;
use alloquy_core::media::Digest;
use alloquy_core::output::OutputConstraints;
use alloquy_core::report::Warning;
use alloquy_core::template::{PromptTemplate, TemplateInput};
use alloquy_core::tokenizer::decode;
use alloquy_core::{Reply, Request, Result};
use alloquy_testing::{ByteTokenizer, TaggedTemplate};

use crate::tools::{ask, request, round, round_with};

fn plain(seed: u64, constraints: OutputConstraints, budget: Option<usize>) -> Request {
    let mut request = request(seed, constraints);
    request.preface.tools.clear();
    request.output.thinking_budget = budget;
    request
}

fn cut(reply: &Reply) -> Option<usize> {
    reply.warnings.iter().find_map(|warning| match warning {
        Warning::ThinkingCut { tokens } => Some(*tokens),
        _ => None,
    })
}

/// Whether the marks of thinking blocks are tokens or spelled, answers have their form, and some replies think before.
#[test]
fn the_form_waits_for_the_end_of_a_thought() {
    for tokens in [&["<think>", "</think>"][..], &[]] {
        let round = round("qwen3", tokens);
        let constraints = OutputConstraints::default().grammar(Grammar::choice(["yes", "no"]));
        let mut thought = 0;
        let mut answered = 0;
        for seed in 0..24 {
            let reply = ask(&round, plain(seed, constraints.clone(), Some(8))).unwrap();
            assert!(["yes", "no"].contains(&reply.message.text().as_str()), "{:?}", reply.message);
            match cut(&reply) {
                Some(spent) => {
                    assert!(spent <= 8, "{spent} tokens of 8");
                    assert!(reply.message.thinking().is_some(), "{:?}", reply.message);
                    thought += 1;
                }
                None => answered += 1,
            }
        }
        assert!(thought > 0 && answered > 0, "{tokens:?}: {thought} thought, {answered} did not");
    }
}

/// In a reply of several messages the form is that of the final one: what comes before, thinking and heads, is as the
/// family writes it.
#[test]
fn the_form_waits_for_the_final_message() {
    let heads = ["<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>"];
    for tokens in [&heads[..], &[]] {
        let round = round("gpt_oss", tokens);
        let constraints = OutputConstraints::default().grammar(Grammar::choice(["yes", "no"]));
        let tokenizer = ByteTokenizer::new(["<end>"].into_iter().chain(tokens.iter().copied()));
        let mut thought = 0;
        let mut answered = 0;
        for seed in 0..24 {
            let reply = ask(&round, plain(seed, constraints.clone(), Some(8))).unwrap();
            assert!(["yes", "no"].contains(&reply.message.text().as_str()), "{:?}", reply.message);
            assert!(reply.warnings.iter().all(|found| matches!(found, Warning::ThinkingCut { .. })));
            let said = decode(&tokenizer, &reply.tokens).unwrap();
            assert!(said.contains("<|channel|>final"), "{said:?}");
            match reply.message.thinking() {
                Some(_) => thought += 1,
                None => answered += 1,
            }
        }
        assert!(thought > 0 && answered > 0, "{tokens:?}: {thought} thought, {answered} did not");
    }
}

/// Opens a thinking block for the model, as templates of models do that always think.
#[derive(Debug)]
struct Opening;

impl PromptTemplate for Opening {
    fn render(&self, input: &TemplateInput) -> Result<String> {
        Ok(TaggedTemplate.render(input)? + "<think>\n")
    }

    fn digest(&self) -> Digest {
        TaggedTemplate.digest()
    }
}

/// Noise all but never ends a thinking block by itself. Without a form, what follows the thinking block is as free as before.
#[test]
fn a_budget_ends_thoughts_of_free_replies_too() {
    for tokens in [&["<think>", "</think>"][..], &[]] {
        let round = round_with("qwen3", tokens, Opening);
        let tokenizer = ByteTokenizer::new(["<end>"].into_iter().chain(tokens.iter().copied()));
        for budget in [0, 1, 5] {
            let reply = ask(&round, plain(3, OutputConstraints::default(), Some(budget))).unwrap();
            assert_eq!(cut(&reply), Some(budget), "{reply:?}");
            let behind = decode(&tokenizer, reply.tokens.get(budget..).unwrap()).unwrap();
            assert!(behind.trim_start().starts_with("</think>\n\n"), "{behind:?}");
        }
    }
}

/// A model may not leave its thinking by ending the reply when a form is to follow.
#[test]
fn a_form_follows_a_thought_that_the_model_would_end_the_reply_in() {
    let round = round_with("qwen3", &["<think>", "</think>"], Opening);
    let constraints = OutputConstraints::default().grammar(Grammar::choice(["yes", "no"]));
    let replies = (0..6).map(|seed| ask(&round, plain(seed, constraints.clone(), None)).unwrap());
    let replies: Vec<_> = replies.collect();
    for reply in &replies {
        assert!(["yes", "no"].contains(&reply.message.text().as_str()), "{:?}", reply.message);
    }
    assert!(replies.iter().any(|reply| cut(reply).is_some()), "{replies:?}");
}
