//! The arguments of guards: what is removed from texts, and how much calls may use. Reads no file.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use alloquy::cost::Decimal;
use alloquy::guards::limits::{Period, Rate};
use alloquy::guards::redact::{Strategy, recognizers};
use clap::Args;
use serde::{Deserialize, Serialize};

use super::list::names;

/// What is removed, and what calls may use.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Guards")]
pub(crate) struct GuardArguments {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) redaction: RedactionArguments,

    /// Refuse calls of the model beyond these limits, such as tokens=2000,tokens=9000/day,cost=0.50/day,rate=10/min: of a
    /// conversation, unless /turn or /day follows; none is none; may be repeated
    #[arg(long = "limit", value_name = "LIMITS", env = "ALLOQUY_LIMITS")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) limits: Vec<LimitList>,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) prices: PriceArguments,
}

/// What is removed.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Guards")]
pub(crate) struct RedactionArguments {
    /// Remove texts of these forms from answers and from what the model reads: redact is all of email, card, iban, key and
    /// phone, redact:email,card=mask some of them, redact:words=FILE the words of a file; none is none; may be repeated
    #[arg(long = "guard", value_name = "KINDS", env = "ALLOQUY_GUARD")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) guards: Vec<GuardList>,
}

/// What tokens cost.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct PriceArguments {
    /// The table of prices; an example with a few list prices unless set
    #[arg(long, value_name = "FILE", env = "ALLOQUY_PRICES")]
    pub(crate) prices: Option<PathBuf>,
}

/// Guards that are one argument, with semicolons between them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct GuardList {
    typed: String,
    pub(crate) guards: Vec<Guard>,
}

/// Something that is removed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Guard {
    pub(crate) finds: Finds,
    pub(crate) strategy: Strategy,
    /// The strategy as it is typed; empty for the name in brackets.
    suffix: String,
}

/// What a guard finds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Finds {
    /// The texts of a recognizer.
    Named(String),
    /// The words of a file, one a line.
    Words(PathBuf),
}

/// The word for no guard, and for no limit.
const NONE: &str = "none";

/// The guard that redacts.
const REDACT: &str = "redact";

/// The strategies, as an error lists them.
const STRATEGIES: &str = "name, mask, mask4 (the last 4 characters stay), remove, block";

/// How many characters a mask may keep.
const KEPT: usize = 100;

impl FromStr for GuardList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut guards = Vec::new();
        for part in text.split(';').map(str::trim).filter(|part| *part != NONE) {
            guards.extend(redactions(part)?);
        }
        Ok(Self { typed: text.to_owned(), guards })
    }
}

/// Reads `redact` or `redact:KIND,KIND`.
fn redactions(text: &str) -> Result<Vec<Guard>, String> {
    let (what, kinds) = match text.split_once(':') {
        Some((what, kinds)) => (what.trim(), Some(kinds)),
        None => (text, None),
    };
    let (word, strategy) = match what.split_once('=') {
        Some((word, strategy)) if kinds.is_none() => (word, Some(strategy)),
        _ => (what, None),
    };
    if word != REDACT {
        return Err(format!("{text:?} is no guard, one of: redact, redact:KIND,KIND, none"));
    }
    let Some(kinds) = kinds else {
        let suffix = strategy.unwrap_or_default();
        return recognizers::names().map(|name| guard(Finds::Named(name.to_owned()), suffix)).collect();
    };
    names(kinds).map(kind).collect()
}

/// Reads `email`, `email=mask`, `words=FILE` or `words=FILE=mask`.
fn kind(text: &str) -> Result<Guard, String> {
    if let Some(file) = text.strip_prefix("words=") {
        if let Some((file, suffix)) = file.rsplit_once('=')
            && let Ok(guard) = guard(Finds::Words(PathBuf::from(file)), suffix)
        {
            return Ok(guard);
        }
        if file.is_empty() {
            return Err(format!(
                "{text:?} names no file: write words=FILE, with a word or a phrase on each line"
            ));
        }
        return guard(Finds::Words(PathBuf::from(file)), "");
    }
    let (name, suffix) = text.split_once('=').unwrap_or((text, ""));
    if !recognizers::names().any(|known| known == name) {
        let known: Vec<_> = recognizers::names().collect();
        return Err(format!("{text:?} is no kind of text, one of: {}, words=FILE", known.join(", ")));
    }
    guard(Finds::Named(name.to_owned()), suffix)
}

