//! Which template a model's prompts are made with.

use std::sync::Arc;

use alloquy_core::{ModelInfo, PromptTemplate, Result};

use crate::sources::{self, TemplateOrigin};
use crate::{CompletionTemplate, JinjaTemplate};

/// A template, and where it comes from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Detected {
    /// What renders the model's prompts.
    pub template: Arc<dyn PromptTemplate>,
    /// Where it comes from; [`TemplateOrigin::Completion`] when the model brings none.
    pub origin: TemplateOrigin,
}

/// Chooses the template for a model: its own if it has one, else [`CompletionTemplate`].
///
/// # Errors
/// [`ErrorKind::Model`](alloquy_core::ErrorKind::Model) when the model's files cannot be read,
/// [`ErrorKind::Template`](alloquy_core::ErrorKind::Template) when its template is none.
///
/// ```
/// use alloquy_core::ModelInfo;
/// use alloquy_templates::{TemplateOrigin, detect};
///
/// let detected = detect(&ModelInfo::default())?;
/// assert_eq!(detected.origin, TemplateOrigin::Completion);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub fn detect(model: &ModelInfo) -> Result<Detected> {
    match sources::find(model)? {
        Some(source) => Ok(Detected {
            template: Arc::new(JinjaTemplate::from_model(&source, model)?),
            origin: source.origin,
        }),
        None => Ok(Detected {
            template: Arc::new(CompletionTemplate::of(model)?),
            origin: TemplateOrigin::Completion,
        }),
    }
}
