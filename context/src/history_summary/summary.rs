//! Requests a summary from a model, or one that covers more messages.

use std::ops::Range;

use alloquy_core::arguments::{ProcessorArguments, ThinkingSwitch};
use alloquy_core::report::{CutHistory, CutSummary, FinishReason, Usage};
use alloquy_core::{ChatModel, Error, ErrorKind, Message, Preface, Reply, Request, Result, SamplingOptions};

use super::policy::SummaryPolicy;
use super::transcript::transcript;

/// About how many words so many tokens are, in languages that take more tokens: 3 for 5. The instruction counts in words, as models
/// do.
const WORDS: (usize, usize) = (3, 5);

/// The summary of the oldest turns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) text: String,
    /// How many messages it does not cover, because they did not fit into the model's context or the model returned nothing.
    pub(super) left_out: usize,
    /// Whether it ended at its limit of tokens.
    pub(super) cut: bool,
}

/// The tokens that a summary took to make.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent(Usage);

impl Spent {
    fn add(&mut self, usage: Usage) {
        self.0.prompt += usage.prompt;
        self.0.cached += usage.cached;
        self.0.generated += usage.generated;
        self.0.thinking += usage.thinking;
    }

    /// Returns the sum of both.
    pub(super) fn joined_to(mut self, before: Option<Usage>) -> Usage {
        self.add(before.unwrap_or_default());
        self.0
    }
}

/// One conversation of which a part is summarised.
pub(super) struct Summarising<'a> {
    pub(super) model: &'a dyn ChatModel,
    pub(super) policy: &'a SummaryPolicy,
    pub(super) request: &'a Request,
    /// Where groups begin. A range that is too long for the model is split at one of them.
    pub(super) starts: &'a [usize],
}

impl Summarising<'_> {
    /// Returns a summary of what `before` covers and of the messages of a range.
    pub(super) async fn extend(
        &self,
        before: Option<&Summary>,
        messages: Range<usize>,
    ) -> Result<(Summary, Spent)> {
        let mut summary = before.cloned().unwrap_or_default();
        let mut spent = Spent::default();
        // The ranges that are still to be covered, the first one last. When the model refuses 0..40 as too long, 20..40 and then
        // 0..20 are pushed, so that 0..20 is next.
        let mut waiting = vec![messages];
        while let Some(range) = waiting.pop() {
            let said = self.request.path.get(range.clone()).unwrap_or_default();
            match self.ask(&summary.text, said).await {
                Ok(reply) => {
                    spent.add(reply.usage);
                    summary.take(&reply, said.len());
                }
                Err(error) if error.kind() == ErrorKind::ContextOverflow => match self.middle(&range) {
                    Some(middle) => waiting.extend([middle..range.end, range.start..middle]),
                    None => summary.left_out += said.len(),
                },
                Err(error) => return Err(error.context("the oldest turns could not be summarised")),
            }
        }
        Ok((summary, spent))
    }

    /// Returns the beginning of a group near the middle of a range.
    fn middle(&self, range: &Range<usize>) -> Option<usize> {
        let within = self.starts.iter().filter(|start| range.start < **start && **start < range.end);
        let within: Vec<_> = within.copied().collect();
        within.get(within.len() / 2).copied()
    }

    async fn ask(&self, before: &str, said: &[Message]) -> Result<Reply> {
        let path = vec![Message::user(self.question(before, said))];
        let limit = Some(self.policy.summary);
        let greedy = SamplingOptions { max_tokens: limit, temperature: Some(0.0), ..Default::default() };
        let arguments = ProcessorArguments::default().thinking(ThinkingSwitch::Off);
        let request = Request::new(Preface::default(), path).sampling(greedy).arguments(arguments);
        let reply = self.model.reply(request.stop(self.request.stop.clone())).await?.finish().await?;
        match reply.finish {
            FinishReason::Cancelled => Err(Error::new(ErrorKind::Cancelled, "the request was stopped")),
            _ => reply.complete(),
        }
    }

    fn question(&self, before: &str, said: &[Message]) -> String {
        let (words, tokens) = WORDS;
        let limit = (self.policy.summary * words / tokens).max(1);
        let before = match before {
            "" => String::new(),
            before => format!("What was said before, in short:\n{before}\n\n"),
        };
        let instruction = &self.policy.instruction;
        let said = transcript(said);
        format!("{instruction} At most {limit} words.\n\n{before}The conversation:\n{said}")
    }
}

impl Summary {
    /// The summary that a reply remembers.
    pub(super) fn of(remembered: CutSummary) -> Self {
        Self { text: remembered.text, left_out: remembered.left_out, cut: remembered.cut }
    }

    /// Adds the summary to what a reply remembers.
    pub(super) fn noted_in(&self, mut history: CutHistory) -> CutHistory {
        let mut summary = CutSummary::new(self.text.as_str());
        summary.left_out = self.left_out;
        summary.cut = self.cut;
        history.summary = Some(summary);
        history
    }

    /// Takes the model's reply, which covers this summary and so many messages more.
    fn take(&mut self, reply: &Reply, messages: usize) {
        match reply.text().trim() {
            "" => self.left_out += messages,
            text => {
                text.clone_into(&mut self.text);
                self.cut = matches!(
                    reply.finish,
                    FinishReason::Length | FinishReason::ContextFull | FinishReason::Repetition
                );
            }
        }
    }
}
