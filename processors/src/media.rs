//! Media as models take them: pictures, sounds and films become tensors. Knows no session and no prompt.

#[cfg(feature = "audio")]
mod audio;
#[cfg(feature = "image")]
mod images;

#[cfg(feature = "audio")]
pub use audio::{AudioOptions, AudioProcessor, OverlongSound, Sound, SoundLimits, SoundShape};
