//! A model whose computed prompts can be saved and restored, for hosts that know it as a chat model.

use std::fmt::Debug;
use std::ops::Range;

use alloquy_core::prompt::PromptUnit;
use alloquy_core::{Owner, Request, Result};
use async_trait::async_trait;

use super::snapshot::{Snapshot, SnapshotError, SnapshotIdentity, SnapshotSource};

/// A chat model whose computed prompts can be saved, and restored by another process with the same model.
///
/// `LanguageModel` of alloquy-inference is one, and so is `alloquy::Model`. The requests are those that the model replies to.
///
/// ```
/// use alloquy_core::{Owner, Request, Result};
/// use alloquy_engine::decoder::{SnapshotModel, SnapshotSource};
///
/// /// Restores a snapshot where the model has computed nothing of a prompt, and returns how many units are computed then.
/// async fn resume(model: &dyn SnapshotModel, request: &Request, from: SnapshotSource) -> Result<usize> {
///     let held = model.held(request).await?.held;
///     if held > 0 {
///         return Ok(held);
///     }
///     // A snapshot only saves time: where it is refused, the prompt is computed.
///     Ok(model.restore_for(&Owner::local(), from).await.unwrap_or(0))
/// }
/// ```
#[async_trait]
pub trait SnapshotModel: Send + Sync + Debug {
    /// Returns what its snapshots are of; `None` where its state cannot be saved.
    fn origin(&self) -> Option<SnapshotIdentity>;

    /// Returns the prompt of a request, and how much of it is computed already.
    ///
    /// # Errors
    /// Those of making the prompt, and [`ErrorKind::Unsupported`](alloquy_core::ErrorKind::Unsupported) where that is not known.
    async fn held(&self, request: &Request) -> Result<HeldPrompt>;

    /// Saves what is computed of a request's prompt: its longest prefix that is kept.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](alloquy_core::ErrorKind::NotFound) when nothing of it is kept, and
    /// [`ErrorKind::Unsupported`](alloquy_core::ErrorKind::Unsupported) where the state cannot be saved.
    async fn snapshot(&self, request: &Request) -> Result<Snapshot>;

    /// Restores a snapshot for the prompts of one owner, and returns how many units that are.
    ///
    /// # Errors
    /// Why it was refused. Then nothing has changed, and prompts are computed.
    async fn restore_for(&self, owner: &Owner, from: SnapshotSource) -> Result<usize, SnapshotError>;
}

/// A prompt, and how much of it a model has computed.
///
/// ```
/// use alloquy_core::prompt::PromptUnit;
/// use alloquy_engine::decoder::HeldPrompt;
///
/// let units: Vec<_> = (0..9).map(PromptUnit::Token).collect();
/// let prompt = HeldPrompt::new(units.clone(), 3);
/// assert_eq!(prompt.gain(&units[..7]), 4, "units that a snapshot has more");
/// assert_eq!(prompt.gain(&[PromptUnit::Token(0), PromptUnit::Token(9)]), 0);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldPrompt {
    /// The prompt.
    pub units: Vec<PromptUnit>,
    /// How many of its first units are computed.
    pub held: usize,
    /// Where the last of the earlier replies in it is, if their tokens are known.
    pub last_reply: Option<Range<usize>>,
}

impl HeldPrompt {
    /// A prompt of which the first `held` units are computed.
    pub fn new(units: Vec<PromptUnit>, held: usize) -> Self {
        Self { units, held, last_reply: None }
    }

    /// Returns how many more units of the prompt would be computed with a snapshot of these units.
    pub fn gain(&self, units: &[PromptUnit]) -> usize {
        let shared = self.units.iter().zip(units).take_while(|(one, other)| one == other).count();
        shared.saturating_sub(self.held)
    }

    /// Returns whether all that earlier turns can have computed is computed here, as after a turn that was answered here. The end of a
    /// reply is computed with the next prompt, so its last unit does not count.
    pub fn has_earlier_turns(&self) -> bool {
        match &self.last_reply {
            Some(reply) => self.held.saturating_add(1) >= reply.end,
            None => false,
        }
    }
}
