//! The fields of a part that a dialect does not know: kept when it is read, put back where they stood when written.

use alloquy_core::{Content, Part, Result};
use serde_json::{Map, Value};

use super::fields::append;
use super::place::Place;

/// The names that a dialect reads for itself in an object that says a part.
pub(super) struct Shape {
    /// Those of the object.
    pub(super) known: &'static [&'static str],
    /// The object inside it that has fields of its own, and the names in there.
    pub(super) inner: Option<(&'static str, &'static [&'static str])>,
}

impl Shape {
    /// An object without another inside it.
    pub(super) const fn flat(known: &'static [&'static str]) -> Self {
        Self { known, inner: None }
    }

    /// An object with the object `name` inside it.
    pub(super) const fn nested(
        known: &'static [&'static str],
        name: &'static str,
        inside: &'static [&'static str],
    ) -> Self {
        Self { known, inner: Some((name, inside)) }
    }

    /// Adds the further fields of the part at `place` to the object that says it.
    ///
    /// # Errors
    /// `Unsupported` for a field that a reader would take for something else.
    pub(super) fn add(
        &self,
        mut object: Value,
        extra: &Map<String, Value>,
        place: &Place<'_>,
    ) -> Result<Value> {
        let place = place.field("extra");
        let mut outer = extra.clone();
        if let Some((name, known)) = self.inner
            && let Some(fields) = outer.shift_remove(name)
        {
            add_inside(object.get_mut(name), &fields, known, &place.field(name))?;
        }
        if let Value::Object(object) = &mut object {
            append(object, &outer, self.known, &place)?;
        }
        Ok(object)
    }
}

fn add_inside(object: Option<&mut Value>, fields: &Value, known: &[&str], place: &Place<'_>) -> Result<()> {
    match (object, fields) {
        (Some(Value::Object(object)), Value::Object(fields)) if !fields.is_empty() => {
            append(object, fields, known, place)
        }
        _ => Err(place.unsupported("further fields of an object are an object of one or more")),
    }
}

/// A part whose object inside the part's object has fields that nobody took.
pub(super) fn inside(part: Content, name: &str, rest: Map<String, Value>) -> Part {
    let mut part = Part::from(part);
    if !rest.is_empty() {
        part.extra.insert(name.to_owned(), rest.into());
    }
    part
}

/// A part whose own object has fields that nobody took.
pub(super) fn beside(mut part: Part, rest: Map<String, Value>) -> Part {
    part.extra.extend(rest);
    part
}

/// Refuses further fields where the dialect has nothing but a text for such a part.
pub(super) fn none(extra: &Map<String, Value>, place: &Place<'_>) -> Result<()> {
    match extra.keys().next() {
        Some(name) => {
            let place = place.field("extra");
            Err(place.field(name).unsupported("the dialect has no place for further fields of this part"))
        }
        None => Ok(()),
    }
}
