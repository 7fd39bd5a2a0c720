//! What tokens cost: a table that is data. Knows replies only by their model, their time and their count of tokens.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use alloquy_core::report::Usage;
use alloquy_core::{Error, ErrorKind, Result};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

/// Tokens by what they are charged as; none is counted twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TokenCount {
    /// Tokens of prompts that were computed.
    pub input: usize,
    /// Tokens of prompts that were there from before.
    pub cached: usize,
    /// Tokens of replies, without thoughts.
    pub output: usize,
    /// Tokens of thoughts.
    pub reasoning: usize,
}

impl From<Usage> for TokenCount {
    fn from(usage: Usage) -> Self {
        Self {
            input: usage.prompt.saturating_sub(usage.reused),
            cached: usage.reused,
            output: usage.generated.saturating_sub(usage.thinking),
            reasoning: usage.thinking,
        }
    }
}

impl TokenCount {
    pub(crate) fn add(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }
}

/// The example that comes with the program.
const EXAMPLE: &str = include_str!("prices/example.json");

/// How many digits a price has behind the point at most, so that all sums are exact.
const DIGITS: u32 = 6;

/// The highest price of a million tokens, so that all sums are exact.
const HIGHEST: i64 = 1_000_000_000;

/// A day of the calendar, in UTC, as `2025-03-31`.
///
/// ```
/// use alloquy_cost::Day;
///
/// let day: Day = "2024-02-29".parse()?;
/// assert!(day > "2024-02-28".parse()? && "2023-02-29".parse::<Day>().is_err());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Day {
    year: i64,
    month: u8,
    day: u8,
}

impl Day {
    /// Returns the day of a moment.
    pub fn of(time: SystemTime) -> Self {
        let seconds = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self::from_days(i64::try_from(seconds / 86_400).unwrap_or(i64::MAX / 2))
    }

    /// Days since 1970 to the proleptic Gregorian calendar, in eras of 400 years that begin in March: Howard Hinnant,
    /// "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
    fn from_days(days: i64) -> Self {
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        // Both are small by their making.
        Self { year, month: u8::try_from(month).unwrap_or(1), day: u8::try_from(day).unwrap_or(1) }
    }

    fn exists(self) -> bool {
        let leap = self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0);
        let days = match self.month {
            4 | 6 | 9 | 11 => 30,
            2 if leap => 29,
            2 => 28,
            1..=12 => 31,
            _ => 0,
        };
        (1..=days).contains(&self.day)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl FromStr for Day {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let read = || {
            let mut numbers = text.split('-');
            let year = numbers.next()?.parse().ok()?;
            let month = numbers.next()?.parse().ok()?;
            let day = numbers.next()?.parse().ok()?;
            Some(Self { year, month, day }).filter(|day| day.exists() && day.to_string() == text)
        };
        read().ok_or_else(|| {
            Error::new(ErrorKind::Invalid, format!("{text:?} is not a day such as \"2025-03-31\""))
        })
    }
}

impl TryFrom<String> for Day {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Day> for String {
    fn from(day: Day) -> Self {
        day.to_string()
    }
}

/// What a million tokens of some models cost, from a day on.
///
/// ```
/// use alloquy_cost::{Decimal, Price, TokenCount};
///
/// let mut price = Price::new(["big", "big-2*"], Decimal::from(2), Decimal::from(8));
/// price.cached = Some(Decimal::from(1));
/// let mut tokens = TokenCount::default();
/// tokens.cached = 500_000;
/// tokens.output = 1_000;
/// assert_eq!(price.cost(&tokens).map(|cost| cost.to_string()).as_deref(), Some("0.508"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Price {
    /// The names of the models; a `*` at the end of one stands for any end.
    pub models: Vec<String>,
    /// The first day on which it holds; always, where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Day>,
    /// Tokens of the prompt.
    pub input: Decimal,
    /// Tokens of the prompt that were computed before; as much as others where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<Decimal>,
    /// Tokens of the reply.
    pub output: Decimal,
    /// Tokens of thoughts; as much as others of the reply where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Decimal>,
}

impl Price {
    /// Creates the price of these models' tokens: of prompts and of replies. It always holds, and cached tokens and thinking
    /// cost as much as others; set the other fields where that is not so.
    pub fn new(models: impl IntoIterator<Item = impl Into<String>>, input: Decimal, output: Decimal) -> Self {
        let models = models.into_iter().map(Into::into).collect();
        Self { models, from: None, input, cached: None, output, reasoning: None }
    }

