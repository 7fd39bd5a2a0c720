//! Where a model is from: a folder, this library, or an engine that is loaded already.

#[cfg(feature = "onnx")]
use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "onnx")]
use alloquy_core::Result;
use alloquy_engine::Engine;

use super::Model;
use super::builder::ModelBuilder;

impl Model {
    /// Opens a folder with an ONNX export as the exporters of ONNX Runtime GenAI, optimum and transformers.js write it.
    ///
    /// Everything is as the folder's files say: the chat template, the family, the texts and tokens that end a reply, the
    /// sampling that the model's makers recommend, MLC's settings, and what becomes of conversations that outgrow the context.
    /// [`Model::warnings`] says what of it was not found or has no effect.
    ///
    /// ```no_run
    /// let conversation = alloquy::Model::open("models/qwen3")?.conversation();
    /// println!("{}", conversation.ask("Hello!")?.text());
    /// # Ok::<(), alloquy::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Model`](crate::ErrorKind::Model) when files are missing, damaged or contradict each other,
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for an export that cannot be run here,
    /// [`ErrorKind::Template`](crate::ErrorKind::Template) for a template that is none, and
    /// [`ErrorKind::Backend`](crate::ErrorKind::Backend) when ONNX Runtime is not available.
    #[cfg(feature = "onnx")]
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        Self::builder(folder).build()
    }

    /// Starts opening a folder otherwise than its files say.
    #[cfg(feature = "onnx")]
    pub fn builder(folder: impl AsRef<Path>) -> ModelBuilder {
        ModelBuilder::folder(folder.as_ref())
    }

    /// Opens the tiny model within this library. It knows a closed world and is often wrong outside of it, so that its calls are
    /// held to the tools that are offered: see [`ModelBuilder::tool_choice`].
    ///
    /// # Errors
    /// [`ErrorKind::Backend`](crate::ErrorKind::Backend) when ONNX Runtime is not available.
    #[cfg(feature = "pocket")]
    pub fn pocket() -> Result<Self> {
        Self::pocket_builder().build()
    }

    /// Starts opening the tiny model within this library.
    #[cfg(feature = "pocket")]
    pub fn pocket_builder() -> ModelBuilder {
        ModelBuilder::pocket()
    }

    /// Starts making a model of an engine that is loaded already, or of a host's own.
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
}
