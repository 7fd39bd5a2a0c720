//! Dialects against the cases beside the workspace: LiteRT-LM and its server, Hugging Face conversations.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use alloquy_core::media::MediaKind;
use alloquy_core::{Media, Result};
use alloquy_formats::messages::{self, Dialect, MediaReference, MediaRules, Transcript};
use serde_json::{Value, json};

/// Returns a file of the cases, or says that it skips.
fn cases(path: &str) -> Option<Value> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let shared = env::var_os("ALLOQUY_SHARED").map_or(beside, PathBuf::from);
    let file = shared.join("cases").join(path);
    let Ok(text) = fs::read_to_string(&file) else {
        eprintln!("Skipping: {} is absent, set ALLOQUY_SHARED", file.display());
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

fn read(dialect: Dialect, document: &Value) -> Result<Transcript> {
    messages::read(dialect, document, &MediaRules::default())
}

/// Reads what is named in a document as a few bytes of its kind.
fn read_with_source(dialect: Dialect, document: &Value) -> Result<Transcript> {
    let source = |kind: MediaKind, _: MediaReference<'_>| -> Result<Media> {
        Ok(Media::new(format!("{kind}/x-case"), b"case".to_vec()))
    };
    messages::read(dialect, document, &MediaRules { source: &source, ..MediaRules::default() })
}

fn assert_round_trip(dialect: Dialect, transcript: &Transcript) {
    let written = messages::write(dialect, transcript).unwrap();
    assert_eq!(read(dialect, &written).unwrap(), *transcript, "{written}");
}

/// Replaces a symbol for a file by its path, and calls `visit` with every message.
fn messages(value: &mut Value, visit: &mut impl FnMut(&Value)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| messages(item, visit)),
        Value::Object(fields) => {
            if let Some(path) = fields.get_mut("path").filter(|path| path.is_object()) {
                *path = path["$file"].take();
            }
            fields.values_mut().for_each(|field| messages(field, visit));
            if fields.get("role").is_some_and(Value::is_string) {
                visit(value);
            }
        }
        _ => {}
    }
}

#[test]
fn litert_messages() {
    let mut read_ones = 0;
    for name in
        ["processor_message_to_template_input", "conversation_scripts", "processor_to_input_data", "channels"]
    {
        let Some(mut cases) = cases(&format!("litert/{name}.json")) else { return };
        messages(&mut cases, &mut |message| {
            let transcript = read_with_source(Dialect::LiteRt, message)
                .unwrap_or_else(|error| panic!("{error}: {message}"));
            assert_eq!(transcript.messages.len(), 1);
            assert_round_trip(Dialect::LiteRt, &transcript);
            read_ones += 1;
        });
    }
    assert!(read_ones > 100, "{read_ones} messages");
}

#[test]
fn litert_server() {
    let Some(cases) = cases("litert/serve.json") else { return };
    let mut seen = [0; 3];
    for case in cases.as_array().unwrap() {
        let input = &case["input"];
        let expected = &case["expected"];
        match case["kind"].as_str().unwrap() {
            "litertlm_message_from_gemini" => {
                seen[0] += 1;
                assert_same((Dialect::Gemini, &input["gemini_content"]), (Dialect::LiteRt, expected));
            }
            "gemini_response_from_litertlm" => {
                seen[1] += 1;
                let mut reply = input["litertlm_response"].clone();
                reply["role"] = json!("assistant");
                let content = &expected["candidates"][0]["content"];
                assert_same((Dialect::LiteRt, &reply), (Dialect::Gemini, content));
            }
            "openai_message_translate" => {
                seen[2] += 1;
                openai_answer(input, expected);
            }
            _ => {}
        }
    }
    assert!(seen.iter().all(|count| *count > 2), "{seen:?}");
}

fn assert_same(one: (Dialect, &Value), other: (Dialect, &Value)) {
    let [one, other] = [one, other].map(|(dialect, message)| read(dialect, &json!([message])).unwrap());
    assert_eq!(one, other);
}

fn openai_answer(input: &Value, expected: &Value) {
    let calls: Vec<_> = input["ids"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(id, name)| json!({"id": id, "function": {"name": name}}))
        .collect();
    let document = json!([{"role": "assistant", "tool_calls": calls}, input["message"]]);
    let outcome = read(Dialect::OpenAi, &document);
    assert_eq!(outcome.is_err(), expected.get("error").is_some(), "{outcome:?}");
    let Ok(transcript) = outcome else { return };
    let mut written = messages::write(Dialect::LiteRt, &transcript).unwrap()["messages"][1].take();
    written["content"][0].as_object_mut().unwrap().shift_remove("id");
    assert_eq!(written, *expected);
}

#[test]
fn hugging_face_conversations() {
    let Some(golden) = cases("templates/golden.json") else { return };
    let conversations = golden["conversations"].as_array().unwrap();
    assert!(conversations.len() > 10);
    for conversation in conversations {
        if conversation["id"] == "multimodal" {
            let error = read_with_source(Dialect::OpenAi, conversation).unwrap_err().to_string();
            assert!(error.starts_with("messages[0].content[0]: the image is missing"), "{error}");
            continue;
        }
        let transcript = read(Dialect::OpenAi, conversation).unwrap();
        assert_round_trip(Dialect::OpenAi, &transcript);
        assert_round_trip(Dialect::LiteRt, &transcript);
        assert_eq!(transcript.extra.get("id"), conversation.get("id"));
        assert_texts(conversation, &transcript);
    }
}

/// The texts of the document, in order, are those of the messages.
fn assert_texts(conversation: &Value, transcript: &Transcript) {
    let theirs = conversation["messages"].as_array().unwrap().iter();
    let theirs: String = theirs.map(|message| message["content"].as_str().unwrap()).collect();
    let text = |message: &alloquy_core::Message| {
        message.text()
            + &message.tool_results().map(alloquy_core::message::ToolResult::text).collect::<String>()
    };
    assert_eq!(transcript.messages.iter().map(text).collect::<String>(), theirs);
}
