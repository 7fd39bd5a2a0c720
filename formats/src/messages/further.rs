//! The unknown fields of a part: kept when it is read, written back to the place that they had.

use alloquy_core::{Content, Part, Result};
use serde_json::{Map, Value};

use super::fields::append;
use super::place::Place;

/// The names that a dialect reads itself in the object of a part.
pub(super) struct Shape {
    /// The names of the object's fields.
    pub(super) known: &'static [&'static str],
    /// The object inside it that has fields of its own, and the names of these.
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

    /// Adds the further fields of the part at `place` to its object.
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

/// Adds to a part the fields of its inner object that were not taken.
pub(super) fn inside(part: Content, name: &str, rest: Map<String, Value>) -> Part {
    let mut part = Part::from(part);
    if !rest.is_empty() {
        part.extra.insert(name.to_owned(), rest.into());
    }
    part
}

/// Adds to a part the fields of its own object that were not taken.
pub(super) fn beside(mut part: Part, rest: Map<String, Value>) -> Part {
    part.extra.extend(rest);
    part
}

/// Refuses further fields where the dialect writes such a part as a text.
pub(super) fn none(extra: &Map<String, Value>, place: &Place<'_>) -> Result<()> {
    match extra.keys().next() {
        Some(name) => {
            let place = place.field("extra");
            Err(place.field(name).unsupported("the dialect has no place for further fields of this part"))
        }
        None => Ok(()),
    }
}
