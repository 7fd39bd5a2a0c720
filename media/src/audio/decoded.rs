//! Sounds that were decoded lately: one that is new in a prompt is asked for what stands there, for its positions and for its
//! features, one soon after the other.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloquy_core::media::Digest;

use super::waveform::Waveform;

/// How many bytes of samples are kept: nearly nine minutes of 16 kHz.
const MOST_BYTES: usize = 32 << 20;

/// Decoded sounds, the latest last.
#[derive(Default)]
pub(super) struct DecodedAudio(Mutex<VecDeque<(Digest, Arc<Waveform>)>>);

impl DecodedAudio {
    /// Returns a sound that is kept.
    pub(super) fn find(&self, digest: &Digest) -> Option<Arc<Waveform>> {
        self.kept().iter().find(|(kept, _)| kept == digest).map(|(_, sound)| Arc::clone(sound))
    }

    /// Keeps a sound, for which the oldest ones go.
    pub(super) fn keep(&self, digest: Digest, sound: Arc<Waveform>) {
        let mut kept = self.kept();
        kept.push_back((digest, sound));
        let bytes = |sound: &Waveform| size_of_val(sound.samples());
        let mut held: usize = kept.iter().map(|(_, sound)| bytes(sound)).sum();
        while held > MOST_BYTES {
            let Some((_, oldest)) = kept.pop_front() else { return };
            held -= bytes(&oldest);
        }
    }

    /// Forgets a sound: once it has become features, nothing of it is asked for.
    pub(super) fn forget(&self, digest: &Digest) {
        self.kept().retain(|(kept, _)| kept != digest);
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<(Digest, Arc<Waveform>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for DecodedAudio {
    /// Samples are nothing for a log.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "DecodedAudio({} sounds)", self.kept().len())
    }
}
