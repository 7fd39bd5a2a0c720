//! What computes the tokens of a model, and where it comes from.

#[cfg(feature = "onnx")]
use std::path::PathBuf;
use std::sync::Arc;

use alloquy_core::model_info::ModelInfo;
use alloquy_engine::decoder::Decoder;
use alloquy_engine::{Engine, LoadTiming};

/// Where a model comes from.
#[derive(Clone, Debug)]
pub(super) enum Source {
    #[cfg(feature = "onnx")]
    Folder(PathBuf),
    #[cfg(feature = "pocket")]
    Pocket,
    Engine(Arc<dyn Engine>),
    Decoder(Arc<dyn Decoder>),
}

/// An engine, over which the library starts a decoder, or a decoder.
#[derive(Debug)]
pub(super) enum Computer {
    Engine(Arc<dyn Engine>),
    Decoder(Arc<dyn Decoder>),
}

impl Computer {
    pub(super) fn model(&self) -> &ModelInfo {
        match self {
            Self::Engine(engine) => engine.model(),
            Self::Decoder(decoder) => decoder.model(),
        }
    }

    /// Returns how long loading took. A decoder was not loaded here.
    pub(super) fn load_timing(&self) -> LoadTiming {
        match self {
            Self::Engine(engine) => engine.load_timing().cloned().unwrap_or_default(),
            Self::Decoder(_) => LoadTiming::default(),
        }
    }
}
