//! The model within the program, for whoever names none.

use std::path::Path;

use alloquy_core::Result;
use alloquy_onnx::OnnxEngineBuilder;

use super::Description;
use crate::notes::Notes;

/// What names it; a folder of that name is `./pocket`.
pub(crate) const NAME: &str = "pocket";

/// Says whether it answers where a model is named so, or none is.
///
/// It is too small to be trusted with names: one call in twenty would be of a tool that nobody offers, or leave an argument
/// out, so its calls are held to the tools unless something else is asked for.
pub(super) fn answers(path: Option<&Path>) -> bool {
    path.is_none_or(is_named)
}

/// Says whether a model's path is its name.
pub(super) fn is_named(path: &Path) -> bool {
    path == Path::new(NAME)
}

/// Says that it is the one that answers, and how another would.
pub(super) fn introduce(notes: Notes) {
    notes.say(
        "no model is named, so the tiny one within this program answers: it knows a closed world and is often wrong outside of \
         it. --model DIR, ALLOQUY_MODEL or `model` in the configuration file name a real one; `alloquy models` lists those found",
    );
}

/// Its steps take half a millisecond, in which a thread that sleeps is hardly woken up. A prompt of usual length is one chunk.
#[cfg(feature = "pocket")]
pub(super) fn builder() -> Result<OnnxEngineBuilder> {
    let builder = alloquy_onnx::OnnxEngine::of_files(alloquy_pocket::files());
    Ok(builder.waiting(alloquy_onnx::Waiting::Spin).prefill_chunk(512))
}

#[cfg(not(feature = "pocket"))]
pub(super) fn builder() -> Result<OnnxEngineBuilder> {
    Err(absent())
}

/// There is none within this program.
pub(super) fn absent() -> alloquy_core::Error {
    let message = "no model is named: use --model DIR, ALLOQUY_MODEL, or model in the configuration file; \
                   `alloquy models` lists those found";
    alloquy_core::Error::new(alloquy_core::ErrorKind::Invalid, message)
}

/// Describes it; `None` for a program without it.
#[cfg(feature = "pocket")]
pub(crate) fn describe() -> Option<Result<Description>> {
    let info = alloquy_model_files::describe_files(&alloquy_pocket::files());
    Some(info.and_then(|info| super::summed(info, "genai")))
}

#[cfg(not(feature = "pocket"))]
pub(crate) fn describe() -> Option<Result<Description>> {
    None
}
