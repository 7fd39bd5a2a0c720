//! Output constraints of a language model: compiles the grammar of a request, and decodes text from the right place.

use std::sync::Arc;

use alloquy_core::grammar::{GrammarCompiler, GrammarEngine};
use alloquy_core::prompt::{PreparedPrompt, Prompt};
use alloquy_core::template::PromptEnd;
use alloquy_core::tokenizer::{Detokenizer, TokenId};
use alloquy_core::{Error, ErrorKind, Request, Result};
use alloquy_engine::decoder::{GrammarSupport, GuidedDecoding};

use super::constraining::{joined, shut_out, thinking_rule};
use super::{LanguageModel, LanguageModelBuilder, source};

impl LanguageModelBuilder {
    /// Sets what enforces grammars; without it a request with one is an error.
    pub fn grammars(mut self, grammars: impl GrammarEngine + 'static) -> Self {
        self.grammars = Some(Box::new(grammars));
        self
    }
}

impl LanguageModel {
    /// Compiles what the reply to a prompt must match. A grammar that cannot be enforced is found here, before anything is
    /// generated. A grammar that excludes the offered tools is reported in the prompt.
    pub(super) fn guided(&self, request: &Request, prompt: &mut PreparedPrompt) -> Result<GuidedDecoding> {
        prompt.warnings.extend(shut_out(&request.output, &request.preface));
        let arguments = request.joined_arguments();
        let constraints = &request.output;
        let source = source(request, &arguments);
        let mut guided = GuidedDecoding::default();
        if let Some(grammar) = joined(constraints, &*self.processor, source, self.excludes_calls())? {
            if self.decoder.grammar_support() == GrammarSupport::None {
                let message = format!(
                    "model {:?} enforces no grammars: send the request without one",
                    self.model().name
                );
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            if request.beginning.is_some() {
                let message = "a reply that begins with a given text has no grammar: leave one of them out";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            let matcher = self.compiler()?.compile(&grammar)?;
            guided.grammar = Some((grammar, matcher));
        }
        if guided.grammar.is_some() || constraints.thinking_budget.is_some() {
            let budget = constraints.thinking_budget;
            guided.thinking = thinking_rule(self.processor.channels(), &prompt.rendered, source, budget);
        }
        Ok(guided)
    }

    /// Returns whether a reply without calls needs no grammar. A decoder that enforces nothing sends what it likes, and what
    /// looks like a call is reported.
    fn excludes_calls(&self) -> bool {
        self.decoder.enforces_exclusions() || self.decoder.grammar_support() == GrammarSupport::None
    }

    fn compiler(&self) -> Result<&Arc<dyn GrammarCompiler>> {
        let Some(grammars) = &self.grammars else {
            let message = "this language model enforces no grammars: build it with `grammars`, such as those of \
                           alloquy-constraints";
            return Err(Error::new(ErrorKind::Unsupported, message));
        };
        grammars.compiler(&*self.decoder)
    }

    /// Starts decoding a reply. SentencePiece prints no space where a text begins, so a reply that continues a text is decoded
    /// after that text. So is a reply with a grammar, which was checked with its spaces.
    pub(super) fn detokenizer(
        &self,
        prompt: &Prompt,
        ending: PromptEnd,
        guided: &GuidedDecoding,
    ) -> Result<Box<dyn Detokenizer>> {
        let mut detokenizer = self.decoder.tokenizer().detokenizer();
        if ending == PromptEnd::Continuation || guided.grammar.is_some() {
            for token in prompt.tokens().flatten().filter(|token| !self.is_special(*token)) {
                detokenizer.push(token)?;
            }
        }
        Ok(detokenizer)
    }

    fn is_special(&self, token: TokenId) -> bool {
        self.model().specials.iter().any(|special| special.id == token)
    }
}
