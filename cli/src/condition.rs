//! Conditions on conversations, as people write them: `title=Tea`, `score>=7`, `archived`, `!archived`, and their age.

use std::ops::Bound;
use std::time::{Duration, SystemTime};

use alloquy::core::query::{Filter, MetadataValue, PageCursor};
use alloquy::core::{Error, ErrorKind, Query, Result};
use clap::Args;
use serde_json::Value;

use crate::limits::count;
use crate::times;

/// Which conversations are meant; all conditions must be met.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ConditionArguments {
    /// Only conversations whose metadata match: KEY=VALUE, KEY>=VALUE, KEY<VALUE, KEY or !KEY; may be repeated
    #[arg(long = "where", value_name = "CONDITION", env = "ALLOQUY_WHERE")]
    conditions: Vec<String>,

    /// Only conversations without a message for this long, such as 45min, 12h, 30d or 8w
    #[arg(long, value_name = "AGE", env = "ALLOQUY_OLDER_THAN", value_parser = times::age)]
    older_than: Option<Duration>,

    /// Only conversations without a message since this date, such as 2026-01-31
    #[arg(long, value_name = "DATE", env = "ALLOQUY_BEFORE", value_parser = times::date)]
    before: Option<SystemTime>,
}

impl ConditionArguments {
    /// Returns whether there is no condition.
    pub(crate) fn is_empty(&self) -> bool {
        self.conditions.is_empty() && self.older_than.is_none() && self.before.is_none()
    }

    /// Returns the moment before which the conversations were updated last, if there is one.
    pub(crate) fn end(&self, now: SystemTime) -> Option<SystemTime> {
        // An age that reaches beyond the first time that is known has no conversations.
        let by_age = self.older_than.map(|age| now.checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH));
        match (by_age, self.before) {
            (Some(by_age), Some(before)) => Some(by_age.min(before)),
            (by_age, before) => by_age.or(before),
        }
    }

    /// Returns the query that the arguments describe.
    pub(crate) fn query(&self, now: SystemTime) -> Result<Query> {
        let mut query = Query::default();
        for condition in &self.conditions {
            query = query.filter(filter(condition)?);
        }
        if let Some(end) = self.end(now) {
            query = query.updated(..end);
        }
        Ok(query)
    }
}

/// Which conversations are listed, and how many.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct QueryArguments {
    #[command(flatten)]
    conditions: ConditionArguments,

    /// List at most N
    #[arg(long, value_name = "N", env = "ALLOQUY_LIMIT", value_parser = count::<usize>("limit"))]
    limit: Option<usize>,

    /// Continue after the end of an earlier list of the same conditions
    #[arg(long, value_name = "CURSOR", env = "ALLOQUY_AFTER")]
    after: Option<PageCursor>,
}

impl QueryArguments {
    /// Returns how many results are listed at most.
    pub(crate) fn limit(&self) -> Option<usize> {
        self.limit
    }

    /// Returns the query that the arguments describe.
    pub(crate) fn query(&self) -> Result<Query> {
        let mut query = self.conditions.query(SystemTime::now())?;
        if let Some(limit) = self.limit {
            query = query.limit(limit);
        }
        if let Some(cursor) = &self.after {
            query = query.after(cursor.clone());
        }
        Ok(query)
    }
}

/// Reads one condition.
pub(crate) fn filter(text: &str) -> Result<Filter> {
    let sign = text.find(['=', '<', '>']).map(|place| text.split_at(place));
    match sign {
        None => Ok(text.strip_prefix('!').map_or_else(|| Filter::exists(text), Filter::missing)),
        Some(("", _)) => {
            let message = format!("condition {text:?} names no key, as KEY=VALUE does");
            Err(Error::new(ErrorKind::Invalid, message))
        }
        Some((key, rest)) => compared(key, rest),
    }
}

fn compared(key: &str, rest: &str) -> Result<Filter> {
    // The longer signs first: `>` begins `>=` as well.
    if let Some(value) = rest.strip_prefix(">=") {
        return Filter::range(key, (Bound::Included(scalar(value)), Bound::Unbounded));
    }
    if let Some(value) = rest.strip_prefix("<=") {
        return Filter::range(key, (Bound::Unbounded, Bound::Included(scalar(value))));
    }
    if let Some(value) = rest.strip_prefix('>') {
        return Filter::range(key, (Bound::Excluded(scalar(value)), Bound::Unbounded));
    }
    if let Some(value) = rest.strip_prefix('<') {
        return Filter::range(key, (Bound::Unbounded, Bound::Excluded(scalar(value))));
    }
    Ok(Filter::equals(key, scalar(rest.strip_prefix('=').unwrap_or(rest))))
}

/// Reads a number, a boolean, null or a quoted string of JSON; anything else is a string as it is.
fn scalar(text: &str) -> MetadataValue {
    let value: Option<Value> = serde_json::from_str(text).ok();
    value.and_then(|value| MetadataValue::try_from(value).ok()).unwrap_or_else(|| MetadataValue::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_as_they_are_written() {
        let range =
            |bounds: (Bound<MetadataValue>, Bound<MetadataValue>)| Filter::range("n", bounds).unwrap();
        let cases = [
            ("title=Tea", Filter::equals("title", "Tea")),
            ("n=7", Filter::equals("n", 7)),
            ("n=\"7\"", Filter::equals("n", "7")),
            ("user.name=", Filter::equals("user.name", "")),
            ("done=true", Filter::equals("done", true)),
            ("a==b", Filter::equals("a", "=b")),
            ("n>=7", range((Bound::Included(7.into()), Bound::Unbounded))),
            ("n<=7", range((Bound::Unbounded, Bound::Included(7.into())))),
            ("n>7", range((Bound::Excluded(7.into()), Bound::Unbounded))),
            ("n<7", range((Bound::Unbounded, Bound::Excluded(7.into())))),
            ("done", Filter::exists("done")),
            ("!done", Filter::missing("done")),
        ];
        for (text, expected) in cases {
            assert_eq!(filter(text).unwrap(), expected, "{text}");
        }
        assert_eq!(filter("=7").unwrap_err().kind(), ErrorKind::Invalid);
    }
}
