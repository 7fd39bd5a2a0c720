//! Conversations as lists of messages: one line of OpenAI's JSON each, or ChatML. Knows the dialects' readers; not trees.

use std::time::{SystemTime, UNIX_EPOCH};

use alloquy_core::media::Digest;
use alloquy_core::message::ToolResult;
use alloquy_core::store::{Archive, ConversationRecord};
use alloquy_core::{Content, Message, Node, NodeId, Preface, Result};
use serde_json::Value;

use super::converted::{ReadArchive, WrittenArchive};
use super::derived::{milliseconds, name_of};
use super::limits::ArchiveLimits;
use super::loss::Omission;
use crate::messages::{self, Dialect, MediaRules, Transcript};

/// Reads the conversation of one document, the `index`-th of several.
pub(super) fn read_document(
    index: usize,
    document: &Value,
    limits: &ArchiveLimits,
    rules: &MediaRules<'_>,
) -> Result<ReadArchive> {
    let transcript = messages::read(Dialect::OpenAi, document, rules);
    let read = transcript.and_then(|transcript| of(transcript, &format!("{index} {document}"), limits));
    read.map_err(|error| error.context(format_args!("conversation {}", index + 1)))
}

/// Reads marked text.
pub(super) fn read_chatml(text: &str, limits: &ArchiveLimits, rules: &MediaRules<'_>) -> Result<ReadArchive> {
    of(messages::read_text(Dialect::ChatMl, text, rules)?, text, limits)
}

/// Builds a conversation of messages, one below the other, with ids derived from `text`.
pub(super) fn of(transcript: Transcript, text: &str, limits: &ArchiveLimits) -> Result<ReadArchive> {
    limits.check_nodes(transcript.messages.len())?;
    let (preface, messages) = transcript.into_preface();
    let digest = Digest::of(text.as_bytes()).to_string();
    let mut record = ConversationRecord::new(name_of(text.as_bytes())?, preface);
    let nodes = chain(messages, record.created, &digest);
    record.head = nodes.last().map(|node| node.id);
    Ok(ReadArchive { archive: Archive::new(record, nodes)?, repairs: Vec::new() })
}

fn chain(messages: Vec<Message>, made: SystemTime, seed: &str) -> Vec<Node> {
    let made = made.max(UNIX_EPOCH);
    let mut nodes: Vec<Node> = Vec::with_capacity(messages.len());
    for (index, message) in messages.into_iter().enumerate() {
        let parent = nodes.last().map(|node| node.id);
        let digest = Digest::of(format!("{seed} {index}").as_bytes());
        let id = NodeId::of_import(milliseconds(made), 0, digest);
        nodes.push(Node::new(parent, message).with_id(id));
    }
    nodes
}

/// Writes the path to the head as a request on one line.
pub(super) fn write_line(archive: &Archive) -> Result<WrittenArchive> {
    let (preface, path) = path(archive)?;
    let transcript = Transcript::of(&preface, &path);
    let text = messages::write_text(Dialect::OpenAi, &transcript)?;
    let mut omitted = omitted(archive, path.len());
    if archive.record.sampling.is_empty() {
        omitted.retain(|omission| *omission != Omission::Settings);
    }
    Ok(WrittenArchive { text: text + "\n", omitted })
}

/// Writes the path to the head as marked text.
pub(super) fn write_chatml(archive: &Archive) -> Result<WrittenArchive> {
    let (preface, path) = path(archive)?;
    let mut omitted = omitted(archive, path.len());
    let messages = [preface.messages, path].concat();
    let count = messages.iter().filter(|message| has_more_than_text(message)).count();
    if count > 0 {
        omitted.push(Omission::NoText(count));
    }
    let further = messages.iter().filter(|message| has_further_fields(message)).count();
    if further > 0 {
        omitted.push(Omission::FurtherFields(further));
    }
    let texts = messages.iter().map(text_alone).collect();
    let text = messages::write_text(Dialect::ChatMl, &Transcript::new(texts))?;
    Ok(WrittenArchive { text, omitted })
}

/// Returns a message as marked text has it: one text. The text of a tool message is that of its results.
fn text_alone(message: &Message) -> Message {
    let results: Vec<_> = message.tool_results().map(ToolResult::text).collect();
    let text = if results.is_empty() { message.text() } else { results.join("\n") };
    Message { name: message.name.clone(), ..Message::new(message.role, vec![Content::Text(text)]) }
}

fn has_more_than_text(message: &Message) -> bool {
    message.parts.iter().any(|part| !matches!(part.content, Content::Text(_)))
}

fn has_further_fields(message: &Message) -> bool {
    !message.extra.is_empty()
        || message.parts.iter().any(|part| !part.extra.is_empty() || part.source.is_some())
}

/// Returns the preface and the messages up to the head, with the bytes of what they show.
pub(super) fn path(archive: &Archive) -> Result<(Preface, Vec<Message>)> {
    let mut preface = archive.record.preface.clone();
    let tree = archive.tree()?;
    let mut path: Vec<_> =
        tree.path(archive.record.head)?.into_iter().map(|node| node.message.clone()).collect();
    for message in preface.messages.iter_mut().chain(&mut path) {
        load(message, archive)?;
    }
    Ok((preface, path))
}

fn load(message: &mut Message, archive: &Archive) -> Result<()> {
    for media in message.parts.iter_mut().flat_map(|part| part.content.media_mut()) {
        if let (None, Some(bytes)) = (media.bytes(), archive.blobs.get(&media.digest())) {
            *media = media.clone().with_bytes(bytes.clone())?;
        }
    }
    Ok(())
}

/// Returns whether a node holds more than its message and its place.
fn has_facts_or_metadata(node: &Node) -> bool {
    let has_facts = node.reply.is_some() || node.prompt_name.is_some() || node.label.is_some();
    has_facts || !node.metadata.is_empty()
}

/// Returns what a list of `shown` messages leaves out of a conversation.
pub(super) fn omitted(archive: &Archive, shown: usize) -> Vec<Omission> {
    let Archive { record, nodes, .. } = archive;
    let mut omitted = Vec::new();
    if nodes.len() > shown {
        omitted.push(Omission::Branches(nodes.len() - shown));
    }
    if !record.metadata.is_empty() || nodes.iter().any(has_facts_or_metadata) {
        omitted.push(Omission::Metadata);
    }
    let plain = Preface { messages: record.preface.messages.clone(), ..Preface::default() };
    if record.preface != plain || !record.sampling.is_empty() {
        omitted.push(Omission::Settings);
    }
    omitted
}
