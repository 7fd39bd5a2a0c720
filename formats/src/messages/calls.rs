//! Tool calls and the pairing of answers with them, for dialects that leave the ids out. Knows no dialect.

use std::collections::{BTreeMap, BTreeSet};

use alloquy_core::message::ToolCall;
use alloquy_core::{Content, Part, Result};
use serde_json::{Map, Value, json};

use super::fields::{Fields, list};
use super::further::{self, Shape};
use super::layout::Placed;
use super::place::Place;

const CALL: Shape = Shape::nested(&["id", "type", FUNCTION], FUNCTION, &["name", "arguments"]);
const FUNCTION: &str = "function";

/// The calls of a document so far, for the answers that follow.
///
/// An answer without an id answers the earliest call of its name that has no answer yet, and one without a
/// name the earliest call of all. A call without an id is `call_1`, `call_2`, … in the order of the document;
/// ids that occurred before are skipped.
#[derive(Default)]
pub(super) struct Calls {
    /// Name and ordinal by id; a repeated id is that of its last call.
    known: BTreeMap<String, (String, usize)>,
    /// Id and name of the calls without an answer, by ordinal: a long document must not cost the square of its length.
    open: BTreeMap<usize, (String, String)>,
    open_by_name: BTreeMap<String, BTreeSet<usize>>,
    made: usize,
    numbered: usize,
}

impl Calls {
    /// Notes a call and returns its id.
    pub(super) fn call(&mut self, id: Option<&str>, name: &str) -> String {
        let id = id.map_or_else(|| self.fresh(), str::to_owned);
        self.made += 1;
        self.known.insert(id.clone(), (name.to_owned(), self.made));
        self.open.insert(self.made, (id.clone(), name.to_owned()));
        self.open_by_name.entry(name.to_owned()).or_default().insert(self.made);
        id
    }

    /// Returns the id and the name of the call that an answer is for, as far as the document has them.
    pub(super) fn answer(&mut self, id: Option<&str>, name: Option<&str>) -> (String, Option<String>) {
        let earliest = match (id, name) {
            (Some(id), _) => self.known.get(id).map(|(_, ordinal)| *ordinal),
            (None, Some(name)) => self.open_by_name.get(name).and_then(BTreeSet::first).copied(),
            (None, None) => self.open.first_key_value().map(|(ordinal, _)| *ordinal),
        };
        let answered = earliest.and_then(|ordinal| self.close(ordinal));
        let id = id.map(str::to_owned).or(answered).unwrap_or_else(|| self.fresh());
        let known = self.known.get(&id).map(|(name, _)| name.clone());
        (id, name.map(str::to_owned).or(known))
    }

    fn close(&mut self, ordinal: usize) -> Option<String> {
        let (id, name) = self.open.remove(&ordinal)?;
        if let Some(open) = self.open_by_name.get_mut(&name) {
            open.remove(&ordinal);
        }
        Some(id)
    }

    fn fresh(&mut self) -> String {
        loop {
            self.numbered += 1;
            let id = format!("call_{}", self.numbered);
            if !self.known.contains_key(&id) {
                return id;
            }
        }
    }
}

/// Reads a list of `{id, type: "function", function: {name, arguments}}`; id and type may be missing.
pub(super) fn read(
    value: &Value,
    place: &Place<'_>,
    calls: &mut Calls,
    arguments: fn(&Value) -> Value,
) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    for (index, call) in list(value, place)?.iter().enumerate() {
        parts.push(read_one(call, &place.index(index), calls, arguments)?);
    }
    Ok(parts)
}

fn read_one(
    value: &Value,
    place: &Place<'_>,
    calls: &mut Calls,
    arguments: fn(&Value) -> Value,
) -> Result<Part> {
    let mut fields = Fields::of(value, place)?;
    let id = fields.take_str("id")?;
    match fields.take_str("type")? {
        None | Some(FUNCTION) => {}
        Some(other) => return Err(place.field("type").unknown("type of call", other, &[FUNCTION])),
    }
    let function = fields.need(FUNCTION)?;
    let part = read_function(function, id, &place.field(FUNCTION), calls, arguments)?;
    Ok(further::beside(part, fields.rest()))
}

/// Reads `{name, arguments}`; missing arguments are an empty object.
pub(super) fn read_function(
    value: &Value,
    id: Option<&str>,
    place: &Place<'_>,
    calls: &mut Calls,
    arguments: fn(&Value) -> Value,
) -> Result<Part> {
    let mut fields = Fields::of(value, place)?;
    let name = fields.need_str("name")?;
    let given = if fields.has("arguments") {
        arguments(fields.take("arguments").unwrap_or(&Value::Null))
    } else {
        Value::Object(Map::new())
    };
    let call = ToolCall::new(calls.call(id, name), name, given);
    Ok(further::inside(Content::ToolCall(call), FUNCTION, fields.rest()))
}

/// Writes a call in the form that [`read`] accepts.
pub(super) fn write(
    Placed { index, content: call, extra }: &Placed<'_, ToolCall>,
    arguments: &Value,
    message: &Place<'_>,
) -> Result<Value> {
    let function = json!({"name": call.name, "arguments": arguments});
    let written = json!({"id": call.id, "type": FUNCTION, FUNCTION: function});
    CALL.add(written, extra, &message.field("parts").index(*index))
}
