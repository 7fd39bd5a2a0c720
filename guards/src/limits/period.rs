//! How long a budget lasts.

/// How long a budget lasts.
///
/// [`BudgetLimit`](super::BudgetLimit) has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Period {
    /// One turn: the calls from a message of the user to the answer, with those after tools. It begins at 0 with each turn.
    Turn,
    /// A day in UTC.
    Day,
    /// Without end.
    Always,
}
