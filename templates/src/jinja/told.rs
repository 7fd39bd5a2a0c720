//! What of a conversation a prompt does not say, or says elsewhere: what a polyfill did, or what is left out.

use alloquy_core::report::Degradation;
use alloquy_core::template::TemplateInput;

use super::JinjaTemplate;
use super::fault::Fault;
use super::polyfill::{self, AppliedPolyfill, Polyfill};

impl JinjaTemplate {
    /// What the polyfill makes of a conversation. An error is told where the prompt is rendered.
    pub(super) fn told(&self, input: &TemplateInput) -> Vec<Degradation> {
        match self.polyfill {
            Polyfill::Refuse => Vec::new(),
            Polyfill::MergeIntoUser => {
                let applied = self.with_polyfill(input).map(|(_, applied)| applied).unwrap_or_default();
                applied.into_iter().map(Degradation::from).collect()
            }
            Polyfill::LeaveOut if !polyfill::has_more_than_text(input) => Vec::new(),
            Polyfill::LeaveOut => {
                let rendered = self.render_as_it_is(input).unwrap_or_default();
                let names = self.left_out(input, &rendered);
                names.map(|name| Degradation::LeftOut { what: name.to_owned() }).collect()
            }
        }
    }

    /// A prompt that leaves something out is an error, unless it was asked for.
    pub(super) fn check_left_out(&self, input: &TemplateInput, rendered: &str) -> Result<(), Fault> {
        match self.polyfill {
            Polyfill::LeaveOut => Ok(()),
            _ => self.left_out(input, rendered).next().map_or(Ok(()), |name| Err(Fault::LeftOut(name))),
        }
    }

    /// What small conversations say is left out is so only if the prompt is the same without it.
    pub(super) fn left_out(
        &self,
        input: &TemplateInput,
        rendered: &str,
    ) -> impl Iterator<Item = &'static str> {
        let parts = match polyfill::has_more_than_text(input) {
            true => polyfill::doubtful(input, self.capabilities()),
            false => Vec::new(),
        };
        let is_missing = move |part: &polyfill::Part| {
            self.render_as_it_is(&part.without).is_ok_and(|without| without == rendered)
        };
        parts.into_iter().filter(is_missing).map(|part| part.name)
    }
}

impl From<AppliedPolyfill> for Degradation {
    fn from(applied: AppliedPolyfill) -> Self {
        match applied {
            AppliedPolyfill::MergedIntoUser(messages) => Self::InstructionsMerged { messages },
        }
    }
}
