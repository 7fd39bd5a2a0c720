//! What must hold of a conversation's metadata.

use std::fmt;
use std::ops::{Bound, RangeBounds};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::scalar::{self, Scalar, escaped, key_of, type_bounds};
use crate::{Error, ErrorKind, Result};

/// Where in the metadata a value stands: a name, or several for what stands within objects.
///
/// As text the names are divided by dots; [`MetadataKey::of`] takes names that have dots themselves.
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
    /// Names a place by the names that lead to it.
    pub fn of<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self(names.into_iter().map(Into::into).collect())
    }

    /// Returns the place as a JSON pointer, under which indexes keep it.
    pub fn pointer(&self) -> String {
        self.0.iter().map(|name| format!("/{}", escaped(name))).collect()
    }

    fn find<'a>(&self, metadata: &'a Map<String, Value>) -> Option<&'a Value> {
        let (last, way) = self.0.split_last()?;
        let fields = way.iter().try_fold(metadata, |fields, name| fields.get(name)?.as_object())?;
        fields.get(last)
    }

    /// Returns the key of the value that stands here, empty when there is none.
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

/// What must hold of one value of the metadata.
///
/// ```
/// use alloquy_core::query::{Filter, Scalar};
/// use serde_json::json;
///
/// let metadata = json!({"user": {"name": "ann"}, "score": 7});
/// let metadata = metadata.as_object().unwrap();
/// assert!(Filter::equals("user.name", "ann").holds(metadata));
/// assert!(Filter::one_of("user.name", ["bob", "ann"]).holds(metadata));
/// assert!(Filter::range("score", Scalar::from(5)..Scalar::from(10))?.holds(metadata));
/// assert!(Filter::missing("title").holds(metadata));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    key: MetadataKey,
    test: Test,
}

/// What a [`Filter`] asks of a value's key ([`Scalar::key`]), as an index can answer it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// It is one of these.
    OneOf(Vec<Vec<u8>>),
    /// There is one.
    Exists,
    /// There is none.
    Missing,
    /// It stands between these, within its type.
    Between(Bound<Vec<u8>>, Bound<Vec<u8>>),
}

impl Filter {
    /// The value is this one.
    pub fn equals(key: impl Into<MetadataKey>, value: impl Into<Scalar>) -> Self {
        Self::one_of(key, [value])
    }

    /// The value is one of these; of none, if there are none.
    pub fn one_of<V: Into<Scalar>>(key: impl Into<MetadataKey>, values: impl IntoIterator<Item = V>) -> Self {
        let keys = values.into_iter().map(|value| value.into().key()).collect();
        Self { key: key.into(), test: Test::OneOf(keys) }
    }

    /// There is a value, null included.
    pub fn exists(key: impl Into<MetadataKey>) -> Self {
        Self { key: key.into(), test: Test::Exists }
    }

    /// There is no value.
    pub fn missing(key: impl Into<MetadataKey>) -> Self {
        Self { key: key.into(), test: Test::Missing }
    }

    /// The value is of the type of the bounds and between them.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a range without bounds, and for bounds of two types.
    pub fn range(key: impl Into<MetadataKey>, range: impl RangeBounds<Scalar>) -> Result<Self> {
        let (from, to) = (range.start_bound(), range.end_bound());
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
            bound => bound.map(Scalar::key),
        };
        let to = match to {
            Bound::Unbounded => Bound::Excluded(end),
            bound => bound.map(Scalar::key),
        };
        Ok(Self { key: key.into(), test: Test::Between(from, to) })
    }

    /// Returns where the value stands.
    pub fn key(&self) -> &MetadataKey {
        &self.key
    }

    /// Returns what is asked of its key.
    pub fn test(&self) -> &Test {
        &self.test
    }

    /// Says whether it holds.
    pub fn holds(&self, metadata: &Map<String, Value>) -> bool {
        let found = self.key.find(metadata).map(key_of);
        match (&self.test, found) {
            (Test::Missing, found) => found.is_none(),
            (_, None) => false,
            (Test::Exists, Some(_)) => true,
            (Test::OneOf(keys), Some(found)) => keys.contains(&found),
            (Test::Between(from, to), Some(found)) => (from.as_ref(), to.as_ref()).contains(&found),
        }
    }

    /// Lists every value of `metadata` as the JSON pointer of its place and its key: what an index holds.
    pub fn index(metadata: &Map<String, Value>) -> Vec<(String, Vec<u8>)> {
        scalar::entries(metadata)
    }
}

fn value(bound: Bound<&Scalar>) -> Option<&Scalar> {
    match bound {
        Bound::Included(value) | Bound::Excluded(value) => Some(value),
        Bound::Unbounded => None,
    }
}
