//! A remote decoder is a decoder, in every dialect and however its answers are cut.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod stub;

use std::sync::atomic::Ordering;

use alloquy_core::sampling::PenaltyScope;
use alloquy_core::{ErrorKind, SamplingOptions};
use alloquy_engine::decoder::{DecodeEnd, DecodeEventKind, DecodeRequest, Decoder};
use alloquy_openai::Dialect;
use alloquy_testing::{ByteTokenizer, laws};
use futures::{StreamExt, TryStreamExt};
use stub::{Answer, END, SCRIPT, Stub, prompt};

#[test]
fn a_remote_decoder_is_a_decoder() {
    for dialect in Dialect::ALL {
        for piece in [1, 7, usize::MAX] {
            let decoder = Stub::with(dialect, piece, false).decoder();
            pollster::block_on(laws::decoder::all(&decoder, &prompt("Tell me: ")));
        }
    }
}

#[test]
fn an_answer_may_be_cut_into_packets_anywhere() {
    for dialect in Dialect::ALL {
        let stub = Stub::new(dialect);
        let decoder = stub.decoder();
        let whole = kinds(&decoder, 4);
        for at in 0..stub.shared.length.load(Ordering::SeqCst) {
            stub.plan([Answer::Split(at)]);
            assert_eq!(kinds(&decoder, 4).len(), whole.len(), "{dialect:?} cut at byte {at}");
        }
    }
}

fn kinds(decoder: &dyn Decoder, limit: usize) -> Vec<DecodeEventKind> {
    let events = decoder.decode(DecodeRequest::new(prompt("Tell me: "), limit)).try_collect::<Vec<_>>();
    pollster::block_on(events).unwrap().into_iter().map(|event| event.kind).collect()
}

/// Each option, with the fields that show it in the requests of dialects.
fn options() -> Vec<(&'static str, SamplingOptions, &'static [&'static str])> {
    let plain = SamplingOptions { temperature: Some(0.7), seed: Some(7), ..SamplingOptions::default() };
    vec![
        ("temperature", SamplingOptions { temperature: Some(0.5), ..plain.clone() }, &["/temperature"]),
        ("top_k", SamplingOptions { top_k: Some(5), ..plain.clone() }, &["/top_k"]),
        ("top_p", SamplingOptions { top_p: Some(0.5), ..plain.clone() }, &["/top_p"]),
        ("min_p", SamplingOptions { min_p: Some(0.5), ..plain.clone() }, &["/min_p"]),
        ("typical_p", SamplingOptions { typical_p: Some(0.5), ..plain.clone() }, &["/typical_p"]),
        (
            "repetition_penalty",
            SamplingOptions { repetition_penalty: Some(1.5), ..plain.clone() },
            &["/repetition_penalty", "/repeat_penalty"],
        ),
        (
            "presence_penalty",
            SamplingOptions { presence_penalty: Some(0.5), ..plain.clone() },
            &["/presence_penalty"],
        ),
        (
            "frequency_penalty",
            SamplingOptions { frequency_penalty: Some(0.5), ..plain.clone() },
            &["/frequency_penalty"],
        ),
        (
            "penalty_window",
            SamplingOptions { presence_penalty: Some(0.5), penalty_window: Some(2), ..plain.clone() },
            &["/repeat_last_n"],
        ),
        ("no_repeat_ngram", SamplingOptions { no_repeat_ngram: Some(3), ..plain.clone() }, &[]),
        (
            "suppress",
            SamplingOptions { suppress: vec![9], ..plain.clone() },
            &["/logit_bias", "/bad_words_token_ids"],
        ),
        ("logit_bias", SamplingOptions { logit_bias: [(9, 1.5)].into(), ..plain.clone() }, &["/logit_bias"]),
        ("seed", SamplingOptions { seed: Some(9), ..plain.clone() }, &["/seed", "/sampling_seed"]),
        (
            "logprobs",
            SamplingOptions { logprobs: Some(3), ..plain },
            &["/logprobs", "/n_probs", "/top_logprobs_num"],
        ),
    ]
}

#[test]
fn every_option_changes_the_request_or_is_named() {
    for dialect in Dialect::ALL {
        let stub = Stub::new(dialect);
        let decoder = stub.decoder();
        let sent = |sampling: SamplingOptions| {
            let mut stream = decoder.decode(DecodeRequest::new(prompt("a"), 2).sampling(sampling));
            pollster::block_on(async { while stream.next().await.is_some() {} });
            let mut request = stub.last_request();
            if let Some(params) =
                request.get("sampling_params").and_then(|params| params.as_object()).cloned()
            {
                request.as_object_mut().unwrap().extend(params);
            }
            request
        };
        let plain =
            sent(SamplingOptions { temperature: Some(0.7), seed: Some(7), ..SamplingOptions::default() });
        for (name, sampling, fields) in options() {
            let is_named = decoder.ignored(&sampling).contains(&name);
            let request = sent(sampling);
            let is_sent = fields.iter().any(|field| request.pointer(field) != plain.pointer(field));
            assert!(is_named || is_sent, "{dialect:?} neither sends {name} nor names it");
        }
    }
}

/// As the table of `docs/remote.md` has it.
#[test]
fn options_without_an_effect_are_named() {
    let cases: [(Dialect, &[&str]); 6] = [
        (
            Dialect::Completions,
            &[
                "top_k",
                "min_p",
                "typical_p",
                "repetition_penalty",
                "penalty_window",
                "no_repeat_ngram",
                "logprobs",
            ],
        ),
        (Dialect::Vllm, &["typical_p", "penalty_window", "no_repeat_ngram"]),
        (Dialect::LlamaCpp, &["no_repeat_ngram"]),
        (Dialect::Sglang, &["typical_p", "penalty_window", "no_repeat_ngram", "seed"]),
        (Dialect::TensorRtLlm, &["typical_p", "penalty_window", "no_repeat_ngram", "logprobs"]),
        (
            Dialect::Dynamo,
            &["typical_p", "penalty_window", "no_repeat_ngram", "suppress", "logit_bias", "logprobs"],
        ),
    ];
    for (dialect, expected) in cases {
        let decoder = Stub::new(dialect).decoder();
        let mut named = Vec::new();
        for (name, sampling, _) in options() {
            if decoder.ignored(&sampling).contains(&name) {
                named.push(name);
            }
        }
        assert_eq!(named, expected, "{dialect:?}");
    }
}

#[test]
fn texts_are_scored_where_the_server_can() {
    let stub = Stub::new(Dialect::Vllm);
    let scores =
        pollster::block_on(stub.decoder().score(prompt("ab"), vec![vec![99, 100], Vec::new(), vec![5]]))
            .unwrap();
    let scores: Vec<Vec<(u32, f32)>> = scores
        .iter()
        .map(|target| target.iter().map(|score| (score.token, score.logprob)).collect())
        .collect();
    assert_eq!(scores, [vec![(99, -99.0), (100, -100.0)], Vec::new(), vec![(5, -5.0)]]);
    let refused =
        pollster::block_on(Stub::new(Dialect::LlamaCpp).decoder().score(prompt("ab"), vec![vec![99]]));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unsupported);
}

