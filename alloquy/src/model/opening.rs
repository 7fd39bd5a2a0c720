//! Opens a model: from a folder, the built-in one, or with an engine that is loaded already.

#[cfg(feature = "onnx")]
use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "onnx")]
use alloquy_core::Result;
use alloquy_engine::Engine;
use alloquy_engine::decoder::Decoder;

use super::Model;
use super::builder::ModelBuilder;

impl Model {
    /// Opens a folder with an ONNX export of ONNX Runtime GenAI, optimum or transformers.js.
    ///
    /// With the feature `hub` it may also be the name of a model that was fetched from the Hugging Face Hub, such as
    /// `onnx-community/Qwen3-0.6B-ONNX` or `onnx-community/Qwen3-0.6B-ONNX:q4`. Nothing is fetched here: see the module `hub`.
    ///
    /// The files of the folder decide everything: the chat template, the family, the texts and tokens that end a reply, the
    /// sampling that the model's authors recommend, MLC's settings, and the policy for a full context. [`Model::warnings`]
    /// lists what was missing or has no effect. [`Model::builder`] changes these settings.
    ///
    /// ```no_run
    /// let conversation = alloquy::Model::open("models/qwen3")?.conversation();
    /// println!("{}", conversation.ask("Hello!")?.text());
    /// # Ok::<(), alloquy::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Model`](crate::ErrorKind::Model) when files are missing, damaged or contradict each other,
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for an export that this build cannot run,
    /// [`ErrorKind::Template`](crate::ErrorKind::Template) for an invalid template, and
    /// [`ErrorKind::Backend`](crate::ErrorKind::Backend) when ONNX Runtime is not available.
    #[cfg(feature = "onnx")]
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        Self::builder(folder).build()
    }

    /// Starts opening a folder with settings other than those of its files.
    #[cfg(feature = "onnx")]
    pub fn builder(folder: impl AsRef<Path>) -> ModelBuilder {
        ModelBuilder::folder(folder.as_ref())
    }

    /// Opens the built-in tiny model.
    ///
    /// It knows few things and is often wrong about others. Its tool calls are constrained to the tools of the request: see
    /// [`ModelBuilder::tool_choice`].
    ///
    /// # Errors
    /// [`ErrorKind::Backend`](crate::ErrorKind::Backend) when ONNX Runtime is not available.
    #[cfg(feature = "pocket")]
    pub fn pocket() -> Result<Self> {
        Self::pocket_builder().build()
    }

    /// Starts opening the built-in tiny model with other settings.
    #[cfg(feature = "pocket")]
    pub fn pocket_builder() -> ModelBuilder {
        ModelBuilder::pocket()
    }

    /// Starts building a model on an engine that is loaded already, or on an engine of the program's own.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use alloquy_testing::ScriptedEngine;
    ///
    /// let engine = ScriptedEngine::new([("Hi", " there.")]);
    /// let model = alloquy::Model::of(Arc::new(engine)).build()?;
    /// assert_eq!(model.warnings(), [alloquy::ModelWarning::NoTemplate, alloquy::ModelWarning::NoFamily]);
    /// # Ok::<(), alloquy::Error>(())
    /// ```
    pub fn of(engine: Arc<dyn Engine>) -> ModelBuilder {
        ModelBuilder::engine(engine)
    }

    /// Starts building a model on a decoder, such as that of a server. Settings of engines, caches and drafts have no effect then.
    ///
    /// ```
    /// use alloquy_inference::{Generator, GeneratorOptions};
    /// use alloquy_testing::ScriptedEngine;
    /// use std::sync::Arc;
    ///
    /// let engine = ScriptedEngine::new([("Hi", " there.")]);
    /// let decoder = Generator::new(Arc::new(engine), GeneratorOptions::default())?;
    /// let model = alloquy::Model::over(decoder).build()?;
    /// assert_eq!(model.warnings(), [alloquy::ModelWarning::NoTemplate, alloquy::ModelWarning::NoFamily]);
    /// # Ok::<(), alloquy::Error>(())
    /// ```
    pub fn over(decoder: impl Decoder + 'static) -> ModelBuilder {
        ModelBuilder::decoder(Arc::new(decoder))
    }
}
