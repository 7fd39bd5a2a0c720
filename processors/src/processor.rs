//! A family at work: the data of a family and the control tokens of a model, as a data processor.

use std::sync::Arc;

use alloquy_core::arguments::{InjectionPolicy, ThinkingHistory};
use alloquy_core::grammar::Grammar;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::output::{ParallelCalls, ToolChoice};
use alloquy_core::processor::{Channel, DataProcessor, PromptPart, PromptSource, ReplyParser};
use alloquy_core::report::Degradation;
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
use crate::{history, input, tool_grammar};

/// Returns the processor of a family that makes sense, as a host has set it.
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

/// Returns the processor of a family of this crate, as it is.
pub(crate) fn of_built_in(family: &BuiltIn, model: &ModelInfo) -> Arc<dyn DataProcessor> {
    Arc::new(FamilyProcessor::new(Configured::built_in(family), model))
}

/// Returns how calls are written between markers that a host sets.
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
    let syntax = tool_grammar::syntax(writer).filter(|syntax| syntax.can_be_fenced());
    syntax.map(|syntax| Arc::new(syntax.clone())).ok_or_else(|| {
        let message = format!(
            "family {:?} has no calls that are written between two markers: say how they are written, \"syntax\": one of {NAMES}",
            family.data.name
        );
        Error::new(ErrorKind::Unsupported, message)
    })
}

/// The processor of every family that is data.
#[derive(Debug)]
pub(crate) struct FamilyProcessor {
    family: Arc<Configured>,
    literals: Literals,
    /// With the placeholders of media, for conversations that have some; `None` where those are control tokens anyway.
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

    /// The template's input before anything in it is marked.
    fn unmarked_input(&self, source: PromptSource<'_>) -> Result<TemplateInput> {
        let mut input = input::template_input(source)?;
        if let Some(shape) = self.family.shape {
            shape(&self.template, &mut input);
        }
        Ok(input)
    }

    /// What text may become a control token: as the conversation says, or else the family.
    fn policy<'a>(&'a self, source: PromptSource<'a>) -> &'a InjectionPolicy {
        source.arguments.injection.as_ref().unwrap_or(&self.family.data.injection)
    }

    /// What must stay text. Where there are no media, nobody looks for placeholders.
    fn literals(&self, source: PromptSource<'_>) -> &Literals {
        let among = self.literals_among_media.as_ref().filter(|_| has_media(source));
        among.unwrap_or(&self.literals)
    }

    fn cut(&self, rendered: &str, source: PromptSource<'_>) -> Result<Vec<PromptPart>> {
        let policy = self.policy(source);
        let mut input = self.unmarked_input(source)?;
        let quotes = Quotes::of(source, &input);
        loosened::cut(self.literals(source), policy, rendered, &mut input, &quotes)
    }

    fn let_through(&self, source: PromptSource<'_>) -> Vec<Degradation> {
        let policy = self.policy(source);
        if policy.is_strict() {
            return Vec::new();
        }
        // A source that has no input has no prompt either.
        let Ok(input) = self.unmarked_input(source) else { return Vec::new() };
        loosened::let_through(&self.literals, policy, &input, &Quotes::of(source, &input))
    }

    fn thinking_left_out(&self, rendered: &str, source: PromptSource<'_>) -> Option<Degradation> {
        let text = |part: &PromptPart| match part {
            PromptPart::Text(text) | PromptPart::Literal(text) => text.clone(),
            _ => String::new(),
        };
        if source.arguments.history != Some(ThinkingHistory::Keep) {
            return None;
        }
        let prompt: String = self.cut(rendered, source).ok()?.iter().map(text).collect();
        let messages = history::left_out(&prompt, source);
        (messages > 0).then_some(Degradation::ThinkingLeftOut { messages })
    }
}

fn placeholder_literals(family: &Configured, model: &ModelInfo) -> Option<Literals> {
    let texts = family.data.placeholders.iter().map(|placeholder| placeholder.text.as_str());
    let is_special = |text: &str| model.specials.iter().any(|special| special.text == text);
    let missing: Vec<_> = texts.filter(|text| !is_special(text)).collect();
    (!missing.is_empty()).then(|| Literals::with(family, model, &missing))
}

impl DataProcessor for FamilyProcessor {
    fn name(&self) -> &str {
        &self.family.data.name
    }

    fn template_input(&self, source: PromptSource<'_>) -> Result<TemplateInput> {
        let mut input = self.unmarked_input(source)?;
        let quotes = Quotes::of(source, &input);
        loosened::protect(self.literals(source), self.policy(source), &mut input, &quotes)?;
        Ok(input)
    }

    fn prompt_parts(&self, rendered: &str, source: PromptSource<'_>) -> Result<Vec<PromptPart>> {
        let parts = self.cut(rendered, source)?;
        if !has_media(source) {
            return Ok(parts);
        }
        let family = &self.family.data;
        let filled = placeholders::filled(parts, source, &family.placeholders, &family.name)?;
        Ok(self.literals.without_needless(filled))
    }

    fn reply_parser(&self, rendered: &str, source: PromptSource<'_>) -> Box<dyn ReplyParser> {
        Box::new(FamilyParser::new(Arc::clone(&self.family), rendered, source))
    }

    fn stop_strings(&self) -> Vec<String> {
        self.family.stops.clone()
    }

    fn tool_grammar(
        &self,
        source: PromptSource<'_>,
        choice: &ToolChoice,
        parallel: ParallelCalls,
    ) -> Result<Option<Grammar>> {
        tool_grammar::of(self.writer(), &source.preface.tools, choice, parallel)
    }

    fn answer_grammar(&self, grammar: Grammar) -> Grammar {
        tool_grammar::answer(self.writer(), grammar)
    }

    fn channels(&self) -> &[Channel] {
        &self.channels
    }

    fn degradations(&self, rendered: &str, source: PromptSource<'_>) -> Vec<Degradation> {
        let mut found = self.let_through(source);
        found.extend(self.thinking_left_out(rendered, source));
        found
    }
}
