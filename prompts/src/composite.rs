//! Several libraries as one.

use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::prompt_library::{Prompt, PromptLibrary, PromptName, PromptProblem};
use alloquy_core::{Error, ErrorKind, Result};

/// Several libraries as one: the first one that has a prompt gives it.
///
/// A prompt refers only to prompts of its own library.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::prompt_library::{PromptLibrary, Values};
/// use alloquy_prompts::{CompositeLibrary, ConfigLibrary};
/// use serde_json::json;
///
/// let own = ConfigLibrary::from_json(&json!({"user": {"greet": "Good day."}}))?;
/// let usual = ConfigLibrary::from_json(&json!({"user": {"greet": "Hello.", "part": "Bye."}}))?;
/// let library = CompositeLibrary::new([Arc::new(own) as Arc<dyn PromptLibrary>, Arc::new(usual)]);
/// assert_eq!(library.prompt(&"greet".parse()?)?.fill(&Values::new())?.text(), "Good day.");
/// assert_eq!(library.prompt(&"part".parse()?)?.fill(&Values::new())?.text(), "Bye.");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct CompositeLibrary {
    libraries: Vec<Arc<dyn PromptLibrary>>,
}

impl CompositeLibrary {
    /// Joins libraries, the most important one first.
    pub fn new(libraries: impl IntoIterator<Item = Arc<dyn PromptLibrary>>) -> Self {
        Self { libraries: libraries.into_iter().collect() }
    }
}

impl PromptLibrary for CompositeLibrary {
    /// A prompt of the first library that has a problem hides those of the others: the author meant that one.
    fn prompt(&self, name: &PromptName) -> Result<Arc<dyn Prompt>> {
        let mut missing = Vec::new();
        for library in &self.libraries {
            match library.prompt(name) {
                Err(error) if error.is_not_found() => missing.push(error.to_string()),
                outcome => return outcome,
            }
        }
        let message = match missing.as_slice() {
            [] => format!("prompt {name} does not exist, because there is no library"),
            [only] => only.clone(),
            several => {
                format!("prompt {name} is in none of {} libraries: {}", several.len(), several.join("; "))
            }
        };
        Err(Error::new(ErrorKind::NotFound, message))
    }

    fn names(&self) -> Vec<PromptName> {
        let mut names: Vec<_> = self.libraries.iter().flat_map(PromptLibrary::names).collect();
        names.sort();
        names.dedup();
        names
    }

    fn digest(&self) -> Digest {
        let digests: Vec<_> = self.libraries.iter().map(|library| library.digest().to_string()).collect();
        Digest::of(digests.join("\n").as_bytes())
    }

    fn problems(&self) -> Vec<PromptProblem> {
        self.libraries.iter().flat_map(PromptLibrary::problems).collect()
    }
}
