//! A tiny chat model that a program carries within itself.
//!
//! It was made for trying Alloquy out and for tests that need a real model: it knows a closed world and is wrong outside of
//! it. Its [card](https://github.com/alloquy/alloquy/blob/main/xtask/pocket/README.md) says what it can do, how well, and
//! how it was made.
//!
//! The crate has the files and no engine: `OnnxEngine::of_files(alloquy_pocket::files())` of `alloquy-onnx` runs them.
//!
//! ```
//! let info = alloquy_model_files::describe_files(&alloquy_pocket::files())?;
//! println!("{} fits {} tokens", info.name, info.context_length);
//! # Ok::<(), alloquy_core::Error>(())
//! ```

use alloquy_model_files::ModelFiles;

/// What the model is called.
pub const NAME: &str = "pocket";

/// The files of the model, as a folder of it would have them.
const FILES: [(&str, &[u8]); 7] = [
    ("chat_template.jinja", include_bytes!("../model/chat_template.jinja")),
    ("config.json", include_bytes!("../model/config.json")),
    ("genai_config.json", include_bytes!("../model/genai_config.json")),
    ("generation_config.json", include_bytes!("../model/generation_config.json")),
    ("model.onnx", include_bytes!("../model/model.onnx")),
    ("tokenizer.json", include_bytes!("../model/tokenizer.json")),
    ("tokenizer_config.json", include_bytes!("../model/tokenizer_config.json")),
];

/// Returns the model; nothing is copied and no disk is read.
#[must_use]
pub fn files() -> ModelFiles {
    FILES.into_iter().fold(ModelFiles::new(NAME), |files, (name, bytes)| files.file(name, bytes))
}
