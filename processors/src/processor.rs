//! Implements the data processor: a family's data, applied to a model's control tokens.

use std::sync::Arc;

use alloquy_core::arguments::{InjectionPolicy, ThinkingHistory};
use alloquy_core::grammar::Grammar;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::output::{ParallelCalls, ToolChoice};
use alloquy_core::processor::{Channel, DataProcessor, ProcessorInput, PromptPart, ReplyParser};
use alloquy_core::report::Warning;
use alloquy_core::template::TemplateInput;
use alloquy_core::tokenizer::{SpecialToken, TokenId};
use alloquy_core::{Error, ErrorKind, Result};

use crate::built_in::{BuiltIn, chat_template};
use crate::call_markers::CallMarkers;
use crate::calls::{CallSyntax, NAMES};
use crate::config::DataProcessorConfig;
use crate::configured::Configured;
use crate::family::Family;
use crate::injection::quotes::Quotes;
use crate::injection::{Literals, loosened};
use crate::parser::FamilyParser;
use crate::placeholders::{self, has_media};
use crate::{call_texts, history, input, tool_grammar};

/// Returns the processor of a checked family with a host's configuration.
pub(crate) fn of(
    family: &Family,
    config: &DataProcessorConfig,
    model: &ModelInfo,
) -> Result<Arc<dyn DataProcessor>> {
    let mut configured = Configured::of(family.clone())?;
    let fenced = match &config.calls {
        Some(markers) => Some(fenced(&configured, markers, model)?),
        None => None,
    };
    configured.set(config, fenced);
    Ok(Arc::new(FamilyProcessor::new(configured, model)))
}

/// Returns the processor of a family of this crate without changes.
pub(crate) fn of_built_in(family: &BuiltIn, model: &ModelInfo) -> Arc<dyn DataProcessor> {
    Arc::new(FamilyProcessor::new(Configured::built_in(family), model))
}

/// Returns how calls are written between the markers that a host sets.
fn fenced(family: &Configured, markers: &CallMarkers, model: &ModelInfo) -> Result<Arc<CallSyntax>> {
    if let Some(syntax) = &markers.syntax {
        return Ok(Arc::new(syntax.clone()));
    }
    let template = chat_template(model);
    let writer = tool_grammar::Writer {
        family,
        specials: &model.specials,
        stop_tokens: &model.stop_tokens,
        template: &template,
    };
    match tool_grammar::syntax(writer) {
        Some(syntax) if syntax.can_be_fenced() => Ok(Arc::new(syntax.clone())),
        _ => {
            let message = format!(
                "family {:?} has no calls that are written between two markers: say how they are written, \"syntax\": one of {NAMES}",
                family.data.name
            );
            Err(Error::new(ErrorKind::Unsupported, message))
        }
    }
}

/// The processor of every family.
#[derive(Debug)]
pub(crate) struct FamilyProcessor {
    family: Arc<Configured>,
    literals: Literals,
    /// The literals and the placeholders, for conversations with media; `None` if all placeholders are control tokens.
    literals_among_media: Option<Literals>,
    channels: Vec<Channel>,
    specials: Vec<SpecialToken>,
    stop_tokens: Vec<TokenId>,
    /// The model's own template; empty if it has none.
    template: String,
}

impl FamilyProcessor {
    pub(crate) fn new(family: Configured, model: &ModelInfo) -> Self {
        Self {
            literals_among_media: placeholder_literals(&family, model),
            literals: Literals::new(&family, model),
            channels: family.channels(),
            family: Arc::new(family),
            specials: model.specials.clone(),
            stop_tokens: model.stop_tokens.clone(),
            template: chat_template(model),
        }
    }

