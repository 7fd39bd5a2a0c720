//! Tool calls as Mistral writes them after the mark that begins them: a JSON list, or a name, `[ARGS]` and JSON.

use super::call::{Begun, Call};
use super::json::{JsonCalls, object, spaced};
use super::{outline, value};

const ID: &str = "[CALL_ID]";
const ARGUMENTS: &str = "[ARGS]";
/// The mark that begins the next call.
pub(super) const NEXT: &str = "[TOOL_CALLS]";

pub(crate) fn read(text: &str) -> Result<Vec<Call>, String> {
    if is_list(text) {
        return JsonCalls::read(text);
    }
    let start = start_of_arguments(text).ok_or_else(|| format!("expected `{ARGUMENTS}`"))?;
    let head = text.get(..start).unwrap_or_default();
    let head = head.strip_suffix(ARGUMENTS).unwrap_or(head);
    let name = head.split_once(ID).map_or(head, |(name, _)| name);
    let arguments =
        object(text.get(start..).unwrap_or_default()).ok_or("the arguments are no JSON object")?;
    match name.trim() {
        "" => Err("a call needs a name".to_owned()),
        name => Ok(vec![Call { name: name.to_owned(), arguments }]),
    }
}

fn is_list(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with('{')
        || text.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with(['{', ']']))
}

fn start_of_arguments(text: &str) -> Option<usize> {
    let brace = text.find('{');
    match text.find(ARGUMENTS) {
        Some(mark) if brace.is_none_or(|brace| mark < brace) => Some(mark + ARGUMENTS.len()),
        _ => brace,
    }
}

/// Returns where the calls of `text` end: after the bracket that closes the list or the arguments, or before the next mark if
/// that comes first.
pub(crate) fn end(text: &str) -> Option<usize> {
    let start = if is_list(text) { 0 } else { start_of_arguments(text).unwrap_or(text.len()) };
    let arguments = text.get(start..).unwrap_or_default();
    let closed = outline::balanced(arguments, &value::JSON).map(|end| start + end);
    match text.find(NEXT) {
        Some(next) if closed.is_none_or(|closed| next < closed) => {
            let before = text.get(start..next).unwrap_or_default();
            if outline::is_inside_string(before, &value::JSON) { closed } else { Some(next) }
        }
        _ => closed,
    }
}

pub(crate) fn begun(text: &str) -> Vec<Begun> {
    if is_list(text) {
        return JsonCalls::begun(text);
    }
    let Some((start, brace)) =
        start_of_arguments(text).and_then(|start| Some((start, text.get(start..)?.find('{')?)))
    else {
        return Vec::new();
    };
    let head = text.get(..start).unwrap_or_default();
    let head = head.strip_suffix(ARGUMENTS).unwrap_or(head);
    let (name, id) =
        head.split_once(ID).map_or((head, None), |(name, id)| (name, Some(id.trim().to_owned())));
    let end = outline::balanced(text.get(start..).unwrap_or_default(), &value::JSON);
    vec![Begun {
        id,
        name: name.trim().to_owned(),
        arguments: Some(start + brace..end.map_or(usize::MAX, |end| start + end)),
    }]
}

pub(crate) fn write(calls: &[Call]) -> String {
    let mut written = Vec::new();
    for call in calls {
        let arguments = spaced(&call.arguments.clone().into());
        written.push(format!("{}{ARGUMENTS}{arguments}", call.name));
    }
    written.join(NEXT)
}
