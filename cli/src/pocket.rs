//! The built-in model.

use alloquy::ModelDescription;
use alloquy::core::Result;

/// The name of the built-in model; a folder of that name is `./pocket`.
pub(crate) const POCKET: &str = "pocket";

/// Describes the built-in model; `None` for a program without it.
pub(crate) fn describe_pocket() -> Option<Result<ModelDescription>> {
    #[cfg(feature = "pocket")]
    return Some(ModelDescription::pocket());
    #[cfg(not(feature = "pocket"))]
    return None;
}
