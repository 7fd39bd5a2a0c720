//! What is wrong with a flow, with its place.

use std::collections::BTreeMap;
use std::fmt;

use crate::yaml::Spot;

/// What is wrong with a flow, and where.
///
/// ```
/// use alloquy_flows::Flow;
///
/// let flow = Flow::from_yaml("name: greeting\nstates:\n  hello:\n    say: Hello!\n    to: goodbye\n")?;
/// let problems = flow.problems();
/// assert_eq!(
///     problems[0].to_string(),
///     "states.hello.to:5: there is no state \"goodbye\"; the states are: hello"
/// );
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowProblem {
    /// The place in the flow, such as `states.greet.to`.
    pub place: String,
    /// The line of the file, from 1, if the flow was read from one.
    pub line: Option<usize>,
    /// The column in that line, from 1.
    pub column: Option<usize>,
    /// What is wrong, and what would be valid.
    pub message: String,
    /// Whether the flow may run all the same: a part of it has no effect.
    pub is_warning: bool,
}

impl fmt::Display for FlowProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "{}:{line}: {}", self.place, self.message),
            None => write!(formatter, "{}: {}", self.place, self.message),
        }
    }
}

/// The problems that are found one after the other, and where in the file the places are.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    pub(crate) list: Vec<FlowProblem>,
    pub(crate) spots: BTreeMap<String, Spot>,
}

impl Problems {
    /// Notes where in the file a place is.
    pub(crate) fn at(&mut self, place: &str, spot: Spot) {
        if spot.line > 0 {
            self.spots.insert(place.to_owned(), spot);
        }
    }

    /// Notes what is wrong with a place. Its line is that of the place, or of the nearest one around it.
    pub(crate) fn add(&mut self, place: &str, message: impl Into<String>) {
        self.push(place, message.into(), false);
    }

    /// Notes a part that has no effect.
    pub(crate) fn warn(&mut self, place: &str, message: impl Into<String>) {
        self.push(place, message.into(), true);
    }

    fn push(&mut self, place: &str, message: String, is_warning: bool) {
        let mut around = place;
        let mut spot = self.spots.get(around).copied();
        while let (None, Some((outer, _))) = (spot, around.rsplit_once('.')) {
            around = outer;
            spot = self.spots.get(around).copied();
        }
        let line = spot.map(|spot| spot.line);
        let column = spot.map(|spot| spot.column).filter(|column| *column > 0);
        self.list.push(FlowProblem { place: place.to_owned(), line, column, message, is_warning });
    }
}

/// What the reading of a file leaves beside the flow. It is no part of the definition, so two are always equal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) spots: BTreeMap<String, Spot>,
    pub(crate) problems: Vec<FlowProblem>,
}

impl PartialEq for Reading {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
