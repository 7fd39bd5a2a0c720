//! A map of the conversation, as templates see it. It is weighed once, when it is converted.

use std::collections::BTreeMap;
use std::sync::Arc;

use minijinja::value::{Enumerator, Object, ObjectExt, Value};

use super::weight::Weight;

/// Up to this many fields a search is faster than an index.
const FEW: usize = 12;

/// Fields that never change, in the order of the conversation.
#[derive(Debug)]
pub(super) struct Dict {
    fields: Vec<(Value, Value)>,
    /// The position of the field of each key; empty when there are few fields.
    index: BTreeMap<Value, usize>,
    weight: Weight,
}

impl Dict {
    /// Creates a map of `fields`, whose keys differ and whose values weigh `weight` together.
    pub(super) fn new(fields: Vec<(Value, Value)>, weight: Weight) -> Self {
        let mut index = BTreeMap::new();
        if fields.len() > FEW {
            for (position, (key, _)) in fields.iter().enumerate() {
                index.insert(key.clone(), position);
            }
        }
        Self { fields, index, weight }
    }

    pub(super) fn weight(&self) -> Weight {
        self.weight
    }

    pub(super) fn fields(&self) -> &[(Value, Value)] {
        &self.fields
    }

    fn find(&self, is_key: impl Fn(&Value) -> bool) -> Option<Value> {
        self.fields.iter().find(|(key, _)| is_key(key)).map(|(_, value)| value.clone())
    }

    fn look_up(&self, key: &Value) -> Option<Value> {
        let (_, value) = self.fields.get(*self.index.get(key)?)?;
        Some(value.clone())
    }
}

impl Object for Dict {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        if self.index.is_empty() { self.find(|own| own == key) } else { self.look_up(key) }
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        if self.index.is_empty() {
            self.find(|own| own.as_str() == Some(key))
        } else {
            self.look_up(&Value::from(key))
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.mapped_rev_key_value_enumerator(|dict| Box::new(dict.fields.iter().cloned()))
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.fields.len())
    }
}
