//! A tiny chat model that is embedded in the program.
//!
//! Use it to try Alloquy out, in examples, and in tests that need a real model. Nothing is downloaded, and nothing is read from
//! disk: [`files`] returns the files of a model folder as they were compiled into the program.
//!
//! # The model
//!
//! | | |
//! |---|---|
//! | architecture | Qwen3, 6 layers of width 192 |
//! | parameters | 2.9 million, in 8 bits |
//! | files | 4 MB: `model.onnx`, the tokenizer, the chat template and the configurations |
//! | context | 2,048 tokens |
//! | vocabulary | 2,560 tokens |
//! | language | English |
//!
//! It knows a small closed world: small talk, sums of up to three digits, short lists, about 750 facts, and calls of up to four
//! tools. It thinks before sums and comparisons unless thinking is switched off.
//!
//! # Reading its description
//!
//! The files are those of any ONNX export, so everything that reads a model folder can read them:
//!
//! ```
//! use alloquy_model_files::{HuggingFaceTokenizer, describe_files};
//!
//! let files = alloquy_pocket::files();
//! assert_eq!(files.name(), alloquy_pocket::NAME);
//!
//! let info = describe_files(&files)?;
//! assert_eq!(info.model_type.as_deref(), Some("qwen3"));
//! assert_eq!(info.context_length, 2048);
//!
//! let tokenizer = HuggingFaceTokenizer::from_json(files.read("tokenizer.json")?)?;
//! assert_eq!(tokenizer.vocabulary(), 2560);
//! assert!(tokenizer.token("<|im_end|>").is_some());
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! # Running it
//!
//! The crate `alloquy` has it as `Model::pocket()`, which needs no settings:
//!
//! ```ignore
//! let conversation = alloquy::Model::pocket()?.conversation();
//! println!("{}", conversation.ask("What is the capital of France?")?.text());
//! ```
//!
//! Without that crate, pass the files to an engine such as `OnnxEngine` of `alloquy-onnx`:
//!
//! ```ignore
//! let engine = OnnxEngine::of_files(alloquy_pocket::files()).load()?;
//! ```
//!
//! # What this crate does not do
//!
//! - It contains no engine. ONNX Runtime must be available to run the model.
//! - Its answers are wrong outside of its small world. Do not use it where an answer matters.
//! - It may call a tool with a wrong argument, as any model may.
//!
//! # Where to read on
//!
//! The model's card, `xtask/pocket/README.md` in the repository, lists what the model can do, how well, and how it was trained.

use alloquy_model_files::ModelFiles;

/// The name of the model.
pub const NAME: &str = "pocket";

/// The files of the model folder.
const FILES: [(&str, &[u8]); 7] = [
    ("chat_template.jinja", include_bytes!("../model/chat_template.jinja")),
    ("config.json", include_bytes!("../model/config.json")),
    ("genai_config.json", include_bytes!("../model/genai_config.json")),
    ("generation_config.json", include_bytes!("../model/generation_config.json")),
    ("model.onnx", include_bytes!("../model/model.onnx")),
    ("tokenizer.json", include_bytes!("../model/tokenizer.json")),
    ("tokenizer_config.json", include_bytes!("../model/tokenizer_config.json")),
];

/// Returns the files of the model. Nothing is copied, and nothing is read from disk.
///
/// ```
/// let files = alloquy_pocket::files();
/// assert!(files.has("model.onnx") && files.has("chat_template.jinja"));
/// ```
#[must_use]
pub fn files() -> ModelFiles {
    let mut files = ModelFiles::new(NAME);
    for (name, bytes) in FILES {
        files = files.file(name, bytes);
    }
    files
}
