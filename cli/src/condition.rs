//! What must hold of a conversation, as people write it: `title=Tea`, `score>=7`, `archived`, `!archived`.

use std::ops::Bound;

use alloquy::core::query::{Cursor, Filter, Scalar};
use alloquy::core::{Error, ErrorKind, Query, Result};
use clap::Args;
use serde_json::Value;

use crate::limits::count;

/// Which of the conversations are meant.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct QueryArguments {
    /// Only conversations of whose metadata this holds: KEY=VALUE, KEY>=VALUE, KEY<VALUE, KEY or !KEY; may be repeated
    #[arg(long = "where", value_name = "CONDITION", env = "ALLOQUY_WHERE")]
    conditions: Vec<String>,

    /// List at most N
    #[arg(long, value_name = "N", env = "ALLOQUY_LIMIT", value_parser = count::<usize>("limit"))]
    limit: Option<usize>,

    /// Go on where an earlier list of the same conditions ended
    #[arg(long, value_name = "CURSOR", env = "ALLOQUY_AFTER")]
    after: Option<Cursor>,
}

impl QueryArguments {
    /// Returns the query that the arguments describe.
    pub(crate) fn query(&self) -> Result<Query> {
        let mut query = Query::default();
        for condition in &self.conditions {
            query = query.filter(filter(condition)?);
        }
        let query = self.limit.into_iter().fold(query, Query::limit);
        Ok(self.after.iter().cloned().fold(query, Query::after))
    }
}

fn filter(text: &str) -> Result<Filter> {
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
    let range = |from, to| Filter::range(key, (from, to));
    let after = |sign: &str| rest.strip_prefix(sign).map(scalar);
    if let Some(value) = after(">=") {
        return range(Bound::Included(value), Bound::Unbounded);
    }
    if let Some(value) = after("<=") {
        return range(Bound::Unbounded, Bound::Included(value));
    }
    match (after(">"), after("<")) {
        (Some(value), _) => range(Bound::Excluded(value), Bound::Unbounded),
        (_, Some(value)) => range(Bound::Unbounded, Bound::Excluded(value)),
        _ => Ok(Filter::equals(key, scalar(rest.strip_prefix('=').unwrap_or(rest)))),
    }
}

/// A number, a truth value or null as JSON has them, else a string; one in quotes is a string in any case.
fn scalar(text: &str) -> Scalar {
    let value: Option<Value> = serde_json::from_str(text).ok();
    value.and_then(|value| Scalar::try_from(value).ok()).unwrap_or_else(|| Scalar::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_as_they_are_written() {
        let range = |bounds: (Bound<Scalar>, Bound<Scalar>)| Filter::range("n", bounds).unwrap();
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
