//! The retrievals of prompts, compiled.

use std::collections::BTreeSet;
use std::sync::Arc;

use alloquy_core::prompt_library::{PromptKind, PromptName, PromptRetrieval, TextTemplate};
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_templates::{PromptSyntax, PromptText};

use crate::record::{PromptRecord, RetrievalRecord};

/// The name that passages replace in a text if the retrieval sets none, as in dataknobs.
const PLACEHOLDER: &str = "RAG_CONTENT";

/// How many passages are shown if the retrieval sets no number, as in dataknobs.
const LIMIT: usize = 5;

/// The retrievals of a prompt, and the names that their queries and headers read.
#[derive(Debug, Default)]
pub(crate) struct Retrievals {
    pub(crate) retrievals: Vec<PromptRetrieval>,
    pub(crate) variables: BTreeSet<String>,
}

/// Compiles the retrievals of a prompt: those to which it refers, and then its own. `find` finds a record.
pub(crate) fn retrievals<'a>(
    name: &PromptName,
    record: &PromptRecord,
    find: impl Fn(&PromptName) -> Option<&'a PromptRecord>,
) -> Result<Retrievals> {
    let mut compiled = Retrievals::default();
    if name.kind == PromptKind::Retrieval {
        return Ok(compiled);
    }
    for reference in &record.rag_config_refs {
        let found = find(&PromptName::new(PromptKind::Retrieval, reference));
        let Some(retrieval) = found.and_then(|record| record.rag_configs.first()) else {
            let message = format!(
                "prompt {name} refers to the retrieval {reference:?}, which does not exist; add it to rag, or correct rag_config_refs"
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        };
        compiled.add(name, retrieval)?;
    }
    for retrieval in &record.rag_configs {
        compiled.add(name, retrieval)?;
    }
    Ok(compiled)
}

impl Retrievals {
    fn add(&mut self, name: &PromptName, record: &RetrievalRecord) -> Result<()> {
        let placeholder = record.placeholder.as_deref().unwrap_or(PLACEHOLDER);
        if self.retrievals.iter().any(|other| other.placeholder == placeholder) {
            let message = format!(
                "prompt {name} has two retrievals for the placeholder {placeholder:?}; give each its own"
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let query = compiled(name, placeholder, "query", &record.query)?;
        self.variables.extend(query.variables().map(str::to_owned));
        let mut retrieval = PromptRetrieval::new(&record.adapter_name, placeholder, Arc::new(query));
        retrieval.limit = Some(record.k.unwrap_or(LIMIT));
        retrieval.filters.clone_from(&record.filters);
        if let Some(header) = &record.header {
            let header = compiled(name, placeholder, "header", header)?;
            self.variables.extend(header.variables().map(str::to_owned));
            retrieval.header = Some(Arc::new(header));
        }
        if let Some(item) = &record.item_template {
            let item: Arc<dyn TextTemplate> = Arc::new(compiled(name, placeholder, "item_template", item)?);
            retrieval.item = Some(item);
        }
        self.retrievals.push(retrieval);
        Ok(())
    }
}

fn compiled(name: &PromptName, placeholder: &str, part: &str, text: &str) -> Result<PromptText> {
    PromptText::new(text, PromptSyntax::Mixed).map_err(|error| {
        let message = format!("the {part} of {placeholder:?} in prompt {name} is not valid: {error}");
        Error::new(ErrorKind::Invalid, message).with_source(error)
    })
}