fn guard(finds: Finds, suffix: &str) -> Result<Guard, String> {
    let strategy = match suffix {
        "" | "name" => Strategy::Name,
        "remove" => Strategy::Replace(String::new()),
        "block" => Strategy::Block,
        _ => {
            let keep = suffix.strip_prefix("mask").and_then(kept);
            let keep =
                keep.ok_or_else(|| format!("{suffix:?} is no way to replace a text, one of: {STRATEGIES}"))?;
            Strategy::Mask { keep }
        }
    };
    Ok(Guard { finds, strategy, suffix: suffix.to_owned() })
}

/// Reads how many characters a mask keeps.
fn kept(text: &str) -> Option<usize> {
    if text.is_empty() {
        return Some(0);
    }
    text.parse().ok().filter(|keep| *keep <= KEPT)
}

impl fmt::Display for Guard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.finds {
            Finds::Named(name) => write!(formatter, "{REDACT}:{name}")?,
            Finds::Words(file) => write!(formatter, "{REDACT}:words={}", file.display())?,
        }
        if self.suffix.is_empty() { Ok(()) } else { write!(formatter, "={}", self.suffix) }
    }
}

impl TryFrom<String> for GuardList {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<GuardList> for String {
    fn from(list: GuardList) -> Self {
        list.typed
    }
}

/// Limits that are one argument, with commas or semicolons between them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct LimitList {
    typed: String,
    pub(crate) limits: Vec<CallLimit>,
}

/// What calls may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CallLimit {
    /// So many tokens of prompts and answers.
    Tokens(u64, Period),
    /// So much cost, in the currency of the prices.
    Cost(Decimal, Period),
    /// So many calls in each unit of time, with the name of the unit.
    Calls(u32, Rate, &'static str),
}

/// How a limit is written, as an error shows it.
const FORMS: &str =
    "tokens=N, cost=X, each with /turn, /conversation or /day, and rate=N/s, /min, /h or /day";

/// The greatest number of tokens.
const TOKENS: u64 = 1_000_000_000_000;

/// The greatest cost.
const COST: u64 = 1_000_000;

/// The greatest number of calls.
const CALLS: u32 = 1_000_000;

/// The units of time of a rate, in seconds.
const UNITS: [(&str, u64); 4] = [("s", 1), ("min", 60), ("h", 3_600), ("day", 86_400)];

/// The periods of a budget. One that lasts always is that of a conversation.
const PERIODS: [(&str, Period); 3] =
    [("turn", Period::Turn), ("conversation", Period::Always), ("day", Period::Day)];

impl FromStr for LimitList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut limits = Vec::new();
        for part in text.split([',', ';']).map(str::trim).filter(|part| *part != NONE) {
            limits.push(limit(part)?);
        }
        Ok(Self { typed: text.to_owned(), limits })
    }
}

fn limit(text: &str) -> Result<CallLimit, String> {
    let (what, amount) = text.split_once('=').ok_or_else(|| no_limit(text))?;
    let (amount, unit) = match amount.split_once('/') {
        Some((amount, unit)) => (amount.trim(), Some(unit.trim())),
        None => (amount.trim(), None),
    };
    match what.trim() {
        "tokens" => {
            let tokens = amount.parse().ok().filter(|tokens| (1..=TOKENS).contains(tokens));
            let tokens =
                tokens.ok_or_else(|| format!("{text:?}: tokens are a whole number from 1 to {TOKENS}"))?;
            Ok(CallLimit::Tokens(tokens, period(text, unit)?))
        }
        "cost" => {
            let valid = Decimal::ZERO..=Decimal::from(COST);
            let cost = amount.parse().ok().filter(|cost| valid.contains(cost));
            let cost =
                cost.ok_or_else(|| format!("{text:?}: a cost is a number from 0 to {COST}, such as 0.50"))?;
            Ok(CallLimit::Cost(cost, period(text, unit)?))
        }
        "rate" => rate(text, amount, unit),
        _ => Err(no_limit(text)),
    }
}

fn no_limit(text: &str) -> String {
    format!("{text:?} is no limit: write {FORMS}")
}

fn period(text: &str, unit: Option<&str>) -> Result<Period, String> {
    let Some(unit) = unit else { return Ok(Period::Always) };
    let known = PERIODS.iter().find(|(name, _)| *name == unit);
    let known = known.map(|(_, period)| *period);
    known.ok_or_else(|| format!("{text:?}: {unit:?} is no period, one of: turn, conversation, day"))
}

