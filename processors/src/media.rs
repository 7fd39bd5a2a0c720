//! Media as models take them: pictures, sounds and films become tensors. Knows no session and no prompt.

#[cfg(feature = "audio")]
mod audio;
#[cfg(feature = "image")]
mod container;
#[cfg(any(feature = "audio", feature = "image"))]
mod description;
#[cfg(feature = "image")]
mod film;
#[cfg(any(feature = "audio", feature = "image"))]
mod identity;
#[cfg(feature = "image")]
mod images;
#[cfg(any(feature = "audio", feature = "image"))]
mod options;
#[cfg(any(feature = "audio", feature = "image"))]
mod processors;
#[cfg(any(feature = "audio", feature = "image"))]
mod riff;
#[cfg(feature = "image")]
mod spread;
#[cfg(any(feature = "audio", feature = "image"))]
mod tensors;

#[cfg(feature = "audio")]
pub use audio::{AudioOptions, AudioProcessor, OverlongSound, Sound, SoundCut, SoundLimits, SoundShape};
#[cfg(feature = "image")]
pub use film::{FilmProcessor, FrameRate, FramesWanted};
#[cfg(feature = "image")]
pub use images::{Area, ImagePlan, ImageProcessor, ImageView, Size};
#[cfg(any(feature = "audio", feature = "image"))]
pub use options::MediaOptions;
#[cfg(feature = "image")]
pub use options::{Alpha, ImageBackend, MediaLimits};
#[cfg(any(feature = "audio", feature = "image"))]
pub use processors::MediaProcessors;
