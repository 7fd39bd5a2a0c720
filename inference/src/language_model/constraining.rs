//! The grammar of one reply: what a request demands, compiled for the model's vocabulary, and whether the reply is complete.

use std::sync::{Arc, OnceLock};

use alloquy_core::grammar::{Grammar, GrammarCompiler, GrammarEngine};
use alloquy_core::output::{OutputConstraints, ToolChoice};
use alloquy_core::processor::{Channel, DataProcessor, ProcessorInput};
use alloquy_core::report::Warning;
use alloquy_core::template::PromptEnd;
use alloquy_core::tokenizer::Vocabulary;
use alloquy_core::{Error, ErrorKind, Message, Preface, Result};
use alloquy_engine::decoder::{Decoder, ThinkingRule};

/// A way to enforce grammars, prepared for the model's vocabulary when the first reply needs it.
#[derive(Debug)]
pub(super) struct Prepared {
    grammars: Box<dyn GrammarEngine>,
    compiler: OnceLock<Arc<dyn GrammarCompiler>>,
}

impl Prepared {
    pub(super) fn new(grammars: Box<dyn GrammarEngine>) -> Self {
        Self { grammars, compiler: OnceLock::new() }
    }

    pub(super) fn compiler(&self, decoder: &dyn Decoder) -> Result<&Arc<dyn GrammarCompiler>> {
        if let Some(compiler) = self.compiler.get() {
            return Ok(compiler);
        }
        // Two concurrent replies may both prepare; the first result is kept.
        let model = decoder.model();
        let vocabulary = Vocabulary::new(decoder.tokenizer(), model.vocabulary, &model.stop_tokens);
        let compiler = self.grammars.prepare(&vocabulary)?;
        Ok(self.compiler.get_or_init(|| compiler))
    }
}

/// Whether a reply matches the grammar that it must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// It has no grammar.
    Free,
    /// It may be incomplete.
    Open,
    /// It is complete.
    Complete,
}

impl Form {
    /// Notes that the reply ended by itself, which its grammar allows only where it is complete.
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

/// Returns how the reply to a prompt thinks; `None` where it does not.
pub(super) fn thinking_rule(
    channels: &[Channel],
    rendered: &str,
    source: ProcessorInput<'_>,
    budget: Option<usize>,
) -> Option<ThinkingRule> {
    let mut first = None;
    for channel in channels.iter().filter(|channel| channel.name == Channel::THINKING) {
        let opening = opening(channel, rendered, source);
        // Of several ways to write thinking, this is the one that the prompt opened or closed.
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

/// Returns what a reply begins in. Templates may open thinking for the model, or close it, and a message that is continued may
/// have opened it.
fn opening(channel: &Channel, rendered: &str, source: ProcessorInput<'_>) -> Opening {
    let start = channel.start.trim();
    let end = channel.end.trim();
    let prompt = rendered.trim_end();
    if prompt.ends_with(start) {
        return Opening::Thinking;
    }
    if prompt.ends_with(end) {
        return Opening::Answer;
    }
    let said = source.path.last().filter(|_| source.ending == PromptEnd::Continuation).map(Message::text);
    let Some(said) = said else { return Opening::Either };
    if said.rfind(start) > said.rfind(end) { Opening::Thinking } else { Opening::Answer }
}

/// Returns a warning if a grammar is demanded that leaves no room for calls of the offered tools, and the request does not
/// choose to call none.
pub(super) fn shut_out(constraints: &OutputConstraints, preface: &Preface) -> Option<Warning> {
    let tools = preface.tools.len();
    let unchosen = constraints.grammar.is_some() && constraints.tool_choice.is_none();
    (unchosen && tools > 0).then_some(Warning::ToolsExcluded { tools })
}

/// Returns the grammar of the reply after its thinking, if the request demands one. A reply that must not call needs none if
/// `excludes_calls`.
pub(super) fn joined(
    constraints: &OutputConstraints,
    processor: &dyn DataProcessor,
    source: ProcessorInput<'_>,
    excludes_calls: bool,
) -> Result<Option<Grammar>> {
    let offered = !source.preface.tools.is_empty();
    let answer = constraints.grammar.clone().map(|grammar| processor.answer_grammar(grammar));
    match (&constraints.tool_choice, answer) {
        (Some(choice @ (ToolChoice::Required | ToolChoice::Named(_))), _) => {
            calls(constraints, processor, source, choice).map(Some)
        }
        (Some(ToolChoice::Auto), Some(answer)) if offered => {
            let calls = calls(constraints, processor, source, &ToolChoice::Required)?;
            Ok(Some(Grammar::AnyOf(vec![calls, answer])))
        }
        (Some(ToolChoice::None), None) if excludes_calls => Ok(None),
        (Some(choice), None) if offered => calls(constraints, processor, source, choice).map(Some),
        (_, answer) => Ok(answer),
    }
}

fn calls(
    constraints: &OutputConstraints,
    processor: &dyn DataProcessor,
    source: ProcessorInput<'_>,
    choice: &ToolChoice,
) -> Result<Grammar> {
    check(choice, source)?;
    let grammar = processor.tool_grammar(source, choice, constraints.parallel_calls)?;
    let Some(grammar) = grammar else {
        let message = format!(
            "how models of family {:?} write tool calls is not known as a grammar: leave the choice of tools to the model",
            processor.name()
        );
        return Err(Error::new(ErrorKind::Unsupported, message));
    };
    Ok(grammar)
}

/// Checks that the tools that a choice demands are offered.
fn check(choice: &ToolChoice, source: ProcessorInput<'_>) -> Result<()> {
    let names: Vec<_> = source.preface.tools.iter().map(|tool| tool.name.as_str()).collect();
    let message = match choice {
        ToolChoice::Required if names.is_empty() => {
            "a tool call is required and no tool is offered".to_owned()
        }
        ToolChoice::Named(name) if names.is_empty() => {
            format!("tool {name:?} is required and no tool is offered")
        }
        ToolChoice::Named(name) if !names.contains(&name.as_str()) => {
            format!("tool {name:?} is required and not offered, one of: {}", names.join(", "))
        }
        _ => return Ok(()),
    };
    Err(Error::new(ErrorKind::Invalid, message))
}
