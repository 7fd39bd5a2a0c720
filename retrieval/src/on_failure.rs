//! What happens if nothing can be found.

/// What happens if passages or notes cannot be found.
///
/// [`PromptPassages::on_failure`](crate::PromptPassages::on_failure) sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// The turn fails with the error. The messages of a prompt are not stored then.
    #[default]
    Fail,
    /// The model answers without them, and the reply has a warning.
    Without,
}
