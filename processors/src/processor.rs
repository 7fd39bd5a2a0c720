//! A family at work: the data of a family and the control tokens of a model, as a data processor.

use alloquy_core::{
    DataProcessor, Degradation, Error, ErrorKind, ModelInfo, PromptPart, PromptSource, ReplyParser, Result,
    TemplateInput, ThinkingHistory,
};

use crate::family::Family;
use crate::history;
use crate::input;
use crate::literal::Literals;
use crate::loosened;
use crate::parser::FamilyParser;

/// The processor of every family that is data.
#[derive(Debug)]
pub(crate) struct FamilyProcessor {
    family: &'static Family,
    literals: Literals,
}

impl FamilyProcessor {
    pub(crate) fn new(family: &'static Family, model: &ModelInfo) -> Self {
        Self { family, literals: Literals::new(family, model) }
    }

    fn cut(&self, rendered: &str, source: PromptSource<'_>) -> Result<Vec<PromptPart>> {
        let policy = source.arguments.policy();
        loosened::cut(&self.literals, policy, rendered, &mut input::template_input(source)?)
    }

    fn let_through(&self, source: PromptSource<'_>) -> Vec<Degradation> {
        let policy = source.arguments.policy();
        if policy.is_strict() {
            return Vec::new();
        }
        // A source that has no input has no prompt either.
        let input = input::template_input(source);
        input.map(|input| loosened::let_through(&self.literals, policy, &input)).unwrap_or_default()
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

impl DataProcessor for FamilyProcessor {
    fn name(&self) -> &str {
        self.family.name
    }

    fn template_input(&self, source: PromptSource<'_>) -> Result<TemplateInput> {
        let mut input = input::template_input(source)?;
        loosened::protect(&self.literals, source.arguments.policy(), &mut input)?;
        Ok(input)
    }

    fn prompt_parts(&self, rendered: &str, source: PromptSource<'_>) -> Result<Vec<PromptPart>> {
        let mut messages = source.preface.messages.iter().chain(source.path);
        if messages.any(|message| message.media().next().is_some()) {
            let message = format!("family {:?} reads text, not pictures or sounds", self.family.name);
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        self.cut(rendered, source)
    }

    fn reply_parser(&self, rendered: &str, source: PromptSource<'_>) -> Box<dyn ReplyParser> {
        Box::new(FamilyParser::new(self.family.spans, rendered, source))
    }

    fn stop_strings(&self) -> Vec<String> {
        self.family.stops.iter().map(|stop| (*stop).to_owned()).collect()
    }

    fn degradations(&self, rendered: &str, source: PromptSource<'_>) -> Vec<Degradation> {
        let mut found = self.let_through(source);
        found.extend(self.thinking_left_out(rendered, source));
        found
    }
}
