//! Which model an example runs on.

use std::sync::Arc;

use alloquy_core::Result;
use alloquy_onnx::OnnxEngine;

/// Returns the model of the folder named as the first argument or by ALLOQUY_MODEL, else the tiny one of Alloquy.
pub(crate) fn engine() -> Result<Arc<OnnxEngine>> {
    let named = std::env::args().nth(1).or_else(|| std::env::var("ALLOQUY_MODEL").ok());
    let engine = match named {
        Some(folder) => OnnxEngine::load(folder)?,
        None => OnnxEngine::of_files(alloquy_pocket::files()).load()?,
    };
    Ok(Arc::new(engine))
}
