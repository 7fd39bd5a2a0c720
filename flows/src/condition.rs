//! The conditions of transitions.

use alloquy_core::{Error, ErrorKind, Result};
use regex::{Regex, RegexBuilder};
use serde::Serialize;
use serde_json::{Map, Value};

/// When a transition is taken. It sees the last message, which is a reply or an answer, and the variables.
///
/// ```
/// use alloquy_flows::{Condition, Observation};
/// use serde_json::json;
///
/// let seen = Observation::new("I need HELP").variable("tier", json!("gold"));
/// assert!(Condition::keyword(["help"]).holds(&seen)?);
/// assert!(Condition::equals("tier", "gold").holds(&seen)?);
/// assert!(!Condition::Matches("^[0-9]+$".to_owned()).holds(&seen)?);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Condition {
    /// It always holds.
    #[default]
    Always,
    /// The text has one of these words or phrases.
    Keyword(Keyword),
    /// A regular expression matches a part of the text. It is matched in linear time.
    Matches(String),
    /// A variable has this value. Without a variable, the last answer, tool result or reply with a schema has it.
    Equals {
        /// The variable.
        variable: Option<String>,
        /// The value.
        value: Value,
    },
    /// A variable is a number of at least this value.
    AtLeast {
        /// The variable.
        variable: String,
        /// The number.
        value: f64,
    },
    /// The last answer, tool result or reply is JSON that a schema accepts.
    Schema(Value),
    /// A model gives this answer to a question about the text.
    Model(ModelQuestion),
    /// A function of the host, by its name.
    Host(String),
    /// All of these hold.
    All(Vec<Condition>),
    /// One of these holds.
    Any(Vec<Condition>),
    /// This one does not hold.
    Not(Box<Condition>),
    /// Counts some English words that please or displease, as dataknobs does. It is for imported flows: "know" counts as "no".
    Sentiment {
        /// Positive, negative or neutral.
        is: Sentiment,
        /// Which share of the words must agree.
        threshold: f64,
    },
}

/// Words or phrases, and how they are compared.
///
/// [`Condition::keyword`] creates one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Keyword {
    /// The words.
    pub any: Vec<String>,
    /// Whether capital letters count.
    pub case: bool,
    /// Whether they must be whole words.
    pub word: bool,
}

/// A question to a model, whose answer is one of several texts.
///
/// ```
/// use alloquy_flows::{Condition, ModelQuestion};
///
/// let question = ModelQuestion::new("Is the customer angry?", ["yes", "no"], "yes");
/// assert_eq!(question.is, "yes");
/// let condition = Condition::Model(question);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ModelQuestion {
    /// The question. The model reads it with the last message.
    pub question: String,
    /// The answers that it may give.
    pub options: Vec<String>,
    /// The answer for which the condition holds.
    pub is: String,
    /// Whether the model scores the options instead of writing one.
    pub score: bool,
}

impl ModelQuestion {
    /// Asks a question.
    pub fn new<O: Into<String>>(
        question: impl Into<String>,
        options: impl IntoIterator<Item = O>,
        is: impl Into<String>,
    ) -> Self {
        let options = options.into_iter().map(Into::into).collect();
        Self { question: question.into(), options, is: is.into(), score: false }
    }

    /// Sets that the model scores the options instead of writing one.
    #[must_use]
    pub fn scored(mut self) -> Self {
        self.score = true;
        self
    }
}

/// What most of the counted words are.
///
/// [`Condition::Sentiment`] has one, and [`Flow`](crate::Flow) has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sentiment {
    /// More words please.
    Positive,
    /// More words displease.
    Negative,
    /// Neither.
    Neutral,
}

/// What conditions see: the last message and the variables.
///
/// [`Condition`] has an example.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Observation {
    /// The text of the last message.
    pub text: String,
    /// The value of the last answer, tool result or reply with a schema; `None` for a text.
    pub value: Option<Value>,
    /// The variables, and `state`, `visit`, `step` and `last`.
    pub variables: Map<String, Value>,
}

impl Observation {
    /// Sees a text and no variables.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), value: None, variables: Map::new() }
    }

    /// Adds a variable.
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Returns the last value: that of the answer, or the text as JSON, or the text.
    pub(crate) fn last(&self) -> Value {
        if let Some(value) = &self.value {
            return value.clone();
        }
        serde_json::from_str(&self.text).unwrap_or_else(|_| Value::String(self.text.clone()))
    }
}

/// Whether a condition holds, and why.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) holds: bool,
    pub(crate) why: String,
}

impl Condition {
    /// Holds if the text has one of these words or phrases, whatever their case.
    pub fn keyword<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Self {
        let any = words.into_iter().map(Into::into).collect();
        Self::Keyword(Keyword { any, case: false, word: false })
    }

    /// Holds if a variable has this value.
    pub fn equals(variable: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::Equals { variable: Some(variable.into()), value: value.into() }
    }

