//! Keeps the audio clips that were decoded last: the outline, the shape and the features of a new clip are requested one soon after
//! the other.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloquy_core::media::Digest;

use super::waveform::Waveform;

/// How many bytes of samples are kept: nearly nine minutes of 16 kHz.
const MOST_BYTES: usize = 32 << 20;

/// Decoded audio clips, the latest last.
#[derive(Default)]
pub(super) struct DecodedAudio(Mutex<VecDeque<(Digest, Arc<Waveform>)>>);

impl DecodedAudio {
    /// Returns an audio clip that is kept.
    pub(super) fn find(&self, digest: &Digest) -> Option<Arc<Waveform>> {
        self.kept().iter().find(|(kept, _)| kept == digest).map(|(_, audio)| Arc::clone(audio))
    }

    /// Keeps an audio clip, and drops the oldest ones where all together are too large.
    pub(super) fn keep(&self, digest: Digest, audio: Arc<Waveform>) {
        let mut kept = self.kept();
        kept.push_back((digest, audio));
        let mut total: usize = kept.iter().map(|(_, audio)| size_of_val(audio.samples())).sum();
        while total > MOST_BYTES {
            let Some((_, oldest)) = kept.pop_front() else { return };
            total -= size_of_val(oldest.samples());
        }
    }

    /// Drops an audio clip, whose samples are not needed after its features are computed.
    pub(super) fn forget(&self, digest: &Digest) {
        self.kept().retain(|(kept, _)| kept != digest);
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<(Digest, Arc<Waveform>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for DecodedAudio {
    /// Prints how many audio clips there are, without their samples.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "DecodedAudio({} audio clips)", self.kept().len())
    }
}
