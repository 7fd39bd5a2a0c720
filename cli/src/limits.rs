//! The valid numbers of flags, variables and keys of the configuration file: the least and the greatest of each.
//!
//! Every parser of a number uses this table, and a test finds numeric flags that are not in it. docs/cli.md shows it.

use std::fmt;

use alloquy::onnx::most_threads;
use serde_json::Value;

/// A count of tokens, messages or steps that no machine reaches.
const MANY: u64 = u32::MAX as u64;

/// A week, in seconds.
const WEEK: u64 = 604_800;

/// The valid numbers of a flag; its key in the file is its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) key: &'static str,
    pub(crate) range: Range,
}

/// Which numbers are valid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Range {
    /// Whole numbers, both ends included.
    Whole(u64, u64),
    /// Whole numbers from 1 to what this machine allows.
    Threads,
    /// Some whole numbers.
    OneOf(&'static [u64]),
    /// Numbers, both ends included.
    Number(f64, f64),
    /// Numbers above the first and up to the second.
    Above(f64, f64),
}

const fn whole(key: &'static str, least: u64, greatest: u64) -> Limit {
    Limit { key, range: Range::Whole(least, greatest) }
}

const fn limit(key: &'static str, range: Range) -> Limit {
    Limit { key, range }
}

/// Every numeric flag, in the order in which help lists them.
pub(crate) const LIMITS: [Limit; 49] = [
    limit("threads", Range::Threads),
    whole("pixel-cap", 0, 1_000_000_000),
    limit("visual-tokens", Range::OneOf(&[70, 140, 280, 560, 1120])),
    limit("frames-per-second", Range::Above(0.0, 1000.0)),
    whole("media-bytes", 1, 64 << 20),
    whole("media-pixels", 1, 1_000_000_000),
    whole("media-seconds", 1, 86_400),
    whole("media-cache", 0, 1 << 40),
    limit("temperature", Range::Number(0.0, 1000.0)),
    whole("top-k", 0, MANY),
    limit("top-p", Range::Above(0.0, 1.0)),
    limit("min-p", Range::Number(0.0, 1.0)),
    limit("typical-p", Range::Above(0.0, 1.0)),
    limit("repetition-penalty", Range::Above(0.0, 1000.0)),
    limit("presence-penalty", Range::Number(-1000.0, 1000.0)),
    limit("frequency-penalty", Range::Number(-1000.0, 1000.0)),
    whole("penalty-window", 0, MANY),
    whole("no-repeat-ngram", 0, MANY),
    whole("repetition-detection", 0, MANY),
    limit("logit-bias", Range::Number(-1_000_000.0, 1_000_000.0)),
    whole("seed", 0, u64::MAX),
    whole("max-tokens", 0, MANY),
    whole("logprobs", 0, 1024),
    whole("thinking-budget", 0, MANY),
    whole("tool-timeout", 1, WEEK),
    whole("tool-rounds", 0, 1000),
    whole("passages", 1, 1000),
    whole("memory-notes", 1, 1000),
    whole("memory-tokens", 1, MANY),
    whole("resume-quota", 0, 1_000_000_000),
    whole("limit", 0, MANY),
    whole("prompt", 1, 10_000_000),
    whole("history", 0, 10_000_000),
    whole("generate", 1, 10_000_000),
    whole("together", 1, 1024),
    whole("repeat", 1, 1000),
    whole("chunk", 1, 1_000_000),
    whole("overlap", 0, 500_000),
    whole("file-bytes", 1, 1 << 30),
    whole("every", 1, 86_400),
    whole("model-memory", 1, 1 << 30),
    whole("concurrent", 1, 10_000),
    whole("queue", 0, 100_000),
    whole("drain", 0, WEEK),
    whole("snapshots-quota", 0, 1_000_000_000),
    whole("calls-per-minute", 1, MANY),
    whole("tokens-per-day", 1, 1 << 50),
    whole("verbose", 0, 255),
    // The id of a token, in front of its bias.
    whole("logit-bias-id", 0, MANY),
];

/// Returns which numbers a key takes; `None` for one that takes none.
pub(crate) fn of(key: &str) -> Option<Range> {
    LIMITS.iter().find(|limit| limit.key == key).map(|limit| limit.range)
}

/// Returns the parser of a flag that takes a whole number.
pub(crate) fn count<N>(
    key: &'static str,
) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static
where
    N: TryFrom<u64> + Clone + Send + Sync + 'static,
{
    move |text| read_count(key, text)
}

/// Returns the parser of a flag that takes any number.
pub(crate) fn number(
    key: &'static str,
) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text| read_number(key, text)
}

/// Reads a whole number within its limits.
pub(crate) fn read_count<N: TryFrom<u64>>(key: &str, text: &str) -> Result<N, String> {
    let value: u64 = text.trim().parse().map_err(|_| expected(key))?;
    if !of(key).is_some_and(|range| range.has_whole(value)) {
        return Err(expected(key));
    }
    // A valid number may be too large for this machine's integers.
    N::try_from(value).map_err(|_| expected(key))
}

/// Reads a number within its limits.
pub(crate) fn read_number(key: &str, text: &str) -> Result<f64, String> {
    let value: f64 = text.trim().parse().map_err(|_| expected(key))?;
    if of(key).is_some_and(|range| range.has(value)) { Ok(value) } else { Err(expected(key)) }
}

