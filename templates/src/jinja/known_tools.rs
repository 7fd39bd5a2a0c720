//! The converted tools of the last render. Tools stay the same from turn to turn, and converting them is most of the work.

use std::sync::{Mutex, PoisonError};

use minijinja::Value;
use serde_json::{Number, Value as Json};

use super::conversion;

/// The tools of the last render, before and after the conversion.
#[derive(Debug, Default)]
pub(super) struct KnownTools {
    last: Mutex<Option<(Vec<Json>, Value)>>,
}

impl KnownTools {
    /// Returns the converted tools, and keeps them for the next render.
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

/// Returns whether a template would print both values alike: the order of fields counts, and 0.0 is not -0.0.
fn is_alike(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Array(left), Json::Array(right)) => are_alike(left, right),
        (Json::Object(left), Json::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|((key, field), (other_key, other))| key == other_key && is_alike(field, other))
        }
        (Json::Number(left), Json::Number(right)) => left == right && bits(left) == bits(right),
        (left, right) => left == right,
    }
}

fn bits(number: &Number) -> Option<u64> {
    number.as_f64().map(f64::to_bits)
}
