//! A library with one prompt.

use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::prompt_library::{
    FilledMessage, FilledPrompt, Prompt, PromptInfo, PromptLibrary, PromptName, PromptProblem,
    RenderedPrompt, Values,
};
use alloquy_core::{Error, ErrorKind, Result, Role};

/// Knows the prompt `user/greeting`, which needs a name.
#[derive(Clone, Debug)]
pub(crate) struct Greeting(PromptInfo);

impl Greeting {
    pub(crate) fn new() -> Self {
        Self::named("greeting")
    }

    /// The same under another name.
    pub(crate) fn named(name: &str) -> Self {
        let mut info = PromptInfo::new(PromptName::user(name), Digest::of(b"I am {{name}}."));
        info.texts = vec!["I am {{name}}.".to_owned()];
        info.variables.insert("name".to_owned());
        info.required.insert("name".to_owned());
        Self(info)
    }
}

impl PromptLibrary for Greeting {
    fn prompt(&self, name: &PromptName) -> Result<Arc<dyn Prompt>> {
        if *name != self.0.name {
            return Err(Error::new(ErrorKind::NotFound, format!("prompt {name} does not exist")));
        }
        Ok(Arc::new(self.clone()))
    }

    fn names(&self) -> Vec<PromptName> {
        vec![self.0.name.clone()]
    }

    fn digest(&self) -> Digest {
        self.0.digest
    }

    fn problems(&self) -> Vec<PromptProblem> {
        Vec::new()
    }
}

impl Prompt for Greeting {
    fn info(&self) -> &PromptInfo {
        &self.0
    }

    fn fill(&self, values: &Values) -> Result<FilledPrompt> {
        let Some(name) = values.get("name") else {
            return Err(Error::new(ErrorKind::Invalid, "the prompt needs a value \"name\""));
        };
        let mut rendered = RenderedPrompt::default();
        rendered.push("I am ", None);
        rendered.push(name.value.as_str().unwrap_or_default(), name.source.clone());
        rendered.push(".", None);
        Ok(FilledPrompt::new(&self.0, vec![FilledMessage::new(Role::User, rendered)]))
    }
}
