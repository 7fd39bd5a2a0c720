//! A model that runs here: an engine makes sessions, a session is one KV cache.

mod cancel;
mod load_timing;

use std::any::Any;
use std::fmt::Debug;
use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::Unit;
use alloquy_core::tokenizer::{Tokenizer, Vocabulary};
use alloquy_core::{Error, ErrorKind, Result};

use crate::decoder::snapshot::StateReader;
use crate::media_processor::MediaProcessor;

pub use cancel::Cancel;
pub use load_timing::{LoadPhase, LoadTiming};

/// A loaded model. Shared by everything that talks to it; it opens sessions.
///
/// # Contract
/// Sessions of one engine are independent of each other, but are used from one thread at a time (the
/// `Generator` of alloquy-inference owns them all).
pub trait Engine: Send + Sync + Debug {
    /// Returns what the model says of itself.
    fn model(&self) -> &ModelInfo;

    /// Returns the tokenizer.
    fn tokenizer(&self) -> &dyn Tokenizer;

    /// Decodes every token of the model's vocabulary.
    fn vocabulary(&self) -> Vocabulary {
        let model = self.model();
        Vocabulary::new(self.tokenizer(), model.vocabulary, &model.stop_tokens)
    }

    /// Returns what tells this model, run in this way, from every other: what a session's snapshot depends on beside its
    /// units. `None` where that cannot be said, and then there are no snapshots.
    fn identity(&self) -> Option<Digest> {
        None
    }

    /// Returns how long loading the model took; `None` where nobody measured it.
    fn load_timing(&self) -> Option<&LoadTiming> {
        None
    }

    /// Returns what makes tensors of media; `None` for a model that takes tokens alone.
    fn media(&self) -> Option<&dyn MediaProcessor> {
        None
    }

    /// Returns how many positions of the context a unit takes: a token one, media as many as their outline says.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for media that the model does not take, and those of [`MediaProcessor::outline`].
    fn positions(&self, unit: &Unit) -> Result<usize> {
        match unit {
            Unit::Token(_) => Ok(1),
            Unit::Media(media) => {
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

    /// Returns how long its runtime has computed since it was loaded, for all sessions together; `None` where it does not
    /// count. What a step takes beyond that is ours.
    fn computing(&self) -> Option<Duration> {
        None
    }

    /// Returns how many units of a prompt are best computed at once; between two such chunks others get their turn.
    fn prefill_chunk(&self) -> usize {
        128
    }

    /// Appends one unit to each of several sessions of this engine; [`Session::logits`] are then those behind it.
    ///
    /// The default goes one by one, which is exact. An engine whose graph takes several rows reads its weights once
    /// for all of them.
    ///
    /// # Errors
    /// As [`Session::forward`]. What each session holds is then uncertain: all of them are to be dropped.
    fn forward_many(&self, steps: &mut [Step<'_>]) -> Result<()> {
        for step in steps {
            step.session.forward(std::slice::from_ref(step.unit), &Cancel::default())?;
        }
        Ok(())
    }
}

/// What one session gets in a step that several take together.
pub struct Step<'a> {
    /// The session.
    pub session: &'a mut dyn Session,
    /// The unit that is appended to it.
    pub unit: &'a Unit,
}

impl Debug for Step<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Step({:?} behind {} units)", self.unit, self.session.resident())
    }
}

/// One KV cache. Knows units; not messages, text, tools or other sessions.
///
/// # Contract
/// The result depends on the units alone: fed whole, one by one or in chunks, after any `truncate`, in the
/// original or in a fork, the next logits agree (to rounding). After an error other than
/// [`ErrorKind::Cancelled`] the session is to be dropped; after a cancelled one `resident` says what it holds.
/// `laws::session` checks it.
///
/// ### Why does `forward` return a mutable slice?
/// Samplers work in place, and a vocabulary's worth of logits is too large to copy at every token.
///
/// A session is `Any`, so that an engine finds its own among those of a [`Step`].
pub trait Session: Any + Send {
    /// Returns how many units are held.
    fn resident(&self) -> usize;

    /// Appends `units` and returns the logits of the last one, as many as the vocabulary has tokens.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for no units, [`ErrorKind::ContextOverflow`] when they do not fit (nothing is
    /// appended then), [`ErrorKind::Cancelled`] between chunks, [`ErrorKind::Backend`] otherwise.
    fn forward(&mut self, units: &[Unit], cancel: &Cancel) -> Result<&mut [f32]>;

    /// Says how many positions will be held before long, so that room for them is made once. A hint; the default ignores it.
    fn reserve(&mut self, _positions: usize) {}

    /// Returns the logits behind the last unit that was appended, to work on in place; none before the first.
    ///
    /// They mean nothing after [`Session::truncate`], nor in a fork.
    fn logits(&mut self) -> &mut [f32];

    /// Appends `units` and hands the logits of each of them, in order, to `each`.
    ///
    /// The default feeds them one by one, which is exact; a session that computes all logits at once does better.
    ///
    /// # Errors
    /// As [`Session::forward`]; no units are no error here.
    fn forward_each(&mut self, units: &[Unit], cancel: &Cancel, each: &mut dyn FnMut(&[f32])) -> Result<()> {
        for unit in units {
            each(self.forward(std::slice::from_ref(unit), cancel)?);
        }
        Ok(())
    }

    /// Keeps at most the first `length` units and returns how many it kept.
    ///
    /// A model that cannot rewind to `length` keeps fewer, possibly none. `length` beyond `resident` keeps all.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`].
    fn truncate(&mut self, length: usize) -> Result<usize>;

    /// Returns how many bytes of memory it takes, about; 0 where it is not known. Of memory that it shares with forks it
    /// says its part, so that the sum is what all of them take.
    fn bytes(&self) -> usize {
        0
    }

    /// Returns how many bytes of what it holds were copied, since it was opened or forked, so that it could go on: behind
    /// what a fork still reads, in a larger room, or beside others. 0 where that is not known.
    fn copied(&self) -> usize {
        0
    }

    /// Returns a copy of the session; both go on independently, and so does the other when one is dropped.
    ///
    /// Nothing says that bytes are copied at once: a session may put that off until one of the two writes.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`] when there is no memory for one.
    fn fork(&self) -> Result<Box<dyn Session>>;

    /// Appends to `into` what it has computed of the first `length` units, and stays as it is.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for a session that cannot, or not at this length; [`ErrorKind::Invalid`] when it holds
    /// fewer units.
    fn snapshot(&self, length: usize, into: &mut Vec<u8>) -> Result<()> {
        let _ = (length, into);
        Err(without_snapshots())
    }

    /// Holds `units`, as [`Session::snapshot`] wrote them down in a session of the same engine, in place of what it held.
    ///
    /// What follows is bit for bit what would have followed there. There are no logits before the next `forward`.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for a session that cannot, [`ErrorKind::Corrupt`] for a state that is not of so many
    /// units, [`ErrorKind::Store`] for one that cannot be read, [`ErrorKind::ContextOverflow`] for more units than fit, and as
    /// [`Session::forward`]. What the session holds then is not said, and nobody goes on with it.
    fn restore(&mut self, units: &[Unit], state: &mut StateReader<'_>) -> Result<()> {
        let _ = (units, state);
        Err(without_snapshots())
    }
}

fn without_snapshots() -> Error {
    Error::new(ErrorKind::Unsupported, "this session's state cannot be written down")
}
