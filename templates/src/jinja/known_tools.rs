//! The tools of the last render, converted. Tools stay the same from turn to turn, and are most of what there is to
//! convert.

use std::sync::{Mutex, PoisonError};

use minijinja::Value;
use serde_json::{Number, Value as Json};

use super::conversion;

/// What the last render was given, and what became of it.
#[derive(Debug, Default)]
pub(super) struct KnownTools {
    last: Mutex<Option<(Vec<Json>, Value)>>,
}

impl KnownTools {
    /// Converts tools, unless they are those of the last render.
    pub(super) fn value(&self, tools: &[Json]) -> Value {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, value)) = last.as_ref().filter(|(known, _)| are_alike(known, tools)) {
            return value.clone();
        }
        let value: Value = tools.iter().map(conversion::value).collect();
        *last = Some((tools.to_vec(), value.clone()));
        value
    }
}

fn are_alike(left: &[Json], right: &[Json]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| is_alike(left, right))
}

/// Whether a template would print both alike: the order of fields counts, and 0.0 is not -0.0.
fn is_alike(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Array(left), Json::Array(right)) => are_alike(left, right),
        (Json::Object(left), Json::Object(right)) => {
            let alike = |((key, field), (other_key, other)): ((&String, &Json), (&String, &Json))| {
                key == other_key && is_alike(field, other)
            };
            left.len() == right.len() && left.iter().zip(right).all(alike)
        }
        (Json::Number(left), Json::Number(right)) => {
            let bits = |number: &Number| number.as_f64().map(f64::to_bits);
            left == right && bits(left) == bits(right)
        }
        (left, right) => left == right,
    }
}