    /// Returns what tokens cost, exactly; `None` for more tokens than 2³² − 1 of a kind.
    pub fn cost(&self, tokens: &TokenCount) -> Option<Decimal> {
        let million = |price: Decimal, count: usize| {
            let exact = price.checked_mul(Decimal::from(u32::try_from(count).ok()?))?;
            let mut cost = exact.normalize();
            cost.set_scale(cost.scale() + 6).ok()?;
            Some(cost.normalize())
        };
        let kinds = [
            million(self.input, tokens.input)?,
            million(self.cached.unwrap_or(self.input), tokens.cached)?,
            million(self.output, tokens.output)?,
            million(self.reasoning.unwrap_or(self.output), tokens.reasoning)?,
        ];
        Some(kinds.into_iter().fold(Decimal::ZERO, Decimal::saturating_add))
    }

    /// How well a name fits: by how many characters, and whether as a whole.
    fn fit(&self, model: &str) -> Option<(usize, bool)> {
        let fit = |name: &String| match name.strip_suffix('*') {
            Some(beginning) => model.starts_with(beginning).then_some((beginning.len(), false)),
            None => (name == model).then_some((name.len(), true)),
        };
        self.models.iter().filter_map(fit).max()
    }

    fn validate(&self) -> Result<()> {
        let invalid =
            |what: String| Err(Error::new(ErrorKind::Invalid, format!("price of {:?}: {what}", self.models)));
        if self.models.is_empty() || self.models.iter().any(String::is_empty) {
            return invalid("each price names its models".to_owned());
        }
        for price in [Some(self.input), self.cached, Some(self.output), self.reasoning].into_iter().flatten()
        {
            let is_exact = price.normalize().scale() <= DIGITS;
            if price.is_sign_negative() || price > Decimal::from(HIGHEST) || !is_exact {
                return invalid(format!(
                    "{price} is not from 0 to {HIGHEST} with at most {DIGITS} digits behind the point"
                ));
            }
        }
        Ok(())
    }
}

/// What the tokens of models cost, in one currency.
///
/// A table is a file of JSON, or of any other format that serde reads. Prices are strings, so that no digit is lost on
/// the way:
///
/// ```
/// use alloquy_cost::PriceTable;
///
/// let table = PriceTable::from_json(r#"{
///     "currency": "USD",
///     "prices": [
///         {"models": ["big", "big-2*"], "input": "2.50", "cached": "1.25", "output": "10"},
///         {"models": ["big", "big-2*"], "from": "2025-01-01", "input": "2", "output": "8"},
///         {"models": ["*"], "input": "0", "output": "0"}
///     ]
/// }"#)?;
/// let price = |model, day: &str| Ok::<_, alloquy_core::Error>(table.price(model, day.parse()?).map(|price| price.input.to_string()));
/// assert_eq!(price("big-2024-08-06", "2024-12-31")?.as_deref(), Some("2.50"));
/// assert_eq!(price("big-2024-08-06", "2025-01-01")?.as_deref(), Some("2"));
/// assert_eq!(price("bigger", "2025-01-01")?.as_deref(), Some("0"));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct PriceTable {
    currency: String,
    prices: Vec<Price>,
}

/// A table as it is written, not checked yet.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    currency: String,
    /// What the table says of itself.
    #[serde(default, rename = "about")]
    _about: String,
    prices: Vec<Price>,
}

impl TryFrom<Written> for PriceTable {
    type Error = Error;

    fn try_from(written: Written) -> Result<Self> {
        Self::new(written.currency, written.prices)
    }
}

impl PriceTable {
    /// Creates a table of prices in one currency.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] with the price that names no models, is negative, or has too many digits for exact sums.
    pub fn new(currency: impl Into<String>, prices: impl IntoIterator<Item = Price>) -> Result<Self> {
        let prices: Vec<_> = prices.into_iter().collect();
        for price in &prices {
            price.validate()?;
        }
        Ok(Self { currency: currency.into(), prices })
    }

    /// Reads a table from JSON.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] with what is wrong and where.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|source| {
            Error::new(ErrorKind::Invalid, "this is no table of prices").with_source(source)
        })
    }

    /// Returns the example that comes with the library: list prices of a few models, as its text says of which day. Whoever
    /// bills by a table keeps their own.
    pub fn example() -> Self {
        // A test reads it.
        Self::from_json(EXAMPLE).unwrap_or_else(|_| Self { currency: "USD".to_owned(), prices: Vec::new() })
    }

    /// Returns the currency of all prices.
    pub fn currency(&self) -> &str {
        &self.currency
    }

    /// Returns the price of a model on a day: of those that hold by then, of the longest name that fits, the last.
    /// `None` is a price that nobody knows, which is not zero.
    pub fn price(&self, model: &str, day: Day) -> Option<&Price> {
        let holds = self.prices.iter().filter(|price| price.from.is_none_or(|from| from <= day));
        let fitting = holds.filter_map(|price| Some(((price.fit(model)?, price.from), price)));
        fitting.max_by_key(|(fit, _)| *fit).map(|(_, price)| price)
    }
}