fn rate(text: &str, amount: &str, unit: Option<&str>) -> Result<CallLimit, String> {
    let known = UNITS.iter().find(|(name, _)| Some(*name) == unit);
    let Some((unit, seconds)) = known else {
        return Err(format!(
            "{text:?}: a rate is of a unit of time, one of: s, min, h, day, such as rate=10/min"
        ));
    };
    let calls = amount.parse().ok().filter(|calls| (1..=CALLS).contains(calls));
    let calls = calls.ok_or_else(|| format!("{text:?}: calls are a whole number from 1 to {CALLS}"))?;
    let rate = Rate::new(calls, Duration::from_secs(*seconds)).map_err(|error| error.to_string())?;
    Ok(CallLimit::Calls(calls, rate, unit))
}

/// Returns the name of a period.
fn name_of(period: Period) -> &'static str {
    let known = PERIODS.iter().find(|(_, known)| *known == period);
    known.map_or("conversation", |(name, _)| name)
}

impl fmt::Display for CallLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tokens(tokens, period) => write!(formatter, "tokens={tokens}/{}", name_of(*period)),
            Self::Cost(cost, period) => write!(formatter, "cost={cost}/{}", name_of(*period)),
            Self::Calls(calls, _, unit) => write!(formatter, "rate={calls}/{unit}"),
        }
    }
}

impl TryFrom<String> for LimitList {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<LimitList> for String {
    fn from(list: LimitList) -> Self {
        list.typed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guards(text: &str) -> Result<Vec<String>, String> {
        Ok(text.parse::<GuardList>()?.guards.iter().map(ToString::to_string).collect())
    }

    fn limits(text: &str) -> Result<Vec<String>, String> {
        Ok(text.parse::<LimitList>()?.limits.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn guards_are_read_as_they_are_written() {
        let all = ["redact:email", "redact:card", "redact:iban", "redact:key", "redact:phone"];
        assert_eq!(guards("redact").unwrap(), all);
        let masked = guards("redact=mask").unwrap();
        assert_eq!(masked.len(), 5);
        assert_eq!(masked[0], "redact:email=mask");
        for same in ["redact:email", "redact:card=mask4", "redact:words=a.txt", "redact:words=a=b.txt=block"]
        {
            assert_eq!(guards(same).unwrap(), [same]);
        }
        assert_eq!(guards("redact:email, key ; redact:phone").unwrap().len(), 3);
        assert_eq!(guards("none").unwrap(), Vec::<String>::new());
        let masked: GuardList = "redact:card=mask4".parse().unwrap();
        assert_eq!(masked.guards[0].strategy, Strategy::Mask { keep: 4 });
    }

    #[test]
    fn limits_are_read_as_they_are_written() {
        let all = "tokens=2000,tokens=9/turn,cost=0.50/day;rate=10/min";
        let read = ["tokens=2000/conversation", "tokens=9/turn", "cost=0.50/day", "rate=10/min"];
        assert_eq!(limits(all).unwrap(), read);
        assert_eq!(limits("none").unwrap(), Vec::<String>::new());
    }

    #[test]
    fn what_is_wrong_is_quoted_with_what_is_valid() {
        for (text, valid) in [
            ("mail", "one of: redact, redact:KIND,KIND, none"),
            ("", "one of: redact"),
            ("redact:mail", "one of: email, card, iban, key, phone, words=FILE"),
            ("redact:", "one of: email"),
            ("redact:email=star", "one of: name, mask, mask4"),
            ("redact:email=mask1000", "one of: name, mask, mask4"),
            ("redact=star", "one of: name, mask, mask4"),
            ("redact:words=", "words=FILE"),
        ] {
            let error = guards(text).unwrap_err();
            let last = text.rsplit([':', '=']).next().unwrap();
            assert!(
                error.contains(valid) && error.contains(last) && !error.contains("expected "),
                "{text}: {error}"
            );
        }
        for (text, valid) in [
            ("token=1", "tokens=N"),
            ("", "tokens=N"),
            ("tokens=0", "from 1 to 1000000000000"),
            ("tokens=many", "from 1 to 1000000000000"),
            ("tokens=5/week", "one of: turn, conversation, day"),
            ("cost=-1", "from 0 to 1000000"),
            ("cost=1e400", "from 0 to 1000000"),
            ("rate=10", "one of: s, min, h, day"),
            ("rate=10/week", "one of: s, min, h, day"),
            ("rate=0/min", "from 1 to 1000000"),
            ("rate=-1/min", "from 1 to 1000000"),
        ] {
            let error = limits(text).unwrap_err();
            assert!(error.contains(valid) && error.contains(&format!("{text:?}")), "{text}: {error}");
        }
    }
}