/// Dynamo takes 32 stop tokens at most. Further ones end a reply here.
#[test]
fn many_ids_are_sent_or_found_here() {
    for dialect in Dialect::ALL {
        let stub = Stub::new(dialect);
        let mut info = stub.decoder().model().clone();
        info.stop_tokens = (200..239).chain([END]).collect();
        let builder = stub.builder().tokenizer(ByteTokenizer::new(["<end>"]), info);
        let decoder = pollster::block_on(builder.connect()).unwrap();
        let sampling = SamplingOptions {
            suppress: (130..190).collect(),
            logit_bias: (0..90).map(|id| (id, -300.0)).filter(|(id, _)| *id != 32 && *id != 44).collect(),
            ..SamplingOptions::default()
        };
        let request = DecodeRequest::new(prompt("Tell me: "), 100).sampling(sampling);
        let events: Vec<_> = pollster::block_on(decoder.decode(request).try_collect()).unwrap();
        let mut text = Vec::new();
        for event in &events {
            if let DecodeEventKind::Token { id, .. } = event.kind {
                text.push(u8::try_from(id).unwrap());
            }
        }
        assert_eq!(String::from_utf8(text).unwrap(), SCRIPT, "{dialect:?}");
        let last = events.last().map(|event| event.kind.clone());
        assert!(matches!(last, Some(DecodeEventKind::Finished(DecodeEnd::StopToken(_)))), "{last:?}");

        let request = stub.last_request();
        let params = request.get("sampling_params").unwrap_or(&request);
        let stop = params.get("stop_token_ids").and_then(|stop| stop.as_array()).map(Vec::len);
        let expected = match dialect {
            Dialect::LlamaCpp => None,
            Dialect::Dynamo => Some(32),
            _ => Some(40),
        };
        assert_eq!(stop, expected, "{dialect:?}");
        let biases = params.get("logit_bias").and_then(|biases| biases.as_object()).into_iter().flatten();
        assert!(biases.clone().all(|(_, bias)| bias.as_f64() == Some(-100.0)), "{dialect:?}");
    }
}

#[test]
fn values_that_change_nothing_are_not_named() {
    let neutral = SamplingOptions {
        temperature: Some(0.0),
        top_k: Some(0),
        top_p: Some(1.0),
        min_p: Some(0.0),
        typical_p: Some(1.0),
        repetition_penalty: Some(1.0),
        presence_penalty: Some(0.0),
        frequency_penalty: Some(0.0),
        penalty_window: Some(0),
        penalty_scope: Some(PenaltyScope::Reply),
        no_repeat_ngram: Some(0),
        max_tokens: Some(5),
        stop: vec!["x".to_owned()],
        stop_tokens: vec![vec![3]],
        ..SamplingOptions::default()
    };
    for dialect in Dialect::ALL {
        assert_eq!(Stub::new(dialect).decoder().ignored(&neutral), Vec::<&str>::new(), "{dialect:?}");
    }
}

#[test]
fn penalties_that_count_other_tokens_are_named() {
    let presence = SamplingOptions { presence_penalty: Some(0.5), ..SamplingOptions::default() };
    let of_both = SamplingOptions { penalty_scope: Some(PenaltyScope::PromptAndReply), ..presence.clone() };
    let cases = [
        (Dialect::Vllm, &presence, false),
        (Dialect::Vllm, &of_both, true),
        (Dialect::LlamaCpp, &presence, true),
        (Dialect::LlamaCpp, &of_both, false),
        (Dialect::Sglang, &of_both, true),
        (Dialect::TensorRtLlm, &presence, false),
        (Dialect::TensorRtLlm, &of_both, false),
    ];
    for (dialect, sampling, expected) in cases {
        let named = Stub::new(dialect).decoder().ignored(sampling).contains(&"penalty_scope");
        assert_eq!(named, expected, "{dialect:?} {sampling:?}");
    }
}
