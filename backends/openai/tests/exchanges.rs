//! Answers of each dialect as files: recorded from servers, or put together from their sources, as each file says.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod stub;

use std::fs;
use std::path::Path;

use alloquy_core::SamplingOptions;
use alloquy_core::prompt::{Prompt, PromptUnit};
use alloquy_core::sampling::TokenLogprobs;
use alloquy_core::tokenizer::TokenId;
use alloquy_engine::decoder::{DecodeEventKind, DecodeRequest, Decoder};
use alloquy_openai::Dialect;
use alloquy_testing::ByteTokenizer;
use futures::StreamExt;
use serde_json::{Value, json};
use stub::{Answer, Stub, sse};

#[test]
fn answers_are_read_as_the_files_say() {
    let mut files = 0;
    for dialect in Dialect::ALL {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exchanges").join(dialect.as_str());
        for file in fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let exchange: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            assert!(
                exchange["source"].as_str().is_some_and(|source| !source.is_empty()),
                "{path:?} names no source"
            );
            assert_eq!(read(dialect, &exchange), exchange["reply"], "{path:?}");
            files += 1;
        }
    }
    assert!(files >= 24, "only {files} exchanges are found");
}

/// Returns what the decoder makes of an answer, as the files have it.
fn read(dialect: Dialect, exchange: &Value) -> Value {
    let stub = Stub::new(dialect);
    let mut info = stub.decoder().model().clone();
    info.vocabulary = 512;
    info.stop_tokens = vec![2];
    let builder = stub.builder().tokenizer(ByteTokenizer::new(["<end>"]), info);
    let decoder = pollster::block_on(builder.connect()).unwrap();
    match exchange.get("events").and_then(Value::as_array) {
        Some(events) => stub.plan([Answer::Raw(sse(dialect, events))]),
        None => {
            let status = u16::try_from(exchange["status"].as_u64().unwrap()).unwrap();
            stub.plan([Answer::Status(status, "", exchange["answer"].to_string().leak())]);
        }
    }
    let wants_logprobs = exchange["reply"].get("logprobs").is_some();
    let sampling = SamplingOptions { logprobs: wants_logprobs.then_some(2), ..SamplingOptions::default() };
    let prompt = Prompt { units: [1, 403, 407, 261, 378].map(PromptUnit::Token).to_vec() };
    let request = &exchange["request"];
    let params = request.get("sampling_params").unwrap_or(request);
    let limit =
        params.get("max_tokens").or(params.get("n_predict")).or(params.get("max_new_tokens")).unwrap();
    let limit = usize::try_from(limit.as_u64().unwrap()).unwrap();
    let mut stream = decoder.decode(DecodeRequest::new(prompt, limit).sampling(sampling));
    let mut ids: Vec<TokenId> = Vec::new();
    let mut logprobs: Vec<Value> = Vec::new();
    let mut reply = json!({});
    pollster::block_on(async {
        while let Some(item) = stream.next().await {
            match item.map(|event| event.kind) {
                Ok(DecodeEventKind::Token { id, logprobs: found }) => {
                    ids.push(id);
                    logprobs.extend(found.as_ref().map(rounded));
                }
                Ok(DecodeEventKind::Prefilled(report) | DecodeEventKind::Cached(report)) => {
                    reply["cached"] = json!(report.cached);
                }
                Ok(DecodeEventKind::Finished(end)) => {
                    let end = format!("{end:?}");
                    reply["end"] = json!(end.split('(').next());
                }
                Ok(_) => {}
                Err(error) => {
                    reply = json!({"error": format!("{:?}", error.kind())});
                }
            }
        }
    });
    if reply.get("error").is_none() || !ids.is_empty() {
        reply["tokens"] = json!(ids);
    }
    if wants_logprobs {
        reply["logprobs"] = json!(logprobs);
    }
    reply
}

/// As many digits as the files have.
fn rounded(logprobs: &TokenLogprobs) -> Value {
    assert!(!logprobs.top.is_empty() && logprobs.top.len() <= 2, "{logprobs:?}");
    json!((f64::from(logprobs.sampled.logprob) * 1e4).round() / 1e4)
}
