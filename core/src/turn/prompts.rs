//! Fills in the prompt that a request names, before the messages of the request.

use std::borrow::Cow;
use std::sync::Arc;

use super::parts::Parts;
use super::request::{NamedPrompt, TurnRequest};
use crate::prompt_library::{FilledPrompt, Prompt, PromptPlace, SourcedValues, Values};
use crate::store::{ConversationId, ConversationRecord};
use crate::tree::{Node, NodeId};
use crate::{Result, annotations};

/// Returns the request with the messages of the prompt that it names. `path` are the nodes before its messages.
pub(super) async fn filled<'a>(
    parts: &Parts,
    record: &ConversationRecord,
    path: &[Node],
    ask: &'a TurnRequest,
) -> Result<Cow<'a, TurnRequest>> {
    let Some((name, values)) = &ask.named else { return Ok(Cow::Borrowed(ask)) };
    let (prompt, is_of_library) = match name {
        NamedPrompt::Name(name) => (parts.prompt(name)?, true),
        NamedPrompt::Prompt(prompt) => (Arc::clone(prompt), false),
    };
    let (prompt, found) = fill(parts, record, path, &*prompt, values).await?;
    let mut request = TurnRequest::from(prompt);
    let mut filled = ask.clone();
    filled.named = None;
    if is_of_library {
        filled.prompt = request.prompt.take();
    }
    // The host's own entries count.
    for (key, value) in request.message_metadata.into_iter().chain(found.metadata) {
        filled.message_metadata.entry(key).or_insert(value);
    }
    filled.keys = found.keys;
    filled.warnings = found.warnings;
    request.messages.append(&mut filled.messages);
    filled.messages = request.messages;
    Ok(Cow::Owned(filled))
}

/// Fills a prompt in with the values that were given, then those of the sources, then those of the conversation.
pub(crate) async fn fill(
    parts: &Parts,
    record: &ConversationRecord,
    path: &[Node],
    prompt: &dyn Prompt,
    values: &Values,
) -> Result<(FilledPrompt, SourcedValues)> {
    let place = PromptPlace::new(&parts.owner, record, path, &*parts.store);
    let mut all = SourcedValues { values: values.clone(), ..SourcedValues::default() };
    for source in &parts.value_sources {
        let found = source.values(prompt, &all.values, &place).await?;
        all.values = all.values.or(found.values);
        all.metadata.extend(found.metadata);
        all.keys.extend(found.keys);
        all.warnings.extend(found.warnings);
    }
    let values = all.values.clone().or_conversation(prompt.info(), &record.preface, path);
    Ok((prompt.fill(&values)?, all))
}

/// Notes under which keys the first message of a request is found later. It is stored already, and a key that is lost only means
/// that its values are found again, so an error of the store is none of the turn.
pub(super) async fn note_keys(parts: &Parts, id: &ConversationId, ask: &TurnRequest, node: Option<NodeId>) {
    let Some(node) = node.filter(|_| !ask.keys.is_empty()) else { return };
    let noted = annotations::note(&*parts.store, &parts.owner, id, |notes| notes.set_keys(node, &ask.keys));
    drop(noted.await);
}
