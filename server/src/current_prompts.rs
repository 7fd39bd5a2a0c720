//! The prompts of a server, which its host may replace while it runs.

use std::sync::{Arc, PoisonError, RwLock};

use alloquy_core::Result;
use alloquy_core::media::Digest;
use alloquy_core::prompt_library::{Prompt, PromptLibrary, PromptName, PromptProblem};

/// The library that is served now. Copies share it, so managers of models that are loaded have the new one as well.
#[derive(Clone, Debug)]
pub(crate) struct CurrentPrompts(Arc<RwLock<Arc<dyn PromptLibrary>>>);

impl CurrentPrompts {
    pub(crate) fn new(library: Arc<dyn PromptLibrary>) -> Self {
        Self(Arc::new(RwLock::new(library)))
    }

    /// Returns the library as it is now.
    pub(crate) fn now(&self) -> Arc<dyn PromptLibrary> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the library. What has been filled in stays as it is.
    pub(crate) fn replace(&self, library: Arc<dyn PromptLibrary>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = library;
    }
}

impl PromptLibrary for CurrentPrompts {
    fn prompt(&self, name: &PromptName) -> Result<Arc<dyn Prompt>> {
        self.now().prompt(name)
    }

    fn names(&self) -> Vec<PromptName> {
        self.now().names()
    }

    fn digest(&self) -> Digest {
        self.now().digest()
    }

    fn problems(&self) -> Vec<PromptProblem> {
        self.now().problems()
    }
}
