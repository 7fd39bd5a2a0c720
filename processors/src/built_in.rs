//! Defines the families of this crate as constants: the data of a [`Family`], and the functions that only these have.

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
    /// Returns whether `model` belongs to this family. At most one family may claim a model.
    pub(crate) detect: fn(&ModelInfo) -> bool,
    /// The marked sections of a reply.
    pub(crate) spans: &'static [Span],
    /// Calls that may begin a reply without a marker, if they call a tool that is offered.
    pub(crate) unmarked: &'static [&'static CallSyntax],
    /// As [`Family::silent`].
    pub(crate) silent: &'static [&'static str],
    /// The heads of messages, if a reply consists of messages with heads.
    pub(crate) answer: Option<Announced>,
    /// Changes the template's input from Hugging Face's form to the one that the family's templates expect. It is given
    /// the source of the model's own template, which shows what the template looks for.
    pub(crate) shape: Option<Shape>,
    /// As [`Family::call_ids`].
    pub(crate) call_ids: CallIdForm,
    /// As [`Family::tags`].
    pub(crate) tags: &'static [&'static str],
    /// As [`Family::ordinary`].
    pub(crate) ordinary: &'static [&'static str],
    /// As [`Family::stops`].
    pub(crate) stops: &'static [&'static str],
    /// The texts that templates print in the place of media. Of several texts for one kind, a template prints one.
    pub(crate) placeholders: &'static [Place],
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// A function that changes a template's input to the form that a family's templates expect.
pub(crate) type Shape = fn(&str, &mut TemplateInput);

impl BuiltIn {
    /// A family without any particulars: it claims no model, and its replies are text.
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

    /// Returns the family as data. The functions are referred to by the family's name.
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
    /// The text that begins a message after another.
    pub(crate) message: &'static str,
    /// The texts that may begin the answer after that.
    pub(crate) answers: &'static [&'static str],
    /// The text that begins a comment before calls.
    pub(crate) aside: &'static str,
    /// The text that ends that comment.
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

/// A section of a reply between two markers.
#[derive(Debug)]
pub(crate) struct Span {
    /// The text that begins it.
    pub(crate) open: &'static str,
    /// The text that ends it; empty if the calls end by themselves.
    pub(crate) close: &'static str,
    /// How many bytes at the end of `open` belong to the calls.
    pub(crate) kept: usize,
    /// The kind of its text.
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

/// The kind of text in a [`Span`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Holds {
    /// The model's thinking before it answers.
    Thinking,
    /// Tool calls. They are looked for only if tools are offered.
    Calls(&'static CallSyntax),
}

/// Returns a span of thinking.
pub(crate) const fn thinking(open: &'static str, close: &'static str) -> Span {
    Span { open, close, kept: 0, holds: Holds::Thinking }
}

/// Returns a span of tool calls.
pub(crate) const fn calls(open: &'static str, close: &'static str, syntax: &'static CallSyntax) -> Span {
    Span { open, close, kept: 0, holds: Holds::Calls(syntax) }
}

/// Returns whether a model has one of `architectures` or one of `model_types`.
pub(crate) fn is_one_of(model: &ModelInfo, architectures: &[&str], model_types: &[&str]) -> bool {
    model.architecture.as_deref().is_some_and(|name| architectures.contains(&name))
        || model.model_type.as_deref().is_some_and(|name| model_types.contains(&name))
}

/// Returns the source of the model's chat template; empty if it has none.
pub(crate) fn chat_template(model: &ModelInfo) -> String {
    if let Some(file) = model.files.get("chat_template.jinja") {
        return file.clone();
    }
    match template_in(model, "tokenizer_config.json").or_else(|| template_in(model, "chat_template.json")) {
        Some(Value::String(text)) => text,
        // Several templates by name. The model may be given the text of any of them.
        Some(Value::Array(named)) => {
            named.iter().filter_map(|one| one.get("template")?.as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Returns the field `chat_template` of a file. A damaged file counts as missing here: the error is reported where the file
/// is needed.
fn template_in(model: &ModelInfo, file: &str) -> Option<Value> {
    let template = model.json(file).ok().flatten()?.get("chat_template")?.clone();
    (!template.is_null()).then_some(template)
}

/// Returns whether the model's chat template contains one of `texts`. For a model without a template, returns whether one
/// of them is a control token. The template decides because tuned models keep tokens that they do not write.
pub(crate) fn prints(model: &ModelInfo, texts: &[&str]) -> bool {
    let template = chat_template(model);
    if template.is_empty() {
        return model.specials.iter().any(|special| texts.contains(&special.text.as_str()));
    }
    texts.iter().any(|text| template.contains(text))
}
