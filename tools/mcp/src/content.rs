//! Converts a server's answer to the value that a model reads.

use alloquy_core::{Error, ErrorKind, Result};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};

/// Converts an answer: several texts become one with a line feed between them, anything else is JSON.
///
/// Images and audio of a tool are not passed on to models, so a description replaces them.
pub(crate) fn read(result: CallToolResult) -> Result<Value> {
    let structured = result.structured_content;
    let blocks = result.content.iter().filter(|block| !repeats(block, structured.as_ref())).map(value);
    let pieces = structured.clone().into_iter().chain(blocks).collect();
    match result.is_error {
        Some(true) => Err(Error::new(ErrorKind::Tool, text(joined(pieces)))),
        _ => Ok(joined(pieces)),
    }
}

/// Returns whether a text repeats the structured answer, as servers do for clients that read texts only.
fn repeats(block: &ContentBlock, structured: Option<&Value>) -> bool {
    let parsed = block.as_text().and_then(|text| serde_json::from_str::<Value>(&text.text).ok());
    parsed.is_some_and(|parsed| Some(&parsed) == structured)
}

fn joined(mut pieces: Vec<Value>) -> Value {
    let texts: Option<Vec<_>> = pieces.iter().map(Value::as_str).collect();
    match (texts, pieces.len()) {
        (_, 1) => pieces.remove(0),
        (Some(texts), _) => texts.join("\n").into(),
        (None, _) => Value::Array(pieces),
    }
}

fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn value(block: &ContentBlock) -> Value {
    match block {
        ContentBlock::Text(text) => text.text.as_str().into(),
        ContentBlock::Image(image) => left_out("image", &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => left_out("audio", &audio.mime_type, &audio.data),
        ContentBlock::Resource(embedded) => resource(&embedded.resource),
        other => as_written(other),
    }
}

fn resource(contents: &ResourceContents) -> Value {
    match contents {
        ResourceContents::TextResourceContents { uri, text, .. } => {
            json!({"type": "resource", "uri": uri, "text": text})
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            let mut value = left_out("resource", mime_type.as_deref().unwrap_or("unknown"), blob);
            if let Some(fields) = value.as_object_mut() {
                fields.insert("uri".to_owned(), uri.as_str().into());
            }
            value
        }
        other => as_written(other),
    }
}

/// Returns a link, or a kind of content that is not known yet, as the JSON that the server wrote.
fn as_written(content: &impl serde::Serialize) -> Value {
    serde_json::to_value(content).unwrap_or_else(|error| error.to_string().into())
}

/// Describes content that is not passed on.
fn left_out(kind: &str, mime_type: &str, base64: &str) -> Value {
    // Base64 writes three bytes as four characters.
    let bytes = base64.trim_end_matches('=').len() * 3 / 4;
    json!({"type": kind, "mime_type": mime_type, "bytes": bytes, "left_out": "only text and JSON are passed on"})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(answer: Value) -> Result<Value> {
        read(serde_json::from_value(answer).unwrap())
    }

    #[test]
    fn texts_become_one_and_an_error_is_what_was_said() {
        let block = |text: &str| json!({"type": "text", "text": text});
        assert_eq!(answered(json!({"content": [block("noon")]})).unwrap(), "noon");
        assert_eq!(answered(json!({"content": [block("one"), block("two")]})).unwrap(), "one\ntwo");
        assert_eq!(answered(json!({"content": []})).unwrap(), "");
        let error = answered(json!({"content": [block("no such zone")], "isError": true})).unwrap_err();
        assert_eq!(error.to_string(), "no such zone");
    }

    #[test]
    fn a_structured_answer_stands_once_and_nothing_beside_it_is_lost() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let structured = json!({"hour": 12});
        let twice = json!({"content": [text("{\"hour\": 12}")], "structuredContent": structured});
        assert_eq!(answered(twice).unwrap(), structured);
        let more = json!({"content": [text("noon")], "structuredContent": structured});
        assert_eq!(answered(more).unwrap(), json!([structured, "noon"]));
    }

    #[test]
    fn what_is_not_passed_on_is_described() {
        let image = json!({"type": "image", "data": "AAEC", "mimeType": "image/png"});
        let blob = json!({"uri": "file:///a", "blob": "AAECAw==", "mimeType": "font/ttf"});
        let note = json!({"uri": "file:///b", "text": "read me"});
        let of = |resource| json!({"type": "resource", "resource": resource});
        let read = answered(json!({"content": [image, of(blob), of(note)]})).unwrap();
        assert_eq!(read[0]["bytes"], 3);
        assert_eq!((&read[1]["uri"], &read[1]["bytes"]), (&json!("file:///a"), &json!(4)));
        assert_eq!(read[2], json!({"type": "resource", "uri": "file:///b", "text": "read me"}));
    }
}