    /// Holds if the last answer, tool result or reply with a schema has this value.
    ///
    /// ```
    /// use alloquy_flows::{Condition, Observation};
    ///
    /// assert!(Condition::answered(true).holds(&Observation::new("true"))?);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn answered(value: impl Into<Value>) -> Self {
        Self::Equals { variable: None, value: value.into() }
    }

    /// Holds if this condition does not.
    ///
    /// ```
    /// use alloquy_flows::{Condition, Observation};
    ///
    /// assert!(Condition::keyword(["no"]).negated().holds(&Observation::new("yes"))?);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn negated(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// Returns whether it, or a condition in it, asks a model or the host.
    pub(crate) fn asks(&self) -> bool {
        match self {
            Self::Model(_) | Self::Host(_) => true,
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::asks),
            Self::Not(part) => part.asks(),
            _ => false,
        }
    }

    /// Returns a short text of it, for drawings and traces.
    pub fn summary(&self) -> String {
        match self {
            Self::Always => "always".to_owned(),
            Self::Keyword(keyword) => format!("keyword {}", keyword.any.join(", ")),
            Self::Matches(pattern) => format!("matches {pattern}"),
            Self::Equals { variable: Some(variable), value } => format!("{variable} = {value}"),
            Self::Equals { variable: None, value } => format!("answer = {value}"),
            Self::AtLeast { variable, value } => format!("{variable} >= {value}"),
            Self::Schema(_) => "fits the schema".to_owned(),
            Self::Model(question) => format!("{} {}", question.question, question.is),
            Self::Host(name) => format!("host {name}"),
            Self::All(parts) => joined(parts, " and "),
            Self::Any(parts) => joined(parts, " or "),
            Self::Not(part) => format!("not ({})", part.summary()),
            Self::Sentiment { is, .. } => format!("{is:?} words").to_lowercase(),
        }
    }
}

fn joined(parts: &[Condition], word: &str) -> String {
    let parts: Vec<_> = parts.iter().map(Condition::summary).collect();
    format!("({})", parts.join(word))
}

/// Compiles a pattern.
pub(crate) fn compiled(pattern: &str) -> Result<Regex> {
    RegexBuilder::new(pattern).size_limit(PATTERN_SIZE).build().map_err(|source| {
        let shown = source.to_string();
        let shown = shown.lines().last().unwrap_or_default().trim().to_owned();
        let message = format!("the pattern {pattern:?} does not compile: {shown}");
        Error::new(ErrorKind::Invalid, message).with_source(source)
    })
}

/// How many bytes a compiled pattern may take.
const PATTERN_SIZE: usize = 1 << 20;

impl Keyword {
    /// Finds the first word that the text has.
    pub(crate) fn found<'a>(&'a self, text: &str) -> Result<Option<&'a str>> {
        let lower = text.to_lowercase();
        for word in &self.any {
            let is_there = if self.word {
                RegexBuilder::new(&format!(r"\b{}\b", regex::escape(word)))
                    .case_insensitive(!self.case)
                    .build()
                    .map_err(|source| {
                        let message = format!("the keyword {word:?} is too long to search for");
                        Error::new(ErrorKind::Invalid, message).with_source(source)
                    })?
                    .is_match(text)
            } else if self.case {
                text.contains(word.as_str())
            } else {
                lower.contains(&word.to_lowercase())
            };
            if is_there {
                return Ok(Some(word));
            }
        }
        Ok(None)
    }
}

/// The words that count as pleased.
const PLEASED: [&str; 8] = ["excellent", "good", "great", "happy", "like", "love", "sure", "yes"];

/// The words that count as displeased.
const DISPLEASED: [&str; 7] = ["bad", "dislike", "hate", "no", "poor", "sad", "terrible"];

/// Returns what most counted words are, and their share.
pub(crate) fn sentiment(text: &str) -> (Sentiment, f64) {
    let text = text.to_lowercase();
    let pleased = PLEASED.iter().filter(|word| text.contains(**word)).count();
    let displeased = DISPLEASED.iter().filter(|word| text.contains(**word)).count();
    match pleased.cmp(&displeased) {
        std::cmp::Ordering::Equal if pleased == 0 => (Sentiment::Neutral, 1.0),
        std::cmp::Ordering::Equal => (Sentiment::Neutral, share(pleased, displeased)),
        std::cmp::Ordering::Greater => (Sentiment::Positive, share(pleased, displeased)),
        std::cmp::Ordering::Less => (Sentiment::Negative, share(displeased, pleased)),
    }
}

/// Returns the share of the first words; there are at most 15.
fn share(these: usize, others: usize) -> f64 {
    let all = u8::try_from(these + others).unwrap_or(u8::MAX);
    f64::from(u8::try_from(these).unwrap_or(u8::MAX)) / f64::from(all.max(1))
}
