//! The prompts that a render may refer to, looked up before it needs them.

use std::collections::HashMap;

use alloquy_core::{Error, ErrorKind, Result};

use super::text::{PromptReference, PromptReferences, PromptText};

/// How many prompts are looked up before a render, at most.
const AHEAD: usize = 1000;

/// How many prompts are looked up while a render waits, at most: each of them begins it again.
const COMPUTED: usize = 64;

/// The prompts that were looked up, by name. `None` is one that does not exist.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    prompts: HashMap<String, Option<PromptReference>>,
    computed: usize,
}

impl Known {
    pub(super) fn get(&self, name: &str) -> Option<Option<&PromptReference>> {
        self.prompts.get(name).map(Option::as_ref)
    }

    /// Looks up the prompts that a text names, and those that these name. One that cannot be read is left out: that is an
    /// error only if the render needs it.
    pub(super) fn add_literals(&mut self, text: &PromptText, references: &dyn PromptReferences) {
        let mut open = text.program().script.literals.clone();
        while let Some(name) = open.pop() {
            if self.prompts.len() >= AHEAD || self.prompts.contains_key(&name) {
                continue;
            }
            let Ok(found) = references.prompt(&name) else { continue };
            if let Some(reference) = &found {
                open.extend(reference.text.program().script.literals.iter().cloned());
            }
            self.prompts.insert(name, found);
        }
    }

    /// Looks up a prompt that a render needs.
    pub(super) fn add(&mut self, name: &str, references: &dyn PromptReferences) -> Result<()> {
        self.computed += 1;
        if self.computed > COMPUTED {
            let message = format!(
                "the prompt refers to more than {COMPUTED} prompts by computed names, such as {name:?}: use literal names"
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let found = references.prompt(name)?;
        if let Some(reference) = &found {
            self.add_literals(&reference.text, references);
        }
        self.prompts.insert(name.to_owned(), found);
        Ok(())
    }
}
