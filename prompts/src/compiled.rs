//! Prompts that are compiled: what is based on others is resolved, and templates are parsed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::prompt_library::{
    FilledMessage, FilledPrompt, Prompt, PromptInfo, PromptKind, PromptName, PromptRetrieval, PromptVersion,
    Values,
};
use alloquy_core::{Error, ErrorKind, Result, Role};
use alloquy_templates::{NowSource, PromptReference, PromptReferences, PromptSyntax, PromptText};
use serde_json::{Map, Value};

use crate::input::InputSchema;
use crate::record::{PromptRecord, TemplateMode, TemplateSyntax, ValidationLevel};
use crate::retrieval::{Retrievals, retrievals};

/// Records by name, without versions.
pub(crate) type Records = BTreeMap<PromptName, PromptRecord>;

/// What each record was compiled to.
pub(crate) type Compiled = BTreeMap<PromptName, Result<Arc<CompiledPrompt>>>;

/// The texts that prompts refer to, shared by all prompts of a library.
type Texts = Arc<BTreeMap<PromptName, PromptReference>>;

/// A prompt that is compiled.
#[derive(Debug)]
pub(crate) struct CompiledPrompt {
    info: PromptInfo,
    messages: Vec<(Role, PromptText)>,
    level: ValidationLevel,
    input: Option<InputSchema>,
    references: References,
    retrievals: Retrievals,
}

/// Finds the prompts that one of a kind refers to.
#[derive(Clone, Debug)]
struct References {
    kind: PromptKind,
    texts: Texts,
}

impl PromptReferences for References {
    /// Looks for a prompt of the same kind, then of the others; `kind/name` names one kind.
    fn prompt(&self, name: &str) -> Result<Option<PromptReference>> {
        let kinds = std::iter::once(self.kind).chain(PromptKind::ALL);
        for kind in kinds {
            if let Some(found) = self.texts.get(&PromptName::new(kind, name)) {
                return Ok(Some(found.clone()));
            }
        }
        let named = name.parse::<PromptName>().ok().and_then(|name| self.texts.get(&name));
        Ok(named.cloned())
    }
}

/// Compiles all records of a library. A record that is not valid has its error, and the others are compiled.
pub(crate) fn compile(records: &Records) -> Compiled {
    let mut whole = BTreeMap::new();
    let mut compiled = Compiled::new();
    for (name, record) in records {
        match resolved(name, record, records) {
            Ok(record) => drop(whole.insert(name.clone(), record)),
            Err(error) => drop(compiled.insert(name.clone(), Err(error))),
        }
    }
    let mut messages = BTreeMap::new();
    let mut texts = BTreeMap::new();
    for (name, record) in &whole {
        match parsed(name, record) {
            Ok(parsed) => {
                if let [(_, text)] = parsed.as_slice() {
                    let reference = PromptReference { text: text.clone(), defaults: record.defaults.clone() };
                    texts.insert(name.clone(), reference);
                }
                messages.insert(name.clone(), parsed);
            }
            Err(error) => drop(compiled.insert(name.clone(), Err(error))),
        }
    }
    let texts = Arc::new(texts);
    for (name, messages) in messages {
        let Some(record) = whole.get(&name) else { continue };
        let digest = digest(&name, &whole);
        let prompt = retrievals(&name, record, |name| records.get(name)).and_then(|retrievals| {
            let texts = Arc::clone(&texts);
            CompiledPrompt::new(name.clone(), record, messages, digest, texts, retrievals)
        });
        compiled.insert(name, prompt.map(Arc::new));
    }
    compiled
}

