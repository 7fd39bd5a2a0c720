//! What is not as it should be yet, and what is known of it.
//!
//! These count as failed where the comparison is asked for; the test run demands that they are all that fails, and that each
//! of them still does.

/// Cases that fail.
pub(crate) const OPEN: [&str; 14] = [
    // The mean of a whole picture is 0.445 levels off, where another version of the decoder was 0.41 off at most.
    "load jpeg_227x149_420.jpg",
    "load jpeg_227x149_prog_420.jpg",
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
    // One processor's torchvision path seems to show what one transparent colour hides.
    "lfm2_vl gif_transp_160x120.gif torchvision",
    "lfm2_vl pal_trns_256x192.png torchvision",
    "lfm2_vl rgb_trns_90x60.png torchvision",
];
