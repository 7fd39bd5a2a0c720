//! Reports what a prompt leaves out of its conversation, and what a polyfill merged.

use alloquy_core::report::Warning;
use alloquy_core::template::TemplateInput;

use super::JinjaTemplate;
use super::fault::Fault;
use super::polyfill::{self, AppliedPolyfill, Polyfill};

impl JinjaTemplate {
    /// Returns what the polyfill changes in a conversation. Errors are left to the render of the prompt.
    pub(super) fn warnings_of(&self, input: &TemplateInput) -> Vec<Warning> {
        match self.polyfill {
            Polyfill::Refuse => Vec::new(),
            Polyfill::MergeIntoUser => {
                let applied = self.with_polyfill(input).map(|(_, applied)| applied).unwrap_or_default();
                applied.into_iter().map(Warning::from).collect()
            }
            Polyfill::LeaveOut if !polyfill::has_more_than_text(input) => Vec::new(),
            Polyfill::LeaveOut => {
                let rendered = self.render_as_it_is(input).unwrap_or_default();
                let names = self.left_out(input, &rendered);
                names.map(|name| Warning::LeftOut { what: name.to_owned() }).collect()
            }
        }
    }

    /// Refuses a prompt that leaves a part out, unless the polyfill allows it.
    pub(super) fn check_left_out(&self, input: &TemplateInput, rendered: &str) -> Result<(), Fault> {
        if self.polyfill == Polyfill::LeaveOut {
            return Ok(());
        }
        match self.left_out(input, rendered).next() {
            Some(name) => Err(Fault::LeftOut(name)),
            None => Ok(()),
        }
    }

    /// Returns the names of the parts that `rendered` leaves out. The capabilities say which parts are doubtful; each of them is
    /// left out if the prompt is the same without it.
    pub(super) fn left_out(
        &self,
        input: &TemplateInput,
        rendered: &str,
    ) -> impl Iterator<Item = &'static str> {
        let parts = if polyfill::has_more_than_text(input) {
            polyfill::doubtful(input, self.capabilities())
        } else {
            Vec::new()
        };
        parts
            .into_iter()
            .filter(move |part| self.render_as_it_is(&part.without).is_ok_and(|without| without == rendered))
            .map(|part| part.name)
    }
}

impl From<AppliedPolyfill> for Warning {
    fn from(applied: AppliedPolyfill) -> Self {
        match applied {
            AppliedPolyfill::MergedIntoUser(messages) => Self::InstructionsMerged { messages },
        }
    }
}