    fn writer(&self) -> tool_grammar::Writer<'_> {
        let Self { family, specials, stop_tokens, template, .. } = self;
        tool_grammar::Writer { family, specials, stop_tokens, template }
    }

    /// Returns the template's input before anything in it is marked.
    fn unmarked_input(&self, source: ProcessorInput<'_>) -> Result<TemplateInput> {
        let mut input = input::template_input(source)?;
        if let Some(shape) = self.family.shape {
            shape(&self.template, &mut input);
        }
        Ok(input)
    }

    /// Returns the conversation's injection policy, or the family's if it has none.
    fn policy<'a>(&'a self, source: ProcessorInput<'a>) -> &'a InjectionPolicy {
        source.arguments.injection.as_ref().unwrap_or(&self.family.data.injection)
    }

    /// Returns the texts that must stay text. Placeholders are among them only if the conversation has media.
    fn literals(&self, source: ProcessorInput<'_>) -> &Literals {
        match &self.literals_among_media {
            Some(literals) if has_media(source) => literals,
            _ => &self.literals,
        }
    }

    /// Cuts a rendered prompt into literal text and other text.
    fn cut(&self, rendered: &str, source: ProcessorInput<'_>) -> Result<Vec<PromptPart>> {
        let policy = self.policy(source);
        let mut input = self.unmarked_input(source)?;
        let quotes = Quotes::of(source, &input);
        loosened::cut(self.literals(source), policy, rendered, &mut input, &quotes)
    }

    /// Reports the control tokens that the policy lets through.
    fn let_through(&self, source: ProcessorInput<'_>) -> Vec<Warning> {
        let policy = self.policy(source);
        if policy.is_strict() {
            return Vec::new();
        }
        // Without an input there is no prompt, and the caller already has the error.
        let Ok(input) = self.unmarked_input(source) else { return Vec::new() };
        loosened::let_through(&self.literals, policy, &input, &Quotes::of(source, &input))
    }

    /// Reports thinking that was to be kept and are missing from the prompt.
    fn thinking_left_out(&self, rendered: &str, source: ProcessorInput<'_>) -> Option<Warning> {
        if source.arguments.history != Some(ThinkingHistory::Keep) {
            return None;
        }
        let mut prompt = String::new();
        for part in self.cut(rendered, source).ok()? {
            if let PromptPart::Text(text) | PromptPart::Literal(text) = part {
                prompt += &text;
            }
        }
        let messages = history::left_out(&prompt, source);
        (messages > 0).then_some(Warning::ThinkingLeftOut { messages })
    }
}

/// Returns the literals and those placeholders that are no control tokens; `None` if all of them are.
fn placeholder_literals(family: &Configured, model: &ModelInfo) -> Option<Literals> {
    let mut missing = Vec::new();
    for placeholder in &family.data.placeholders {
        let text = placeholder.text.as_str();
        if !model.specials.iter().any(|special| special.text == text) {
            missing.push(text);
        }
    }
    (!missing.is_empty()).then(|| Literals::with(family, model, &missing))
}

impl DataProcessor for FamilyProcessor {
    fn name(&self) -> &str {
        &self.family.data.name
    }

    fn template_input(&self, source: ProcessorInput<'_>) -> Result<TemplateInput> {
        let mut input = self.unmarked_input(source)?;
        let quotes = Quotes::of(source, &input);
        loosened::protect(self.literals(source), self.policy(source), &mut input, &quotes)?;
        Ok(input)
    }

    fn prompt_parts(&self, rendered: &str, source: ProcessorInput<'_>) -> Result<Vec<PromptPart>> {
        let parts = self.cut(rendered, source)?;
        if !has_media(source) {
            return Ok(parts);
        }
        let family = &self.family.data;
        let filled = placeholders::filled(parts, source, &family.placeholders, &family.name)?;
        Ok(self.literals.without_needless(filled))
    }

    fn reply_parser(&self, rendered: &str, source: ProcessorInput<'_>) -> Box<dyn ReplyParser> {
        Box::new(FamilyParser::new(Arc::clone(&self.family), rendered, source))
    }

    fn stop_strings(&self) -> Vec<String> {
        self.family.stops.clone()
    }

    fn tool_grammar(
        &self,
        source: ProcessorInput<'_>,
        choice: &ToolChoice,
        parallel: ParallelCalls,
    ) -> Result<Option<Grammar>> {
        tool_grammar::of(self.writer(), &source.preface.tools, choice, parallel)
    }

    fn answer_grammar(&self, grammar: Grammar) -> Grammar {
        tool_grammar::answer(self.writer(), grammar)
    }

    fn call_texts(&self) -> Vec<String> {
        call_texts::of(&self.family, &self.specials, &self.stop_tokens)
    }

    fn channels(&self) -> &[Channel] {
        &self.channels
    }

    fn warnings(&self, rendered: &str, source: ProcessorInput<'_>) -> Vec<Warning> {
        let mut found = self.let_through(source);
        found.extend(self.thinking_left_out(rendered, source));
        found
    }
}
