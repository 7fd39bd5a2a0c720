//! The families of this crate, as constants: what a [`Family`] says, and what is code. Knows no model's files beyond what
//! `detect` looks at.

use alloquy_core::arguments::InjectionPolicy;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::processor::Channel;
use alloquy_core::template::TemplateInput;
use serde_json::Value;

use crate::call_markers::CallMarkers;
use crate::calls::CallSyntax;
use crate::family::{AnswerHeads, CallIdForm, Family};
use crate::placeholders::Place;

/// One family of this crate. A family's file states what differs from [`BuiltIn::PLAIN`].
#[derive(Debug)]
pub(crate) struct BuiltIn {
    /// The name that people use, such as `qwen3`.
    pub(crate) name: &'static str,
    /// Says whether `model` is one of this family; at most one family may say so.
    pub(crate) detect: fn(&ModelInfo) -> bool,
    /// The marked stretches of a reply.
    pub(crate) spans: &'static [Span],
    /// Calls that may begin a reply without a marker, if they call a tool that is offered.
    pub(crate) unmarked: &'static [&'static CallSyntax],
    /// As [`Family::silent`].
    pub(crate) silent: &'static [&'static str],
    /// What is before an answer, where a reply is messages with heads.
    pub(crate) answer: Option<Announced>,
    /// Brings a conversation into the form that the family's templates expect, where that is not Hugging Face's. Is
    /// given the model's own template, whose source tells what it looks for.
    pub(crate) shape: Option<Shape>,
    /// As [`Family::call_ids`].
    pub(crate) call_ids: CallIdForm,
    /// As [`Family::tags`].
    pub(crate) tags: &'static [&'static str],
    /// As [`Family::ordinary`].
    pub(crate) ordinary: &'static [&'static str],
    /// As [`Family::stops`].
    pub(crate) stops: &'static [&'static str],
    /// The texts that templates print where media go. Of several for one kind a template prints one.
    pub(crate) placeholders: &'static [Place],
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// What brings a conversation into the form of a family's templates.
pub(crate) type Shape = fn(&str, &mut TemplateInput);

impl BuiltIn {
    /// A family that says nothing of itself: it claims no model, and its replies are text.
    pub(crate) const PLAIN: BuiltIn = BuiltIn {
        name: "",
        detect: |_| false,
        spans: &[],
        unmarked: &[],
        silent: &[],
        answer: None,
        shape: None,
        call_ids: CallIdForm::Counted,
        tags: &[],
        ordinary: &[],
        stops: &[],
        placeholders: &[],
    };

    /// The family as data. What is code is named.
    pub(crate) fn family(&self) -> Family {
        Family {
            name: self.name.to_owned(),
            channels: self.spans.iter().filter_map(Span::channel).collect(),
            calls: self.spans.iter().filter_map(Span::call_markers).collect(),
            unmarked_calls: self.unmarked.iter().map(|syntax| (*syntax).clone()).collect(),
            silent: texts(self.silent),
            answer: self.answer.as_ref().map(Announced::heads),
            template_input: self.shape.map(|_| self.name.to_owned()),
            call_ids: self.call_ids,
            tags: texts(self.tags),
            ordinary: texts(self.ordinary),
            stops: texts(self.stops),
            placeholders: self.placeholders.iter().map(Place::placeholder).collect(),
            injection: InjectionPolicy::default(),
        }
    }
}

/// The heads of the messages that a reply consists of: [`AnswerHeads`].
#[derive(Debug)]
pub(crate) struct Announced {
    /// What begins a message after another.
    pub(crate) message: &'static str,
    /// What begins the answer then, one of these.
    pub(crate) answers: &'static [&'static str],
    /// What begins a text before calls, and what ends it.
    pub(crate) aside: &'static str,
    /// See `aside`.
    pub(crate) end: &'static str,
}

impl Announced {
    fn heads(&self) -> AnswerHeads {
        AnswerHeads {
            message: self.message.to_owned(),
            answers: texts(self.answers),
            aside: self.aside.to_owned(),
            end: self.end.to_owned(),
        }
    }
}

/// A stretch of a reply between two markers.
#[derive(Debug)]
pub(crate) struct Span {
    /// The text that begins it.
    pub(crate) open: &'static str,
    /// The text that ends it; empty where the calls themselves tell.
    pub(crate) close: &'static str,
    /// How many bytes at the end of `open` belong to the calls.
    pub(crate) kept: usize,
    /// What is between the markers.
    pub(crate) holds: Holds,
}

impl Span {
    fn channel(&self) -> Option<Channel> {
        match self.holds {
            Holds::Thinking => Some(Channel::new(Channel::THINKING, self.open, self.close)),
            Holds::Calls(_) => None,
        }
    }

    fn call_markers(&self) -> Option<CallMarkers> {
        let Holds::Calls(syntax) = self.holds else { return None };
        let (start, followed_by) = self.open.split_at_checked(self.open.len() - self.kept)?;
        let markers = CallMarkers::new(start, self.close).followed_by(followed_by);
        Some(markers.written_as(syntax.clone()))
    }
}

/// What a [`Span`] holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Holds {
    /// What the model thinks before it answers.
    Thinking,
    /// Tool calls; looked for only where tools are offered.
    Calls(&'static CallSyntax),
}

/// A span of thinking.
pub(crate) const fn thinking(open: &'static str, close: &'static str) -> Span {
    Span { open, close, kept: 0, holds: Holds::Thinking }
}

/// A span of tool calls.
pub(crate) const fn calls(open: &'static str, close: &'static str, syntax: &'static CallSyntax) -> Span {
    Span { open, close, kept: 0, holds: Holds::Calls(syntax) }
}

/// Says whether a model calls itself one of `architectures` or one of `model_types`.
pub(crate) fn is_one_of(model: &ModelInfo, architectures: &[&str], model_types: &[&str]) -> bool {
    let says =
        |field: &Option<String>, names: &[&str]| field.as_deref().is_some_and(|said| names.contains(&said));
    says(&model.architecture, architectures) || says(&model.model_type, model_types)
}

/// Returns the model's chat template, or nothing if it has none.
pub(crate) fn chat_template(model: &ModelInfo) -> String {
    if let Some(file) = model.files.get("chat_template.jinja") {
        return file.clone();
    }
    // A damaged file says nothing here; whoever needs it reports it.
    let template = |file: &str| {
        model.json(file).ok().flatten()?.get("chat_template").filter(|text| !text.is_null()).cloned()
    };
    match template("tokenizer_config.json").or_else(|| template("chat_template.json")) {
        Some(Value::String(text)) => text,
        // Several by name: what one of them prints, the model reads.
        Some(Value::Array(named)) => {
            named.iter().filter_map(|one| one.get("template")?.as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Says whether the model's chat template contains one of `texts`; of a model without a template, whether one of them is
/// a control token. Models that were tuned from others keep tokens which they do not write.
pub(crate) fn prints(model: &ModelInfo, texts: &[&str]) -> bool {
    let template = chat_template(model);
    let is_special = |text: &str| model.specials.iter().any(|special| special.text == text);
    texts.iter().any(|text| if template.is_empty() { is_special(text) } else { template.contains(text) })
}