/// Says what is wrong with a value of the configuration file, where it is a number outside of its limits.
pub(crate) fn check(key: &str, value: &Value) -> Result<(), String> {
    let (Some(range), Value::Number(number)) = (of(key), value) else {
        return Ok(());
    };
    let is_valid = if range.is_whole() {
        // The type of the key refuses what is no whole number.
        number.as_u64().is_none_or(|whole| range.has_whole(whole))
    } else {
        number.as_f64().is_some_and(|number| range.has(number))
    };
    if is_valid { Ok(()) } else { Err(expected(key)) }
}

fn expected(key: &str) -> String {
    of(key).map_or_else(String::new, |range| format!("expected {range}"))
}

impl Range {
    fn is_whole(self) -> bool {
        matches!(self, Self::Whole(..) | Self::Threads | Self::OneOf(_))
    }

    fn has_whole(self, value: u64) -> bool {
        match self {
            Self::Whole(least, greatest) => (least..=greatest).contains(&value),
            Self::Threads => (1..=most_threads() as u64).contains(&value),
            Self::OneOf(values) => values.contains(&value),
            Self::Number(..) | Self::Above(..) => false,
        }
    }

    /// Returns whether the range has a number; NaN is in no range.
    fn has(self, value: f64) -> bool {
        match self {
            Self::Number(least, greatest) => least <= value && value <= greatest,
            Self::Above(least, greatest) => least < value && value <= greatest,
            Self::Whole(..) | Self::Threads | Self::OneOf(_) => false,
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(least, greatest) => write!(formatter, "a whole number from {least} to {greatest}"),
            Self::Threads => {
                let most = most_threads();
                write!(formatter, "a whole number from 1 to {most}, four times the processors here")
            }
            Self::OneOf(values) => {
                let values: Vec<_> = values.iter().map(u64::to_string).collect();
                write!(formatter, "one of {}", values.join(", "))
            }
            Self::Number(least, greatest) => write!(formatter, "a number from {least} to {greatest}"),
            Self::Above(least, greatest) => {
                write!(formatter, "a number above {least} and at most {greatest}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;
    use std::collections::BTreeSet;

    use super::*;
    use crate::commands::every_argument;

    #[test]
    fn every_numeric_flag_is_in_the_table_and_nothing_else() {
        let numeric = [
            TypeId::of::<u8>(),
            TypeId::of::<u32>(),
            TypeId::of::<u64>(),
            TypeId::of::<usize>(),
            TypeId::of::<i64>(),
            TypeId::of::<f32>(),
            TypeId::of::<f64>(),
        ];
        let arguments = every_argument();
        let is_numeric =
            |argument: &&clap::Arg| numeric.iter().any(|id| argument.get_value_parser().type_id() == *id);
        let flags: BTreeSet<_> =
            arguments.iter().filter(is_numeric).filter_map(clap::Arg::get_long).collect();
        let ours: BTreeSet<_> = LIMITS.iter().map(|limit| limit.key).collect();
        let biased = BTreeSet::from(["logit-bias", "logit-bias-id"]);
        assert_eq!(flags, ours.difference(&biased).copied().collect());
        let longs: BTreeSet<_> = arguments.iter().filter_map(clap::Arg::get_long).collect();
        assert!(longs.contains("logit-bias"));
    }

    #[test]
    fn each_ends_where_it_says() {
        for Limit { key, range } in LIMITS {
            let read = |text: &str| {
                if range.is_whole() {
                    read_count::<u64>(key, text).map(drop)
                } else {
                    read_number(key, text).map(drop)
                }
            };
            let (valid, wrong) = match range {
                Range::Whole(least, greatest) => (
                    vec![least.to_string(), greatest.to_string()],
                    vec![(i128::from(least) - 1).to_string(), (u128::from(greatest) + 1).to_string()],
                ),
                Range::Threads => (
                    vec!["1".to_owned(), most_threads().to_string()],
                    vec!["0".to_owned(), (most_threads() + 1).to_string()],
                ),
                Range::OneOf(values) => {
                    (values.iter().map(u64::to_string).collect(), vec!["0".into(), "71".into()])
                }
                Range::Number(least, greatest) => (
                    vec![least.to_string(), greatest.to_string(), "1e-300".to_owned()],
                    vec![(least - 0.001).to_string(), (greatest + 0.001).to_string()],
                ),
                Range::Above(least, greatest) => (
                    vec![greatest.to_string(), "1e-300".to_owned()],
                    vec![least.to_string(), (greatest + 0.001).to_string()],
                ),
            };
            for text in valid {
                assert_eq!(read(&text), Ok(()), "{key} {text}");
            }
            let nonsense = ["NaN", "inf", "-inf", "", "many", "1e400", "0x10", "-9223372036854775809"];
            for text in wrong.iter().map(String::as_str).chain(nonsense) {
                let expected = format!("expected {range}");
                assert_eq!(read(text), Err(expected), "{key} {text}");
            }
        }
    }

    /// Where the page has the table.
    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/cli.md");

    #[test]
    fn the_page_has_the_table() {
        let row = |limit: &Limit| match (limit.key, limit.range) {
            ("verbose", _) => "| `ALLOQUY_VERBOSE` | how often `-v` is given: 0 to 255 |\n".to_owned(),
            ("logit-bias", range) => format!("| `--logit-bias` `X` | {range} |\n"),
            ("logit-bias-id", range) => format!("| `--logit-bias` `ID` | {range} |\n"),
            (key, Range::Threads) => {
                format!("| `--{key}` | a whole number from 1 to four times the processors |\n")
            }
            (key, range) => format!("| `--{key}` | {range} |\n"),
        };
        let table: String = LIMITS.iter().map(row).collect();
        let page = std::fs::read_to_string(PAGE).unwrap();
        assert!(page.contains(&table), "docs/cli.md should have:\n{table}");
    }
}
