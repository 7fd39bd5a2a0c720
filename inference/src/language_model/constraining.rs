//! The form of one reply: what is demanded, compiled for the model's vocabulary, and how far the reply is in it.

use std::sync::{Arc, OnceLock};

use alloquy_core::grammar::{ConstraintCompiler, Constraints, Grammar};
use alloquy_core::output::{Guidance, ToolChoice};
use alloquy_core::processor::{Channel, DataProcessor, PromptSource};
use alloquy_core::report::Degradation;
use alloquy_core::template::Ending;
use alloquy_core::tokenizer::Vocabulary;
use alloquy_core::{Error, ErrorKind, Message, Preface, Result};
use alloquy_engine::decoder::{Decoder, ThinkingRule};

/// A way to enforce grammars, made ready for the model's vocabulary when the first reply needs it.
#[derive(Debug)]
pub(super) struct Prepared {
    grammars: Box<dyn Constraints>,
    compiler: OnceLock<Arc<dyn ConstraintCompiler>>,
}

impl Prepared {
    pub(super) fn new(grammars: Box<dyn Constraints>) -> Self {
        Self { grammars, compiler: OnceLock::new() }
    }

    pub(super) fn compiler(&self, decoder: &dyn Decoder) -> Result<&Arc<dyn ConstraintCompiler>> {
        if let Some(compiler) = self.compiler.get() {
            return Ok(compiler);
        }
        // Two replies at once may both prepare; the first to be ready counts.
        let model = decoder.model();
        let vocabulary = Vocabulary::new(decoder.tokenizer(), model.vocabulary, &model.stop_tokens);
        let compiler = self.grammars.prepare(&vocabulary)?;
        Ok(self.compiler.get_or_init(|| compiler))
    }
}

/// How far a reply is in the form that it must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// It need not have one.
    Free,
    /// It may be incomplete.
    Open,
    /// It is complete.
    Complete,
}

impl Form {
    /// The reply ended by itself, which its form allows only where it is complete.
    pub(super) fn end(&mut self) {
        if *self == Self::Open {
            *self = Self::Complete;
        }
    }
}

/// What a reply may begin with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opening {
    /// Thinking, or the answer.
    Either,
    /// The prompt has begun thinking.
    Thinking,
    /// The prompt has ended thinking.
    Answer,
}

/// How the reply to a prompt thinks; `None` where it does not.
pub(super) fn thinking_rule(
    channels: &[Channel],
    rendered: &str,
    source: PromptSource<'_>,
    budget: Option<usize>,
) -> Option<ThinkingRule> {
    let mut first = None;
    for channel in channels.iter().filter(|channel| channel.name == Channel::THINKING) {
        let opening = opening(channel, rendered, source);
        // Of several ways to write thinking, the prompt has chosen this one.
        if opening != Opening::Either {
            first = Some((channel, opening));
            break;
        }
        first = first.or(Some((channel, opening)));
    }
    let (channel, opening) = first.filter(|(_, opening)| *opening != Opening::Answer)?;
    let mut rule = ThinkingRule::new(&channel.start, &channel.end);
    rule.is_open = opening == Opening::Thinking;
    rule.budget = budget;
    Some(rule)
}

/// What a reply begins in: templates open thinking for the model, or close it. A message that is to be continued may have
/// opened it itself.
fn opening(channel: &Channel, rendered: &str, source: PromptSource<'_>) -> Opening {
    let (start, end) = (channel.start.trim(), channel.end.trim());
    let prompt = rendered.trim_end();
    if prompt.ends_with(start) {
        return Opening::Thinking;
    }
    if prompt.ends_with(end) {
        return Opening::Answer;
    }
    let said = source.path.last().filter(|_| source.ending == Ending::Continue).map(Message::text);
    let Some(said) = said else { return Opening::Either };
    if said.rfind(start) > said.rfind(end) { Opening::Thinking } else { Opening::Answer }
}

/// Says whether a form is demanded that leaves no room for calls of the tools that are offered, although nobody
/// said that none is to be called.
pub(super) fn shut_out(guidance: &Guidance, preface: &Preface) -> Option<Degradation> {
    let tools = preface.tools.len();
    let unchosen = guidance.grammar.is_some() && guidance.tool_choice.is_none();
    (unchosen && tools > 0).then_some(Degradation::ToolsShutOut { tools })
}

/// Returns the grammar of the whole reply behind its thoughts, where anything is demanded.
pub(super) fn joined(
    guidance: &Guidance,
    processor: &dyn DataProcessor,
    source: PromptSource<'_>,
) -> Result<Option<Grammar>> {
    let offered = !source.preface.tools.is_empty();
    let calls = |choice: &ToolChoice| calls(guidance, processor, source, choice);
    let answer = guidance.grammar.clone().map(|grammar| processor.answer_grammar(grammar));
    match (&guidance.tool_choice, answer) {
        (Some(choice @ (ToolChoice::Required | ToolChoice::Named(_))), _) => calls(choice).map(Some),
        (Some(ToolChoice::Auto), Some(answer)) if offered => {
            let calls = calls(&ToolChoice::Required)?;
            Ok(Some(Grammar::AnyOf(vec![calls, answer])))
        }
        (Some(choice), None) if offered => calls(choice).map(Some),
        (_, answer) => Ok(answer),
    }
}

fn calls(
    guidance: &Guidance,
    processor: &dyn DataProcessor,
    source: PromptSource<'_>,
    choice: &ToolChoice,
) -> Result<Grammar> {
    check(choice, source)?;
    let grammar = processor.tool_grammar(source, choice, guidance.parallel_calls)?;
    grammar.ok_or_else(|| {
            let message = format!(
                "how models of family {:?} write tool calls is not known as a grammar: leave the choice of tools to \
                 the model",
                processor.name()
            );
            Error::new(ErrorKind::Unsupported, message)
        })
}
/// Says whether what a choice demands is there.
fn check(choice: &ToolChoice, source: PromptSource<'_>) -> Result<()> {
    let names: Vec<_> = source.preface.tools.iter().map(|tool| tool.name.as_str()).collect();
    let invalid = |message: String| Err(Error::new(ErrorKind::Invalid, message));
    match choice {
        ToolChoice::Required if names.is_empty() => {
            invalid("a tool call is required and no tool is offered".to_owned())
        }
        ToolChoice::Named(name) if names.is_empty() => {
            invalid(format!("tool {name:?} is required and no tool is offered"))
        }
        ToolChoice::Named(name) if !names.contains(&name.as_str()) => {
            invalid(format!("tool {name:?} is required and not offered, one of: {}", names.join(", ")))
        }
        _ => Ok(()),
    }
}
