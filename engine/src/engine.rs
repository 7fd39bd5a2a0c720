//! Models that run in this process: an engine opens sessions, and a session is one KV cache.

mod cancel;
mod load_timing;

use std::any::Any;
use std::fmt::Debug;
use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::tokenizer::{Tokenizer, Vocabulary};
use alloquy_core::{Error, ErrorKind, Result};

use crate::decoder::snapshot::StateReader;
use crate::media_processor::MediaProcessor;

pub use cancel::CancelToken;
pub use load_timing::{LoadPhase, LoadTiming};

/// A loaded model, which opens sessions.
///
/// The [front page](crate) has an example. A backend implements this trait and [`Session`]; most methods have defaults.
///
/// # Contract
/// Sessions of one engine are independent of each other, but are used from one thread at a time (the
/// `Generator` of alloquy-inference owns them all).
pub trait Engine: Send + Sync + Debug {
    /// Returns the description of the model.
    fn model(&self) -> &ModelInfo;

    /// Returns the tokenizer.
    fn tokenizer(&self) -> &dyn Tokenizer;

    /// Decodes every token of the model's vocabulary.
    fn vocabulary(&self) -> Vocabulary {
        let model = self.model();
        Vocabulary::new(self.tokenizer(), model.vocabulary, &model.stop_tokens)
    }

    /// Returns the identity of this model as it is run here: everything besides the units that a session's state depends on.
    ///
    /// `None` if the identity is unknown. Then there are no snapshots.
    fn identity(&self) -> Option<Digest> {
        None
    }

    /// Returns how long loading the model took; `None` where it was not measured.
    fn load_timing(&self) -> Option<&LoadTiming> {
        None
    }

    /// Returns the processor of media; `None` for a model that accepts tokens alone.
    fn media(&self) -> Option<&dyn MediaProcessor> {
        None
    }

    /// Returns how many positions of the context a unit takes: a token one, media as many as their outline has.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for media that the model does not accept, and those of [`MediaProcessor::outline`].
    fn positions(&self, unit: &PromptUnit) -> Result<usize> {
        match unit {
            PromptUnit::Token(_) => Ok(1),
            PromptUnit::Media(media) => {
                let message = format!("model {:?} takes no media such as {media:?}", self.model().name);
                Err(Error::new(ErrorKind::Unsupported, message))
            }
        }
    }

    /// Opens an empty session.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`] when there is no memory for one.
    fn open(&self) -> Result<Box<dyn Session>>;

    /// Returns how long its runtime has computed since it was loaded, for all sessions together; `None` where it is not
    /// measured. The rest of a step's time is overhead.
    fn computing(&self) -> Option<Duration> {
        None
    }

    /// Returns how many units of a prompt are computed in one call. Between two such chunks, other replies get their turn.
    fn prefill_chunk(&self) -> usize {
        128
    }

    /// Appends one unit to each of several sessions of this engine. [`Session::logits`] are then those after it.
    ///
    /// The default computes one after another, which is exact. An engine with batches reads its weights once for all of them.
    ///
    /// # Errors
    /// As [`Session::forward`]. Then it is not known what each session holds, and all of them must be dropped.
    fn forward_many(&self, steps: &mut [BatchStep<'_>]) -> Result<()> {
        for step in steps {
            step.session.forward(std::slice::from_ref(step.unit), &CancelToken::default())?;
        }
        Ok(())
    }
}

/// A unit for one session in a batch of several.
///
/// ```
/// use alloquy_core::prompt::PromptUnit;
/// use alloquy_engine::{BatchStep, Engine};
/// use alloquy_testing::ScriptedEngine;
///
/// let engine = ScriptedEngine::new([]);
/// let mut left = engine.open()?;
/// let mut right = engine.open()?;
/// let unit = PromptUnit::Token(72);
/// let first = BatchStep { session: &mut *left, unit: &unit };
/// let second = BatchStep { session: &mut *right, unit: &unit };
/// engine.forward_many(&mut [first, second])?;
/// assert_eq!((left.length(), right.length()), (1, 1));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub struct BatchStep<'a> {
    /// The session.
    pub session: &'a mut dyn Session,
    /// The unit that is appended to it.
    pub unit: &'a PromptUnit,
}

impl Debug for BatchStep<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Step({:?} after {} units)", self.unit, self.session.length())
    }
}

