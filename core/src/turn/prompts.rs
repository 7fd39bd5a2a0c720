//! Fills in the prompt that a request names, before the messages of the request.

use std::borrow::Cow;

use super::parts::Parts;
use super::request::TurnRequest;
use crate::Result;
use crate::store::ConversationRecord;
use crate::tree::Node;

/// Returns the request with the messages of the prompt that it names. `path` are the nodes before its messages.
pub(super) fn filled<'a>(
    parts: &Parts,
    record: &ConversationRecord,
    path: &[Node],
    ask: &'a TurnRequest,
) -> Result<Cow<'a, TurnRequest>> {
    let Some((name, values)) = &ask.named else { return Ok(Cow::Borrowed(ask)) };
    let prompt = parts.prompt(name)?;
    let values = values.clone().or_conversation(prompt.info(), &record.preface, path);
    let mut request = TurnRequest::from(prompt.fill(&values)?);
    let mut filled = ask.clone();
    filled.named = None;
    filled.prompt = request.prompt.take();
    // The host's own entries count.
    for (key, value) in request.message_metadata {
        filled.message_metadata.entry(key).or_insert(value);
    }
    request.messages.append(&mut filled.messages);
    filled.messages = request.messages;
    Ok(Cow::Owned(filled))
}
