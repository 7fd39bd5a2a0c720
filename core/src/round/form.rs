//! The form of one reply: what is demanded, compiled for the engine's vocabulary, and how far the reply is in it.

use std::sync::{Arc, OnceLock};

use super::{PreparedPrompt, Round, RoundBuilder, source};
use crate::chat_model::Request;
use crate::constraint::{ConstraintCompiler, Constraints};
use crate::engine::Engine;
use crate::guide::Guide;
use crate::prompt::Prompt;
use crate::template::Ending;
use crate::tokenizer::{Detokenizer, TokenId};
use crate::vocabulary::Vocabulary;
use crate::{Error, ErrorKind, Result};

/// A way to enforce grammars, made ready for the engine's vocabulary when the first reply needs it.
#[derive(Debug)]
pub(super) struct Prepared {
    constraints: Box<dyn Constraints>,
    compiler: OnceLock<Arc<dyn ConstraintCompiler>>,
}

impl Prepared {
    pub(super) fn new(constraints: Box<dyn Constraints>) -> Self {
        Self { constraints, compiler: OnceLock::new() }
    }

    fn compiler(&self, engine: &dyn Engine) -> Result<&Arc<dyn ConstraintCompiler>> {
        if let Some(compiler) = self.compiler.get() {
            return Ok(compiler);
        }
        // Two replies at once may both prepare; the first to be ready counts.
        let compiler = self.constraints.prepare(&Vocabulary::of(engine))?;
        Ok(self.compiler.get_or_init(|| compiler))
    }
}

/// How far a reply is in the form that it must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// It need not have one.
    Free,
    /// It may be incomplete.
    Open,
    /// It is complete.
    Complete,
}

impl RoundBuilder {
    /// Sets what keeps replies in a form; without it a request for one is an error.
    pub fn constraints(mut self, constraints: impl Constraints + 'static) -> Self {
        self.constraints = Some(Box::new(constraints));
        self
    }
}

impl Form {
    /// The reply ended by itself, which its form allows only where it is complete.
    pub(super) fn end(&mut self) {
        if *self == Self::Open {
            *self = Self::Complete;
        }
    }
}

impl Round {
    /// Makes what leads the reply to a prompt; a grammar that cannot be enforced is found here, before anything is
    /// generated, and what it shuts out is told.
    pub(super) fn guide(&self, request: &Request, prompt: &mut PreparedPrompt) -> Result<Guide> {
        prompt.degradations.extend(request.guidance.shut_out(&request.preface));
        let (arguments, guidance) = (request.joined_arguments(), &request.guidance);
        let source = source(request, &arguments);
        let mut guide = Guide::default();
        if let Some(grammar) = guidance.joined(&*self.processor, source)? {
            guide = guide.constrain(self.compiler()?.compile(&grammar)?);
        }
        if guide.constrains() || guidance.thinking_budget.is_some() {
            let budget = guidance.thinking_budget;
            guide = guide.thinking(self.processor.channels(), &prompt.rendered, source, budget);
        }
        Ok(guide)
    }

    fn compiler(&self) -> Result<&Arc<dyn ConstraintCompiler>> {
        let missing = || {
            let message = "this round keeps no reply in a form: build it with `constraints`, such as those of \
                           alloquy-constraints";
            Error::new(ErrorKind::Unsupported, message)
        };
        self.constraints.as_ref().ok_or_else(missing)?.compiler(&*self.engine)
    }

    /// Starts decoding a reply. One that goes on inside a text is decoded behind that text, for SentencePiece prints
    /// no space where a text begins; and so is one whose form was checked space by space.
    pub(super) fn detokenizer(
        &self,
        prompt: &Prompt,
        ending: Ending,
        guide: &Guide,
    ) -> Result<Box<dyn Detokenizer>> {
        let mut detokenizer = self.engine.tokenizer().detokenizer();
        if ending == Ending::Continue || guide.constrains() {
            let special = |token: &TokenId| self.model().specials.iter().any(|special| special.id == *token);
            for token in prompt.tokens().flatten().filter(|token| !special(token)) {
                detokenizer.push(token)?;
            }
        }
        Ok(detokenizer)
    }
}
