//! Alloquy's own document of a conversation. Knows its versions; not stores.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::store::{Archive, ConversationRecord};
use alloquy_core::{Error, ErrorKind, Media, Node, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::converted::{ReadArchive, WrittenArchive};
use super::derived::name_of;
use super::limits::ArchiveLimits;
use super::loss::Repair;

/// The field that marks a document of Alloquy; it holds the version.
pub(super) const MARK: &str = "alloquy_conversation";

/// The version that is written. Every earlier version is read; in version 1 the facts of a reply are in `metadata`.
const VERSION: u64 = 2;

const DOCUMENT: [&str; 4] = [MARK, "record", "nodes", "blobs"];
const RECORD: [&str; 6] = ["id", "created", "preface", "sampling", "head", "metadata"];
const NODE: [&str; 9] =
    ["id", "parent", "message", "status", "tokens", "reply", "prompt_name", "label", "metadata"];
const REPLY: [&str; 12] = [
    "model",
    "finish",
    "usage",
    "cache",
    "template",
    "seed",
    "stop_string",
    "error",
    "system_prompt",
    "warnings",
    "history_cut",
    "facts",
];

/// Reads a document.
pub(super) fn read(document: Value, limits: &ArchiveLimits) -> Result<ReadArchive> {
    let mut archive = read_one(document, limits)?;
    let repairs = visible(&mut archive.record)?;
    Ok(ReadArchive { archive, repairs: repairs.into_iter().collect() })
}

/// Renames a conversation whose name is invisible; older versions allowed such names.
fn visible(record: &mut ConversationRecord) -> Result<Option<Repair>> {
    if record.id.must_be_visible().is_ok() {
        return Ok(None);
    }
    let to = name_of(record.id.as_str().as_bytes())?;
    let from = std::mem::replace(&mut record.id, to.clone()).into();
    Ok(Some(Repair::Renamed { from, to: to.into() }))
}

fn read_one(document: Value, limits: &ArchiveLimits) -> Result<Archive> {
    let mut fields = object(document, "the document")?;
    match fields.get(MARK).and_then(Value::as_u64) {
        Some(1..=VERSION) => {}
        Some(newer) => {
            let message = format!("{MARK} is {newer}, and this build reads 1 to {VERSION}");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        None => return Err(invalid(format!("the document has no version under {MARK:?}"))),
    }
    known(&fields, &DOCUMENT, "the document")?;
    let record: ConversationRecord = typed(fields.shift_remove("record"), &RECORD, "record")?;
    let Some(Value::Array(nodes)) = fields.shift_remove("nodes") else {
        return Err(invalid("nodes is not a list"));
    };
    limits.check_nodes(nodes.len())?;
    let nodes = nodes.into_iter().enumerate();
    let nodes: Vec<Node> = nodes.map(|(index, value)| node(index, value)).collect::<Result<_>>()?;
    let mut archive = Archive::new(record, nodes)?;
    archive.blobs = blobs(fields.shift_remove("blobs").unwrap_or_else(|| json!({})))?;
    let missing = archive.media().map(Media::digest).find(|digest| !archive.blobs.contains_key(digest));
    match missing {
        Some(digest) => Err(invalid(format!("blobs has no {digest}"))),
        None => Ok(archive),
    }
}

fn node(index: usize, value: Value) -> Result<Node> {
    let place = format!("nodes[{index}]");
    if let Some(Value::Object(reply)) = value.get("reply") {
        known(reply, &REPLY, &format!("{place}.reply"))?;
    }
    typed(Some(value), &NODE, &place)
}

/// Reads a value of a type that ignores unknown fields, and refuses these.
fn typed<T: DeserializeOwned>(value: Option<Value>, names: &[&str], place: &str) -> Result<T> {
    let fields = object(value.unwrap_or_default(), place)?;
    known(&fields, names, place)?;
    serde_json::from_value(Value::Object(fields))
        .map_err(|source| invalid(format!("{place} is not as conversations store it")).with_source(source))
}

fn known(fields: &Map<String, Value>, names: &[&str], place: &str) -> Result<()> {
    match fields.keys().find(|name| !names.contains(&name.as_str())) {
        Some(name) => {
            Err(invalid(format!("unknown field {name:?} of {place}, one of: {}", names.join(", "))))
        }
        None => Ok(()),
    }
}

fn object(value: Value, place: &str) -> Result<Map<String, Value>> {
    match value {
        Value::Object(fields) => Ok(fields),
        _ => Err(invalid(format!("{place} is not an object"))),
    }
}

/// Reads an object of base64 by digest.
pub(super) fn blobs(value: Value) -> Result<BTreeMap<Digest, Arc<[u8]>>> {
    object(value, "blobs")?.iter().map(|(digest, bytes)| blob(digest, bytes)).collect()
}

/// Writes such an object.
pub(super) fn written_blobs(archive: &Archive) -> Value {
    let mut written = Map::new();
    for (digest, bytes) in &archive.blobs {
        written.insert(digest.to_string(), STANDARD.encode(bytes).into());
    }
    Value::Object(written)
}

fn blob(digest: &str, bytes: &Value) -> Result<(Digest, Arc<[u8]>)> {
    let Some(bytes) = bytes.as_str().and_then(|text| STANDARD.decode(text).ok()) else {
        return Err(wrong_blob(digest));
    };
    let named: Digest = digest.parse()?;
    if Digest::of(&bytes) != named {
        return Err(wrong_blob(digest));
    }
    Ok((named, bytes.into()))
}

fn wrong_blob(digest: &str) -> Error {
    invalid(format!("blobs[{digest:?}] is not base64 of bytes with that digest"))
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

/// Writes the document on one line, so that several make a file of lines.
pub(super) fn write(archive: &Archive) -> Result<WrittenArchive> {
    if let Some(media) = archive.media().find(|media| !archive.blobs.contains_key(&media.digest())) {
        return Err(invalid(format!("the bytes of {media:?} are not loaded")));
    }
    let mut document = json!({MARK: VERSION, "record": archive.record, "nodes": archive.nodes});
    if let (Value::Object(fields), false) = (&mut document, archive.blobs.is_empty()) {
        fields.insert("blobs".to_owned(), written_blobs(archive));
    }
    Ok(WrittenArchive { text: format!("{document}\n"), omitted: Vec::new() })
}
