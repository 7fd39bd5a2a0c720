//! Tool calls as DeepSeek writes them: a name and JSON between full-width marks.
//!
//! V3.1 writes `<｜tool▁call▁begin｜>name<｜tool▁sep｜>{…}<｜tool▁call▁end｜>`. V3 and R1 write the type before the mark in the
//! middle. The name, a line break and the JSON in a fence of Markdown follow it.

use super::call::{Begun, Call};
use super::json::{object, spaced};
use super::{outline, value};

pub(crate) const BEGIN: &str = "<｜tool▁call▁begin｜>";
pub(crate) const MIDDLE: &str = "<｜tool▁sep｜>";
pub(crate) const END: &str = "<｜tool▁call▁end｜>";
pub(crate) const FENCE: &str = "```json\n";

pub(crate) fn read(text: &str) -> Result<Vec<Call>, String> {
    let mut rest = text;
    let mut calls = Vec::new();
    while !rest.trim().is_empty() {
        let body = rest.trim_start().strip_prefix(BEGIN).ok_or_else(|| format!("expected `{BEGIN}`"))?;
        let end = end_of_call(body).ok_or_else(|| format!("expected `{END}`"))?;
        calls.push(call(body.get(..end).unwrap_or_default())?);
        rest = body.get(end + END.len()..).unwrap_or_default();
    }
    Ok(calls)
}

/// Returns where a call ends: at the first mark outside strings.
fn end_of_call(body: &str) -> Option<usize> {
    let mut ends = body.match_indices(END).map(|(end, _)| end);
    ends.find(|end| !outline::is_inside_string(body.get(..*end).unwrap_or_default(), &value::JSON))
}

fn call(text: &str) -> Result<Call, String> {
    let (before, after) = text.split_once(MIDDLE).ok_or_else(|| format!("expected `{MIDDLE}`"))?;
    let (name, arguments) = match after.split_once('\n') {
        Some((name, arguments)) if before.trim() == "function" && !name.trim_start().starts_with('{') => {
            (name, arguments)
        }
        _ => (before, after),
    };
    let arguments = arguments.trim();
    let arguments =
        arguments.strip_prefix("```json").and_then(|rest| rest.strip_suffix("```")).unwrap_or(arguments);
    let arguments = object(arguments).ok_or("the arguments are no JSON object")?;
    match name.trim() {
        "" => Err("a call needs a name".to_owned()),
        name => Ok(Call { name: name.to_owned(), arguments }),
    }
}

pub(crate) fn begun(text: &str) -> Vec<Begun> {
    let mut begun = Vec::new();
    let mut at = 0;
    while let Some(body) = text.get(at..).and_then(|rest| rest.trim_start().strip_prefix(BEGIN)) {
        let place = text.len() - body.len();
        let end = end_of_call(body);
        let text = body.get(..end.unwrap_or(body.len())).unwrap_or_default();
        if let Some(mut call) = begun_call(text) {
            if let Some(part) = &mut call.arguments {
                part.start += place;
                part.end = part.end.saturating_add(place);
            }
            begun.push(call);
        }
        let Some(end) = end else {
            break;
        };
        at = place + end + END.len();
    }
    begun
}

fn begun_call(text: &str) -> Option<Begun> {
    let (before, after) = text.split_once(MIDDLE)?;
    let start = text.len() - after.len();
    let (name, start) = match before.trim() {
        "function" if !after.trim_start().starts_with('{') => {
            let fence = after.find(FENCE)?;
            (after.get(..fence)?, start + fence + FENCE.len())
        }
        _ => (before, start),
    };
    let arguments = text.get(start..)?;
    let brace = arguments.find('{')?;
    let end = outline::balanced(arguments, &value::JSON).map_or(usize::MAX, |end| start + end);
    Some(Begun { id: None, name: name.trim().to_owned(), arguments: Some(start + brace..end) })
}

pub(crate) fn write(calls: &[Call]) -> String {
    let mut written = String::new();
    for call in calls {
        let arguments = spaced(&call.arguments.clone().into());
        written += &format!("{BEGIN}{}{MIDDLE}{arguments}{END}", call.name);
    }
    written
}
