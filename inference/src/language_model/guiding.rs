//! What a language model does for the form of a reply: it compiles what is demanded, and decodes from the right place.

use std::sync::Arc;

use alloquy_core::grammar::{ConstraintCompiler, Constraints};
use alloquy_core::prompt::{PreparedPrompt, Prompt};
use alloquy_core::template::Ending;
use alloquy_core::tokenizer::{Detokenizer, TokenId};
use alloquy_core::{Error, ErrorKind, Request, Result};
use alloquy_engine::decoder::{GrammarSupport, GuidedDecoding};

use super::constraining::{joined, shut_out, thinking_rule};
use super::{LanguageModel, LanguageModelBuilder, source};

impl LanguageModelBuilder {
    /// Sets what keeps replies in a form; without it a request for one is an error.
    pub fn grammars(mut self, grammars: impl Constraints + 'static) -> Self {
        self.grammars = Some(Box::new(grammars));
        self
    }
}

impl LanguageModel {
    /// Makes what the reply to a prompt must match; a grammar that cannot be enforced is found here, before anything is
    /// generated, and what it shuts out is told.
    pub(super) fn guided(&self, request: &Request, prompt: &mut PreparedPrompt) -> Result<GuidedDecoding> {
        prompt.degradations.extend(shut_out(&request.guidance, &request.preface));
        let (arguments, guidance) = (request.joined_arguments(), &request.guidance);
        let source = source(request, &arguments);
        let mut guided = GuidedDecoding::default();
        if let Some(grammar) = joined(guidance, &*self.processor, source)? {
            if self.decoder.grammar_support() == GrammarSupport::None {
                let message =
                    format!("model {:?} keeps no reply in a form: ask without a grammar", self.model().name);
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            let matcher = self.compiler()?.compile(&grammar)?;
            guided.grammar = Some((grammar, matcher));
        }
        if guided.grammar.is_some() || guidance.thinking_budget.is_some() {
            let budget = guidance.thinking_budget;
            guided.thinking = thinking_rule(self.processor.channels(), &prompt.rendered, source, budget);
        }
        Ok(guided)
    }

    fn compiler(&self) -> Result<&Arc<dyn ConstraintCompiler>> {
        let missing = || {
            let message = "this language model keeps no reply in a form: build it with `grammars`, such as those of \
                           alloquy-constraints";
            Error::new(ErrorKind::Unsupported, message)
        };
        self.grammars.as_ref().ok_or_else(missing)?.compiler(&*self.decoder)
    }

    /// Starts decoding a reply. One that goes on inside a text is decoded behind that text, for SentencePiece prints
    /// no space where a text begins; and so is one whose form was checked space by space.
    pub(super) fn detokenizer(
        &self,
        prompt: &Prompt,
        ending: Ending,
        guided: &GuidedDecoding,
    ) -> Result<Box<dyn Detokenizer>> {
        let mut detokenizer = self.decoder.tokenizer().detokenizer();
        if ending == Ending::Continue || guided.grammar.is_some() {
            let special = |token: &TokenId| self.model().specials.iter().any(|special| special.id == *token);
            for token in prompt.tokens().flatten().filter(|token| !special(token)) {
                detokenizer.push(token)?;
            }
        }
        Ok(detokenizer)
    }
}