/// One KV cache. Knows units; not messages, text, tools or other sessions.
///
/// # Contract
/// The logits depend on the units alone. They agree to rounding, whether the units were appended at once, one by one or in
/// chunks, after any `truncate`, in the original or in a fork. After a cancelled call, `length` returns what the session
/// holds. After any other error than [`ErrorKind::Cancelled`], the session must be dropped. `laws::session` checks it.
///
/// ### Why does `forward` return a mutable slice?
/// Samplers work in place, and a vocabulary's worth of logits is too large to copy at every token.
///
/// A session is `Any`, so that an engine finds its own among those of a [`BatchStep`].
pub trait Session: Any + Send {
    /// Returns how many units the session holds.
    fn length(&self) -> usize;

    /// Appends `units` and returns the logits of the last one, as many as the vocabulary has tokens.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for no units, [`ErrorKind::ContextOverflow`] when they do not fit (then nothing is
    /// appended), [`ErrorKind::Cancelled`] between chunks, [`ErrorKind::Backend`] otherwise.
    fn forward(&mut self, units: &[PromptUnit], cancel: &CancelToken) -> Result<&mut [f32]>;

    /// Announces how many positions the session will soon hold, so that memory for them is allocated once. The default ignores
    /// this hint.
    fn reserve(&mut self, _positions: usize) {}

    /// Returns the logits after the last unit that was appended, to be changed in place; none before the first.
    ///
    /// They have no meaning after [`Session::truncate`], nor in a fork.
    fn logits(&mut self) -> &mut [f32];

    /// Appends `units` and calls `each` with the logits after each of them, in order.
    ///
    /// The default appends them one by one, which is exact. A session that computes all logits at once is faster.
    ///
    /// # Errors
    /// As [`Session::forward`], but no units are no error.
    fn forward_each(
        &mut self,
        units: &[PromptUnit],
        cancel: &CancelToken,
        each: &mut dyn FnMut(&[f32]),
    ) -> Result<()> {
        for unit in units {
            each(self.forward(std::slice::from_ref(unit), cancel)?);
        }
        Ok(())
    }

    /// Keeps at most the first `length` units and returns how many it kept.
    ///
    /// A model that cannot rewind to `length` keeps fewer, possibly none. A `length` beyond that of the session keeps all.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`].
    fn truncate(&mut self, length: usize) -> Result<usize>;

    /// Returns whether [`truncate`](Session::truncate) keeps exactly what is asked. A model with recurrent layers returns only to
    /// some lengths, as it cannot take a unit back.
    fn rewinds(&self) -> bool {
        true
    }

    /// Returns how many units [`truncate`](Session::truncate) to `length` would keep. The session does not change.
    fn reaches(&self, length: usize) -> usize {
        length.min(self.length())
    }

    /// Marks the present length as one that [`truncate`](Session::truncate) should be able to return to: the end of a prompt or of
    /// a reply. A session that returns to any length ignores it, which is the default. One that does not keeps its state, as far as
    /// there is memory for it.
    fn mark(&mut self) {}

    /// Returns about how many bytes of memory the session takes; 0 where it is not known. Of memory that is shared with forks,
    /// each counts its part, so that the sum is what all of them take.
    fn bytes(&self) -> usize {
        0
    }

    /// Returns how many bytes were copied inside the session since it was opened or forked: to leave memory that a fork still
    /// reads, to grow, or to join a batch. 0 where that is not known.
    fn copied(&self) -> usize {
        0
    }

    /// Returns a copy of the session. Both continue independently, and either may be dropped first.
    ///
    /// The bytes need not be copied at once: a session may wait until one of the two writes.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`] when there is no memory for one.
    fn fork(&self) -> Result<Box<dyn Session>>;

    /// Appends the state of the first `length` units to `into`. The session does not change.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for a session that cannot, or not at this length; [`ErrorKind::Invalid`] when it holds
    /// fewer units.
    fn snapshot(&self, length: usize, into: &mut Vec<u8>) -> Result<()> {
        let _ = (length, into);
        Err(without_snapshots())
    }

    /// Replaces the units of the session and their state with those that [`Session::snapshot`] saved in a session of the same
    /// engine.
    ///
    /// Later logits are bit for bit those of that session. There are none before the next `forward`.
    ///
    /// # Errors
    /// After an error, the units of the session are unknown, and it must be dropped.
    ///
    /// - [`ErrorKind::Unsupported`] if this session cannot be restored.
    /// - [`ErrorKind::Corrupt`] if the state has another number of units.
    /// - [`ErrorKind::Store`] if the state cannot be read.
    /// - [`ErrorKind::ContextOverflow`] if the units do not fit.
    /// - As [`Session::forward`].
    fn restore(&mut self, units: &[PromptUnit], state: &mut StateReader<'_>) -> Result<()> {
        let _ = (units, state);
        Err(without_snapshots())
    }
}

fn without_snapshots() -> Error {
    Error::new(ErrorKind::Unsupported, "this session's state cannot be saved")
}
