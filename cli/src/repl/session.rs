//! A chat: its conversation, the source of its lines and the printer of its answers.

use alloquy::core::output::OutputConstraints;
use alloquy::core::{Part, Result, SamplingOptions};

use super::lines::Lines;
use super::settings::ChatSettings;
use crate::current::Current;
use crate::interrupts::Interrupts;
use crate::notes::Notes;
use crate::open_model::OpenModel;
use crate::opener::ModelOpener;
use crate::printer::Printer;
use crate::resume::Resume;

/// What an error means for the lines that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterError {
    /// A person reads it and continues.
    Continue,
    /// The chat ends: the next lines of a script depend on the ones before.
    End,
}

/// The model of a chat, and what opens another one.
pub(crate) struct Answerer {
    pub(crate) model: OpenModel,
    pub(crate) opener: ModelOpener,
    pub(crate) resume: Option<Resume>,
}

/// A conversation, the source of its lines and the printer of its answers.
pub(crate) struct Repl {
    pub(crate) current: Current,
    pub(crate) lines: Box<dyn Lines>,
    pub(crate) printer: Box<dyn Printer>,
    pub(crate) interrupts: Interrupts,
    pub(crate) notes: Notes,
    pub(crate) after_error: AfterError,
    /// The settings with which the chat began.
    pub(crate) begun: ChatSettings,
    pub(crate) settings: ChatSettings,
    /// Whether the settings or the model changed since the last answer.
    pub(crate) is_changed: bool,
    /// The constraints of every answer.
    pub(crate) constraints: OutputConstraints,
    /// Images and audio clips for the next message.
    pub(crate) attached: Vec<Part>,
    pub(crate) answerer: Option<Answerer>,
    /// The files that this chat wrote, which it may write again.
    pub(crate) saved: Vec<std::path::PathBuf>,
}

impl Repl {
    /// Returns the sampling options of this run, which win over those of the conversation.
    pub(super) fn sampling(&self) -> SamplingOptions {
        self.settings.sampling.options()
    }

    /// Returns the sampling options of the next answer, with the conversation's and the model's own.
    pub(super) async fn whole_sampling(&self) -> Result<SamplingOptions> {
        let mut sampling = self.sampling();
        if let Ok(chat) = self.current.chat() {
            sampling = sampling.or(&chat.record().await?.sampling);
        }
        if let Some(answerer) = &self.answerer {
            sampling = sampling.or(&answerer.model.sampling());
        }
        Ok(sampling)
    }

    /// Saves what the model has computed of this conversation, where that is wanted.
    pub(crate) async fn keep_computed(&self) {
        if let Some(answerer) = &self.answerer
            && let Some(resume) = &answerer.resume
            && let Ok(chat) = self.current.chat()
        {
            resume.keep(&answerer.model, &chat, &answerer.opener.guards).await;
        }
    }
}
