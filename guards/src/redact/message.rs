//! Redacts a whole message.

use alloquy_core::{Content, Message, Part, Result};

use super::blocks::Blocks;
use super::ordered::{Ids, Ordered, delta_of};
use super::redactor::{Counts, Redactor, add_counts};

/// Redacts every text of a message: text, thinking, channels, calls, results of tools, its name and its unknown fields. Returns
/// whether something changed.
pub(super) fn redact(
    message: &mut Message,
    redactor: &Redactor,
    blocks: Blocks,
    ids: &mut Ids,
    counts: &mut Counts,
) -> Result<bool> {
    let mut found = Counts::new();
    let mut ordered = Ordered::new(redactor, blocks, std::mem::take(ids));
    // Each part becomes one segment, and `places` are the parts that do.
    let mut places = Vec::new();
    let mut shown = Vec::new();
    for (index, part) in message.parts.iter().enumerate() {
        let Some(delta) = delta_of(&part.content) else { continue };
        let is_empty = matches!(&part.content, Content::Text(text) | Content::Thinking(text) if text.is_empty())
            || matches!(&part.content, Content::Channel(said) if said.text.is_empty());
        if is_empty {
            continue;
        }
        places.push(index);
        shown.extend(ordered.push(delta)?);
        // Two texts in a row are two parts of a message that no model generated.
        places.push(index);
        ordered.end_part();
    }
    shown.extend(ordered.finish()?);
    let (in_parts, seen_ids) = ordered.into_counts();
    *ids = seen_ids;
    add_counts(&mut found, in_parts);
    let mut contents: Vec<Vec<Content>> = vec![Vec::new(); message.parts.len()];
    for (segment, delta) in shown {
        let place = places.get(segment).copied().unwrap_or_default();
        if let Some(contents) = contents.get_mut(place) {
            delta.join_to(contents);
        }
    }
    let mut parts: Vec<Part> = Vec::with_capacity(message.parts.len());
    let mut has_gap = false;
    for (index, (mut part, contents)) in message.parts.drain(..).zip(contents).enumerate() {
        if places.contains(&index) {
            let Some(content) = contents.into_iter().next() else {
                has_gap = true;
                continue;
            };
            part.content = content;
        } else if let Content::ToolResult(result) = &mut part.content {
            redactor.value(&mut result.content, &mut found)?;
            ids.redact(&mut result.id, redactor, &mut found)?;
            result.name = redactor.counted(&result.name, &mut found)?;
        }
        redactor.fields(&mut part.extra, &mut found)?;
        if has_gap && joins(parts.last_mut(), &part) {
            continue;
        }
        has_gap = false;
        parts.push(part);
    }
    message.parts = parts;
    if let Some(name) = &mut message.name {
        *name = redactor.counted(name, &mut found)?;
    }
    redactor.fields(&mut message.extra, &mut found)?;
    let has_changed = !found.is_empty();
    add_counts(counts, found);
    Ok(has_changed)
}

/// Joins a part to the one before it, where the part between them was removed. The deltas join in the same way.
fn joins(before: Option<&mut Part>, part: &Part) -> bool {
    let Some(before) = before else { return false };
    let is_plain =
        part.source.is_none() && part.extra.is_empty() && before.source.is_none() && before.extra.is_empty();
    let is_same = match (&before.content, &part.content) {
        (Content::Text(_), Content::Text(_)) | (Content::Thinking(_), Content::Thinking(_)) => true,
        (Content::Channel(one), Content::Channel(other)) => one.name == other.name,
        _ => false,
    };
    if !is_plain || !is_same {
        return false;
    }
    match (&mut before.content, &part.content) {
        (Content::Text(text), Content::Text(more)) | (Content::Thinking(text), Content::Thinking(more)) => {
            text.push_str(more);
        }
        (Content::Channel(said), Content::Channel(more)) => said.text.push_str(&more.text),
        _ => return false,
    }
    true
}
