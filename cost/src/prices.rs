//! Prices of tokens, by model and date.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use alloquy_core::report::Usage;
use alloquy_core::{Error, ErrorKind, Result};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

/// The tokens of replies by the kind that they are billed as. Each token is counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BilledTokens {
    /// Tokens of prompts that were computed.
    pub input: usize,
    /// Tokens of prompts that were cached.
    pub cached: usize,
    /// Tokens of replies, without thinking.
    pub output: usize,
    /// Tokens of thinking.
    pub reasoning: usize,
}

impl From<Usage> for BilledTokens {
    fn from(usage: Usage) -> Self {
        Self {
            input: usage.prompt.saturating_sub(usage.cached),
            cached: usage.cached,
            output: usage.generated.saturating_sub(usage.thinking),
            reasoning: usage.thinking,
        }
    }
}

impl BilledTokens {
    pub(crate) fn add(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }
}

/// The JSON of the example.
const EXAMPLE: &str = include_str!("prices/example.json");

/// The largest number of decimal places of a price, so that all sums are exact.
const DIGITS: u32 = 6;

/// The highest price of a million tokens, so that all sums are exact.
const HIGHEST: i64 = 1_000_000_000;

/// A date in UTC, such as `2025-03-31`.
///
/// ```
/// use alloquy_cost::Date;
///
/// let day: Date = "2024-02-29".parse()?;
/// assert!(day > "2024-02-28".parse()? && "2023-02-29".parse::<Date>().is_err());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Date {
    year: i64,
    month: u8,
    day: u8,
}

impl Date {
    /// Returns the date of a time.
    pub fn of(time: SystemTime) -> Self {
        let seconds = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self::from_days(i64::try_from(seconds / 86_400).unwrap_or(i64::MAX / 2))
    }

