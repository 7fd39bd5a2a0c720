//! Conversations as Markdown: a heading for each message, its text below. Knows headings and fences; not Markdown.
//!
//! Thinking is a fenced block of the language `thinking`. Any other part that is no text is a fenced block of the language
//! `alloquy` with one line of JSON, so that it reads back. A line of text that looks like a heading or like such a fence
//! has a backslash in front.

use alloquy_core::store::Archive;
use alloquy_core::{Content, Error, ErrorKind, Message, Part, Result, Role};
use serde_json::{Map, Value, json};

use super::converted::{ReadArchive, WrittenArchive};
use super::limits::ArchiveLimits;
use super::transcripts::{of, omitted, path};
use crate::messages::Transcript;

const FENCE: &str = "```alloquy";
const END: &str = "```";

/// The language of a block of thinking, whose fence has as many backticks as it needs.
const THINKING: &str = "thinking";

/// Returns whether a line is the heading of a message.
pub(super) fn has_heading(text: &str) -> bool {
    text.lines().any(|line| heading(line).is_some())
}

fn heading(line: &str) -> Option<Role> {
    let name = line.strip_prefix("## ")?.trim_end();
    Role::ALL.into_iter().find(|role| title(*role) == name)
}

fn title(role: Role) -> &'static str {
    match role {
        Role::System => "System",
        Role::User => "User",
        Role::Assistant => "Assistant",
        Role::Tool => "Tool",
    }
}

