//! A library of prompts, and a prompt in it.

use std::fmt::Debug;
use std::sync::Arc;

use super::{FilledPrompt, PromptInfo, PromptName, PromptRetrieval, Values};
use crate::Result;
use crate::media::Digest;

/// Finds prompts by name. `alloquy-prompts` has libraries of files, of configuration and of versions.
///
/// # Contract
/// Finding and filling in do no input or output; a library reads its files when it is opened. The same name finds the same prompt
/// while [`PromptLibrary::digest`] is the same. A file that cannot be read is one of [`PromptLibrary::problems`] and hides no
/// other prompt.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::media::Digest;
/// use alloquy_core::prompt_library::{
///     FilledMessage, FilledPrompt, Prompt, PromptInfo, PromptLibrary, PromptName, PromptProblem, RenderedPrompt, Values,
/// };
/// use alloquy_core::{Error, ErrorKind, Result, Role};
///
/// /// Knows one prompt.
/// #[derive(Debug)]
/// struct Greeting {
///     info: PromptInfo,
/// }
///
/// impl PromptLibrary for Greeting {
///     fn prompt(&self, name: &PromptName) -> Result<Arc<dyn Prompt>> {
///         if *name != self.info.name {
///             return Err(Error::new(ErrorKind::NotFound, format!("prompt {name} does not exist")));
///         }
///         Ok(Arc::new(Self { info: self.info.clone() }))
///     }
///     fn names(&self) -> Vec<PromptName> {
///         vec![self.info.name.clone()]
///     }
///     fn digest(&self) -> Digest {
///         self.info.digest
///     }
///     fn problems(&self) -> Vec<PromptProblem> {
///         Vec::new()
///     }
/// }
///
/// impl Prompt for Greeting {
///     fn info(&self) -> &PromptInfo {
///         &self.info
///     }
///     fn fill(&self, values: &Values) -> Result<FilledPrompt> {
///         let mut rendered = RenderedPrompt::default();
///         rendered.push("I am ", None);
///         if let Some(name) = values.get("name") {
///             rendered.push(name.value.as_str().unwrap_or("somebody"), name.source.clone());
///         }
///         Ok(FilledPrompt::new(&self.info, vec![FilledMessage::new(Role::User, rendered)]))
///     }
/// }
///
/// let info = PromptInfo::new(PromptName::user("greeting"), Digest::of(b"I am {{name}}"));
/// let library = Greeting { info };
/// let filled = library.prompt(&"greeting".parse()?)?.fill(&Values::new().set("name", "Ann"))?;
/// assert_eq!(filled.text(), "I am Ann");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub trait PromptLibrary: Send + Sync + Debug {
    /// Finds a prompt.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind) with the names that are near, [`ErrorKind::Invalid`](crate::ErrorKind) if the
    /// prompt has a problem.
    fn prompt(&self, name: &PromptName) -> Result<Arc<dyn Prompt>>;

    /// Returns the names of all prompts, sorted; each version is one.
    fn names(&self) -> Vec<PromptName>;

    /// Returns a digest that changes when a prompt or a label does.
    fn digest(&self) -> Digest;

    /// Returns everything that is wrong with the library's files.
    fn problems(&self) -> Vec<PromptProblem>;
}

impl<L: PromptLibrary + ?Sized> PromptLibrary for Arc<L> {
    fn prompt(&self, name: &PromptName) -> Result<Arc<dyn Prompt>> {
        (**self).prompt(name)
    }

    fn names(&self) -> Vec<PromptName> {
        (**self).names()
    }

    fn digest(&self) -> Digest {
        (**self).digest()
    }

    fn problems(&self) -> Vec<PromptProblem> {
        (**self).problems()
    }
}

/// A prompt that is compiled and can be filled in.
///
/// [`PromptLibrary`] has an example.
pub trait Prompt: Send + Sync + Debug {
    /// Returns what is known of the prompt.
    fn info(&self) -> &PromptInfo;

    /// Fills the prompt in. It is rendered once, and no value is read as a template.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a required value that is missing, for a value that does not fit the schema of
    /// the input, and for a template that fails.
    fn fill(&self, values: &Values) -> Result<FilledPrompt>;

    /// Returns the passages of documents that the prompt asks for.
    fn retrievals(&self) -> &[PromptRetrieval] {
        &[]
    }
}

/// Something that is wrong with a file of a library.
///
/// ```
/// use alloquy_core::prompt_library::PromptProblem;
///
/// let problem = PromptProblem { place: "user/ask.yaml".into(), line: Some(3), message: "unclosed list".into() };
/// assert_eq!(problem.to_string(), "user/ask.yaml:3: unclosed list");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptProblem {
    /// The file, or the name in a configuration.
    pub place: String,
    /// The line, from 1.
    pub line: Option<usize>,
    /// What is wrong, and what would be valid.
    pub message: String,
}

impl std::fmt::Display for PromptProblem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "{}:{line}: {}", self.place, self.message),
            None => write!(formatter, "{}: {}", self.place, self.message),
        }
    }
}
