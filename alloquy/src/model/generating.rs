//! Settings of the thread that generates replies, and the draft model.

#[cfg(feature = "onnx")]
use std::path::{Path, PathBuf};
use std::sync::Arc;

use alloquy_core::Result;
use alloquy_engine::Engine;
use alloquy_inference::{CacheBudget, DraftModel, Drafting, Generator, GeneratorOptions, PromptLookup};

/// The settings that are set; the library decides the others.
#[derive(Clone, Debug, Default)]
pub(super) struct Generating {
    pub(super) cache: Option<CacheBudget>,
    pub(super) generations: Option<usize>,
    pub(super) lookup: Option<PromptLookup>,
    pub(super) drafting: Drafting,
    pub(super) draft: Option<DraftFrom>,
    /// Whether owners share cached prompts.
    pub(super) shares_cache: bool,
}

/// Where the draft model comes from.
#[derive(Clone, Debug)]
pub(super) enum DraftFrom {
    #[cfg(feature = "onnx")]
    Folder(PathBuf),
    Model(DraftModel),
}

impl Generating {
    /// Returns the folder of the draft model, if it is to be loaded from one.
    #[cfg(feature = "onnx")]
    pub(super) fn draft_folder(&self) -> Option<&Path> {
        match &self.draft {
            Some(DraftFrom::Folder(folder)) => Some(folder),
            _ => None,
        }
    }

    /// Starts the thread. `loaded` is the draft model, if it was loaded from its folder.
    pub(super) fn start(&self, engine: Arc<dyn Engine>, loaded: Option<DraftModel>) -> Result<Generator> {
        let mut options = GeneratorOptions::default();
        if let Some(budget) = self.cache {
            options.cache = budget;
        }
        if let Some(generations) = self.generations {
            options.max_concurrent = generations;
        }
        options.lookup = self.lookup;
        options.drafting = self.drafting;
        let given = match &self.draft {
            Some(DraftFrom::Model(draft)) => Some(draft.clone()),
            _ => None,
        };
        match loaded.or(given) {
            Some(draft) => Generator::with_draft(engine, draft, options),
            None => Generator::new(engine, options),
        }
    }
}
