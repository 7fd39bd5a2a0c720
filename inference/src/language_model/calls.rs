//! Replies that may not call tools: what is excluded from them, and the check where the decoder does not enforce it.

use alloquy_core::Request;
use alloquy_core::output::ToolChoice;
use alloquy_core::processor::ReplyParser;
use alloquy_core::report::Warning;
use alloquy_core::tokenizer::{SpecialToken, TokenId};
use alloquy_engine::decoder::{Decoder, ExcludedTexts, GuidedDecoding};

use super::{LanguageModel, source};
use crate::stop::StopStrings;

impl LanguageModel {
    /// Returns what the reply must not contain: the texts that begin calls, unless a tool is offered and may be called.
    pub(super) fn excluded(&self, request: &Request) -> ExcludedTexts {
        if may_call(request) {
            return ExcludedTexts::default();
        }
        self.call_starts
            .get_or_init(|| excluded(self.processor.call_starts(), self.decoder.tokenizer().specials()))
            .clone()
    }

    /// Starts reading the reply to a prompt. Where calls are forbidden, what looks like a call is text.
    pub(super) fn parser(&self, request: &Request, rendered: &str) -> Box<dyn ReplyParser> {
        let arguments = request.joined_arguments();
        let mut source = source(request, &arguments);
        if may_call(request) || request.preface.tools.is_empty() {
            return self.processor.reply_parser(rendered, source);
        }
        let mut preface = request.preface.clone();
        preface.tools.clear();
        source.preface = &preface;
        self.processor.reply_parser(rendered, source)
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

/// Looks for excluded texts in the reply of a decoder that does not enforce their exclusion.
#[derive(Debug)]
pub(super) struct UnwantedCalls {
    tokens: Vec<(TokenId, String)>,
    texts: StopStrings,
    found: Option<String>,
}

impl UnwantedCalls {
    /// Returns `None` if nothing is excluded, if the decoder enforces it, or if a grammar decides what the reply contains.
    pub(super) fn of(
        excluded: &ExcludedTexts,
        guided: &GuidedDecoding,
        decoder: &dyn Decoder,
    ) -> Option<Self> {
        if excluded.is_empty() || guided.grammar.is_some() || decoder.enforces_exclusions() {
            return None;
        }
        let mut tokens = Vec::new();
        for special in decoder.tokenizer().specials() {
            if excluded.tokens.contains(&special.id) {
                tokens.push((special.id, special.text.clone()));
            }
        }
        Some(Self { tokens, texts: StopStrings::new(excluded.texts.clone()), found: None })
    }

    /// Takes a token of the reply and its text.
    pub(super) fn take(&mut self, token: TokenId, text: &str) {
        if self.found.is_some() {
            return;
        }
        let excluded = self.tokens.iter().find(|(id, _)| *id == token);
        self.found = excluded.map(|(_, text)| text.clone()).or_else(|| self.texts.push(text).1);
    }

    /// Returns the warning for the first excluded text, if there was one.
    pub(super) fn warning(self) -> Option<Warning> {
        self.found.map(|start| Warning::UnwantedCall { start })
    }
}
