//! Replies that may not call tools: what is excluded from them, and how they are read.

use std::borrow::Cow;

use alloquy_core::output::ToolChoice;
use alloquy_core::tokenizer::SpecialToken;
use alloquy_core::{Preface, Request};
use alloquy_engine::decoder::ExcludedTexts;

use super::LanguageModel;

impl LanguageModel {
    /// Returns what the reply must not contain: the texts that begin calls, unless a tool is offered and may be called.
    pub(super) fn excluded(&self, request: &Request) -> ExcludedTexts {
        if may_call(request) {
            return ExcludedTexts::default();
        }
        self.call_texts
            .get_or_init(|| excluded(self.processor.call_texts(), self.decoder.tokenizer().specials()))
            .clone()
    }

    /// Returns the preface with the tools that the reply may call. Without tools, what looks like a call is read as text.
    pub(super) fn callable(request: &Request) -> Cow<'_, Preface> {
        if may_call(request) || request.preface.tools.is_empty() {
            return Cow::Borrowed(&request.preface);
        }
        let mut preface = request.preface.clone();
        preface.tools.clear();
        Cow::Owned(preface)
    }
}

/// Returns whether the reply to a request may call tools.
fn may_call(request: &Request) -> bool {
    !request.preface.tools.is_empty() && request.output.tool_choice != Some(ToolChoice::None)
}

/// Divides texts into control tokens and texts of several tokens. A text that is a control token may be written in ordinary
/// tokens, which no model does to call a tool: so a reply can still speak of it.
fn excluded(starts: Vec<String>, specials: &[SpecialToken]) -> ExcludedTexts {
    let mut excluded = ExcludedTexts::default();
    for start in starts {
        let mut is_token = false;
        for special in specials.iter().filter(|special| special.text == start) {
            excluded.tokens.push(special.id);
            is_token = true;
        }
        if !is_token {
            excluded.texts.push(start);
        }
    }
    excluded
}
