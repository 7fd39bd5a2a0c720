//! Conditions on a conversation's metadata.

use std::fmt;
use std::ops::{Bound, RangeBounds};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::scalar::{self, MetadataValue, escaped, key_of, type_bounds};
use crate::{Error, ErrorKind, Result};

/// Where a value is in the metadata: a name, or several names for a value within objects.
///
/// In text the names are separated by dots; [`MetadataKey::of`] accepts names that contain dots.
///
/// ```
/// use alloquy_core::query::MetadataKey;
///
/// assert_eq!(MetadataKey::from("user.name"), MetadataKey::of(["user", "name"]));
/// assert_eq!(MetadataKey::of(["a/b", "c.d"]).pointer(), "/a~1b/c.d");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MetadataKey(Vec<String>);

impl MetadataKey {
    /// Creates a key from the names that lead to the value.
    pub fn of<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self(names.into_iter().map(Into::into).collect())
    }

    /// Returns the key as a JSON pointer, which indexes use.
    pub fn pointer(&self) -> String {
        self.0.iter().map(|name| format!("/{}", escaped(name))).collect()
    }

    fn find<'a>(&self, metadata: &'a Map<String, Value>) -> Option<&'a Value> {
        let (last, way) = self.0.split_last()?;
        let fields = way.iter().try_fold(metadata, |fields, name| fields.get(name)?.as_object())?;
        fields.get(last)
    }

    /// Returns the sort key of the value here, empty if there is none.
    pub(super) fn value_key(&self, metadata: &Map<String, Value>) -> Vec<u8> {
        self.find(metadata).map(key_of).unwrap_or_default()
    }
}

impl From<&str> for MetadataKey {
    fn from(dotted: &str) -> Self {
        Self::of(dotted.split('.'))
    }
}

impl fmt::Display for MetadataKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.join("."))
    }
}

/// A condition on one value of the metadata.
///
/// ```
/// use alloquy_core::query::{Filter, MetadataValue};
/// use serde_json::json;
///
/// let metadata = json!({"user": {"name": "ann"}, "score": 7});
/// let metadata = metadata.as_object().unwrap();
/// assert!(Filter::equals("user.name", "ann").holds(metadata));
/// assert!(Filter::one_of("user.name", ["bob", "ann"]).holds(metadata));
/// assert!(Filter::range("score", MetadataValue::from(5)..MetadataValue::from(10))?.holds(metadata));
/// assert!(Filter::missing("title").holds(metadata));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    key: MetadataKey,
    test: FilterTest,
}

/// The condition of a [`Filter`] on a value's key ([`MetadataValue::key`]), in a form for indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterTest {
    /// It is one of these.
    OneOf(Vec<Vec<u8>>),
    /// There is one.
    Exists,
    /// There is none.
    Missing,
    /// It is between these, within its type.
    Between(Bound<Vec<u8>>, Bound<Vec<u8>>),
}

impl Filter {
    /// Matches this value.
    pub fn equals(key: impl Into<MetadataKey>, value: impl Into<MetadataValue>) -> Self {
        Self::one_of(key, [value])
    }

    /// Matches one of these values, and nothing if there are none.
    pub fn one_of<V: Into<MetadataValue>>(
        key: impl Into<MetadataKey>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        let keys = values.into_iter().map(|value| value.into().key()).collect();
        Self { key: key.into(), test: FilterTest::OneOf(keys) }
    }

    /// Matches any value, including null.
    pub fn exists(key: impl Into<MetadataKey>) -> Self {
        Self { key: key.into(), test: FilterTest::Exists }
    }

    /// Matches if there is no value.
    pub fn missing(key: impl Into<MetadataKey>) -> Self {
        Self { key: key.into(), test: FilterTest::Missing }
    }

    /// Matches a value of the type of the bounds that is between them.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a range without bounds, and for bounds of two types.
    pub fn range(key: impl Into<MetadataKey>, range: impl RangeBounds<MetadataValue>) -> Result<Self> {
        let from = range.start_bound();
        let to = range.end_bound();
        let given = match (value(from), value(to)) {
            (Some(from), Some(to)) if !from.is_of_type_of(to) => {
                let message = format!("a range has bounds of one type, not {from:?} and {to:?}");
                return Err(Error::new(ErrorKind::Invalid, message));
            }
            (from, to) => from.or(to),
        };
        let given = given.ok_or_else(|| Error::new(ErrorKind::Invalid, "a range needs a bound"))?;
        let (first, end) = type_bounds(&given.key());
        let from = match from {
            Bound::Unbounded => Bound::Included(first),
            bound => bound.map(MetadataValue::key),
        };
        let to = match to {
            Bound::Unbounded => Bound::Excluded(end),
            bound => bound.map(MetadataValue::key),
        };
        Ok(Self { key: key.into(), test: FilterTest::Between(from, to) })
    }

    /// Returns where the value is.
    pub fn key(&self) -> &MetadataKey {
        &self.key
    }

    /// Returns the condition on its key.
    pub fn test(&self) -> &FilterTest {
        &self.test
    }

    /// Returns whether the metadata matches.
    pub fn holds(&self, metadata: &Map<String, Value>) -> bool {
        let found = self.key.find(metadata).map(key_of);
        match (&self.test, found) {
            (FilterTest::Missing, found) => found.is_none(),
            (_, None) => false,
            (FilterTest::Exists, Some(_)) => true,
            (FilterTest::OneOf(keys), Some(found)) => keys.contains(&found),
            (FilterTest::Between(from, to), Some(found)) => (from.as_ref(), to.as_ref()).contains(&found),
        }
    }

    /// Lists every value of `metadata` as its JSON pointer and its key, for an index.
    pub fn index(metadata: &Map<String, Value>) -> Vec<(String, Vec<u8>)> {
        scalar::entries(metadata)
    }
}

fn value(bound: Bound<&MetadataValue>) -> Option<&MetadataValue> {
    match bound {
        Bound::Included(value) | Bound::Excluded(value) => Some(value),
        Bound::Unbounded => None,
    }
}
