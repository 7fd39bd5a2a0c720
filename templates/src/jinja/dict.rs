//! A map of the conversation, as templates see it. Knows what it weighs, so that nobody weighs it again.

use std::collections::BTreeMap;
use std::sync::Arc;

use minijinja::value::{Enumerator, Object, ObjectExt, Value};

use super::weight::Weight;

/// Up to so many fields a look at each is faster than an index.
const FEW: usize = 12;

/// Fields that never change, in the order of the conversation.
#[derive(Debug)]
pub(super) struct Dict {
    fields: Vec<(Value, Value)>,
    /// Where the field of a key stands; empty where there are few.
    index: BTreeMap<Value, usize>,
    weight: Weight,
}

impl Dict {
    /// A map of `fields`, whose keys differ and whose values weigh `weight` together.
    pub(super) fn new(fields: Vec<(Value, Value)>, weight: Weight) -> Self {
        let key = |(place, (key, _)): (usize, &(Value, Value))| (key.clone(), place);
        let index = match fields.len() > FEW {
            true => fields.iter().enumerate().map(key).collect(),
            false => BTreeMap::new(),
        };
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
        match self.index.is_empty() {
            true => self.find(|own| own == key),
            false => self.look_up(key),
        }
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        match self.index.is_empty() {
            true => self.find(|own| own.as_str() == Some(key)),
            false => self.look_up(&Value::from(key)),
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.mapped_rev_key_value_enumerator(|dict| Box::new(dict.fields.iter().cloned()))
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.fields.len())
    }
}