/// Returns a record with what it takes from the prompts on which it is based.
fn resolved(name: &PromptName, record: &PromptRecord, records: &Records) -> Result<PromptRecord> {
    let mut whole = record.clone();
    let mut chain = vec![name.clone()];
    let mut next = record.extends.clone();
    while let Some(base) = next {
        let Some((found, record)) = base_of(name.kind, &base, records) else {
            let message = format!(
                "prompt {name} extends {base:?}, which does not exist; correct the name or add that prompt"
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        };
        if chain.contains(&found) {
            chain.push(found);
            let names: Vec<_> = chain.iter().map(|name| name.name.as_str()).collect();
            let message = format!("prompts extend each other in a circle: {}", names.join(" -> "));
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        whole = whole.or_base(record);
        chain.push(found);
        next = record.extends.clone();
    }
    Ok(whole)
}

/// Finds the prompt that another one of a kind extends: of the same kind, then of the others.
fn base_of<'a>(kind: PromptKind, base: &str, records: &'a Records) -> Option<(PromptName, &'a PromptRecord)> {
    let kinds = std::iter::once(kind).chain(PromptKind::ALL);
    let mut names = kinds.map(|kind| PromptName::new(kind, base)).chain(base.parse());
    names.find_map(|name| records.get(&name).map(|record| (name, record)))
}

/// Parses the texts of a record, each with its role.
fn parsed(name: &PromptName, record: &PromptRecord) -> Result<Vec<(Role, PromptText)>> {
    let syntax = match (record.template_syntax.unwrap_or_default(), record.template_mode.unwrap_or_default())
    {
        (TemplateSyntax::Format, _) => PromptSyntax::Format,
        (TemplateSyntax::Jinja2, TemplateMode::Mixed) => PromptSyntax::Mixed,
        (TemplateSyntax::Jinja2, TemplateMode::Jinja2) => PromptSyntax::Jinja,
    };
    let usual = if name.kind == PromptKind::System { Role::System } else { Role::User };
    let mut templates = Vec::new();
    for message in &record.messages {
        templates.push((message.role, message.content.as_str()));
    }
    if templates.is_empty() {
        templates.push((record.role.unwrap_or(usual), record.template.as_deref().unwrap_or_default()));
    }
    let mut texts = Vec::with_capacity(templates.len());
    for (role, template) in templates {
        let template = with_sections(template, &record.sections, syntax);
        texts.push((role, PromptText::new(&template, syntax)?));
    }
    Ok(texts)
}

/// Replaces `{{NAME}}` and `{{ NAME }}` by sections, which the author of the prompt wrote. A section is not searched for others.
fn with_sections(template: &str, sections: &BTreeMap<String, String>, syntax: PromptSyntax) -> String {
    if sections.is_empty() {
        return template.to_owned();
    }
    let (open, close) = if syntax == PromptSyntax::Format { ("{", "}") } else { ("{{", "}}") };
    let mut whole = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once(open) {
        whole.push_str(before);
        let section =
            after.split_once(close).and_then(|(name, after)| Some((sections.get(name.trim())?, after)));
        match section {
            Some((section, after)) => {
                whole.push_str(section);
                rest = after;
            }
            None => {
                whole.push_str(open);
                rest = after;
            }
        }
    }
    whole.push_str(rest);
    whole
}

/// Returns the digest of a prompt and of the prompts whose names its text quotes to refer to them.
fn digest(name: &PromptName, records: &Records) -> Digest {
    let mut seen = BTreeSet::from([name]);
    let mut open = vec![name];
    let mut text = String::new();
    while let Some(name) = open.pop() {
        let Some(record) = records.get(name) else { continue };
        for reference in &record.rag_config_refs {
            let retrieval = records.get_key_value(&PromptName::new(PromptKind::Retrieval, reference));
            if let Some((retrieval, _)) = retrieval.filter(|(name, _)| seen.insert(name)) {
                open.push(retrieval);
            }
        }
        let record = serde_json::to_string(record).unwrap_or_default();
        if record.contains("prompt_ref") {
            for other in records.keys() {
                let is_quoted = [format!("'{}'", other.name), format!("\\\"{}\\\"", other.name)]
                    .iter()
                    .any(|quoted| record.contains(quoted));
                if is_quoted && seen.insert(other) {
                    open.push(other);
                }
            }
        }
        text.push_str(&record);
        text.push('\n');
    }
    Digest::of(text.as_bytes())
}

impl CompiledPrompt {
    fn new(
        name: PromptName,
        record: &PromptRecord,
        messages: Vec<(Role, PromptText)>,
        digest: Digest,
        texts: Texts,
        retrievals: Retrievals,
    ) -> Result<Self> {
        let validation = record.validation.clone().unwrap_or_default();
        let input = record.input.as_ref().map(InputSchema::new).transpose().map_err(|error| {
            let message = format!("the input of prompt {name} is not valid: {error}");
            Error::new(ErrorKind::Invalid, message).with_source(error)
        })?;
        if let Some(sampling) = &record.sampling {
            sampling.validate()?;
        }
        let references = References { kind: name.kind, texts };
        let mut info = PromptInfo::new(PromptName::new(name.kind, name.name), digest);
        if let Some(PromptVersion::Number(number)) = name.version {
            info.version = Some(number);
        }
        for (_, text) in &messages {
            info.texts.push(text.source().to_owned());
            info.variables.extend(text.variables().map(str::to_owned));
        }
        info.variables.extend(retrievals.variables.iter().cloned());
        info.required = validation.required_params.into_iter().collect();
        info.defaults.clone_from(&record.defaults);
        info.input.clone_from(&record.input);
        info.model.clone_from(&record.model);
        info.sampling = record.sampling.clone().unwrap_or_default();
        info.metadata.clone_from(&record.metadata);
        let level = validation.level.unwrap_or_default();
        Ok(Self { info, messages, level, input, references, retrievals })
    }

    /// Returns the date and the time under the names that dataknobs gives them, if the prompt reads them.
    fn times(&self) -> Map<String, Value> {
        let mut times = Map::new();
        if self.info.variables.iter().any(|name| name.starts_with("current_")) {
            let now = NowSource::System.now();
            let values = [
                ("current_date", now.date().to_string()),
                ("current_datetime", now.to_string()),
                ("current_year", now.year().to_string()),
            ];
            for (name, value) in values {
                if self.info.variables.contains(name) {
                    times.insert(name.to_owned(), value.into());
                }
            }
        }
        times
    }

    /// Checks the values against the schema, and returns the required names without a value.
    fn missing(&self, values: &Values) -> Result<Vec<String>> {
        let missing: Vec<_> =
            self.info.required.iter().filter(|name| values.get(name).is_none()).cloned().collect();
        if self.level == ValidationLevel::Error && !missing.is_empty() {
            let message = format!(
                "prompt {} needs values for {}; give them, or set the prompt's validation level to warn",
                self.info.name,
                missing.join(", ")
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        if let Some(input) = &self.input {
            input.check(values).map_err(|error| {
                let message = format!("prompt {} refuses its values: {error}", self.info.name);
                Error::new(ErrorKind::Invalid, message).with_source(error)
            })?;
        }
        Ok(if self.level == ValidationLevel::Warn { missing } else { Vec::new() })
    }
}

impl Prompt for CompiledPrompt {
    fn info(&self) -> &PromptInfo {
        &self.info
    }

    fn fill(&self, values: &Values) -> Result<FilledPrompt> {
        let values = values.clone().or_defaults(&self.info.defaults).or_defaults(&self.times());
        let missing = self.missing(&values)?;
        let mut messages = Vec::with_capacity(self.messages.len());
        for (role, text) in &self.messages {
            let mut rendered = text.render(&values, &self.references).map_err(|error| {
                let message = format!("prompt {} cannot be filled in: {error}", self.info.name);
                Error::new(error.kind(), message).with_source(error)
            })?;
            // A default that the text does not read is no mistake of the caller, and a query may read what the text does not.
            rendered.unknown.retain(|name| {
                !self.info.defaults.contains_key(name) && !self.retrievals.variables.contains(name)
            });
            messages.push(FilledMessage::new(*role, rendered));
        }
        let mut filled = FilledPrompt::new(&self.info, messages);
        for name in missing {
            if !filled.facts.missing.contains(&name) {
                filled.facts.missing.push(name);
            }
        }
        Ok(filled)
    }

    fn retrievals(&self) -> &[PromptRetrieval] {
        &self.retrievals.retrievals
    }
}
