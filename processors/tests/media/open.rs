//! What is not as it should be yet, and what is known of it.
//!
//! These count as failed where the comparison is asked for; the test run demands that they are all that fails, and that each
//! of them still does.

/// Cases that fail.
pub(crate) const OPEN: [&str; 9] = [
    // ADPCM: the last block is filled up, and what counts the samples is not heeded; what is decoded differs by 2.6e-3.
    "audio/decode/s16k_imaadpcm.wav",
    "audio/decode/s16k_msadpcm.wav",
    "audio/inputs/whisper_80/s16k_imaadpcm.wav",
    "audio/inputs/whisper_128/s16k_imaadpcm.wav",
    "audio/inputs/qwen2_audio/s16k_imaadpcm.wav",
    "audio/inputs/gemma3n_audio/s16k_imaadpcm.wav",
    "audio/inputs/gemma3n_audio/s16k_msadpcm.wav",
    "audio/inputs/gemma4_audio/s16k_imaadpcm.wav",
    "audio/inputs/gemma4_audio/s16k_msadpcm.wav",
];