    /// Converts days since 1970 to a date of the proleptic Gregorian calendar.
    ///
    /// The algorithm is `civil_from_days` of Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms". Its eras have 400
    /// years, which begin in March, so that the leap day is the last of a year.
    fn from_days(days: i64) -> Self {
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        // The month is from 1 to 12 and the day from 1 to 31, so both fit.
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

impl fmt::Display for Date {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl FromStr for Date {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match parse(text) {
            Some(date) if date.exists() && date.to_string() == text => Ok(date),
            _ => {
                Err(Error::new(ErrorKind::Invalid, format!("{text:?} is not a date such as \"2025-03-31\"")))
            }
        }
    }
}

/// Reads three numbers, which need not be a date of the calendar.
fn parse(text: &str) -> Option<Date> {
    let mut numbers = text.split('-');
    let year = numbers.next()?.parse().ok()?;
    let month = numbers.next()?.parse().ok()?;
    let day = numbers.next()?.parse().ok()?;
    Some(Date { year, month, day })
}

impl TryFrom<String> for Date {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Date> for String {
    fn from(day: Date) -> Self {
        day.to_string()
    }
}

/// The price of a million tokens of some models, valid from a date.
///
/// ```
/// use alloquy_cost::{Decimal, ModelPrice, BilledTokens};
///
/// let mut price = ModelPrice::new(["big", "big-2*"], Decimal::from(2), Decimal::from(8));
/// price.cached = Some(Decimal::from(1));
/// let mut tokens = BilledTokens::default();
/// tokens.cached = 500_000;
/// tokens.output = 1_000;
/// assert_eq!(price.cost(&tokens).map(|cost| cost.to_string()).as_deref(), Some("0.508"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ModelPrice {
    /// The names of the models. A `*` at the end of a name matches any end.
    pub models: Vec<String>,
    /// The first date on which the price is valid. Without it the price is always valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Date>,
    /// The price of tokens of the prompt.
    pub input: Decimal,
    /// The price of cached tokens of the prompt. The default is `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<Decimal>,
    /// The price of tokens of the reply.
    pub output: Decimal,
    /// The price of tokens of thinking. The default is `output`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Decimal>,
}

impl ModelPrice {
    /// Creates a price of tokens of prompts and of replies.
    ///
    /// The price is always valid, and cached tokens and thinking cost as much as other tokens. Set the other fields to change
    /// that.
    pub fn new(models: impl IntoIterator<Item = impl Into<String>>, input: Decimal, output: Decimal) -> Self {
        let models = models.into_iter().map(Into::into).collect();
        Self { models, from: None, input, cached: None, output, reasoning: None }
    }

    /// Returns the exact cost of tokens; `None` for more than 2³² − 1 tokens of a kind.
    pub fn cost(&self, tokens: &BilledTokens) -> Option<Decimal> {
        let mut cost = cost_of(self.input, tokens.input)?;
        cost = cost.saturating_add(cost_of(self.cached.unwrap_or(self.input), tokens.cached)?);
        cost = cost.saturating_add(cost_of(self.output, tokens.output)?);
        cost = cost.saturating_add(cost_of(self.reasoning.unwrap_or(self.output), tokens.reasoning)?);
        Some(cost)
    }

    /// Returns how well the best name matches a model: its length, and whether the whole name is equal.
    fn fit(&self, model: &str) -> Option<(usize, bool)> {
        let mut best = None;
        for name in &self.models {
            let (length, is_whole, matches) = match name.strip_suffix('*') {
                Some(prefix) => (prefix.len(), false, model.starts_with(prefix)),
                None => (name.len(), true, name == model),
            };
            if matches {
                best = best.max(Some((length, is_whole)));
            }
        }
        best
    }

    fn validate(&self) -> Result<()> {
        if self.models.is_empty() || self.models.iter().any(String::is_empty) {
            return Err(self.invalid("each price names its models"));
        }
        for price in [Some(self.input), self.cached, Some(self.output), self.reasoning].into_iter().flatten()
        {
            let is_exact = price.normalize().scale() <= DIGITS;
            if price.is_sign_negative() || price > Decimal::from(HIGHEST) || !is_exact {
                return Err(self.invalid(&format!(
                    "{price} is not from 0 to {HIGHEST} with at most {DIGITS} decimal places"
                )));
            }
        }
        Ok(())
    }

    fn invalid(&self, what: &str) -> Error {
        Error::new(ErrorKind::Invalid, format!("price of {:?}: {what}", self.models))
    }
}

/// Returns the exact cost of `count` tokens at a price for a million.
fn cost_of(price: Decimal, count: usize) -> Option<Decimal> {
    let product = price.checked_mul(Decimal::from(u32::try_from(count).ok()?))?;
    // Divides by a million by moving the decimal point, which is exact: 2.5 × 1000 = 2500 becomes 0.002500.
    let mut cost = product.normalize();
    cost.set_scale(cost.scale() + 6).ok()?;
    Some(cost.normalize())
}

/// The prices of models, in one currency.
///
/// A table is a file of JSON, or of another format that serde supports. Prices are strings, so that no digit is lost:
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
    prices: Vec<ModelPrice>,
}

/// A table as it is in a file, not validated yet.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    currency: String,
    /// A description of the table, for people.
    #[serde(default, rename = "about")]
    _about: String,
    prices: Vec<ModelPrice>,
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
    /// [`ErrorKind::Invalid`] for a price that names no models, is negative, or has too many digits for exact sums.
    pub fn new(currency: impl Into<String>, prices: impl IntoIterator<Item = ModelPrice>) -> Result<Self> {
        let prices: Vec<_> = prices.into_iter().collect();
        for price in &prices {
            price.validate()?;
        }
        Ok(Self { currency: currency.into(), prices })
    }

    /// Reads a table from JSON.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] with the field and the line.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|source| {
            Error::new(ErrorKind::Invalid, "this is not a table of prices").with_source(source)
        })
    }

    /// Returns an example: list prices of a few models, whose date is in the text of the file.
    ///
    /// A program that bills needs a table of its own.
    pub fn example() -> Self {
        // A test parses the example, so the empty table is never returned.
        Self::from_json(EXAMPLE).unwrap_or_else(|_| Self { currency: "USD".to_owned(), prices: Vec::new() })
    }

    /// Returns the currency of all prices.
    pub fn currency(&self) -> &str {
        &self.currency
    }

    /// Returns the price of a model on a date: the valid one with the longest matching name, and of these the latest.
    ///
    /// `None` means that the price is unknown, not that it is zero.
    pub fn price(&self, model: &str, day: Date) -> Option<&ModelPrice> {
        let valid = self.prices.iter().filter(|price| price.from.is_none_or(|from| from <= day));
        let fitting = valid.filter_map(|price| Some(((price.fit(model)?, price.from), price)));
        fitting.max_by_key(|(fit, _)| *fit).map(|(_, price)| price)
    }
}
