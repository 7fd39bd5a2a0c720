//! The example of telemetry, against a collector on this machine.
#![cfg(all(feature = "guards", feature = "pocket"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use serde_json::Value;

#[path = "../examples/telemetry.rs"]
#[allow(dead_code)] // its `main` is for people
mod telemetry;

/// Reads one request, answers it, and returns its path and its body.
fn served(stream: TcpStream) -> Option<(String, Value)> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
    reader.into_inner().write_all(answer.as_bytes()).ok()?;
    Some((path, serde_json::from_slice(&body).ok()?))
}

/// Returns the attributes of a span by their names.
fn attributes(span: &Value) -> BTreeMap<String, Value> {
    let mut named = BTreeMap::new();
    for attribute in span["attributes"].as_array().unwrap() {
        let value = attribute["value"].as_object().unwrap().values().next().unwrap().clone();
        named.insert(attribute["key"].as_str().unwrap().to_owned(), value);
    }
    named
}

/// A number, which OTLP writes as a text.
fn number(value: &Value) -> u64 {
    value.as_u64().or_else(|| value.as_str()?.parse().ok()).unwrap()
}

#[test]
fn a_collector_receives_the_calls_under_the_names_of_the_convention() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let collector = thread::spawn(move || {
        let mut spans = Vec::new();
        for stream in listener.incoming() {
            let Some((path, body)) = served(stream.unwrap()) else { continue };
            if path == "/end" {
                break;
            }
            assert_eq!(path, "/v1/traces");
            for resource in body["resourceSpans"].as_array().unwrap() {
                for scope in resource["scopeSpans"].as_array().unwrap() {
                    spans.extend(scope["spans"].as_array().unwrap().clone());
                }
            }
        }
        spans
    });
    let counters = telemetry::traced(&endpoint).unwrap();
    let mut end = TcpStream::connect(endpoint.trim_start_matches("http://")).unwrap();
    end.write_all(b"POST /end HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}").unwrap();
    let spans = collector.join().unwrap();

    let calls: Vec<_> = spans.iter().filter(|span| span["name"] == "chat pocket").collect();
    assert_eq!(calls.len(), 2, "{spans:#?}");
    let first = attributes(calls[0]);
    let second = attributes(calls[1]);
    for call in [&first, &second] {
        assert_eq!(call["gen_ai.operation.name"], "chat");
        assert_eq!(call["gen_ai.provider.name"], "alloquy");
        assert_eq!(call["gen_ai.request.model"], "pocket");
        assert_eq!(call["gen_ai.response.finish_reasons"], "[\"stop\"]");
        assert!(
            number(&call["gen_ai.usage.input_tokens"]) > 0 && number(&call["gen_ai.usage.output_tokens"]) > 0
        );
        assert!(!call.contains_key("gen_ai.input.messages"), "a span has a text: {call:?}");
    }
    assert_eq!(first["gen_ai.conversation.id"], second["gen_ai.conversation.id"]);
    assert_eq!(number(&first["gen_ai.usage.cache_read.input_tokens"]), 0);
    assert!(number(&second["gen_ai.usage.cache_read.input_tokens"]) > 0);
    assert!(!spans.iter().any(|span| span.to_string().contains("Norway")), "a span has a text");

    let counts = &counters.read()["pocket"];
    assert_eq!((counts.calls, counts.replies, counts.errors.len()), (2, 2, 0));
    let cached = number(&second["gen_ai.usage.cache_read.input_tokens"]);
    assert_eq!(counts.cached_tokens, cached);
}