/// Writes the path to the head.
pub(super) fn write(archive: &Archive) -> Result<WrittenArchive> {
    let (preface, path) = path(archive)?;
    let mut text = String::new();
    if let Some(title) = archive.record.metadata.get("title").and_then(Value::as_str) {
        text = format!("# {}\n\n", title.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    for message in preface.messages.iter().chain(&path) {
        text += &written(message)?;
    }
    Ok(WrittenArchive { text, omitted: omitted(archive, path.len()) })
}

fn written(message: &Message) -> Result<String> {
    let mut text = format!("## {}\n\n", title(message.role));
    let mut fields = Map::new();
    if let Some(name) = &message.name {
        fields.insert("name".to_owned(), name.as_str().into());
    }
    if !message.extra.is_empty() {
        fields.insert("extra".to_owned(), Value::Object(message.extra.clone()));
    }
    if !fields.is_empty() {
        text += &fenced(&json!({"message": fields}));
    }
    // Two texts in a row would read back as one.
    let mut after_text = false;
    for part in &message.parts {
        match part.as_text().filter(|said| is_plain(part) && !after_text && reads_back(said)) {
            Some(said) => text += &format!("{}\n\n", escaped(said)),
            None if let Some(thought) = plain_thinking(part) => text += &thinking(thought),
            None => text += &fenced(&serde_json::to_value(part).map_err(unwritable)?),
        }
        after_text = part.as_text().is_some();
    }
    Ok(text)
}

/// Returns the text of a part that is nothing but thinking. A carriage return would not read back.
fn plain_thinking(part: &Part) -> Option<&str> {
    match &part.content {
        Content::Thinking(text) if is_plain(part) && !text.contains('\r') => Some(text),
        _ => None,
    }
}

/// Writes thinking between fences that are longer than every row of backticks in it.
fn thinking(text: &str) -> String {
    let longest = text.lines().map(backticks).max().unwrap_or(0);
    let fence = "`".repeat(END.len().max(longest + 1));
    format!("{fence}{THINKING}\n{text}\n{fence}\n\n")
}

/// Counts the backticks at the beginning of a line.
fn backticks(line: &str) -> usize {
    line.bytes().take_while(|&byte| byte == b'`').count()
}

/// Returns the fence that ends the block of thinking that a line begins.
fn thinking_end(line: &str) -> Option<&str> {
    let end = line.strip_suffix(THINKING)?;
    (end.len() >= END.len() && backticks(end) == end.len()).then_some(end)
}

fn is_plain(part: &Part) -> bool {
    part.extra.is_empty() && part.source.is_none()
}

/// Returns whether a text between two empty lines reads back: line feeds around it would be lost, and so would carriage
/// returns.
fn reads_back(text: &str) -> bool {
    !text.is_empty() && text.trim_matches('\n') == text && !text.contains('\r')
}

fn unwritable(source: serde_json::Error) -> Error {
    Error::new(ErrorKind::Invalid, "a part cannot be written as JSON").with_source(source)
}

fn fenced(value: &Value) -> String {
    format!("{FENCE}\n{value}\n{END}\n\n")
}

fn escaped(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        if is_marked(line.trim_start_matches('\\')) {
            lines.push(format!("\\{line}"));
        } else {
            lines.push(line.to_owned());
        }
    }
    lines.join("\n")
}

fn unescaped(line: &str) -> &str {
    match line.strip_prefix('\\') {
        Some(rest) if is_marked(rest.trim_start_matches('\\')) => rest,
        _ => line,
    }
}

fn is_marked(line: &str) -> bool {
    heading(line).is_some() || line == FENCE || thinking_end(line).is_some()
}

/// Reads messages under their headings. Only a title may be before the first heading.
pub(super) fn read(text: &str, limits: &ArchiveLimits) -> Result<ReadArchive> {
    let mut lines = text.lines();
    let mut title = None;
    let mut messages = Vec::new();
    while let Some(line) = lines.next() {
        if let Some(role) = heading(line) {
            messages.push(Message::new(role, Vec::<Part>::new()));
            continue;
        }
        match messages.last_mut() {
            Some(message) if line == FENCE => read_fence(&mut lines, message)?,
            Some(message) if let Some(end) = thinking_end(line) => read_thinking(&mut lines, end, message)?,
            Some(message) => read_line(line, message),
            None if line.trim().is_empty() => {}
            None if line.starts_with("# ") && title.is_none() => title = line.get(2..),
            None => {
                return Err(invalid(format!(
                    "the line {line:?} is before the first heading such as \"## User\""
                )));
            }
        }
    }
    for message in &mut messages {
        trim(message);
    }
    let mut read = of(Transcript::new(messages), text, limits)?;
    if let Some(title) = title {
        read.archive.record.metadata.insert("title".to_owned(), title.into());
    }
    Ok(read)
}

fn read_line(line: &str, message: &mut Message) {
    let line = unescaped(line);
    match message.parts.last_mut() {
        Some(Part { content: Content::Text(text), extra, source: None }) if extra.is_empty() => {
            text.push('\n');
            text.push_str(line);
        }
        // A text in a fence ends there, so a plain one begins with the empty line after it.
        _ => message.parts.push(Content::Text(line.to_owned()).into()),
    }
}

/// Removes the empty lines around each text, and texts of nothing else. Texts of fences have them on purpose.
fn trim(message: &mut Message) {
    for part in &mut message.parts {
        match &mut part.content {
            Content::Text(text) if part.extra.shift_remove(FENCE).is_none() => {
                *text = text.trim_matches('\n').to_owned();
                if text.is_empty() {
                    part.extra.insert(END.to_owned(), Value::Null);
                }
            }
            _ => {}
        }
    }
    message.parts.retain(|part| !part.extra.contains_key(END));
}

fn read_thinking<'a>(
    lines: &mut impl Iterator<Item = &'a str>,
    end: &str,
    message: &mut Message,
) -> Result<()> {
    let mut thought = Vec::new();
    for line in lines.by_ref() {
        if line == end {
            message.parts.push(Content::Thinking(thought.join("\n")).into());
            return Ok(());
        }
        thought.push(line);
    }
    Err(invalid(format!("a block of {end}{THINKING} has no line {end} that ends it")))
}

fn read_fence<'a>(lines: &mut impl Iterator<Item = &'a str>, message: &mut Message) -> Result<()> {
    let (Some(line), Some(END)) = (lines.next(), lines.next()) else {
        return Err(invalid(format!("a block of {FENCE} is one line of JSON and ends with {END}")));
    };
    let value: Value = serde_json::from_str(line)
        .map_err(|source| invalid(format!("the block {line:?} is not JSON")).with_source(source))?;
    if let Some(fields) = value.get("message") {
        message.name = fields.get("name").and_then(Value::as_str).map(str::to_owned);
        message.extra = fields.get("extra").and_then(Value::as_object).cloned().unwrap_or_default();
        return Ok(());
    }
    let mut part: Part = serde_json::from_value(value).map_err(|source| {
        invalid(format!("the block {line:?} is no part of a message")).with_source(source)
    })?;
    if part.as_text().is_some() {
        // Marks it until all lines are read, so that the lines after it are not added to it.
        part.extra.insert(FENCE.to_owned(), Value::Null);
    }
    message.parts.push(part);
    Ok(())
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
}
